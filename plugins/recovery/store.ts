/**
 * The store of originals: content-addressed, shared by processes, opened when it is first needed. It never evicts: when
 * it is full an original is not taken, and whoever asked must then leave nothing out.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { CavemanError } from "../../kernel/index.ts";
import { isBusy, openForReading, openForWriting, storeError } from "./database.ts";
import { digestOf, type Encoding, HANDLE, handleOf, type Original, originalOf } from "./original.ts";

/** 512 MiB of payload and metadata. */
export const DEFAULT_MAX_BYTES = 512 * 1024 * 1024;

/** Milliseconds to wait for another process that writes. */
const BUSY_MS = 5_000;

export interface StoreOptions {
  readonly path: string;
  readonly maxBytes?: number;
  readonly busyMs?: number;
}
export interface About {
  readonly contentType: string;
  /** What will show a smaller view of it. */
  readonly by: string;
  readonly tokensBefore?: number;
  readonly tokensAfter?: number;
}
/** An original that was taken, or why it was not. */
export type Put = { readonly handle: string } | { readonly problem: CavemanError };

interface Row {
  readonly original: Uint8Array;
  readonly metadata: string;
  readonly content_type: string;
}
export interface Stored extends Original {
  readonly contentType: string;
}

export class OriginalStore {
  readonly path: string;
  readonly #maxBytes: number;
  readonly #busyMs: number;
  #writing: DatabaseSync | undefined;
  /** The file that is written: SQLite goes on writing to one that was moved or removed, where nobody would find it. */
  #file: string | undefined;
  /** Whether the last write waited in vain: then the next does not wait, or a lock would hold up every result of a run. */
  #waited = false;

  constructor({ path, maxBytes = DEFAULT_MAX_BYTES, busyMs = BUSY_MS }: StoreOptions) {
    this.path = path;
    this.#maxBytes = maxBytes;
    this.#busyMs = busyMs;
  }

  /** Stores an original; when this returns a handle it is on the disk. Stored once, however often it comes. Never throws. */
  put(content: string | Uint8Array, about: About): Put {
    const original = originalOf(content);
    const digest = digestOf(original);
    const handle = handleOf(digest);
    try {
      const database = this.#open();
      const metadata = JSON.stringify({ sha256: digest, encoding: original.encoding });
      const { changes } = database
        .prepare(
          "INSERT INTO recoveries (handle, created_at, content_type, compressor, tokens_before, tokens_after, original, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (handle) DO NOTHING",
        )
        .run(
          handle,
          new Date().toISOString(),
          about.contentType,
          about.by,
          about.tokensBefore ?? 0,
          about.tokensAfter ?? 0,
          original.bytes,
          metadata,
        );
      if (Number(changes) === 0) this.#confirm(database, handle, original, metadata);
      if (this.#waited) this.#wait(this.#busyMs);
      return { handle };
    } catch (error) {
      if (isBusy(error)) this.#wait(0);
      return { problem: storeError(error, this.path) };
    }
  }

  #open(): DatabaseSync {
    if (this.#writing === undefined) {
      this.#writing = openForWriting(this.path, this.#maxBytes, this.#waited ? 0 : this.#busyMs);
      this.#file = fileAt(this.path);
    } else if (fileAt(this.path) !== this.#file)
      // What was taken before can still be read through the open file, so it stays open.
      throw new CavemanError("cave_recovery_store_unavailable", {
        place: this.path,
        expected: "the file that was opened",
        received: "another one, or none",
      });
    return this.#writing;
  }

  #wait(busyMs: number): void {
    this.#waited = busyMs === 0;
    this.#writing?.exec(`PRAGMA busy_timeout = ${busyMs}`);
  }

  /**
   * The original of a handle, exactly.
   * @throws CavemanError `cave_unknown_handle`, `cave_recovery_corrupt`, `cave_recovery_store_unavailable`, `cave_recovery_store_unsafe`.
   */
  get(handle: string): Stored {
    if (!HANDLE.test(handle)) throw unknown(handle, this.path);
    try {
      if (this.#writing) return this.#read(this.#writing, handle);
      const database = openForReading(this.path, this.#busyMs);
      if (database === undefined) throw unknown(handle, this.path);
      try {
        return this.#read(database, handle);
      } finally {
        database.close();
      }
    } catch (error) {
      throw storeError(error, this.path);
    }
  }

  /** Closes the file; it is opened again when it is needed again. */
  close(): void {
    this.#writing?.close();
    this.#writing = undefined;
  }

  #read(database: DatabaseSync, handle: string): Stored {
    const row = rowOf(database, handle);
    if (row === undefined) throw unknown(handle, this.path);
    const original = intact(row, handle);
    if (original === undefined)
      throw new CavemanError("cave_recovery_corrupt", {
        place: `${handle} in ${this.path}`,
        expected: "bytes of that digest",
        received: `${row.original.length} other bytes`,
      });
    return { ...original, contentType: row.content_type };
  }

  /** What is there already must be the same bytes. A damaged row is replaced; another original of the same handle is not. */
  #confirm(database: DatabaseSync, handle: string, original: Original, metadata: string): void {
    const row = rowOf(database, handle);
    const there = row && intact(row, handle);
    if (there === undefined) {
      database
        .prepare("UPDATE recoveries SET original = ?, metadata = ? WHERE handle = ?")
        .run(original.bytes, metadata, handle);
      return;
    }
    if (Buffer.compare(there.bytes, original.bytes) !== 0)
      throw new CavemanError("cave_recovery_store_unavailable", {
        place: `${handle} in ${this.path}`,
        expected: "the same original",
        received: "another one with the same handle",
      });
  }
}

function fileAt(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found && `${found.dev} ${found.ino}`;
}

function rowOf(database: DatabaseSync, handle: string): Row | undefined {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'recoveries'").get();
  if (table === undefined) return undefined;
  return database.prepare("SELECT original, metadata, content_type FROM recoveries WHERE handle = ?").get(handle) as
    | Row
    | undefined;
}

/** The original of a row when its digest is the one its handle and its metadata name. */
function intact(row: Row, handle: string): Original | undefined {
  const said = metadataOf(row.metadata);
  if (said === undefined || !(row.original instanceof Uint8Array)) return undefined;
  const original = { bytes: row.original, encoding: said.encoding };
  const digest = digestOf(original);
  return handleOf(digest) === handle && (said.sha256 === undefined || said.sha256 === digest) ? original : undefined;
}

/** Rows of other tools name neither digest nor encoding: their originals are bytes, and the handle is the check. */
function metadataOf(text: unknown): { readonly sha256?: unknown; readonly encoding: Encoding } | undefined {
  try {
    const { sha256, encoding = "bytes" } = JSON.parse(typeof text === "string" && text !== "" ? text : "{}") as {
      sha256?: unknown;
      encoding?: unknown;
    };
    if (encoding !== "bytes" && encoding !== "utf-8" && encoding !== "utf-16le") return undefined;
    return { ...(sha256 === undefined ? {} : { sha256 }), encoding };
  } catch {
    return undefined;
  }
}

const unknown = (handle: string, path: string): CavemanError =>
  new CavemanError("cave_unknown_handle", {
    place: path,
    received: HANDLE.test(handle) ? handle : `${JSON.stringify(handle.slice(0, 80))}, which is no handle`,
  });
