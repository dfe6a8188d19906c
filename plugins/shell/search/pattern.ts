/**
 * One dialect of regular expressions for both engines. A pattern is parsed once and written twice: for ripgrep, and for
 * JavaScript with the meaning ripgrep's engine gives it (Unicode \w, \d, \s and \b; bytes that are no UTF-8 match
 * nothing but themselves). Look-around and back-references are refused, since no search in linear time has them. A `{`
 * that opens no counted repetition is a brace: that is what models mean by it.
 */
import { FileFault, shown } from "../files/fault.ts";

export interface Pattern {
  /** For ripgrep. */
  readonly rust: string;
  /** For JavaScript, with `flags`; bytes that are no UTF-8 have to be lone surrogates. */
  readonly source: string;
  readonly flags: string;
}

const MAX_CHARS = 1_000;
const MAX_REPEAT = 1_000;
const MAX_DEPTH = 50;

/** Both forms of one piece. */
interface Piece {
  readonly rust: string;
  readonly js: string;
}
/** What may stand inside brackets. */
interface Items extends Piece {
  /** The one character it is, for ranges. */
  readonly code?: number;
}

/** @throws FileFault `cave_pattern_invalid`. */
export function parsePattern(
  text: string,
  options: { readonly literal: boolean; readonly ignoreCase: boolean },
): Pattern {
  const refuse = (why: string): FileFault => new FileFault("cave_pattern_invalid", `${shown(text)}: ${why}`);
  if (text === "" || text.length > MAX_CHARS) throw refuse(`a pattern has 1 to ${MAX_CHARS} characters`);
  if (/[\0\n]/.test(text) || !text.isWellFormed()) throw refuse("a pattern is one line of well-formed text");
  const flags = /^\(\?([ims]+)\)/.exec(text);
  const body = options.literal ? text : text.slice(flags?.[0].length ?? 0);
  const { rust, js } = options.literal ? literalText(text) : new Parser(body, refuse).whole();
  const ignoreCase = options.ignoreCase || (!options.literal && flags?.[1]?.includes("i") === true);
  try {
    new RegExp(js, "v");
  } catch {
    throw refuse("it cannot be read as a regular expression");
  }
  return { rust: ignoreCase ? `(?i)${rust}` : rust, source: js, flags: ignoreCase ? "iv" : "v" };
}

const both = (text: string): Piece => ({ rust: text, js: text });
const join = (pieces: readonly Piece[]): Piece => ({
  rust: pieces.map((p) => p.rust).join(""),
  js: pieces.map((p) => p.js).join(""),
});
const literalText = (text: string): Piece => join(Array.from(text, (char) => char_(char.codePointAt(0) ?? 0)));
/** A character by its number means itself wherever it stands. */
const char_ = (code: number): Items => {
  const char = String.fromCodePoint(code);
  return /^[\p{L}\p{N}_ ]$/u.test(char)
    ? { ...both(char), code }
    : { rust: `\\x{${code.toString(16)}}`, js: `\\u{${code.toString(16)}}`, code };
};

const WORD = "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}";
/** Bytes that are no UTF-8 come as lone surrogates, and no negated set takes them. */
const BYTES = "\\p{Cs}";
const CLASSES: Readonly<Record<string, string>> = { w: WORD, d: "\\p{Nd}", s: "\\p{White_Space}" };
const POSIX: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7f",
  blank: "\\t\\x20",
  cntrl: "\\x00-\\x1f\\x7f",
  digit: "0-9",
  graph: "\\x21-\\x7e",
  lower: "a-z",
  print: "\\x20-\\x7e",
  punct: "\\x21-\\x2f\\x3a-\\x40\\x5b-\\x60\\x7b-\\x7e",
  space: "\\t\\n\\v\\f\\r\\x20",
  upper: "A-Z",
  word: "0-9A-Z_a-z",
  xdigit: "0-9A-Fa-f",
};
const CONTROL: Readonly<Record<string, number>> = { t: 9, r: 13, f: 12, v: 11, a: 7 };
const EDGE = `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`;
const NO_EDGE = `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`;

class Parser {
  readonly #text: string;
  readonly #refuse: (why: string) => FileFault;
  #at = 0;
  #depth = 0;

