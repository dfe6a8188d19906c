/**
 * The word index of one table of texts. A query is asked by its rarest terms alone: what a common word adds to a list of
 * candidates costs more than all else, and what it tells is counted afterwards, over the few candidates.
 */
import type { DatabaseSync } from "node:sqlite";
import { distinct, RELEVANCE_FLOOR, type Weighted, weightOf } from "./relevance.ts";
import type { WordTable } from "./sqlite-database.ts";
import { FORM, type Term, termsOf } from "./terms.ts";

/** Most rows that the terms of one query may bring up together: a few milliseconds. */
const MOST_ROWS = 1_500;
/** Counting the rows of a word takes as long as there are many, so counts above this are remembered for a while. */
const MANY = 200;
const MOST_REMEMBERED = 4_096;
/** Candidates that are read and scored. */
const CANDIDATES = 24;
/** More terms make a query no clearer. */
const MOST_TERMS = 32;
/** Stands before the beginning of a word: a sign that is part of no term. */
const BEGINNING = "\u00b7";

/** What an index stands for: its own table, the table whose rows it holds, and which of those count, given the time. */
export interface Indexed {
  readonly words: WordTable;
  readonly rows: "memories" | "turns";
  readonly alive: string;
}

interface Candidates {
  readonly terms: readonly Weighted[];
  /** Rows, those that hold most of what tells first, the newer of equals before the older. */
  readonly rows: readonly number[];
}

interface Known {
  readonly term: Term;
  readonly weight: number;
  /** Rows that hold the word, and rows that hold a word with its beginning. */
  readonly exact: number;
  readonly forms: number;
}
/** One word to look for, and what a row gains that holds it. */
interface Arm {
  readonly word: string;
  readonly gain: number;
  readonly rows: number;
}

export class WordIndex {
  readonly #database: DatabaseSync;
  readonly #of: Indexed;
  /** Rows of common words, and the size of the table when they were counted. */
  readonly #common = new Map<string, { readonly rows: number; readonly of: number }>();

  constructor(database: DatabaseSync, of: Indexed) {
    this.#database = database;
    this.#of = of;
  }

