/** What tools are given and give, held so that two can be compared, and digested only when state or a fact needs it. */
import { canonicalJson, sha256 } from "../../kernel/index.ts";

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

/** Equal values in one form; a text is not the value it spells, since no value's JSON goes on after such a beginning. */
const canonical = (value: unknown): string =>
  typeof value === "string" ? `text ${value}` : flat(value) ? JSON.stringify(value) : canonicalJson(value);

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
