/** Reads rows from what a YAML or JSON parser gave, and says exactly what is wrong with them. */
import { fromDollars, parseRate, toDollars } from "./money.ts";
import {
  CAPABILITY_NAMES,
  type CacheBehaviour,
  type Capabilities,
  day,
  minutes,
  type PriceEntry,
  type Provenance,
  RATE_NAMES,
  type Rates,
  type Row,
  type Support,
  type Tier,
} from "./row.ts";

export type FaultCode = "malformed_row" | "bad_price";
export interface Fault {
  readonly code: FaultCode;
  /** The path of the value, such as `rows[3].prices[0].rates.input`. */
  readonly where: string;
  readonly message: string;
}

/** What a row gets for the fields it does not name. */
type RowDefaults = Pick<Row, "sources" | "verified_at" | "provenance">;

type Fields = Readonly<Record<string, unknown>>;

const ROW_FIELDS = [
  "provider",
  "model",
  "region",
  "currency",
  "prices",
  "limits",
  "cache",
  "capabilities",
  "lifecycle",
  "aliases",
  "dated",
  "unmetered",
  "sources",
  "verified_at",
  "provenance",
];
const SUPPORT: readonly Support[] = ["supported", "unsupported", "unknown"];
const MODES: readonly CacheBehaviour["mode"][] = ["explicit", "implicit", "unsupported", "unknown"];
const LIFECYCLES: readonly Row["lifecycle"][] = ["active", "deprecated", "retired"];

/**
 * Reads one row. Prices may be one set of rates or a list of entries; a rate may be a number or a decimal string.
 * Every fault found is added to `faults`; a row with a fault is not returned.
 */
export function readRow(value: unknown, where: string, defaults: RowDefaults, faults: Fault[]): Row | undefined {
  const before = faults.length;
  const reader = new Reader(faults);
  const row = reader.fields(value, where, ROW_FIELDS);
  if (row === undefined) return undefined;
  const read = {
    provider: reader.text(row.provider, `${where}.provider`).toLowerCase(),
    model: reader.text(row.model, `${where}.model`),
    region: row.region === undefined ? "global" : reader.text(row.region, `${where}.region`),
    currency: row.currency === undefined ? "USD" : reader.text(row.currency, `${where}.currency`),
    prices: reader.prices(row.prices, `${where}.prices`),
    limits: reader.limits(row.limits, `${where}.limits`),
    cache: reader.cache(row.cache, `${where}.cache`),
    capabilities: reader.capabilities(row.capabilities, `${where}.capabilities`),
    lifecycle: row.lifecycle === undefined ? "active" : reader.oneOf(row.lifecycle, LIFECYCLES, `${where}.lifecycle`),
    aliases: reader.texts(row.aliases, `${where}.aliases`),
    dated: row.dated === undefined ? false : reader.oneOf(row.dated, [true, false], `${where}.dated`),
    unmetered: reader.texts(row.unmetered, `${where}.unmetered`),
    sources: row.sources === undefined ? defaults.sources : reader.texts(row.sources, `${where}.sources`),
    verified_at:
      row.verified_at === undefined ? defaults.verified_at : reader.text(row.verified_at, `${where}.verified_at`),
    provenance:
      row.provenance === undefined ? defaults.provenance : reader.provenance(row.provenance, `${where}.provenance`),
  } satisfies Row;
  return faults.length === before ? read : undefined;
}

class Reader {
  readonly #faults: Fault[];
  constructor(faults: Fault[]) {
    this.#faults = faults;
  }

