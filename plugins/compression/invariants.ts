/**
 * What is true of all left-out units, in few words, calculated from exactly those units. A marker carries it, so that many
 * a question can be answered without fetching the original.
 */

const SECRET = /pass|secret|token|api.?key|auth|credential|cookie|session|private/i;
const MAX_DISTINCT = 4096;
const MAX_ENUM = 5;
const MAX_VALUE = 24;
const MAX_COVERAGE = 2;

/** The most bytes a summary of so many left-out bytes may take. */
export const summaryBudget = (bytes: number): number => Math.floor(Math.min(160, Math.max(96, bytes / 4), bytes / 2));

interface Field {
  present: number;
  numeric: number;
  min: number;
  max: number;
  /** Undefined once there are too many. */
  counts: Map<string, number> | undefined;
}

interface Entry {
  readonly text: string;
  /** The lower, the longer it is kept. */
  readonly rank: number;
}

const RANK = { enum: 0, dense: 1, constant: 2, coverage: 3, range: 4, weak: 5 } as const;

export class Invariants {
  #units = 0;
  readonly #fields = new Map<string, Field>();

  /** Begins a further unit. */
  unit(): void {
    this.#units++;
  }
  /** A field of the current unit. */
  add(name: string, value: string): void {
    let field = this.#fields.get(name);
    if (!field) {
      if (this.#fields.size >= 64) return;
      field = {
        present: 0,
        numeric: 0,
        min: Number.POSITIVE_INFINITY,
        max: Number.NEGATIVE_INFINITY,
        counts: new Map(),
      };
      this.#fields.set(name, field);
    }
    field.present++;
    const number = asNumber(value);
    if (!Number.isNaN(number)) {
      field.numeric++;
      if (number < field.min) field.min = number;
      if (number > field.max) field.max = number;
    }
    if (!field.counts) return;
    field.counts.set(value, (field.counts.get(value) ?? 0) + 1);
    if (field.counts.size > MAX_DISTINCT) field.counts = undefined;
  }

  /** The summary in at most so many characters; empty when there is nothing to say. */
  summary(budget: number): string {
    const entries = [...this.#fields].flatMap(([name, field]) => this.#entry(name, field) ?? []);
    entries.sort((a, b) => a.rank - b.rank);
    const taken: string[] = [];
    let coverage = 0;
    let left = budget;
    for (const { text, rank } of entries) {
      if (rank === RANK.coverage && ++coverage > MAX_COVERAGE) continue;
      if (text.length + 2 > left) continue;
      taken.push(text);
      left -= text.length + 2;
    }
    return taken.join("; ");
  }

  #entry(name: string, { present, numeric, min, max, counts }: Field): Entry | undefined {
    if (SECRET.test(name)) return undefined;
    const units = this.#units;
    if (counts?.size === 1 && present === units) {
      const [only = ""] = counts.keys();
      return only.length <= MAX_VALUE * 2 && printable(only)
        ? { text: `all ${name}=${only}`, rank: RANK.constant }
        : undefined;
    }
    if (counts && counts.size <= MAX_ENUM && [...counts].some(([, n]) => n > 1)) {
      if (![...counts.keys()].every((value) => value.length <= MAX_VALUE && printable(value))) return undefined;
      const parts = [...counts].sort((a, b) => b[1] - a[1]).map(([value, n]) => `${value}×${n}`);
      if (present < units) parts.push(`absent×${units - present}`);
      return { text: `${name}: ${parts.join(" ")}`, rank: present < units / 2 ? RANK.weak : RANK.enum };
    }
    if (present < units) return undefined;
    const dense = counts && denseRange(counts);
    if (dense) return { text: `${name}: ${dense} all ${counts.size} present`, rank: RANK.dense };
    if (numeric === present) return { text: `${name}=${min}..${max}`, rank: RANK.range };
    if (!counts) return undefined;
    let [low, high] = [undefined as string | undefined, ""];
    for (const value of counts.keys()) {
      if (low === undefined || value < low) low = value;
      if (value > high) high = value;
    }
    if (low === undefined || low.length > MAX_VALUE || high.length > MAX_VALUE || !printable(low + high))
      return undefined;
    return { text: `${name}: ${counts.size} distinct, ${low}..${high}`, rank: RANK.coverage };
  }
}

const printable = (value: string): boolean => !/[\p{Cc}…]/u.test(value);

/** A plain decimal number, or not a number at all. */
export function asNumber(value: string): number {
  if (value.length === 0 || value.length > 24) return Number.NaN;
  const first = value.charCodeAt(0);
  if (!((first >= 48 && first <= 57) || first === 45 || first === 46)) return Number.NaN;
  return /^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(value) ? Number(value) : Number.NaN;
}

/** `a..z` when the values share a prefix, and no number between the least and the greatest is missing. */
function denseRange(counts: Map<string, number>): string | undefined {
  let prefix: string | undefined;
  let width = 0;
  let padded = false;
  let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [value, n] of counts) {
    const digits = /(?<![\d.]|^-)\d{1,9}$/.exec(value)?.[0];
    if (n !== 1 || digits === undefined) return undefined;
    const head = value.slice(0, -digits.length);
    if (prefix === undefined) [prefix, width] = [head, digits.length];
    if (head !== prefix) return undefined;
    // Numbers are padded to one width, or not at all.
    if (digits.length !== width) width = 0;
    if (digits.length > 1 && digits.startsWith("0")) padded = true;
    const number = Number(digits);
    if (number < min) min = number;
    if (number > max) max = number;
  }
  if (prefix === undefined || prefix.length > MAX_VALUE || counts.size < 3) return undefined;
  if (max - min + 1 !== counts.size || (padded && width === 0)) return undefined;
  const spell = (number: number): string => `${prefix}${String(number).padStart(padded ? width : 0, "0")}`;
  return `${spell(min)}..${spell(max)}`;
}
