/** What a call cost, and the most it can cost: the arithmetic of one row at one instant. */
import { type Money, money, mulDivRoundHalfUp, mulDivRoundUp, parseRate, type Rate } from "./money.ts";
import { day, minutes, type PriceEntry, RATE_NAMES, type Rates, type Row } from "./row.ts";

/**
 * Usage in the normal form, in tokens: `input` is gross (cache reads and writes are parts of it), `output` includes
 * `reasoning`, and `cacheWrite` includes `cacheWrite1h`.
 */
export interface PricedUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly reasoning: number;
  readonly cacheWrite1h?: number;
}

/** The price list behind a cost: ours, or rates the user brought. */
export type PriceBasis = "public_catalog" | "private_rates";

export interface Unpriced {
  /** What is missing, for people. An unpriced call is never a free one. */
  readonly unpriced: string;
}
export interface Priced {
  readonly cost: Money;
  readonly basis: PriceBasis;
  /** The conditions that applied: `standard` or `over 200000`, with ` 01:00-04:00 UTC` when the hour decided. */
  readonly tier: string;
}
export type Pricing = Priced | Unpriced;

export const isPriced = <T extends object>(pricing: T | Unpriced): pricing is T => !("unpriced" in pricing);

interface ParsedRate {
  readonly perMillion: Rate;
  /** Picodollars per token, when that is whole, as nearly every list price is: then a cost is a product of numbers. */
  readonly perToken: number | undefined;
}
type ParsedRates = { readonly [K in keyof Rates]-?: ParsedRate | undefined };
/** The worst rates that a call of a tier can be billed at, or the name of one that is missing. */
type Worst =
  | { readonly missing: keyof Rates }
  | {
      readonly missing?: never;
      readonly input: ParsedRate;
      /** Of a request that asks for no hour-long cache. */
      readonly inputWithoutHour: ParsedRate;
      readonly output: ParsedRate;
    };
interface ParsedTier {
  readonly above: number;
  readonly name: string;
  readonly rates: ParsedRates;
  readonly worst: Worst;
}
interface ParsedEntry {
  readonly from: number;
  readonly start: number;
  readonly end: number;
  readonly tiers: readonly ParsedTier[];
}

const MILLION = 1_000_000n;
/** A thousand requests cost `requests` dollars; one costs a thousandth, which is a thousand times a millionth. */
const REQUEST_SHARE = 1_000n;
const DAY_MINUTES = 24 * 60;

const parsed = new WeakMap<Row, readonly ParsedEntry[] | Unpriced>();
/** The row that was priced last. */
let last: { readonly row: Row; readonly entries: readonly ParsedEntry[] | Unpriced } | undefined;

/** The cost of a settled call, rounded half up once. A rate that was needed and is not known makes it unpriced. */
export function priceUsage(row: Row, usage: PricedUsage, at: Date | number): Pricing {
  const wrong = misfit(usage);
  if (wrong !== undefined) return { unpriced: wrong };
  const entry = entryAt(row, at);
  if (!isPriced(entry)) return entry;
  const tier = tierOf(entry, usage.input);
  if (tier === undefined) return { unpriced: `${name(row)} has no rates` };
  const { rates } = tier;
  const hour = usage.cacheWrite1h ?? 0;
  const sum = new Sum(rates);
  const unknown =
    sum.bill(usage.input - usage.cacheRead - usage.cacheWrite, rates, "input") ??
    sum.bill(usage.cacheRead, rates, "cacheRead") ??
    sum.bill(usage.cacheWrite - hour, rates, "cacheWrite") ??
    sum.bill(hour, rates, "cacheWrite1h") ??
    sum.bill(usage.output - usage.reasoning, rates, "output") ??
    sum.bill(usage.reasoning, rates, rates.reasoning ? "reasoning" : "output");
  if (unknown !== undefined) return missing(row, unknown);
  return {
    cost: sum.rounded(mulDivRoundHalfUp),
    basis: basisOf(row),
    tier: tier.name,
  };
}