  #fault(where: string, expected: string, got: unknown, code: FaultCode = "malformed_row"): void {
    this.#faults.push({
      code,
      where,
      message: `expected ${expected}, got ${got === undefined ? "nothing" : JSON.stringify(got)}`,
    });
  }

  fields(value: unknown, where: string, allowed: readonly string[]): Fields | undefined {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.#fault(where, "a mapping", value);
      return undefined;
    }
    for (const key of Object.keys(value))
      if (!allowed.includes(key)) this.#fault(`${where}.${key}`, `one of ${allowed.join(", ")}`, key);
    return value as Fields;
  }

  text(value: unknown, where: string): string {
    if (typeof value === "string" && value.trim() !== "") return value;
    this.#fault(where, "a text", value);
    return "";
  }

  texts(value: unknown, where: string): readonly string[] {
    if (value === undefined) return [];
    if (Array.isArray(value)) return value.map((part: unknown, at) => this.text(part, `${where}[${at}]`));
    this.#fault(where, "a list of texts", value);
    return [];
  }

  oneOf<T extends string | boolean>(value: unknown, words: readonly [T, ...T[]] | readonly T[], where: string): T {
    const found = words.find((word) => word === value);
    if (found === undefined) this.#fault(where, `one of ${words.join(", ")}`, value);
    return found ?? (words[0] as T);
  }

  count(value: unknown, where: string): number | undefined {
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value > 0) return value;
    this.#fault(where, "a whole number above 0", value);
    return undefined;
  }

  limits(value: unknown, where: string): Row["limits"] {
    const limits = value === undefined ? {} : this.fields(value, where, ["context", "output"]);
    const context = this.count(limits?.context, `${where}.context`);
    const output = this.count(limits?.output, `${where}.output`);
    return { ...(context === undefined ? {} : { context }), ...(output === undefined ? {} : { output }) };
  }

  cache(value: unknown, where: string): CacheBehaviour {
    const cache = value === undefined ? { mode: "unknown" } : this.fields(value, where, ["mode", "minPrefix", "ttl"]);
    if (cache === undefined) return { mode: "unknown" };
    const minPrefix = this.count(cache.minPrefix, `${where}.minPrefix`);
    const ttl = this.count(cache.ttl, `${where}.ttl`);
    return {
      mode: this.oneOf(cache.mode, MODES, `${where}.mode`),
      ...(minPrefix === undefined ? {} : { minPrefix }),
      ...(ttl === undefined ? {} : { ttl }),
    };
  }

  capabilities(value: unknown, where: string): Capabilities {
    const known = value === undefined ? {} : (this.fields(value, where, CAPABILITY_NAMES) ?? {});
    const of = (name: keyof Capabilities): Support =>
      known[name] === undefined ? "unknown" : this.oneOf(known[name], SUPPORT, `${where}.${name}`);
    return {
      reasoning: of("reasoning"),
      tools: of("tools"),
      structuredOutput: of("structuredOutput"),
      vision: of("vision"),
    };
  }

  provenance(value: unknown, where: string): Provenance {
    const fields = this.fields(value, where, ["source", "entry", "corrected"]);
    const corrected = this.texts(fields?.corrected, `${where}.corrected`);
    return {
      source: this.text(fields?.source, `${where}.source`),
      entry: this.text(fields?.entry, `${where}.entry`),
      ...(corrected.length > 0 ? { corrected } : {}),
    };
  }

  prices(value: unknown, where: string): readonly PriceEntry[] {
    if (!Array.isArray(value)) return [{ rates: this.rates(value, where) }];
    if (value.length === 0) this.#fault(where, "at least one set of rates", value, "bad_price");
    return value.map((part: unknown, at) => this.#entry(part, `${where}[${at}]`));
  }

  #entry(value: unknown, where: string): PriceEntry {
    const entry = this.fields(value, where, ["from", "hours", "rates", "tiers"]) ?? {};
    const { from, hours } = entry;
    if (from !== undefined && (typeof from !== "string" || day(from) === undefined))
      this.#fault(`${where}.from`, "a day as YYYY-MM-DD", from, "bad_price");
    const window = hours === undefined ? undefined : this.fields(hours, `${where}.hours`, ["start", "end"]);
    for (const key of ["start", "end"]) {
      const time = window?.[key];
      if (window !== undefined && (typeof time !== "string" || minutes(time) === undefined))
        this.#fault(`${where}.hours.${key}`, "a time as HH:MM", time, "bad_price");
    }
    const tiers = entry.tiers === undefined ? [] : this.#tiers(entry.tiers, `${where}.tiers`);
    return {
      ...(from === undefined ? {} : { from: String(from) }),
      ...(window === undefined ? {} : { hours: { start: String(window.start), end: String(window.end) } }),
      rates: this.rates(entry.rates, `${where}.rates`),
      ...(tiers.length > 0 ? { tiers } : {}),
    };
  }

  #tiers(value: unknown, where: string): readonly Tier[] {
    if (!Array.isArray(value)) {
      this.#fault(where, "a list of tiers", value, "bad_price");
      return [];
    }
    let last = 0;
    return value.map((part: unknown, at): Tier => {
      const tier = this.fields(part, `${where}[${at}]`, ["above", "rates"]);
      const above = this.count(tier?.above, `${where}[${at}].above`) ?? 0;
      if (above <= last) this.#fault(`${where}[${at}].above`, `more than ${last} tokens`, tier?.above, "bad_price");
      last = above;
      return { above, rates: this.rates(tier?.rates, `${where}[${at}].rates`) };
    });
  }

  rates(value: unknown, where: string): Rates {
    const fields = this.fields(value, where, RATE_NAMES) ?? {};
    const rates: { -readonly [K in keyof Rates]: Rates[K] } = {};
    for (const key of RATE_NAMES) {
      const price = fields[key];
      if (price === undefined) continue;
      const text = typeof price === "number" || typeof price === "string" ? String(price) : "";
      if (parseRate(text) === undefined)
        this.#fault(`${where}.${key}`, "dollars per million tokens, 0 or more", price, "bad_price");
      else rates[key] = toDollars(fromDollars(text));
    }
    if (Object.keys(fields).length === 0)
      this.#fault(where, `rates such as ${RATE_NAMES.slice(0, 3).join(", ")}`, value, "bad_price");
    return rates;
  }
}
