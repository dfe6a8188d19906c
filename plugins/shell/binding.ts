/**
 * What a shell tool knows of the run that calls it. A tool is given no run, but the arguments it is given are the very
 * object that was admitted: the plugin's tap notes the run under it.
 */
import { Type } from "@sinclair/typebox";
import type { Run, ToolCall } from "../../kernel/index.ts";
import type { Seen, Stamp } from "./files/protocol.ts";

/** Digests of what a model has read, by path; serialisable, so that they last as long as the conversation. */
export class Stamps {
  readonly #digests: Map<string, string>;

  constructor(saved?: unknown) {
    this.#digests = new Map(isSeen(saved) ? Object.entries(saved) : []);
  }
  note({ rel, digest }: Stamp): void {
    this.#digests.delete(rel);
    this.#digests.set(rel, digest);
    if (this.#digests.size <= MAX_STAMPS) return;
    const oldest = this.#digests.keys().next().value;
    if (oldest !== undefined) this.#digests.delete(oldest);
  }
  get seen(): Seen {
    return Object.fromEntries(this.#digests);
  }
  toJSON(): Seen {
    return this.seen;
  }
}
const MAX_STAMPS = 1_000;
export const SavedStamps = Type.Record(Type.String(), Type.String({ pattern: "^[0-9a-f]{64}$" }));
const isSeen = (value: unknown): value is Seen => typeof value === "object" && value !== null;

/** What a run waits for before it has settled. */
export class Unfinished {
  readonly #working = new Set<Promise<unknown>>();
  readonly #endings = new Set<() => Promise<unknown>>();

  /** Work that ends by itself once the run is aborted. */
  add(work: Promise<unknown>): void {
    const done = (): void => void this.#working.delete(work);
    this.#working.add(work);
    work.then(done, done);
  }
  /** What has to be ended with the run. */
  endWith(end: () => Promise<unknown>): void {
    this.#endings.add(end);
  }
  /** Resolves when nothing is left; at once when nothing was begun. */
  settle(): Promise<void> | undefined {
    if (this.#endings.size === 0 && this.#working.size === 0) return undefined;
    const ends = [...this.#endings].map((end) => end());
    this.#endings.clear();
    return Promise.allSettled([...ends, ...this.#working]).then(() => undefined);
  }
}

export interface Bound {
  readonly run: Run;
  readonly stamps: Stamps;
  readonly unfinished: Unfinished;
}

const bound = new WeakMap<object, Bound>();

export function bind(call: ToolCall, to: Bound): void {
  if (typeof call.input === "object" && call.input !== null) bound.set(call.input, to);
}

/** The run behind a tool's arguments; undefined where the shell plugin is not loaded. */
export const boundOf = (input: object): Bound | undefined => bound.get(input);
