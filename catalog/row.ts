/** The shape of a price row, and how the words in it are read. */

/** Whether a model has a capability. What nobody has checked is `unknown`, never a guess. */
export type Support = "supported" | "unsupported" | "unknown";

/**
 * Prices in US dollars per million tokens, as exact decimal strings. An absent price is not known; a free class
 * is written `"0"`. Without `reasoning`, reasoning tokens are billed as output.
 */
export interface Rates {
  readonly input?: string;
  readonly output?: string;
  readonly cacheRead?: string;
  /** A cache write with the shortest time to live, five minutes where the vendor offers a choice. */
  readonly cacheWrite?: string;
  /** A cache write kept for an hour. */
  readonly cacheWrite1h?: string;
  readonly reasoning?: string;
  /** Dollars for a thousand requests, whatever their size. */
  readonly requests?: string;
}
export const RATE_NAMES = [
  "input",
  "output",
  "cacheRead",
  "cacheWrite",
  "cacheWrite1h",
  "reasoning",
  "requests",
] as const satisfies readonly (keyof Rates)[];

/** The rates of a whole request whose gross input exceeds `above` tokens. */
export interface Tier {
  readonly above: number;
  readonly rates: Rates;
}

/** Rates with the conditions they hold under. Of a row's entries the last that holds at the instant of a call is used. */
export interface PriceEntry {
  /** The day they start, `YYYY-MM-DD`, at midnight UTC. */
  readonly from?: string;
  /** Hours of the day, UTC, `HH:MM`; `end` is outside. `end` before `start` spans midnight. */
  readonly hours?: { readonly start: string; readonly end: string };
  readonly rates: Rates;
  /** Long-context tiers, by rising `above`. */
  readonly tiers?: readonly Tier[];
}

/**
 * `explicit`: the caller marks what to cache. `implicit`: the provider caches by itself. `unsupported`: it does not.
 * A prefix shorter than `minPrefix` tokens is not cached; an entry lives `ttl` seconds.
 */
export interface CacheBehaviour {
  readonly mode: "explicit" | "implicit" | "unsupported" | "unknown";
  readonly minPrefix?: number;
  readonly ttl?: number;
}

export interface Capabilities {
  readonly reasoning: Support;
  readonly tools: Support;
  readonly structuredOutput: Support;
  readonly vision: Support;
}
export const CAPABILITY_NAMES = [
  "reasoning",
  "tools",
  "structuredOutput",
  "vision",
] as const satisfies readonly (keyof Capabilities)[];
export const NOTHING_KNOWN: Capabilities = Object.freeze({
  reasoning: "unknown",
  tools: "unknown",
  structuredOutput: "unknown",
  vision: "unknown",
});

export type Lifecycle = "active" | "deprecated" | "retired";

/** Where a row's figures come from. */
export interface Provenance {
  /** A package with its version, `overlay`, `litellm` or `user`. */
  readonly source: string;
  /** The row's place in that source. */
  readonly entry: string;
  /** The fields our overlay replaced. */
  readonly corrected?: readonly string[];
}

export interface Row {
  readonly provider: string;
  readonly model: string;
  /** `global`, `regional` for a vendor's dearer regional endpoints, or the region the prices are for. */
  readonly region: string;
  /** ISO 4217. Only USD is priced. */
  readonly currency: string;
  readonly prices: readonly PriceEntry[];
  /** Tokens. A limit nobody has checked is left out. */
  readonly limits: { readonly context?: number; readonly output?: number };
  readonly cache: CacheBehaviour;
  readonly capabilities: Capabilities;
  readonly lifecycle: Lifecycle;
  /** Other names the provider takes for the same model. */
  readonly aliases: readonly string[];
  /** True when the name with a date behind it (`-20260930`, `-2026-09-30`, `@20260930`) is the same model. */
  readonly dated: boolean;
  /** Charges beside tokens that this row does not price, as the source names them. */
  readonly unmetered: readonly string[];
  /** Pages that state the figures. */
  readonly sources: readonly string[];
  /** The day the figures were last compared with their source, `YYYY-MM-DD`. */
  readonly verified_at: string;
  readonly provenance: Provenance;
}

/** Everything `current.yaml` and a snapshot hold. */
export interface CatalogFile {
  readonly schema: 1;
  /** The day of the catalog, `YYYY-MM-DD`. */
  readonly date: string;
  /** Other names of providers: from alias to provider. */
  readonly providers: Readonly<Record<string, string>>;
  readonly rows: readonly Row[];
}

/** A whole day that exists, as milliseconds at midnight UTC; undefined for anything else. */
export function day(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const at = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(at) || !new Date(at).toISOString().startsWith(text) ? undefined : at;
}

/** Minutes since midnight of `HH:MM`; undefined for anything else. */
export function minutes(text: string): number | undefined {
  const found = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text);
  return found === null ? undefined : Number(found[1]) * 60 + Number(found[2]);
}
