/** Reads a user's own rates: a LiteLLM price file, or YAML in the shape of our rows. */
import { parseRate, type Rate, toDollars } from "./money.ts";
import { type Fault, readRow } from "./read.ts";
import { type Capabilities, day, type PriceEntry, type Rates, type Row, type Support, type Tier } from "./row.ts";

/** Private rates cannot be read. `message` lists everything that is wrong, a line each. */
export class CatalogImportError extends Error {
  override readonly name = "CatalogImportError";
  readonly code = "catalog_import_invalid";
  readonly faults: readonly Pick<Fault, "where" | "message">[];
  constructor(file: string, faults: readonly Pick<Fault, "where" | "message">[]) {
    super(`${file} cannot be imported:\n${faults.map(({ where, message }) => `  ${where}: ${message}`).join("\n")}`);
    this.faults = faults;
  }
}

interface ImportOptions {
  /** The name of the file, for messages and provenance. */
  readonly file: string;
  /** The day of the import, `YYYY-MM-DD`, for rows that name no `verified_at`. */
  readonly date: string;
}
export interface Imported {
  readonly rows: readonly Row[];
  /** Provider aliases the file brings. */
  readonly providers: Readonly<Record<string, string>>;
  /** Entries that have no price by tokens in and out, with why. */
  readonly skipped: readonly { readonly model: string; readonly reason: string }[];
}

type Entry = Readonly<Record<string, unknown>>;

/** LiteLLM's names of the rates we know. */
const LITELLM_RATES = {
  input: "input_cost_per_token",
  output: "output_cost_per_token",
  cacheRead: "cache_read_input_token_cost",
  cacheWrite: "cache_creation_input_token_cost",
  cacheWrite1h: "cache_creation_input_token_cost_above_1hr",
  reasoning: "output_cost_per_reasoning_token",
} as const satisfies Partial<Record<keyof Rates, string>>;
const LITELLM_RATE_NAMES = ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "reasoning"] as const;
const LITELLM_MODES = new Set(["chat", "completion", "responses"]);
const TIER = /_above_(\d+)k_tokens$/;

/**
 * Reads a LiteLLM price file (`model_prices_and_context_window.json`).
 * @throws CatalogImportError when it is no such file, or a price in it is no price.
 */
export function importLiteLlm(json: string, { file, date }: ImportOptions): Imported {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new CatalogImportError(file, [
      { where: file, message: `expected JSON: ${error instanceof Error ? error.message : String(error)}` },
    ]);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new CatalogImportError(file, [{ where: file, message: "expected a JSON object from model to prices" }]);
  const faults: Pick<Fault, "where" | "message">[] = [];
  const skipped: { model: string; reason: string }[] = [];
  const rows: Row[] = [];
  for (const [model, entry] of Object.entries(value as Entry)) {
    if (model === "sample_spec") continue;
    if (typeof entry !== "object" || entry === null) {
      faults.push({ where: model, message: "expected an object of prices" });
      continue;
    }
    const reason = whySkipped(entry as Entry);
    if (reason !== undefined) skipped.push({ model, reason });
    else rows.push(liteLlmRow(model, entry as Entry, file, date, faults));
  }
  if (faults.length > 0) throw new CatalogImportError(file, faults);
  if (rows.length === 0)
    throw new CatalogImportError(file, [
      {
        where: file,
        message: "expected at least one model with litellm_provider, input_cost_per_token and output_cost_per_token",
      },
    ]);
  return { rows, providers: {}, skipped };
}

function whySkipped(entry: Entry): string | undefined {
  if (typeof entry.litellm_provider !== "string") return "it names no litellm_provider";
  if (entry.mode !== undefined && !LITELLM_MODES.has(String(entry.mode))) return `its mode is ${String(entry.mode)}`;
  if (entry.input_cost_per_token === undefined || entry.output_cost_per_token === undefined)
    return "it has no input_cost_per_token and output_cost_per_token";
  return undefined;
}

function liteLlmRow(
  model: string,
  entry: Entry,
  file: string,
  date: string,
  faults: Pick<Fault, "where" | "message">[],
): Row {
  const provider = String(entry.litellm_provider).toLowerCase();
  const limits = {
    context: count(entry.max_input_tokens ?? entry.max_tokens),
    output: count(entry.max_output_tokens ?? entry.max_tokens),
  };
  const prices = liteLlmPrices(model, entry, faults);
  const { rates } = prices;
  const gone = typeof entry.deprecation_date === "string" ? entry.deprecation_date : undefined;
  return {
    provider,
    model: model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model,
    region: "global",
    currency: "USD",
    prices: [prices],
    limits: {
      ...(limits.context === undefined ? {} : { context: limits.context }),
      ...(limits.output === undefined ? {} : { output: limits.output }),
    },
    cache: {
      mode:
        entry.supports_prompt_caching === false
          ? "unsupported"
          : rates.cacheRead === undefined
            ? "unknown"
            : rates.cacheWrite === undefined
              ? "implicit"
              : "explicit",
    },
    capabilities: {
      reasoning: support(entry.supports_reasoning),
      tools: support(entry.supports_function_calling),
      structuredOutput: support(entry.supports_response_schema),
      vision: support(entry.supports_vision),
    } satisfies Capabilities,
    lifecycle: gone !== undefined && day(gone) !== undefined && gone <= date ? "retired" : "active",
    aliases: [],
    dated: false,
    unmetered: [],
    sources: typeof entry.source === "string" ? [entry.source] : [],
    verified_at: date,
    provenance: { source: "litellm", entry: `${file}#${model}` },
  };
}

