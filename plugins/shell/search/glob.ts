/**
 * Globs as ripgrep's --glob reads them: without a slash they match a name at any depth, with one they match the path;
 * `*` stays inside a name, `**` crosses folders; a leading `!` turns the sense.
 */
import { FileFault, shown } from "../files/fault.ts";

const MAX_CHARS = 512;

export interface Glob {
  readonly negated: boolean;
  matches(path: string): boolean;
}

/** @throws FileFault `cave_glob_invalid`. */
export function parseGlob(text: string): Glob {
  const negated = text.startsWith("!");
  let body = negated ? text.slice(1) : text;
  if (body === "" || body.length > MAX_CHARS || /[\0\n]/.test(body))
    throw invalid(text, `has to be 1 to ${MAX_CHARS} characters in one line`);
  body = body.replace(/^\.\//, "");
  const anchored = body.replace(/\/$/, "").includes("/");
  const source = new Translation(text, body.replace(/^\//, "")).source();
  let pattern: RegExp;
  try {
    pattern = new RegExp(anchored ? `^${source}$` : `^(?:.*/)?${source}$`, "su");
  } catch {
    throw invalid(text, "cannot be read");
  }
  return { negated, matches: (path) => pattern.test(path) };
}

const invalid = (text: string, why: string): FileFault => new FileFault("cave_glob_invalid", `${shown(text)} ${why}`);

class Translation {
  readonly #whole: string;
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(whole: string, text: string) {
    this.#whole = whole;
    this.#text = text;
  }
  source(): string {
    let out = "";
    while (this.#at < this.#text.length) out += this.#next();
    if (this.#depth > 0) throw invalid(this.#whole, "opens { and never closes it");
    return out;
  }
  #next(): string {
    const char = this.#take();
    if (char === "*") return this.#star();
    if (char === "?") return "[^/]";
    if (char === "[") return this.#set();
    if (char === "{") {
      if (++this.#depth > 8) throw invalid(this.#whole, "nests { too deep");
      return "(?:";
    }
    if (char === "}" && this.#depth > 0) {
      this.#depth--;
      return ")";
    }
    if (char === "," && this.#depth > 0) return "|";
    if (char === "\\" && this.#at < this.#text.length) return literal(this.#take());
    return literal(char);
  }
  #take(): string {
    const char = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    this.#at += char.length;
    return char;
  }
  #star(): string {
    const start = this.#at - 1;
    while (this.#text[this.#at] === "*") this.#at++;
    const before = start === 0 || this.#text[start - 1] === "/";
    if (this.#at - start < 2 || !before) return "[^/]*";
    if (this.#text[this.#at] === "/") {
      this.#at++;
      return "(?:.*/)?";
    }
    return this.#at === this.#text.length ? ".*" : "[^/]*";
  }
  #set(): string {
    const negated = this.#text[this.#at] === "!" || this.#text[this.#at] === "^";
    if (negated) this.#at++;
    let items = "";
    for (let first = true; ; first = false) {
      if (this.#at >= this.#text.length) throw invalid(this.#whole, "opens [ and never closes it");
      const char = this.#take();
      if (char === "]" && !first) break;
      items +=
        char === "-"
          ? first || this.#text[this.#at] === "]"
            ? "\\-"
            : "-"
          : literal(char === "\\" ? this.#take() : char);
    }
    return negated ? `[^/${items}]` : `(?!/)[${items}]`;
  }
}

const literal = (char: string): string => char.replace(/[$()*+./?[\\\]^{|}-]/u, "\\$&");
