/** The SQLite file of originals: opened safely, shared by processes, never larger than its budget. */
import { existsSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { CavemanError } from "../../kernel/index.ts";
import { checkPrivateFile, preparePrivateFile, type Unsafe } from "../private-file.ts";

/** Result codes of SQLite, without their extensions. */
const BUSY = 5;
const LOCKED = 6;
const CORRUPT = 11;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

const primary = (error: unknown): number | undefined => {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : undefined;
};
export const isBusy = (error: unknown): boolean => primary(error) === BUSY || primary(error) === LOCKED;

/** A failure of the database as a coded error. */
export function storeError(error: unknown, path: string): CavemanError {
  if (error instanceof CavemanError) return error;
  const code = primary(error);
  const damaged = code === CORRUPT || code === NOT_A_DATABASE;
  return new CavemanError(damaged ? "cave_recovery_corrupt" : "cave_recovery_store_unavailable", {
    place: path,
    received: error instanceof Error ? error.message : String(error),
    cause: error,
  });
}

const unsafe: Unsafe = (place, expected, received) =>
  new CavemanError("cave_recovery_store_unsafe", { place, expected, received });
const companions = (path: string): string[] => [`${path}-wal`, `${path}-shm`, `${path}-journal`];

/** Opens the store for reading and writing, making it when it is missing. @throws CavemanError. */
export function openForWriting(path: string, maxBytes: number, busyMs: number): DatabaseSync {
  try {
    preparePrivateFile(path, companions(path), unsafe);
    const database = connect(path, false, busyMs);
    try {
      patiently(busyMs, () => walMode(database));
      database.exec("PRAGMA synchronous = FULL");
      const { page_size: pageSize } = database.prepare("PRAGMA page_size").get() as { page_size: number };
      database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.floor(maxBytes / pageSize))}`);
      patiently(busyMs, () => database.exec(SCHEMA));
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw storeError(error, path);
  }
}

/** Opens the store for reading alone; undefined when there is none. @throws CavemanError. */
export function openForReading(path: string, busyMs: number): DatabaseSync | undefined {
  if (!existsSync(path)) return undefined;
  try {
    checkPrivateFile(path, companions(path), unsafe);
    return readable(path, busyMs);
  } catch (error) {
    throw storeError(error, path);
  }
}

/** On a medium that cannot be written SQLite cannot make its shared memory; a file at rest is then read as it stands. */
function readable(path: string, busyMs: number): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = connect(path, true, busyMs);
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
    return database;
  } catch (error) {
    database?.close();
    const pending = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (primary(error) !== CANNOT_OPEN || pending > 0) throw error;
    const url = pathToFileURL(path);
    url.searchParams.set("immutable", "1");
    return connect(url, true, busyMs);
  }
}

function connect(path: string | URL, readOnly: boolean, timeout: number): DatabaseSync {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  return new DatabaseSync(path, { timeout, readOnly });
}

/** The columns of the store that the other tools of this name write, so that one file serves them all. */
const SCHEMA = `CREATE TABLE IF NOT EXISTS recoveries (
  handle TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  content_type TEXT NOT NULL DEFAULT '',
  compressor TEXT NOT NULL DEFAULT '',
  tokens_before INTEGER NOT NULL DEFAULT 0,
  tokens_after INTEGER NOT NULL DEFAULT 0,
  original BLOB NOT NULL,
  metadata TEXT NOT NULL DEFAULT '{}'
)`;

function walMode(database: DatabaseSync): void {
  const mode = database.prepare("PRAGMA journal_mode").get() as { journal_mode: string };
  if (mode.journal_mode !== "wal") database.exec("PRAGMA journal_mode = WAL");
}

/** Turning a new file to WAL does not wait for a process that does the same, so it is tried again here. */
function patiently(busyMs: number, work: () => void): void {
  const until = Date.now() + busyMs;
  for (;;) {
    try {
      work();
      return;
    } catch (error) {
      if (!isBusy(error) || Date.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
