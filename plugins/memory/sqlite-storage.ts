/** Memories in one SQLite file, found by its full-text index, shared by processes. */
import { CavemanError } from "../../kernel/index.ts";
import { handleOfText, type MemoryLink, type MemoryRecord, type MemoryTurn, type Relation } from "./record.ts";
import { RELEVANCE_FLOOR, relevance } from "./relevance.ts";
import { openDatabase, storageError, transaction } from "./sqlite-database.ts";
import {
  ACTIVE,
  EXPIRED,
  FORGOTTEN,
  insert,
  type Open,
  type Row,
  recordOf,
  rowOf,
  SUPERSEDED,
  unknown,
} from "./sqlite-rows.ts";
import type { Entry, Found, MemoryStorage } from "./storage.ts";
import { type Indexed, WordIndex } from "./word-index.ts";

/** Expired records taken out of the index at a time. */
const SWEEP = 500;

const ALIVE = "(expires_at IS NULL OR expires_at > ?)";
const MEMORIES: Indexed = { words: "memory_words", rows: "memories", alive: `state = ${ACTIVE} AND ${ALIVE}` };
const TURNS: Indexed = { words: "turn_words", rows: "turns", alive: ALIVE };

interface TurnRow {
  readonly session: string;
  readonly at: number;
  readonly user: string;
  readonly assistant: string;
}

