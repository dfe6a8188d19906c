/** Progress: how many turns in a row said the same and got the same from the same tools. */
import { type Content, sha256 } from "./digest.ts";

export interface SavedProgress {
  readonly signature: string;
  readonly count: number;
}

/** One tool call of a turn and what came of it. */
export interface Part {
  readonly name: string;
  readonly result: Content;
}

export class Progress {
  #text: string | undefined;
  #parts: readonly Part[] = [];
  #signature: string | undefined;
  count = 0;

  constructor(saved?: SavedProgress) {
    this.#signature = saved?.signature;
    this.count = saved?.count ?? 0;
  }

  reset(): void {
    this.#text = this.#signature = undefined;
    this.#parts = [];
    this.count = 0;
  }

  /** Whether a turn, complete or all but complete, is the one before over again. Nothing is digested while text or names differ. */
  same(text: string, parts: readonly Part[]): boolean {
    if (this.count === 0) return false;
    if (this.#text === undefined) return this.#signature === signatureOf(text, parts);
    if (this.#text !== text || this.#parts.length !== parts.length) return false;
    for (let at = 0; at < parts.length; at++) if (this.#parts[at]?.name !== parts[at]?.name) return false;
    for (let at = 0; at < parts.length; at++) {
      const [before, now] = [this.#parts[at], parts[at]];
      if (!before || !now || !before.result.equals(now.result)) return false;
    }
    return true;
  }

  /** Counts a turn that is over; gives how many equal ones stand in a row. */
  turn(text: string, parts: readonly Part[]): number {
    this.count = this.same(text, parts) ? this.count + 1 : 1;
    this.#text = text;
    this.#parts = parts;
    this.#signature = undefined;
    return this.count;
  }

  get signature(): string {
    return (this.#signature ??= signatureOf(this.#text ?? "", this.#parts));
  }
  toJSON(): SavedProgress {
    return { signature: this.signature, count: this.count };
  }
}

const signatureOf = (text: string, parts: readonly Part[]): string =>
  sha256(JSON.stringify([sha256(text), ...parts.map((part) => [part.name, part.result.digest])]));
