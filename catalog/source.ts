/** Reads the price data of `@pydantic/genai-prices` into rows. Used when generating, never at run time. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type MatchLogic, type ModelInfo, type ModelPrice, type Provider, waitForUpdate } from "@pydantic/genai-prices";
import { fromDollars, toDollars } from "./money.ts";
import { type CacheBehaviour, NOTHING_KNOWN, type PriceEntry, type Rates, type Row, type Tier } from "./row.ts";

/** Which of the source's prices are rates of ours, in the order of ours. */
const RATE_KEYS: readonly (readonly [string, keyof Rates])[] = [
  ["input_mtok", "input"],
  ["output_mtok", "output"],
  ["cache_read_mtok", "cacheRead"],
  ["cache_write_mtok", "cacheWrite"],
  ["cache_write_1h_mtok", "cacheWrite1h"],
  ["output_reasoning_mtok", "reasoning"],
  ["requests_kcount", "requests"],
];
const isRate = (key: string): boolean => RATE_KEYS.some(([name]) => name === key);

/** Prices of parts of an answer that a usage object counts as output: a row that has one cannot be priced. */
const HIDDEN = new Set(["output_citation_mtok", "output_image_mtok", "output_audio_mtok", "output_video_mtok"]);

const OPEN_WINDOW = /^(\d{2}:\d{2}):00Z$/;

