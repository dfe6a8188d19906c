/** The price of a model's tokens: private rows first, then the catalog. */
import {
  type Catalog,
  catalog,
  ceiling,
  isPriced,
  type PriceBasis,
  priceUsage,
  type Row,
  withRows,
} from "../../catalog/index.ts";
import { type Fault, readRow } from "../../catalog/read.ts";
import { CavemanError, type Usage } from "../../kernel/index.ts";
import type { Price, PricedModel, Pricing } from "../services.ts";

const basisOf = (basis: PriceBasis): "public_catalog" | "private" =>
  basis === "private_rates" ? "private" : "public_catalog";

/** @throws CavemanError `cave_price_rows_invalid`. */
export function priceList(given: readonly Row[], providers: Readonly<Record<string, string>> = {}): Pricing {
  const rows = checked(given);
  const aliases = Object.fromEntries(
    Object.entries(providers).map(([alias, provider]) => [alias.toLowerCase(), provider.toLowerCase()]),
  );
  const own = rows.length > 0 || Object.keys(aliases).length > 0;
  // The catalog is read when the first price is asked for.
  let known: Catalog | undefined;
  const prices = (): Catalog => (known ??= own ? withRows(catalog(), rows, aliases) : catalog());
  // Provider packages name themselves `openai.responses`, `google.generative-ai`; the vendor comes first.
  const find = ({ provider, id }: PricedModel): Row | undefined =>
    prices().lookup(provider, id) ??
    (provider.includes(".") ? prices().lookup(provider.slice(0, provider.indexOf(".")), id) : undefined);
  // A run asks for the row of its model many times over.
  let asked: { readonly model: PricedModel; readonly row: Row | undefined } | undefined;
  const row = (model: PricedModel): Row | undefined => {
    if (asked?.model !== model) asked = { model, row: find(model) };
    return asked.row;
  };
  // A settled call is priced for the record and for its budget: the same figures give the same answer.
  let last: { usage: Usage; model: PricedModel; at: number; price: Price } | undefined;
  const missing = ({ provider, id }: PricedModel) => ({ unpriced: `${provider}/${id} is not in the catalog` });
  return {
    row,
    cost(model, usage, at) {
      if (last?.usage === usage && last.model === model && last.at === at) return last.price;
      const found = row(model);
      if (!found) return missing(model);
      const priced = priceUsage(found, usage, at);
      const price = isPriced(priced)
        ? { pico: priced.cost, basis: basisOf(priced.basis) }
        : { unpriced: priced.unpriced };
      last = { usage, model, at, price };
      return price;
    },
    ceiling(model, inputTokens, outputTokens, at) {
      const found = row(model);
      if (!found) return missing(model);
      const bound = ceiling(found, inputTokens, outputTokens, at);
      return isPriced(bound) ? { pico: bound.cost, basis: basisOf(bound.basis) } : { unpriced: bound.unpriced };
    },
  };
}

/** Rates come from a config file or another program: read field by field, since a wrong one would be a wrong price. */
function checked(given: readonly unknown[]): Row[] {
  const refuse = (place: string, message: string): never => {
    throw new CavemanError("cave_price_rows_invalid", { place, message: `Private rates cannot be read: ${message}` });
  };
  if (!Array.isArray(given)) return refuse("pricing.rows", `expected a list of rows, got ${typeof given}`);
  const faults: Fault[] = [];
  const rows = given.flatMap((row: unknown, index): Row[] => {
    const entry = `pricing.rows[${index}]`;
    const read = readRow(row, entry, { sources: [], verified_at: "", provenance: { source: "user", entry } }, faults);
    // Whatever a row says of its origin, its rates are the user's.
    return read ? [{ ...read, provenance: { ...read.provenance, source: "user" } }] : [];
  });
  const [first] = faults;
  if (first) refuse(first.where, first.message + (faults.length > 1 ? ` (and ${faults.length - 1} more)` : ""));
  return rows;
}
