/**
 * The word index of one table of texts. A query is asked by its rarest terms alone: what a common word adds to a list of
 * candidates costs more than all else, and what it tells is counted afterwards, over the few candidates.
 */
import type { DatabaseSync } from "node:sqlite";
import { distinct, type Weighted, weightOf } from "./relevance.ts";
import type { WordTable } from "./sqlite-database.ts";
import { type Term, termsOf } from "./terms.ts";

/** Most rows that the terms of one query may bring up together: some milliseconds. */
const MOST_ROWS = 3_000;
/** Candidates that are read and scored. */
export const CANDIDATES = 24;
/** More terms make a query no clearer. */
const MOST_TERMS = 32;
/** Stands before the beginning of a word: a sign that is part of no term. */
const BEGINNING = "\u00b7";

/** How candidates are asked for: a full-text expression and an order. */
export interface Plan {
  readonly terms: readonly Weighted[];
  /** Tried one after the other until one finds something. */
  readonly attempts: readonly { readonly match: string; readonly order: "rank" | "newest" }[];
}

export class WordIndex {
  readonly #database: DatabaseSync;
  readonly #table: WordTable;

  constructor(database: DatabaseSync, table: WordTable) {
    this.#database = database;
    this.#table = table;
  }

  add(row: number, text: string): void {
    const words = termsOf(text).flatMap((term) => [term.text, ...(term.stem ? [BEGINNING + term.stem] : [])]);
    this.#database.prepare(`INSERT INTO ${this.#table} (rowid, terms) VALUES (?, ?)`).run(row, words.join(" "));
    this.#count(1);
  }
  remove(row: number): void {
    const { changes } = this.#database.prepare(`DELETE FROM ${this.#table} WHERE rowid = ?`).run(row);
    if (Number(changes) > 0) this.#count(-1);
  }
  #count(by: number): void {
    this.#database.prepare("UPDATE counts SET n = n + ? WHERE name = ?").run(by, this.#table);
  }

  /** Undefined when nothing that the query says is known. */
  plan(query: string): Plan | undefined {
    const terms = distinct(termsOf(query)).slice(0, MOST_TERMS);
    const { n: records = 0 } = (this.#database.prepare("SELECT n FROM counts WHERE name = ?").get(this.#table) ??
      {}) as { n?: number };
    const holding = this.#database.prepare(`SELECT doc FROM ${this.#table}_vocabulary WHERE term = ?`);
    const rows = (word: string): number => Number((holding.get(word) as { doc?: number } | undefined)?.doc ?? 0);
    const known = terms.map((term) => {
      const exact = rows(term.text);
      return { term, exact, forms: term.stem ? rows(BEGINNING + term.stem) : 0 };
    });
    const weighted = known.map(({ term, exact, forms }) => ({ ...term, weight: weightOf(exact || forms, records) }));
    const attempts = attemptsOf(known);
    return attempts.length > 0 ? { terms: weighted, attempts } : undefined;
  }
}

interface Known {
  readonly term: Term;
  readonly exact: number;
  readonly forms: number;
}

function attemptsOf(known: readonly Known[]): Plan["attempts"] {
  const words: string[] = [];
  let left = MOST_ROWS;
  const take = (word: string, rows: number): boolean => {
    if (rows === 0 || rows > left) return false;
    left -= rows;
    words.push(quoted(word));
    return true;
  };
  const rarest = [...known].sort((a, b) => Math.max(a.exact, a.forms) - Math.max(b.exact, b.forms));
  // The word itself counts once more than its forms do, so records that hold it come first.
  for (const { term, exact, forms } of rarest) {
    if (term.stem) take(BEGINNING + term.stem, forms);
    take(term.text, exact);
  }
  if (words.length > 0) return [{ match: words.join(" OR "), order: "rank" }];
  // Common words alone: records that hold several of them at once, the newest first.
  const common = known
    .filter(({ exact }) => exact > 0)
    .sort((a, b) => a.exact - b.exact)
    .map(({ term }) => quoted(term.text));
  return [3, 2, 1]
    .filter((size) => size <= common.length)
    .map((size) => ({ match: common.slice(0, size).join(" AND "), order: "newest" as const }));
}

const quoted = (word: string): string => `"${word.replaceAll('"', '""')}"`;