/**
 * The most a call can cost that sends at most `inputTokens` and is billed at most `outputTokens`: the worst input rate
 * that can apply, and the worst output rate, over every tier such a call can fall into. Rounded up, so that it
 * bounds every settlement.
 *
 * A cache that is `explicit` must have its read and write rates, an `implicit` one its read rate; with a mode that is
 * `unknown`, the rates the row has are the ones a provider can bill. The hour-long write rate applies unless
 * `cacheWrite1h: false` says that the request asks for no hour-long cache.
 */
export function ceiling(
  row: Row,
  inputTokens: number,
  outputTokens: number,
  at: Date | number,
  applies?: { readonly cacheWrite1h?: boolean },
): { readonly cost: Money; readonly basis: PriceBasis } | Unpriced {
  if (!whole(inputTokens) || !whole(outputTokens))
    return { unpriced: `expected whole tokens, got ${inputTokens} in and ${outputTokens} out` };
  const entry = entryAt(row, at);
  if (!isPriced(entry)) return entry;
  let most = 0n;
  for (const { above, rates, worst } of entry.tiers) {
    if (above >= 0 && inputTokens <= above) continue;
    if (worst.missing !== undefined) return missing(row, worst.missing);
    const sum = new Sum(rates);
    sum.add(inputTokens, applies?.cacheWrite1h === false ? worst.inputWithoutHour : worst.input);
    sum.add(outputTokens, worst.output);
    const cost = sum.rounded(mulDivRoundUp);
    if (cost > most) most = cost;
  }
  return { cost: money(most), basis: basisOf(row) };
}

/** Counts times rates: in numbers as long as they are exact, else in whole units of a millionth of a picodollar. */
class Sum {
  #pico = 0;
  #millionths = 0n;

