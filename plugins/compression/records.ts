/**
 * Which of many records with common fields stay. Fields are read by what they hold: few values (every value stays with an
 * example), numbers (outliers and level changes stay), names and identifiers (a stated range stands for them), and prose
 * (a record goes only when a kept one stands for it).
 */
import { Alarms, isAlarming } from "./alarm.ts";
import { asNumber, Invariants } from "./invariants.ts";
import { keepNonRedundant } from "./redundancy.ts";
import { keepRelevant } from "./relevant.ts";
import { outliers, rareSigns, seams } from "./statistics.ts";
import { Vocabulary } from "./vocabulary.ts";

/** Records as columns of text. */
export interface Records {
  readonly count: number;
  readonly columns: readonly Column[];
  /** The whole record as text, for a query. */
  text(index: number): string;
}
export interface Column {
  readonly name: string;
  /** Undefined where a record lacks the field. */
  at(index: number): string | undefined;
}

export interface Selection {
  readonly kept: Uint8Array;
  /** What is true of all that is left out. */
  summary(budget: number): string;
}

export interface SelectOptions {
  readonly head?: number;
  readonly tail?: number;
  readonly query?: string;
  /** Most records kept for a query. Default 50. */
  readonly queryLimit?: number;
}

/** Different values up to which a field is a category, if they repeat. */
const MAX_CATEGORIES = 16;
/** Categories up to which each has an example. */
const MAX_EXAMPLES = 6;
/** Records of one shape, or of one rare value, that all stay when there are no more. */
const RARE = 2;
/** How much rarer than the average a value is that is rare. */
const RARELY = 4;
/** Words from which a value is prose, and characters for scripts without spaces. */
const PROSE_WORDS = 6;
const PROSE_CHARS = 64;
const SAMPLE = 64;
const FAULT_NAME = /(?:^|[._])(?:errors?|exceptions?|fault|failure|stack|stderr|traceback)$/i;
const EMPTY = /^(?:|null|none|nil|false|0|""|\[\]|\{\}|-|n\/a|ok)$/i;

/** Chooses the records that stay, or undefined when they are a document. */
export function select(records: Records, options: SelectOptions = {}): Selection | undefined {
  const { head = 3, tail = 2, query = "", queryLimit = 50 } = options;
  const { count, columns } = records;
  const kept = new Uint8Array(count);
  for (let i = 0; i < Math.min(head, count); i++) kept[i] = 1;
  for (let i = Math.max(0, count - tail); i < count; i++) kept[i] = 1;
  const prose: Column[] = [];
  // A list of single values has nothing but them: no range stands for names there.
  const single = columns.length === 1;
  for (const column of columns) if (!keepOfColumn(column, count, kept, single)) prose.push(column);
  keepShapes(records, kept);
  keepRelevant(count, records.text, query, kept, queryLimit);
  if (prose.length > 0) {
    const words = (index: number): string | undefined => {
      const parts = prose.flatMap((column) => column.at(index) ?? []);
      return parts.length > 0 ? parts.join(" ") : undefined;
    };
    if (keepNonRedundant(words, kept) === undefined) return undefined;
  }
  return { kept, summary: (budget) => summarise(records, prose, kept, budget) };
}

/** Keeps what stands out in a column. @returns false for prose, which is compared as text. */
function keepOfColumn(column: Column, count: number, kept: Uint8Array, single: boolean): boolean {
  const numbers = new Float64Array(count);
  const examples = new Map<string, number[]>();
  const alarms = new Alarms();
  const vocabulary = new Vocabulary();
  const fault = FAULT_NAME.test(column.name);
  let [present, numeric, sampled, wordy] = [0, 0, 0, 0];
  for (let i = 0; i < count; i++) {
    const value = column.at(i);
    const number = value === undefined ? Number.NaN : asNumber(value);
    numbers[i] = number;
    if (value === undefined) continue;
    present++;
    if (!Number.isNaN(number)) {
      numeric++;
      if (fault && number !== 0) kept[i] = 1;
    } else {
      if (!kept[i] && (fault ? !EMPTY.test(value) : isAlarming(value))) {
        vocabulary.scan(value);
        if (alarms.take(vocabulary.template)) kept[i] = 1;
      }
      if (sampled < SAMPLE) {
        sampled++;
        if (value.length > PROSE_CHARS || countSpaces(value) >= PROSE_WORDS) wordy++;
      }
    }
    if (examples.size <= MAX_CATEGORIES) {
      const seen = examples.get(value);
      if (!seen) examples.set(value, [i]);
      else if (seen.length <= RARE) seen.push(i);
    }
  }
  if (examples.size <= 1) return true;
  const numbersMostly = numeric >= present * 0.7;
  if (numbersMostly) {
    for (const seam of seams(numbers)) kept[seam - 1] = kept[seam] = 1;
    for (const i of rareSigns(numbers)) kept[i] = 1;
  }
  if (examples.size <= MAX_CATEGORIES && examples.size * 3 <= present) keepCategories(examples, present, kept);
  else if (numbersMostly) keepUnusual(column, numbers, numeric, kept);
  else return !single && wordy * 4 < sampled;
  return true;
}

function keepCategories(examples: ReadonlyMap<string, readonly number[]>, present: number, kept: Uint8Array): void {
  const average = present / examples.size;
  for (const seen of examples.values()) {
    if (seen.length <= RARE && seen.length * RARELY <= average) for (const i of seen) kept[i] = 1;
    else if (examples.size <= MAX_EXAMPLES) kept[seen[0] ?? 0] = 1;
  }
}

/** Far values, and the few that are no numbers among numbers. */
function keepUnusual(column: Column, numbers: Float64Array, numeric: number, kept: Uint8Array): void {
  for (const i of outliers(numbers)) kept[i] = 1;
  const others: number[] = [];
  for (let i = 0; i < numbers.length; i++) if (Number.isNaN(numbers[i]) && column.at(i) !== undefined) others.push(i);
  if (others.length * 20 < numeric) for (const i of others) kept[i] = 1;
}

/** Keeps an example of every set of present fields, as long as there are few. */
function keepShapes({ count, columns }: Records, kept: Uint8Array): void {
  const shapes = new Map<number, number[]>();
  for (let i = 0; i < count; i++) {
    let shape = 7;
    for (let c = 0; c < columns.length; c++) if (columns[c]?.at(i) !== undefined) shape = Math.imul(shape, 31) + c + 1;
    const seen = shapes.get(shape);
    if (!seen) shapes.set(shape, [i]);
    else if (seen.length <= RARE) seen.push(i);
    if (shapes.size > 4 * MAX_CATEGORIES) return;
  }
  for (const seen of shapes.values()) for (const i of seen.length <= RARE ? seen : seen.slice(0, 1)) kept[i] = 1;
}

function summarise({ count, columns }: Records, prose: readonly Column[], kept: Uint8Array, budget: number): string {
  const invariants = new Invariants();
  const stated = columns.filter((column) => !prose.includes(column));
  for (let i = 0; i < count; i++) {
    if (kept[i]) continue;
    invariants.unit();
    for (const column of stated) {
      const value = column.at(i);
      if (value !== undefined) invariants.add(column.name, value);
    }
  }
  return invariants.summary(budget);
}

function countSpaces(text: string): number {
  let count = 0;
  for (let i = text.indexOf(" "); i >= 0; i = text.indexOf(" ", i + 1)) count++;
  return count;
}