/** A storage in the file at `path`, made when it is first used; `:memory:` keeps it in this process. */
export class SqliteStorage implements MemoryStorage {
  readonly #path: string;
  #opened: Open | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  add(entries: readonly Entry[]): readonly MemoryRecord[] {
    return this.#change((open) => entries.map((entry) => recordOf(insert(open, entry), entry.at)));
  }

  supersede(id: string, entry: Entry): MemoryRecord {
    return this.#change((open) => {
      const old = rowOf(open, id) ?? unknown(id);
      if (old.state === SUPERSEDED)
        throw new CavemanError("cave_memory_superseded", { place: id, received: `replaced by ${old.superseded_by}` });
      const made = insert(open, entry);
      if (made.id === old.id) return recordOf(made, entry.at);
      open.database
        .prepare("UPDATE memories SET state = ?, superseded_by = ? WHERE id = ?")
        .run(SUPERSEDED, made.id, id);
      open.database.prepare("UPDATE memories SET supersedes = coalesce(supersedes, ?) WHERE id = ?").run(id, made.id);
      open.database.prepare("DELETE FROM vectors WHERE id = ?").run(id);
      if (old.state === ACTIVE) open.memories.remove(old.row, old.text);
      return recordOf(rowOf(open, made.id) ?? unknown(made.id), entry.at);
    });
  }

  forget(id: string): boolean {
    const gone = this.#change((open) => {
      const row = rowOf(open, id);
      if (!row) return false;
      const { database } = open;
      database
        .prepare("UPDATE memories SET superseded_by = ? WHERE superseded_by = ?")
        .run(row.superseded_by ?? FORGOTTEN, id);
      database
        .prepare("UPDATE memories SET supersedes = ? WHERE id = ? AND supersedes = ?")
        .run(row.supersedes, row.superseded_by, id);
      database.prepare("DELETE FROM links WHERE from_id = ? OR to_id = ?").run(id, id);
      database.prepare("DELETE FROM vectors WHERE id = ?").run(id);
      if (row.state === ACTIVE) open.memories.remove(row.row, row.text);
      database.prepare("DELETE FROM memories WHERE id = ?").run(id);
      return true;
    });
    // What was forgotten leaves the write-ahead log too; another process that reads at this moment only delays it.
    if (gone) this.#read(({ database }) => database.exec("PRAGMA wal_checkpoint(TRUNCATE)"));
    return gone;
  }

  get(id: string, at: number): MemoryRecord | undefined {
    return this.#read((open) => {
      const row = rowOf(open, id);
      return row && recordOf(row, at);
    });
  }

  byHandle(handle: string, at: number): MemoryRecord | undefined {
    return this.#read(({ database }) => {
      const rows = database
        .prepare("SELECT * FROM memories WHERE handle = ? ORDER BY state, row DESC")
        .all(handle) as unknown as Row[];
      const row = rows.find(({ text }) => handleOfText(text) === handle);
      return row && recordOf(row, at);
    });
  }

  history(id: string, at: number): readonly MemoryRecord[] {
    return this.#read((open) => {
      const seen = new Set([id]);
      const follow = (from: Row, step: (row: Row) => string | null): Row[] => {
        const found: Row[] = [];
        for (let next = step(from); next !== null && next !== FORGOTTEN; ) {
          if (seen.has(next))
            throw new CavemanError("cave_memory_history_cycle", { place: id, received: [...seen].join(" → ") });
          seen.add(next);
          const row = rowOf(open, next);
          if (!row) break;
          found.push(row);
          next = step(row);
        }
        return found;
      };
      const row = rowOf(open, id) ?? unknown(id);
      const before = follow(row, ({ supersedes }) => supersedes).reverse();
      const after = follow(row, ({ superseded_by }) => superseded_by);
      return [...before, row, ...after].map((each) => recordOf(each, at));
    });
  }

  list({ limit, inactive, at }: { limit: number; inactive: boolean; at: number }): readonly MemoryRecord[] {
    return this.#read(({ database }) => {
      const active = "state = 0 AND (expires_at IS NULL OR expires_at > ?)";
      const rows = database
        .prepare(`SELECT * FROM memories WHERE ${inactive ? "? IS NOT NULL" : active} ORDER BY row DESC LIMIT ?`)
        .all(at, limit);
      return (rows as unknown as Row[]).map((row) => recordOf(row, at));
    });
  }

  search(query: string, { limit, at }: { limit: number; at: number }): readonly Found[] {
    return this.#read(({ database, memories }) => {
      const { terms, rows } = memories.candidates(query, at);
      const one = database.prepare("SELECT * FROM memories WHERE row = ?");
      const read = rows.map((row) => one.get(row) as unknown as Row);
      return best(read, limit, ({ text }) => relevance(terms, text)).map(({ row, score }) => ({
        record: recordOf(row, at),
        score,
      }));
    });
  }

  link({ from, relation, to }: MemoryLink): void {
    this.#change((open) => {
      if (from === to || !rowOf(open, from) || !rowOf(open, to))
        throw new CavemanError("cave_memory_link_invalid", {
          expected: "two memories of this scope",
          received: `${from}, ${to}`,
        });
      open.database.prepare("INSERT OR IGNORE INTO links VALUES (?, ?, ?)").run(from, relation, to);
    });
  }

  links(id: string): readonly MemoryLink[] {
    return this.#read(({ database }) =>
      database
        .prepare(
          "SELECT from_id, relation, to_id FROM links WHERE from_id = ? UNION SELECT from_id, relation, to_id FROM links WHERE to_id = ?",
        )
        .all(id, id)
        .map((row) => ({
          from: String(row.from_id),
          relation: String(row.relation) as Relation,
          to: String(row.to_id),
        })),
    );
  }

  addTurn({ sessionId, at, user, assistant }: MemoryTurn, expiresAt?: number): void {
    this.#change(({ database, turns }) => {
      const { lastInsertRowid } = database
        .prepare("INSERT INTO turns (session, at, user, assistant, expires_at) VALUES (?, ?, ?, ?, ?)")
        .run(sessionId, at, user, assistant, expiresAt ?? null);
      turns.add(Number(lastInsertRowid), `${user}\n${assistant}`);
    });
  }

  searchTurns(
    query: string,
    { limit, at }: { limit: number; at: number },
  ): readonly (MemoryTurn & { score: number })[] {
    return this.#read(({ database, turns }) => {
      const { terms, rows } = turns.candidates(query, at);
      const one = database.prepare("SELECT session, at, user, assistant FROM turns WHERE row = ?");
      const read = rows.map((row) => one.get(row) as unknown as TurnRow);
      return best(read, limit, ({ user, assistant }) => relevance(terms, `${user}\n${assistant}`)).map(
        ({ row: { session, ...turn }, score }) => ({ sessionId: session, ...turn, score }),
      );
    });
  }

  vectors(model: string): readonly { id: string; vector: Int8Array }[] {
    return this.#read(({ database }) =>
      database
        .prepare("SELECT id, vector FROM vectors WHERE model = ?")
        .all(model)
        .map((row) => {
          const bytes = row.vector as Uint8Array;
          return { id: String(row.id), vector: new Int8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
        }),
    );
  }

  setVector(id: string, model: string, vector: Int8Array): void {
    this.#change((open) => {
      // It may have been forgotten or replaced while it was made.
      if (rowOf(open, id)?.state !== ACTIVE) return;
      const bytes = new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
      open.database.prepare("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)").run(id, model, bytes);
    });
  }

  sweep(at: number): void {
    const due = this.#read(({ database }) =>
      database
        .prepare(
          "SELECT 1 FROM memories WHERE state = 0 AND expires_at <= ? UNION ALL SELECT 1 FROM turns WHERE expires_at <= ? LIMIT 1",
        )
        .get(at, at),
    );
    if (!due) return;
    this.#change(({ database, memories, turns }) => {
      const expired = database
        .prepare("SELECT row, text FROM memories WHERE state = 0 AND expires_at <= ? LIMIT ?")
        .all(at, SWEEP);
      for (const { row, text } of expired) {
        memories.remove(Number(row), String(text));
        database.prepare("UPDATE memories SET state = ? WHERE row = ?").run(EXPIRED, row ?? null);
      }
      for (const { row, user, assistant } of database
        .prepare("SELECT row, user, assistant FROM turns WHERE expires_at <= ? LIMIT ?")
        .all(at, SWEEP)) {
        turns.remove(Number(row), `${user}\n${assistant}`);
        database.prepare("DELETE FROM turns WHERE row = ?").run(row ?? null);
      }
    });
  }

  close(): void {
    this.#opened?.database.close();
    this.#opened = undefined;
  }

  #open(): Open {
    if (!this.#opened) {
      const database = openDatabase(this.#path);
      this.#opened = {
        database,
        memories: new WordIndex(database, MEMORIES),
        turns: new WordIndex(database, TURNS),
      };
    }
    return this.#opened;
  }
  #read<T>(work: (open: Open) => T): T {
    try {
      return work(this.#open());
    } catch (error) {
      throw storageError(error, this.#path);
    }
  }
  #change<T>(work: (open: Open) => T): T {
    return this.#read((open) => transaction(open.database, () => work(open)));
  }
}

/** The most relevant above the floor; of equals the order of the index stands. */
function best<T>(rows: readonly T[], limit: number, scored: (row: T) => number): { row: T; score: number }[] {
  return rows
    .map((row) => ({ row, score: scored(row) }))
    .filter(({ score }) => score >= RELEVANCE_FLOOR)
    .sort((a, b) => b.score - a.score)
    .slice(0, limit);
}
