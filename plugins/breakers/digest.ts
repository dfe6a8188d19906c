/** Digests of what tools are given and give, so that state and facts hold no content. */
import { sha256 } from "../../kernel/index.ts";

export { sha256 };

/** SHA-256 of a value as JSON with sorted keys; what JSON cannot write counts by its kind. */
export function digestOf(value: unknown): string {
  if (typeof value === "string") return sha256(`s${value}`);
  try {
    return sha256(`j${JSON.stringify(value, sorted) ?? "undefined"}`);
  } catch {
    return sha256("unserialisable");
  }
}

function sorted(_key: string, part: unknown): unknown {
  if (typeof part === "bigint") return `${part}n`;
  if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
  return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
}

/** What came of a call: held as text until someone needs its digest. Two texts are compared without one. */
export class Result {
  readonly #text: string | undefined;
  #digest: string | undefined;

  private constructor(text: string | undefined, digest: string | undefined) {
    this.#text = text;
    this.#digest = digest;
  }
  static of(text: string): Result {
    return new Result(text, undefined);
  }
  static saved(digest: string): Result {
    return new Result(undefined, digest);
  }
  get digest(): string {
    return (this.#digest ??= sha256(this.#text ?? ""));
  }
  equals(other: Result): boolean {
    return this.#text !== undefined && other.#text !== undefined
      ? this.#text === other.#text
      : this.digest === other.digest;
  }
}