/** The version of the installed price data. */
async function sourceVersion(): Promise<string> {
  const text = await readFile(join(import.meta.dirname, "../node_modules/@pydantic/genai-prices/package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Every model of the price data that is priced by tokens in and out, under the source's own provider names. */
export async function sourceRows(date: string): Promise<readonly Row[]> {
  const providers = await waitForUpdate();
  if (providers === null) throw new Error("the price data package holds no providers; reinstall the devDependencies");
  const source = `@pydantic/genai-prices@${await sourceVersion()}`;
  return providers.flatMap((provider) =>
    provider.models.flatMap((model) => {
      const prices = entries(model);
      return prices === undefined ? [] : [rowOf(provider, model, prices, source, date)];
    }),
  );
}

function rowOf(provider: Provider, model: ModelInfo, prices: readonly PriceEntry[], source: string, date: string): Row {
  return {
    provider: provider.id,
    model: model.id,
    region: model.id.startsWith("regional.") ? "regional" : "global",
    currency: "USD",
    prices,
    limits: model.context_window === undefined ? {} : { context: model.context_window },
    cache: cacheOf(prices),
    capabilities: NOTHING_KNOWN,
    lifecycle: model.deprecated === true ? "deprecated" : "active",
    aliases: aliasesOf(provider, model),
    dated: ["-20260131", "-2026-01-31"].some((suffix) => firstMatch(provider, model.id + suffix) === model),
    unmetered: unmeteredOf(model),
    sources: (provider.pricing_urls ?? []).slice(0, 3),
    verified_at: date,
    provenance: { source, entry: `${provider.id}/${model.id}` },
  };
}

/** Who bills cache writes lets the caller choose them; who only discounts reads caches by itself. Else nobody knows. */
function cacheOf(prices: readonly PriceEntry[]): CacheBehaviour {
  const all = prices.map(({ rates }) => rates);
  const reads = all.every((rates) => rates.cacheRead !== undefined);
  if (reads && all.every((rates) => rates.cacheWrite !== undefined)) return { mode: "explicit" };
  return { mode: reads ? "implicit" : "unknown" };
}

function list(
  model: ModelInfo,
): readonly { readonly constraint?: { readonly type: string } | undefined; readonly prices: ModelPrice }[] {
  return Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }];
}

/** The entries of a model, or undefined when tokens in and out do not price it. */
function entries(model: ModelInfo): readonly PriceEntry[] | undefined {
  const found: PriceEntry[] = [];
  let from: string | undefined;
  for (const { constraint, prices } of list(model)) {
    if (
      prices.input_mtok === undefined ||
      prices.output_mtok === undefined ||
      Object.keys(prices).some((key) => HIDDEN.has(key))
    )
      return undefined;
    let hours: PriceEntry["hours"];
    if (constraint !== undefined && "start_date" in constraint) from = String(constraint.start_date);
    if (constraint !== undefined && "start_time" in constraint && "end_time" in constraint) {
      const start = OPEN_WINDOW.exec(String(constraint.start_time))?.[1];
      const end = OPEN_WINDOW.exec(String(constraint.end_time))?.[1];
      if (start === undefined || end === undefined)
        throw new Error(`${model.id}: expected hours in whole minutes of UTC, got ${JSON.stringify(constraint)}`);
      // Hours listed behind a date are the hours of that price list, not of the one before it.
      hours = { start, end };
    }
    found.push({
      ...(from === undefined ? {} : { from }),
      ...(hours === undefined ? {} : { hours }),
      ...tiersOf(prices),
    });
  }
  return found;
}

/** Base rates, and the whole set of rates from each long-context threshold on. */
function tiersOf(prices: ModelPrice): { rates: Rates; tiers?: readonly Tier[] } {
  const starts = new Set<number>();
  for (const price of Object.values(prices))
    if (typeof price === "object") for (const tier of price.tiers) starts.add(tier.start);
  const above = (start: number): Rates => {
    const rates: { -readonly [K in keyof Rates]: Rates[K] } = {};
    for (const [key, name] of RATE_KEYS) {
      const price = prices[key];
      if (price === undefined) continue;
      rates[name] = decimal(
        typeof price === "number" ? price : (price.tiers.findLast((tier) => tier.start <= start)?.price ?? price.base),
      );
    }
    return rates;
  };
  const tiers = [...starts].sort((a, b) => a - b).map((start): Tier => ({ above: start, rates: above(start) }));
  return { rates: above(-1), ...(tiers.length > 0 ? { tiers } : {}) };
}

/** The source computed some prices in binary: 0.18000000000000002 is 0.18. Nine digits hold every price a list prints. */
const decimal = (value: number): string => toDollars(fromDollars(Number(value.toPrecision(9))));

/** Charges of a model that are not rates of ours, such as `web_searches_kcount`. */
const unmeteredOf = (model: ModelInfo): readonly string[] =>
  [...new Set(list(model).flatMap(({ prices }) => Object.keys(prices)))].filter((key) => !isRate(key)).sort();

/** Names the source takes for this model and for no earlier one. Patterns that take any name around a word are no aliases. */
function aliasesOf(provider: Provider, model: ModelInfo): readonly string[] {
  const names = new Set<string>();
  const walk = (logic: MatchLogic): void => {
    if ("or" in logic) logic.or.forEach(walk);
    else if ("equals" in logic) names.add(logic.equals);
    else if ("starts_with" in logic) names.add(logic.starts_with);
    else if ("contains" in logic && provider.id === "aws") names.add(logic.contains);
  };
  walk(model.match);
  if (provider.id === "aws") for (const name of [...names]) names.add(`${name}-v1:0`);
  return [...names]
    .filter(
      (name) =>
        name !== model.id &&
        /[\w)]$/.test(name) &&
        firstMatch(provider, name) === model &&
        !provider.models.some(({ id }) => id === name),
    )
    .sort();
}

const firstMatch = (provider: Provider, name: string): ModelInfo | undefined =>
  provider.models.find((model) => matches(model.match, name));

function matches(logic: MatchLogic, name: string): boolean {
  const text = name.toLowerCase();
  if ("or" in logic) return logic.or.some((part) => matches(part, name));
  if ("and" in logic) return logic.and.every((part) => matches(part, name));
  if ("equals" in logic) return text === logic.equals.toLowerCase();
  if ("starts_with" in logic) return text.startsWith(logic.starts_with.toLowerCase());
  if ("ends_with" in logic) return text.endsWith(logic.ends_with.toLowerCase());
  if ("contains" in logic) return text.includes(logic.contains.toLowerCase());
  return new RegExp(logic.regex).test(name);
}
