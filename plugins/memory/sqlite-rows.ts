/** Rows of memories: how one is kept, named and read. */
import type { DatabaseSync } from "node:sqlite";
import { CavemanError, sha256 } from "../../kernel/index.ts";
import { handleOfText, type MemoryRecord } from "./record.ts";
import type { Entry } from "./storage.ts";
import type { WordIndex } from "./word-index.ts";

export const ACTIVE = 0;
export const SUPERSEDED = 1;
export const EXPIRED = 2;
/** Stands for a version that replaced another and was forgotten: what it replaced stays replaced. */
export const FORGOTTEN = "forgotten";

export interface Row {
  readonly row: number;
  readonly id: string;
  readonly text: string;
  readonly created_at: number;
  readonly expires_at: number | null;
  readonly supersedes: string | null;
  readonly superseded_by: string | null;
  readonly state: number;
}
export interface Open {
  readonly database: DatabaseSync;
  readonly memories: WordIndex;
  readonly turns: WordIndex;
}

/** Keeps an entry, or renews the record that holds its text already. */
export function insert({ database, memories }: Open, { text, at, expiresAt }: Entry): Row {
  const handle = handleOfText(text);
  const same = database
    .prepare("SELECT * FROM memories WHERE handle = ? AND state <> ?")
    .all(handle, SUPERSEDED) as unknown as Row[];
  const there = same.find((row) => row.text === text);
  if (there) {
    const created =
      there.state === ACTIVE && (there.expires_at ?? Number.POSITIVE_INFINITY) > at ? there.created_at : at;
    if (there.state === EXPIRED) memories.add(there.row, text);
    database
      .prepare("UPDATE memories SET state = ?, created_at = ?, expires_at = ? WHERE row = ?")
      .run(ACTIVE, created, expiresAt ?? null, there.row);
    return { ...there, state: ACTIVE, created_at: created, expires_at: expiresAt ?? null };
  }
  const id = freeId(database, text);
  const { lastInsertRowid } = database
    .prepare("INSERT INTO memories (id, text, handle, created_at, expires_at, state) VALUES (?, ?, ?, ?, ?, ?)")
    .run(id, text, handle, at, expiresAt ?? null, ACTIVE);
  const row = Number(lastInsertRowid);
  memories.add(row, text);
  return {
    row,
    id,
    text,
    created_at: at,
    expires_at: expiresAt ?? null,
    supersedes: null,
    superseded_by: null,
    state: ACTIVE,
  };
}

/** An id names a text; the same text said again after it was replaced is another version of it. */
function freeId(database: DatabaseSync, text: string): string {
  const taken = database.prepare("SELECT 1 FROM memories WHERE id = ?");
  for (let version = 0; ; version++) {
    const id = `mem_${sha256(version === 0 ? text : `${text}\0${version}`).slice(0, 16)}`;
    if (taken.get(id) === undefined) return id;
  }
}

export const rowOf = ({ database }: Open, id: string): Row | undefined =>
  database.prepare("SELECT * FROM memories WHERE id = ?").get(id) as Row | undefined;

export function unknown(id: string): never {
  throw new CavemanError("cave_memory_unknown", { received: id.slice(0, 80) });
}

export function recordOf(row: Row, at: number): MemoryRecord {
  const expired = row.state === EXPIRED || (row.expires_at !== null && row.expires_at <= at);
  return {
    id: row.id,
    text: row.text,
    createdAt: row.created_at,
    ...(row.expires_at === null ? {} : { expiresAt: row.expires_at }),
    ...(row.supersedes === null ? {} : { supersedes: row.supersedes }),
    ...(row.superseded_by === null ? {} : { supersededBy: row.superseded_by }),
    state: row.state === SUPERSEDED ? "superseded" : expired ? "expired" : "active",
  };
}
