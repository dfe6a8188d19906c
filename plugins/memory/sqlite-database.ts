/** The SQLite file of one scope: its tables, its transactions, its failures as coded errors. */
import type { DatabaseSync } from "node:sqlite";
import { CavemanError } from "../../kernel/index.ts";
import { preparePrivateFile } from "../private-file.ts";

/** What SQLite keeps beside a file. */
const COMPANIONS = ["-wal", "-shm", "-journal"];
/** Milliseconds to wait for another process that writes. */
const BUSY_MS = 5_000;
/** 512 MiB. */
const MOST_BYTES = 512 * 1024 * 1024;

const SCHEMA = `
CREATE TABLE IF NOT EXISTS memories (
  row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, text TEXT NOT NULL, handle TEXT NOT NULL,
  created_at INTEGER NOT NULL, expires_at INTEGER, supersedes TEXT, superseded_by TEXT, state INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS memories_by_handle ON memories (handle);
CREATE INDEX IF NOT EXISTS memories_by_successor ON memories (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX IF NOT EXISTS memories_expiring ON memories (expires_at) WHERE state = 0 AND expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS links (
  from_id TEXT NOT NULL, relation TEXT NOT NULL, to_id TEXT NOT NULL, PRIMARY KEY (from_id, relation, to_id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS links_by_target ON links (to_id);
CREATE TABLE IF NOT EXISTS turns (
  row INTEGER PRIMARY KEY, session TEXT NOT NULL, at INTEGER NOT NULL, user TEXT NOT NULL, assistant TEXT NOT NULL, expires_at INTEGER);
CREATE INDEX IF NOT EXISTS turns_expiring ON turns (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS vectors (id TEXT PRIMARY KEY, model TEXT NOT NULL, vector BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counts (name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
`;
/**
 * Words are cut by us and only looked up: no positions, no text of their own. Secure deletion takes the words of what is
 * forgotten out of the file at once; for it the index is told the words to delete.
 */
const wordTable = (name: string): string => `
CREATE VIRTUAL TABLE IF NOT EXISTS ${name} USING fts5(terms, content='', tokenize='ascii', detail=none);
INSERT INTO ${name} (${name}, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE IF NOT EXISTS ${name}_vocabulary USING fts5vocab('${name}', 'row');
INSERT OR IGNORE INTO counts VALUES ('${name}', 0);
`;
const WORD_TABLES = ["memory_words", "turn_words"] as const;
export type WordTable = (typeof WORD_TABLES)[number];
/** Also that of the terms in the index: when they are cut in another way, every index is to be made anew. */
const VERSION = 1;

const unsafe = (place: string, expected: string, received: string): CavemanError =>
  new CavemanError("cave_memory_storage_unsafe", { place, expected, received });

/** @throws CavemanError `cave_memory_storage_unavailable`, `cave_memory_storage_corrupt`, `cave_memory_storage_unsafe`. */
export function openDatabase(path: string): DatabaseSync {
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const memory = path === ":memory:";
  try {
    if (!memory)
      preparePrivateFile(
        path,
        COMPANIONS.map((end) => path + end),
        unsafe,
      );
    const database = new DatabaseSync(path, { timeout: BUSY_MS });
    try {
      patiently(() => prepare(database, memory));
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    throw storageError(error, path);
  }
}

function prepare(database: DatabaseSync, memory: boolean): void {
  const read = (name: string): unknown => Object.values(database.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  if (!memory && read("journal_mode") !== "wal") database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = FULL; PRAGMA secure_delete = ON; PRAGMA cache_size = -16000");
  database.exec(`PRAGMA max_page_count = ${Math.floor(MOST_BYTES / Number(read("page_size")))}`);
  const version = Number(read("user_version"));
  if (version === VERSION) return;
  if (version > VERSION)
    throw new CavemanError("cave_memory_storage_unavailable", {
      expected: `a file of version ${VERSION}`,
      received: `version ${version}, of a newer release`,
    });
  transaction(database, () => {
    database.exec(SCHEMA + WORD_TABLES.map(wordTable).join(""));
    database.exec(`PRAGMA user_version = ${VERSION}`);
  });
}

/** Runs work as one change: all of it, or on a failure none. */
export function transaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** Turning a new file to WAL does not wait for a process that does the same, so it is tried again here. */
function patiently(work: () => void): void {
  const until = Date.now() + BUSY_MS;
  for (;;) {
    try {
      work();
      return;
    } catch (error) {
      if (!BUSY.includes(primary(error)) || Date.now() > until) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}

/** Result codes of SQLite, without their extensions: busy, locked; corrupt, not a database. */
const BUSY = [5, 6];
const DAMAGED = [11, 26];
const primary = (error: unknown): number => {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === "number" ? code & 0xff : -1;
};

export function storageError(error: unknown, path: string): CavemanError {
  if (error instanceof CavemanError) return error;
  const code = DAMAGED.includes(primary(error)) ? "cave_memory_storage_corrupt" : "cave_memory_storage_unavailable";
  return new CavemanError(code, {
    place: path,
    received: error instanceof Error ? error.message : String(error),
    cause: error,
  });
}
