/**
 * Which rows of a table stay, whatever the table is written in: the first and the last, errors, what stands out in a
 * column of numbers, every row of a rare kind, what the query is about, and every row whose words are
 * neither in a kept row nor covered by what is stated of its column.
 */
import { isAlarming } from "../alarm.ts";
import { asNumber, Invariants } from "../invariants.ts";
import { keepNonRedundant } from "../redundancy.ts";
import { keepRelevant } from "../relevant.ts";
import { outliers, seams } from "../statistics.ts";

export interface Row {
  /** The row as it is written, with what separates it from the next. */
  readonly text: string;
  readonly cells: readonly string[];
}
export interface Table {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}
export interface Selection {
  /** Runs of rows that go, in order. */
  readonly gaps: readonly (readonly [from: number, to: number])[];
  /** What is true of all rows that do not. */
  readonly summary: string;
}

export const LEAST_ROWS = 12;
/** A table of fewer characters is read as fast as its markers. */
const LEAST_CHARS = 1_600;
const MOST_COLUMNS = 128;
const HEAD = 3;
const TAIL = 2;
/** Rows a query may keep. */
const RELEVANT_ROWS = 24;
/** Share of a column's cells that must be numbers. */
const NUMERIC = 0.7;
/** Values up to which a column is one of kinds, when each occurs at least three times on average. */
const KINDS = 16;
/** A kind with no more rows than this is shown whole. */
const RARE = 2;
/** Rows that may stay because of the numbers of one column, and in all. */
const STANDING_OUT = 4;
const STANDING_OUT_IN_ALL = 24;
/** Characters that the statements about all columns may take, and share of the table when that is more. */
const SUMMARY = 420;
const SUMMARY_SHARE = 1 / 32;
const LONGEST_SUMMARY = 4_096;
/** Longest list of kinds, and longest kind in it. */
const CENSUS = 220;
const LONGEST_KIND = 24;
/** Words of a name; more are prose. */
const WORDS_OF_NAME = 3;