  constructor(text: string, refuse: (why: string) => FileFault) {
    this.#text = text;
    this.#refuse = refuse;
  }
  whole(): Piece {
    const piece = this.#alternatives();
    if (this.#at < this.#text.length) throw this.#refuse("a ) closes nothing");
    return piece;
  }

  #alternatives(): Piece {
    const branches = [this.#sequence()];
    while (this.#eat("|")) branches.push(this.#sequence());
    return { rust: branches.map((b) => b.rust).join("|"), js: branches.map((b) => b.js).join("|") };
  }
  #sequence(): Piece {
    const pieces: Piece[] = [];
    while (this.#at < this.#text.length && !this.#sees("|") && !this.#sees(")")) pieces.push(this.#repeated());
    return join(pieces);
  }
  #repeated(): Piece {
    let piece = this.#atom();
    for (;;) {
      const count = this.#quantifier();
      if (count === undefined) return piece;
      // In a group of its own, so that both engines repeat the same thing, an assertion or a repetition too.
      piece = { rust: `(?:${piece.rust})${count}`, js: `(?:${piece.js})${count}` };
    }
  }
  #quantifier(): string | undefined {
    const found = /^(?:[*+?]|\{(\d{1,4})(?:(,)(\d{0,4}))?\})\??/.exec(this.#text.slice(this.#at, this.#at + 16));
    if (!found) return undefined;
    const [whole, from, , to] = found;
    if (Number(from ?? 0) > MAX_REPEAT || Number(to ?? 0) > MAX_REPEAT)
      throw this.#refuse(`at most ${MAX_REPEAT} repetitions`);
    if (to && Number(to) < Number(from)) throw this.#refuse(`${whole} counts backwards`);
    this.#at += whole.length;
    return whole;
  }

  #atom(): Piece {
    const char = this.#take();
    if (char === "(") return this.#group();
    if (char === "[") return this.#bracket();
    if (char === ".") return { rust: "[^\\r\\n]", js: `[^\\r\\n${BYTES}]` };
    if (char === "^") return both("^");
    if (char === "$") return both("(?:\\r?$)");
    if (char === "\\") return this.#escape(false);
    if (/[*+?]/.test(char)) throw this.#refuse(`${char} repeats nothing; write \\${char} for the character`);
    return char_(char.codePointAt(0) ?? 0);
  }
  #group(): Piece {
    if (++this.#depth > MAX_DEPTH) throw this.#refuse("groups are nested too deep");
    const opened = /^\?(?::|P?<[A-Za-z_]\w*>)/.exec(this.#text.slice(this.#at, this.#at + 64));
    if (opened) this.#at += opened[0].length;
    else if (this.#sees("?"))
      throw this.#refuse("look-around and flags inside a pattern are not supported; (?i) may stand first");
    const inside = this.#alternatives();
    if (!this.#eat(")")) throw this.#refuse("a ( is never closed");
    this.#depth--;
    return { rust: `(?:${inside.rust})`, js: `(?:${inside.js})` };
  }

  #escape(inBracket: boolean): Items {
    if (this.#at >= this.#text.length) throw this.#refuse("it ends in a backslash");
    const char = this.#take();
    if (!inBracket && char === "b") return { rust: "\\b", js: EDGE };
    if (!inBracket && char === "B") return { rust: "\\B", js: NO_EDGE };
    if (/[wdsWDS]/.test(char)) return this.#class(char);
    if (char === "p" || char === "P") return this.#property(char === "P");
    if (char === "x" || char === "u" || char === "U") return char_(this.#number(char));
    const control = CONTROL[char];
    if (control !== undefined) return char_(control);
    if (char === "n") throw this.#refuse("the search goes line by line, so \\n never matches");
    if (/[0-9]/.test(char)) throw this.#refuse("back-references are not supported");
    if (/[A-Za-z]/.test(char)) throw this.#refuse(`\\${char} is not supported`);
    return char_(char.codePointAt(0) ?? 0);
  }
  #class(char: string): Items {
    const items = CLASSES[char.toLowerCase()] ?? "";
    return char === char.toLowerCase()
      ? { rust: `\\${char}`, js: `[${items}]` }
      : { rust: `\\${char}`, js: `[^${items}${BYTES}]` };
  }
  #property(negated: boolean): Items {
    const found = /^(?:\{(\^?)([A-Za-z_ =:-]{1,40})\}|([A-Z]))/.exec(this.#text.slice(this.#at, this.#at + 48));
    if (!found) throw this.#refuse("\\p wants a name, as \\p{L}");
    this.#at += found[0].length;
    const name = found[2] ?? found[3] ?? "";
    const known = [name, `Script=${name}`].find((candidate) => isProperty(candidate));
    if (known === undefined) throw this.#refuse(`\\p{${name}} is not known`);
    const not = negated !== (found[1] === "^");
    return { rust: `\\${not ? "P" : "p"}{${name}}`, js: not ? `[^\\p{${known}}${BYTES}]` : `\\p{${known}}` };
  }
  #number(char: string): number {
    const width = { x: 2, u: 4, U: 8 }[char] ?? 2;
    const found = new RegExp(`^(?:\\{([0-9A-Fa-f]{1,8})\\}|([0-9A-Fa-f]{${width}}))`).exec(
      this.#text.slice(this.#at, this.#at + 12),
    );
    if (!found) throw this.#refuse(`\\${char} wants hexadecimal digits`);
    this.#at += found[0].length;
    const code = Number.parseInt(found[1] ?? found[2] ?? "", 16);
    if (code === 0 || code === 10 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      throw this.#refuse(`\\${char}${found[0]} never matches`);
    return code;
  }

  #bracket(): Items {
    if (++this.#depth > MAX_DEPTH) throw this.#refuse("brackets are nested too deep");
    const negated = this.#eat("^");
    const items: Piece[] = [];
    for (let first = true; ; first = false) {
      if (this.#at >= this.#text.length) throw this.#refuse("a [ is never closed");
      if (this.#eat("]")) {
        if (!first) break;
        items.push(char_(0x5d));
        continue;
      }
      if (/^(?:&&|--|~~)/.test(this.#text.slice(this.#at, this.#at + 2)) && !first)
        throw this.#refuse("operations on sets are not supported");
      items.push(this.#item());
    }
    this.#depth--;
    const { rust, js } = join(items);
    return negated ? { rust: `[^${rust}]`, js: `[^${js}${BYTES}]` } : { rust: `[${rust}]`, js: `[${js}]` };
  }
  #item(): Piece {
    const posix = /^\[:(\^?)([a-z]+):\]/.exec(this.#text.slice(this.#at, this.#at + 16));
    if (posix) {
      const set = POSIX[posix[2] ?? ""];
      if (set === undefined) throw this.#refuse(`[:${posix[2]}:] is not known`);
      this.#at += posix[0].length;
      return posix[1] ? { rust: posix[0], js: `[^${set}${BYTES}]` } : { rust: posix[0], js: `[${set}]` };
    }
    const from = this.#member();
    if (
      from.code === undefined ||
      !this.#sees("-") ||
      this.#text[this.#at + 1] === "]" ||
      this.#text[this.#at + 1] === undefined
    )
      return from;
    this.#at++;
    const to = this.#member();
    if (to.code === undefined) throw this.#refuse("a range ends in a class");
    if (to.code < from.code) throw this.#refuse("a range counts backwards");
    return { rust: `${from.rust}-${to.rust}`, js: `${from.js}-${to.js}` };
  }
  #member(): Items {
    const char = this.#take();
    if (char === "[") return this.#bracket();
    return char === "\\" ? this.#escape(true) : char_(char.codePointAt(0) ?? 0);
  }

  #sees(char: string): boolean {
    return this.#text[this.#at] === char;
  }
  #eat(char: string): boolean {
    if (!this.#sees(char)) return false;
    this.#at++;
    return true;
  }
  #take(): string {
    const char = String.fromCodePoint(this.#text.codePointAt(this.#at) ?? 0);
    this.#at += char.length;
    return char;
  }
}

function isProperty(name: string): boolean {
  try {
    new RegExp(`\\p{${name}}`, "u");
    return true;
  } catch {
    return false;
  }
}