  add(row: number, text: string): void {
    this.#database.prepare(`INSERT INTO ${this.#of.words} (rowid, terms) VALUES (?, ?)`).run(row, wordsOf(text));
    this.#count(1);
  }
  /** Takes a row out that was added with this text. */
  remove(row: number, text: string): void {
    const { words } = this.#of;
    this.#database
      .prepare(`INSERT INTO ${words} (${words}, rowid, terms) VALUES ('delete', ?, ?)`)
      .run(row, wordsOf(text));
    this.#count(-1);
  }
  #count(by: number): void {
    this.#database.prepare("UPDATE counts SET n = n + ? WHERE name = ?").run(by, this.#of.words);
  }

  /** The rows that may answer a query at a time in epoch milliseconds. */
  candidates(query: string, at: number): Candidates {
    const known = this.#known(distinct(termsOf(query)).slice(0, MOST_TERMS));
    const terms = known.map(({ term, weight }) => ({ ...term, weight }));
    const { arms, left } = armsOf(known);
    const rows = arms.length > 0 ? this.#byGain(arms, at) : [];
    // Words that were too common to ask for one by one may answer together, when they are enough of the query.
    const share = weightIn(left) / weightIn(known);
    return { terms, rows: share >= RELEVANCE_FLOOR ? [...new Set([...rows, ...this.#together(left, at)])] : rows };
  }

  #known(terms: readonly Term[]): Known[] {
    const size = Number(this.#database.prepare("SELECT n FROM counts WHERE name = ?").get(this.#of.words)?.n ?? 0);
    const counting = this.#database.prepare(`SELECT doc FROM ${this.#of.words}_vocabulary WHERE term = ?`);
    const rows = (word: string): number => {
      const known = this.#common.get(word);
      if (known && Math.abs(size - known.of) * 20 <= known.of) return known.rows;
      const counted = Number(counting.get(word)?.doc ?? 0);
      if (counted >= MANY) {
        if (this.#common.size >= MOST_REMEMBERED) this.#common.clear();
        this.#common.set(word, { rows: counted, of: size });
      }
      return counted;
    };
    return terms.map((term) => {
      const exact = rows(term.text);
      const forms = term.stem ? rows(BEGINNING + term.stem) : 0;
      return { term, exact, forms, weight: weightOf(exact || forms, size) };
    });
  }

  #byGain(arms: readonly Arm[], at: number): number[] {
    const { words, rows, alive } = this.#of;
    const each = `SELECT rowid AS row, ? AS gain FROM ${words} WHERE ${words} MATCH ?`;
    const gains = `SELECT row, sum(gain) AS gain FROM (${arms.map(() => each).join(" UNION ALL ")}) GROUP BY row`;
    const values = arms.flatMap(({ word, gain }) => [gain, quoted(word)]);
    // To see whether a row still counts is to read it, so that is asked of the best alone, and of all when those have expired.
    for (const most of [CANDIDATES * 4, MOST_ROWS]) {
      const found = this.#rows(
        `SELECT row FROM (${gains} ORDER BY gain DESC, row DESC LIMIT ${most}) JOIN ${rows} USING (row) WHERE ${alive} ORDER BY gain DESC, row DESC LIMIT ${CANDIDATES}`,
        ...values,
        at,
      );
      if (found.length === CANDIDATES || arms.reduce((sum, arm) => sum + arm.rows, 0) <= most) return found;
    }
    return [];
  }

  /** Rows that hold several common words at once, the newest first. */
  #together(known: readonly Known[], at: number): number[] {
    const { words, rows, alive } = this.#of;
    const common = known.filter(({ exact }) => exact > 0).sort((a, b) => a.exact - b.exact);
    for (let size = Math.min(3, common.length); size > 0; size--) {
      const match = common.slice(0, size).map(({ term }) => quoted(term.text));
      const found = this.#rows(
        `SELECT row FROM ${words} JOIN ${rows} ON row = ${words}.rowid WHERE ${words} MATCH ? AND ${alive} ORDER BY ${words}.rowid DESC LIMIT ${CANDIDATES}`,
        match.join(" AND "),
        at,
      );
      if (found.length > 0) return found;
    }
    return [];
  }

  #rows(sql: string, ...values: (string | number)[]): number[] {
    return this.#database
      .prepare(sql)
      .all(...values)
      .map(({ row }) => Number(row));
  }
}

/**
 * The rarest words, as many as may bring up so many rows, then the forms of the rarest. A form of a word gains less than
 * the word itself.
 */
function armsOf(known: readonly Known[]): { readonly arms: readonly Arm[]; readonly left: readonly Known[] } {
  let room = MOST_ROWS;
  const fits = (rows: number): boolean => {
    if (rows === 0 || rows > room) return false;
    room -= rows;
    return true;
  };
  const exact = new Set([...known].sort((a, b) => a.exact - b.exact).filter((each) => fits(each.exact)));
  const forms = new Set([...known].sort((a, b) => a.forms - b.forms).filter((each) => fits(each.forms)));
  const arms = known.flatMap((each) => {
    const { term, weight } = each;
    const formed = term.stem !== undefined && forms.has(each);
    return [
      ...(formed ? [{ word: BEGINNING + term.stem, gain: weight * FORM, rows: each.forms }] : []),
      ...(exact.has(each) ? [{ word: term.text, gain: formed ? weight * (1 - FORM) : weight, rows: each.exact }] : []),
    ];
  });
  return { arms, left: known.filter((each) => each.exact > 0 && !exact.has(each) && !forms.has(each)) };
}

const weightIn = (known: readonly Known[]): number => known.reduce((sum, { weight }) => sum + weight, 0);

const wordsOf = (text: string): string =>
  termsOf(text)
    .flatMap((term) => [term.text, ...(term.stem ? [BEGINNING + term.stem] : [])])
    .join(" ");
const quoted = (word: string): string => `"${word.replaceAll('"', '""')}"`;