/** What tables say of trouble, beside the words of `alarm.ts`. */
const TROUBLE =
  /BackOff|OOM|Evicted|[Uu]nhealthy|Terminating|NotReady|Exited \([1-9]|\bdead\b|\bdown\b|DOWN\b|\bzombie\b|<defunct>|vulnerab/;

/** Chooses; undefined when nothing, or too little, could go. */
export function selectRows(table: Table, query: string, markerChars: number): Selection | undefined {
  const { rows } = table;
  const chars = rows.reduce((sum, { text }) => sum + text.length, 0);
  if (rows.length < LEAST_ROWS || chars < LEAST_CHARS || table.columns.length > MOST_COLUMNS) return undefined;
  const columns = table.columns.map((name, index) => columnOf(table, name, index));
  const pinned = new Uint8Array(rows.length);
  pinned.fill(1, 0, HEAD).fill(1, -TAIL);
  rows.forEach(({ cells }, index) => {
    const text = cells.join(" ");
    // A row with more cells than there are columns is read wrongly, or says more than the others.
    if (cells.length > columns.length || TROUBLE.test(text) || isAlarming(text)) pinned[index] = 1;
  });
  keepKinds(columns, pinned);
  keepStandingOut(columns, pinned);
  keepRelevant(rows.length, (index) => rows[index]?.text, query, pinned, RELEVANT_ROWS);
  // A column whose statement falls away once rows were kept after all must be covered by rows instead.
  const uncovered = new Set<number>();
  for (let attempt = 0; attempt < 4; attempt++) {
    const kept = pinned.slice();
    const stated = statements(table, columns, kept, uncovered);
    const open = columns.filter(({ index, mixed }) => !stated.has(index) || mixed);
    const words = (row: number): string | undefined => {
      const cells = open.map(({ index }) => rows[row]?.cells[index] ?? "");
      return (
        cells
          .filter((cell, at) => !stated.has(open[at]?.index ?? -1) || isProse(cell))
          .join(" ")
          .trim() || undefined
      );
    };
    if (keepNonRedundant(words, kept) === undefined) return undefined;
    const gaps = gapsOf(table, kept, markerChars);
    if (gaps.length === 0) return undefined;
    const unchanged = kept.every((keep, row) => keep === pinned[row]);
    const final = unchanged ? stated : statements(table, columns, kept, uncovered);
    const lost = [...stated.keys()].filter((column) => !final.has(column) && !uncovered.has(column));
    if (lost.length === 0) return { gaps, summary: [...final.values()].join("; ") };
    for (const column of lost) uncovered.add(column);
  }
  return undefined;
}

/** The runs of rows that go. One that is hardly longer than its marker stays, which `kept` then says. */
function gapsOf({ rows }: Table, kept: Uint8Array, markerChars: number): [from: number, to: number][] {
  const gaps: [from: number, to: number][] = [];
  for (let row = 0; row < rows.length; row++) {
    if (kept[row]) continue;
    const from = row;
    let chars = 0;
    while (row < rows.length && !kept[row]) chars += rows[row++]?.text.length ?? 0;
    if (chars > markerChars * 1.5) gaps.push([from, row]);
    else kept.fill(1, from, row);
  }
  return gaps;
}

interface Column {
  readonly name: string;
  readonly index: number;
  readonly numbers: Float64Array | undefined;
  /** Value and its rows, for a column of kinds. */
  readonly kinds: ReadonlyMap<string, number[]> | undefined;
  /** Whether some of its cells, but not most, are prose: then a statement covers only the others. */
  readonly mixed: boolean;
  /** Whether most of its cells are prose, which no statement covers. */
  readonly prose: boolean;
}

function columnOf({ rows }: Table, name: string, index: number): Column {
  const numbers = new Float64Array(rows.length);
  let kinds: Map<string, number[]> | undefined = new Map();
  let numeric = 0;
  let wordy = 0;
  rows.forEach(({ cells }, row) => {
    const cell = cells[index] ?? "";
    numbers[row] = quantity(cell);
    if (!Number.isNaN(numbers[row])) numeric++;
    if (isProse(cell)) wordy++;
    const same = kinds?.get(cell);
    if (same) same.push(row);
    else kinds?.set(cell, [row]);
    if (kinds && kinds.size > KINDS) kinds = undefined;
  });
  return {
    name: name || `column ${index + 1}`,
    index,
    numbers: numeric >= rows.length * NUMERIC ? numbers : undefined,
    kinds: kinds && kinds.size * 3 <= rows.length ? kinds : undefined,
    mixed: wordy > 0 && wordy * 2 < rows.length,
    prose: wordy * 2 >= rows.length,
  };
}

/** Something to read, rather than a name, a number or a time to look up. */
const isProse = (cell: string): boolean =>
  cell.length > 24 && cell.split(/[\s,]+/, WORDS_OF_NAME + 1).length > WORDS_OF_NAME;

/** A number with or without its unit, as tools print them: `12.5%`, `512Mi`, `1,024`, `85ms`. */
export function quantity(cell: string): number {
  const plain = asNumber(cell);
  if (!Number.isNaN(plain) || cell.length === 0 || cell.length > 20) return plain;
  const [, digits, unit = ""] = QUANTITY.exec(cell) ?? [];
  if (digits === undefined) return Number.NaN;
  return Number(digits.replaceAll(",", "")) * (SCALE[unit] ?? 1);
}
const QUANTITY = /^[$€£]?(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:\.\d+)?)\s?(%|[kKMGT]i?B?|B|ms|s|m|h|d|us|µs|ns)?$/;
const SCALE: Readonly<Record<string, number>> = {
  k: 1e3,
  K: 1e3,
  kB: 1e3,
  KB: 1e3,
  Ki: 1024,
  KiB: 1024,
  M: 1e6,
  MB: 1e6,
  Mi: 1048576,
  MiB: 1048576,
  G: 1e9,
  GB: 1e9,
  Gi: 1073741824,
  GiB: 1073741824,
  T: 1e12,
  TB: 1e12,
  Ti: 1099511627776,
  TiB: 1099511627776,
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  m: 60,
  h: 3600,
  d: 86400,
};

