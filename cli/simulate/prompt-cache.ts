/**
 * A provider's prompt cache, as far as a catalog row describes it: a request reads the longest run of leading segments
 * (tools, then message by message, compared byte for byte) that an earlier request within the time to live began with.
 */
import { createHash } from "node:crypto";
import type { CacheBehaviour } from "../../catalog/index.ts";

/** Seconds, where a row names none: the shortest a vendor states. */
export const ASSUMED_TTL = 300;

/** What of a request's input came from the cache, and what was written to it, in tokens. */
export interface Cached {
  readonly read: number;
  readonly write: number;
}
const NOTHING: Cached = Object.freeze({ read: 0, write: 0 });

interface Entry {
  readonly segments: readonly string[];
  readonly expiresAt: number;
}

/** An estimate of tokens: UTF-8 bytes over four, rounded up. */
export const estimate = (bytes: number): number => Math.ceil(bytes / 4);

/** Whether the row says enough to simulate its cache. Without a minimum prefix nothing is taken to be cached. */
export const canSimulate = ({ mode, minPrefix }: CacheBehaviour): boolean =>
  (mode === "explicit" || mode === "implicit") && minPrefix !== undefined;

export class PromptCache {
  readonly #behaviour: CacheBehaviour;
  #entries: readonly Entry[] = [];

  constructor(behaviour: CacheBehaviour) {
    this.#behaviour = behaviour;
  }

  /**
   * Takes one request. `input` is its tokens in all, by default an estimate; a prefix has its share of them by bytes.
   * With an explicit cache every segment is taken to be marked, so all that is not read is written.
   */
  ask(segments: readonly string[], at: number, input?: number): Cached {
    const { minPrefix, ttl = ASSUMED_TTL, mode } = this.#behaviour;
    if (!canSimulate(this.#behaviour) || minPrefix === undefined) return NOTHING;
    const sizes = segments.map((segment) => Buffer.byteLength(segment));
    const bytes = sum(sizes);
    const total = input ?? estimate(bytes);
    if (total < minPrefix) return NOTHING;
    const digests = segments.map((segment) => createHash("sha256").update(segment).digest("base64"));
    this.#entries = this.#entries.filter((entry) => entry.expiresAt > at);
    const shared = Math.max(0, ...this.#entries.map((entry) => sharedLength(entry.segments, digests)));
    const prefix = bytes === 0 ? 0 : Math.floor((total * sum(sizes.slice(0, shared))) / bytes);
    const read = prefix >= minPrefix ? prefix : 0;
    // The new entry begins with what was read, which is how a read lengthens a prefix's life.
    this.#entries = [...this.#entries, { segments: digests, expiresAt: at + ttl * 1_000 }];
    return { read, write: mode === "explicit" ? total - read : 0 };
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

function sharedLength(a: readonly string[], b: readonly string[]): number {
  const end = a.findIndex((segment, index) => segment !== b[index]);
  return end < 0 ? a.length : end;
}
