/** What tools are given and give, held so that two can be compared, and digested only when state or a fact needs it. */
import { canonicalJson, sha256 } from "../../kernel/index.ts";

export { sha256 };

type Flat = Readonly<Record<string, unknown>>;

/** What is compared as itself while a run lasts, and by its SHA-256 once it was saved. */
export class Content {
  readonly #flat: Flat | undefined;
  #text: string | undefined;
  #digest: string | undefined;

  private constructor(text: string | undefined, digest?: string, flat?: Flat) {
    this.#text = text;
    this.#digest = digest;
    this.#flat = flat;
  }
  static of(text: string): Content {
    return new Content(text);
  }
  /** A value by its canonical form: equal values are equal contents, whatever the order of their keys. */
  static ofValue(value: unknown): Content {
    // A text is not the value it spells, since no value's JSON goes on after such a beginning.
    if (typeof value === "string") return new Content(`text ${value}`);
    return isFlat(value) ? new Content(undefined, undefined, { ...value }) : new Content(canonicalJson(value));
  }
  static saved(digest: string): Content {
    return new Content(undefined, digest);
  }
  get digest(): string {
    return (this.#digest ??= sha256(this.#written ?? ""));
  }
  equals(other: Content): boolean {
    if (this.#flat && other.#flat) return sameFields(this.#flat, other.#flat);
    const [mine, theirs] = [this.#written, other.#written];
    return mine !== undefined && theirs !== undefined ? mine === theirs : this.digest === other.digest;
  }
  get #written(): string | undefined {
    return (this.#text ??= this.#flat && JSON.stringify(this.#flat));
  }
}

/** Most arguments are a few plain fields already in order: they are compared field by field, and their JSON is canonical. */
function isFlat(value: unknown): value is Flat {
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
  let last = "";
  for (const key in value) {
    const part = (value as Flat)[key];
    const kind = typeof part;
    if (key < last || !(kind === "string" || kind === "boolean" || Number.isFinite(part))) return false;
    last = key;
  }
  return true;
}

function sameFields(a: Flat, b: Flat): boolean {
  for (const key in a) if (a[key] !== b[key]) return false;
  for (const key in b) if (!Object.hasOwn(a, key)) return false;
  return true;
}
