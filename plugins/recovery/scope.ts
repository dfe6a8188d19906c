/** What a conversation was shown of originals, and what its model has fetched back so far. */
import { Type } from "@sinclair/typebox";
import { HANDLE } from "./original.ts";

export const SavedScope = Type.Array(Type.String({ pattern: HANDLE.source }));

/** After so many different queries on one original, the next gives all of it: it is cheaper than going on to search. */
const MOST_QUERIES = 5;

export class Scope {
  readonly #shown: Set<string>;
  readonly #asked = new Map<string, Map<string, Delivery>>();

  constructor(saved: unknown) {
    this.#shown = new Set(
      Array.isArray(saved) ? saved.filter((handle): handle is string => typeof handle === "string") : [],
    );
  }

  show(handle: string): void {
    this.#shown.add(handle);
  }
  has(handle: string): boolean {
    return this.#shown.has(handle);
  }
  /** An earlier answer to the same question. */
  earlier(handle: string, query: string): Delivery | undefined {
    return this.#asked.get(handle)?.get(query);
  }
  /** Whether an original was searched so often that the next answer is the whole of it. */
  exhausted(handle: string): boolean {
    return (this.#asked.get(handle)?.size ?? 0) >= MOST_QUERIES;
  }
  delivered(handle: string, query: string, delivery: Delivery): void {
    const asked = this.#asked.get(handle) ?? new Map<string, Delivery>();
    this.#asked.set(handle, asked.set(query, delivery));
  }
  toJSON(): string[] {
    return [...this.#shown];
  }
}

export interface Delivery {
  readonly toolCallId: string;
  readonly text: string;
}