  constructor({ requests }: ParsedRates) {
    if (requests) this.#millionths = requests.perMillion * REQUEST_SHARE;
  }
  add(count: number, { perToken, perMillion }: ParsedRate): void {
    const more = perToken === undefined ? Number.NaN : this.#pico + count * perToken;
    if (Number.isSafeInteger(more)) this.#pico = more;
    else this.#millionths += BigInt(count) * perMillion;
  }
  /** Adds what a count costs; answers with the name of the rate when it is needed and not known. */
  bill(count: number, rates: ParsedRates, name: keyof Rates): keyof Rates | undefined {
    if (count === 0) return undefined;
    const rate = rates[name];
    if (rate === undefined) return name;
    this.add(count, rate);
    return undefined;
  }
  /** Whole picodollars; what is whole already is not touched by the rounding. */
  rounded(round: typeof mulDivRoundUp): Money {
    const whole = BigInt(this.#pico);
    return money(this.#millionths === 0n ? whole : whole + round(this.#millionths, 1n, MILLION));
  }
}

const name = (row: Row): string => `${row.provider}/${row.model}`;
const missing = (row: Row, rateName: keyof Rates): Unpriced => ({ unpriced: `${name(row)} has no ${rateName} rate` });
const basisOf = (row: Row): PriceBasis =>
  row.provenance.source === "user" || row.provenance.source === "litellm" ? "private_rates" : "public_catalog";
const larger = (a: ParsedRate, b: ParsedRate | undefined): ParsedRate =>
  b !== undefined && b.perMillion > a.perMillion ? b : a;
const whole = (count: number): boolean => Number.isSafeInteger(count) && count >= 0;

/** What is wrong with a usage object, if anything. */
function misfit(usage: PricedUsage): string | undefined {
  const { input, output, cacheRead, cacheWrite, reasoning, cacheWrite1h: hour = 0 } = usage;
  if (!whole(input) || !whole(output) || !whole(cacheRead) || !whole(cacheWrite) || !whole(reasoning) || !whole(hour)) {
    const odd = [input, output, cacheRead, cacheWrite, reasoning, hour].find((count) => !whole(count));
    return `expected whole tokens in the usage, got ${odd}`;
  }
  if (cacheRead + cacheWrite > input) return "the cached input exceeds the input; expected a gross input";
  if (hour > cacheWrite) return "the hour-long cache writes exceed the cache writes";
  if (reasoning > output) return "the reasoning exceeds the output; expected an output that includes it";
  return undefined;
}

function entryAt(row: Row, at: Date | number): ParsedEntry | Unpriced {
  const time = Number(at);
  if (Number.isNaN(time)) return { unpriced: "expected a valid date to price at" };
  const entries = entriesOf(row);
  if (!isPriced(entries)) return entries;
  for (let at = entries.length - 1; at >= 0; at--) {
    const entry = entries[at];
    if (entry && time >= entry.from && within(entry, time)) return entry;
  }
  return { unpriced: `${name(row)} has no rates at ${new Date(time).toISOString()}` };
}

/** The entries of a row, read once. Most programs call one model over and over. */
function entriesOf(row: Row): readonly ParsedEntry[] | Unpriced {
  if (last?.row === row) return last.entries;
  let entries = parsed.get(row);
  if (entries === undefined) parsed.set(row, (entries = parse(row)));
  last = { row, entries };
  return entries;
}

/** The last tier that so much input falls into. */
function tierOf({ tiers }: ParsedEntry, input: number): ParsedTier | undefined {
  for (let at = tiers.length - 1; at >= 0; at--) if (input > (tiers[at]?.above ?? input)) return tiers[at];
  return undefined;
}

function within({ start, end }: ParsedEntry, time: number): boolean {
  if (start === 0 && end === DAY_MINUTES) return true;
  const at = new Date(time);
  const minute = at.getUTCHours() * 60 + at.getUTCMinutes();
  return start <= end ? minute >= start && minute < end : minute >= start || minute < end;
}

function parse(row: Row): readonly ParsedEntry[] | Unpriced {
  if (row.currency !== "USD") return { unpriced: `${name(row)} is billed in ${row.currency}; only USD is priced` };
  const entries: ParsedEntry[] = [];
  for (const price of row.prices) {
    const entry = parseEntry(price, row.cache.mode);
    if (entry === undefined) return { unpriced: `${name(row)} has a price that cannot be read` };
    entries.push(entry);
  }
  return entries;
}

function parseEntry(
  { from, hours, rates, tiers = [] }: PriceEntry,
  mode: Row["cache"]["mode"],
): ParsedEntry | undefined {
  const begin = from === undefined ? Number.NEGATIVE_INFINITY : day(from);
  const start = hours === undefined ? 0 : minutes(hours.start);
  const end = hours === undefined ? DAY_MINUTES : minutes(hours.end);
  const label = hours === undefined ? "" : ` ${hours.start}-${hours.end} UTC`;
  const all: ParsedTier[] = [];
  for (const tier of [{ above: -1, rates }, ...tiers]) {
    const read = parseRates(tier.rates);
    if (read === undefined) return undefined;
    const title = `${tier.above < 0 ? "standard" : `over ${tier.above}`}${label}`;
    all.push({ above: tier.above, name: title, rates: read, worst: worstOf(read, mode) });
  }
  if (begin === undefined || start === undefined || end === undefined) return undefined;
  return { from: begin, start, end, tiers: all };
}

function worstOf(rates: ParsedRates, mode: Row["cache"]["mode"]): Worst {
  const { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning } = rates;
  if (input === undefined) return { missing: "input" };
  if (output === undefined) return { missing: "output" };
  if (cacheRead === undefined && (mode === "explicit" || mode === "implicit")) return { missing: "cacheRead" };
  if (cacheWrite === undefined && mode === "explicit") return { missing: "cacheWrite" };
  const written = mode === "unsupported" ? input : larger(larger(input, cacheRead), cacheWrite);
  return {
    input: mode === "unsupported" ? input : larger(written, cacheWrite1h),
    inputWithoutHour: written,
    output: larger(output, reasoning),
  };
}

function parseRates(rates: Rates): ParsedRates | undefined {
  const read: Partial<Record<keyof Rates, ParsedRate>> = {};
  for (const key of RATE_NAMES) {
    const text = rates[key];
    if (text === undefined) continue;
    const value = parseRate(text);
    if (value === undefined) return undefined;
    const perToken = value % MILLION === 0n ? Number(value / MILLION) : Number.NaN;
    read[key] = { perMillion: value, perToken: Number.isSafeInteger(perToken) ? perToken : undefined };
  }
  return {
    input: read.input,
    output: read.output,
    cacheRead: read.cacheRead,
    cacheWrite: read.cacheWrite,
    cacheWrite1h: read.cacheWrite1h,
    reasoning: read.reasoning,
    requests: read.requests,
  };
}
