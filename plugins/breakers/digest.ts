/** What tools are given and give, held so that two can be compared, and digested only when state or a fact needs it. */
import { sha256 } from "../../kernel/index.ts";

export { sha256 };

/** Text that is compared as itself while a run lasts, and by its SHA-256 once it was saved. */
export class Content {
  readonly #text: string | undefined;
  #digest: string | undefined;

  private constructor(text: string | undefined, digest: string | undefined) {
    this.#text = text;
    this.#digest = digest;
  }
  static of(text: string): Content {
    return new Content(text, undefined);
  }
  /** A value by its canonical form: equal values are equal contents, whatever the order of their keys. */
  static ofValue(value: unknown): Content {
    return new Content(canonical(value), undefined);
  }
  static saved(digest: string): Content {
    return new Content(undefined, digest);
  }
  get digest(): string {
    return (this.#digest ??= sha256(this.#text ?? ""));
  }
  equals(other: Content): boolean {
    return this.#text !== undefined && other.#text !== undefined
      ? this.#text === other.#text
      : this.digest === other.digest;
  }
}

/** A value as JSON with sorted keys; what JSON cannot write counts by its kind. */
function canonical(value: unknown): string {
  if (typeof value === "string") return `s${value}`;
  try {
    return `j${(flat(value) ? JSON.stringify(value) : JSON.stringify(value, sorted)) ?? "undefined"}`;
  } catch {
    return "unserialisable";
  }
}

/** Most arguments are a few plain fields already in order: their JSON needs no sorting. */
function flat(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
  let last = "";
  for (const key in value) {
    const part = (value as Record<string, unknown>)[key];
    if (key < last || (typeof part === "object" && part !== null) || typeof part === "bigint") return false;
    last = key;
  }
  return true;
}

function sorted(_key: string, part: unknown): unknown {
  if (typeof part === "bigint") return `${part}n`;
  if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}
