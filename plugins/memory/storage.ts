/** Where memories are kept. One storage is one scope. Every change is one transaction that other processes see whole or not at all. */
import type { MemoryLink, MemoryRecord, MemoryTurn, Relation } from "./record.ts";

type Awaitable<T> = T | Promise<T>;

/** What is to be remembered. */
export interface Entry {
  readonly text: string;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly expiresAt?: number;
}

/** A record that was found, and the share of the query that it answers, from 0 to 1. */
export interface Found {
  readonly record: MemoryRecord;
  readonly score: number;
}

/** Where the records of one scope are kept. Safe for several processes; times are epoch milliseconds. */
export interface MemoryStorage {
  /** Keeps entries. The text of an active record is kept once: it is renewed instead. */
  add(entries: readonly Entry[]): Awaitable<readonly MemoryRecord[]>;
  /** Replaces an active record by a new version. @throws CavemanError `cave_memory_unknown`, `cave_memory_superseded`. */
  supersede(id: string, entry: Entry): Awaitable<MemoryRecord>;
  /** Removes a record for good. What it replaced stays replaced. False when there is none. */
  forget(id: string): Awaitable<boolean>;
  get(id: string, at: number): Awaitable<MemoryRecord | undefined>;
  /** By the handle of the text: `ccr_` and 32 hex digits. */
  byHandle(handle: string, at: number): Awaitable<MemoryRecord | undefined>;
  /** All versions, the oldest first. @throws CavemanError `cave_memory_unknown`, `cave_memory_history_cycle`. */
  history(id: string, at: number): Awaitable<readonly MemoryRecord[]>;
  /** The newest first. */
  list(options: {
    readonly limit: number;
    readonly inactive: boolean;
    readonly at: number;
  }): Awaitable<readonly MemoryRecord[]>;
  /** Active records that answer a query, the best first; none for a query that none answers. */
  search(query: string, options: { readonly limit: number; readonly at: number }): Awaitable<readonly Found[]>;
  /** @throws CavemanError `cave_memory_link_invalid`. */
  link(link: MemoryLink): Awaitable<void>;
  /** Links from or to a record. */
  links(id: string): Awaitable<readonly MemoryLink[]>;
  addTurn(turn: MemoryTurn, expiresAt?: number): Awaitable<void>;
  searchTurns(
    query: string,
    options: { readonly limit: number; readonly at: number },
  ): Awaitable<readonly (MemoryTurn & { readonly score: number })[]>;
  /** Vectors of active records, for an embedding adapter. */
  vectors(model: string): Awaitable<readonly { readonly id: string; readonly vector: Int8Array }[]>;
  setVector(id: string, model: string, vector: Int8Array): Awaitable<void>;
  /** Takes expired records out of the index. */
  sweep(at: number): Awaitable<void>;
  /** Lets go of files; the next call takes them up again. */
  close(): Awaitable<void>;
}
export type { Relation };