function liteLlmPrices(model: string, entry: Entry, faults: Pick<Fault, "where" | "message">[]): PriceEntry {
  const read = (key: string): string | undefined => {
    const price = entry[key];
    if (price === undefined || price === null) return undefined;
    const million = perMillion(price);
    if (million === undefined)
      faults.push({
        where: `${model}.${key}`,
        message: `expected dollars per token, 0 or more, got ${JSON.stringify(price)}`,
      });
    return million === undefined ? undefined : toDollars(million);
  };
  const ratesWith = (suffix: string, base: Rates): Rates => {
    const rates: { -readonly [K in keyof Rates]: Rates[K] } = { ...base };
    for (const key of LITELLM_RATE_NAMES) {
      const price = read(`${LITELLM_RATES[key]}${suffix}`);
      if (price !== undefined) rates[key] = price;
    }
    return rates;
  };
  const base = ratesWith("", {});
  const thousands = new Set(
    Object.keys(entry)
      .flatMap((key) => TIER.exec(key)?.[1] ?? [])
      .map(Number),
  );
  const tiers: Tier[] = [];
  for (const k of [...thousands].sort((a, b) => a - b)) {
    tiers.push({ above: k * 1_000, rates: ratesWith(`_above_${k}k_tokens`, tiers.at(-1)?.rates ?? base) });
  }
  return { rates: base, ...(tiers.length > 0 ? { tiers } : {}) };
}

/** Dollars per token to a rate. Such files hold binary fractions; nine digits are every price a list prints. */
function perMillion(price: unknown): Rate | undefined {
  const value = typeof price === "string" && price.trim() !== "" ? Number(price) : price;
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) return undefined;
  const [digits = "0", exponent = "0"] = value.toExponential(8).split("e");
  return parseRate(`${digits}e${Number(exponent) + 6}`);
}

const support = (value: unknown): Support =>
  value === true ? "supported" : value === false ? "unsupported" : "unknown";

/** A limit that is a whole number; others are notes in such files, and unknown to us. */
function count(value: unknown): number | undefined {
  const number = typeof value === "string" ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) && number > 0 ? number : undefined;
}

/** A YAML parser shows the place below its message, over several lines. */
const firstLine = (message: string): string => (message.split("\n")[0] ?? "").replace(/:$/, "");

/**
 * Reads a user's YAML: `rows` in the shape of the catalog's rows, where `prices` may be one set of rates and a rate a
 * number, and `providers` with aliases. What is left out is unknown.
 * @throws CatalogImportError with everything that is wrong.
 */
export async function importYaml(yaml: string, { file, date }: ImportOptions): Promise<Imported> {
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    value = parse(yaml);
  } catch (error) {
    throw new CatalogImportError(file, [
      { where: file, message: `expected YAML: ${firstLine(error instanceof Error ? error.message : String(error))}` },
    ]);
  }
  const {
    rows,
    providers = {},
    ...others
  } = (typeof value === "object" && value !== null ? value : {}) as { rows?: unknown; providers?: unknown };
  const faults: Pick<Fault, "where" | "message">[] = Object.keys(others).map((key) => ({
    where: key,
    message: "expected only providers and rows",
  }));
  if (!Array.isArray(rows) || rows.length === 0)
    throw new CatalogImportError(file, [
      ...faults,
      { where: "rows", message: "expected a list with at least one row of provider, model and prices" },
    ]);
  const aliases: Record<string, string> = {};
  const named =
    typeof providers === "object" && providers !== null && !Array.isArray(providers) ? providers : undefined;
  if (named === undefined)
    faults.push({ where: "providers", message: "expected a mapping from another name to the name of a provider" });
  for (const [alias, provider] of Object.entries(named ?? {})) {
    if (typeof provider === "string") aliases[alias.toLowerCase()] = provider.toLowerCase();
    else faults.push({ where: `providers.${alias}`, message: "expected the name of a provider" });
  }
  const found: Fault[] = [];
  const read = rows.flatMap(
    (row: unknown, at) =>
      readRow(
        row,
        `rows[${at}]`,
        { sources: [], verified_at: date, provenance: { source: "user", entry: `${file}#rows[${at}]` } },
        found,
      ) ?? [],
  );
  const seen = new Set<string>();
  for (const row of read) {
    const key = `${row.provider}/${row.model}`.toLowerCase();
    if (seen.has(key)) faults.push({ where: key, message: "expected one row a model, got two" });
    seen.add(key);
    if (day(row.verified_at) === undefined)
      faults.push({
        where: `${key}.verified_at`,
        message: `expected a day as YYYY-MM-DD, got ${JSON.stringify(row.verified_at)}`,
      });
  }
  if (faults.length + found.length > 0) throw new CatalogImportError(file, [...faults, ...found]);
  // Whatever the file says of its origin, its rates are the user's.
  return {
    rows: read.map((row): Row => ({ ...row, provenance: { ...row.provenance, source: "user" } })),
    providers: aliases,
    skipped: [],
  };
}