/** Rows of a rare kind; what is common is named by a statement, or by the rows that its words keep. */
function keepKinds(columns: readonly Column[], kept: Uint8Array): void {
  for (const { kinds } of columns) {
    for (const rows of kinds?.values() ?? []) if (rows.length <= RARE) for (const row of rows) kept[row] = 1;
  }
}

function keepStandingOut(columns: readonly Column[], kept: Uint8Array): void {
  let left = STANDING_OUT_IN_ALL;
  const keep = (row: number | undefined): void => {
    if (row === undefined || kept[row] === 1 || left <= 0) return;
    kept[row] = 1;
    left--;
  };
  for (const { numbers } of columns) if (numbers) for (const row of ends(numbers)) if (row >= 0) kept[row] = 1;
  for (const { numbers } of columns) {
    if (!numbers) continue;
    for (const row of outliers(numbers).slice(0, STANDING_OUT)) keep(row);
    for (const row of seams(numbers).slice(0, STANDING_OUT)) {
      keep(row - 1);
      keep(row);
    }
  }
}

/** The rows of the least and the greatest number. */
function ends(numbers: Float64Array): [number, number] {
  let [low, high] = [-1, -1];
  numbers.forEach((value, row) => {
    if (Number.isNaN(value)) return;
    if (low < 0 || value < (numbers[low] ?? 0)) low = row;
    if (high < 0 || value > (numbers[high] ?? 0)) high = row;
  });
  return [low, high];
}

/** What is true of each column in the rows that go; only what fits the summary. */
function statements(
  { rows }: Table,
  columns: readonly Column[],
  kept: Uint8Array,
  without: ReadonlySet<number>,
): Map<number, string> {
  const found = new Map<number, string>();
  const chars = rows.reduce((sum, { text }) => sum + text.length, 0);
  let left = Math.max(SUMMARY, Math.min(LONGEST_SUMMARY, chars * SUMMARY_SHARE));
  // Columns of names first: they need a statement, the others may also be covered by rows.
  const ordered = [...columns].sort((a, b) => Number(a.kinds !== undefined) - Number(b.kinds !== undefined));
  for (const column of ordered) {
    if (column.prose || without.has(column.index)) continue;
    const text = census(column, kept) ?? invariant(rows, column, kept);
    if (!text || text.length + 2 > left) continue;
    left -= text.length + 2;
    found.set(column.index, text);
  }
  return new Map([...found].sort(([a], [b]) => a - b));
}

/** Every kind with the number of its rows that go. Undefined for a single kind, and for values too long to list. */
function census({ name, kinds }: Column, kept: Uint8Array): string | undefined {
  if (!kinds) return undefined;
  const counts: [value: string, count: number][] = [];
  for (const [value, rows] of kinds) {
    const count = rows.reduce((sum, row) => sum + (kept[row] ? 0 : 1), 0);
    if (count > 0) counts.push([value || "(empty)", count]);
  }
  if (counts.length < 2 || counts.some(([value]) => value.length > LONGEST_KIND || /[\p{Cc}…]/u.test(value)))
    return undefined;
  const text = `${name}: ${counts.map(([value, count]) => `${value}×${count}`).join(" ")}`;
  return text.length <= CENSUS ? text : undefined;
}

/** What the cells of names that go have in common, or at least how many there are. */
function invariant(rows: readonly Row[], column: Column, kept: Uint8Array): string {
  const facts = new Invariants();
  const distinct = new Set<string>();
  const name = column.mixed ? `short ${column.name}` : column.name;
  rows.forEach(({ cells }, row) => {
    const cell = cells[column.index] ?? "";
    if (kept[row] || (column.mixed && isProse(cell))) return;
    facts.unit();
    if (cell === "") return;
    facts.add(name, cell);
    distinct.add(cell);
  });
  return facts.summary(120) || (distinct.size > 0 ? `${name}: ${distinct.size} distinct` : "");
}
