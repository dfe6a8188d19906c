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
import { CavemanError, type Usage } from "../../kernel/index.ts";
import type { Price, PricedModel, Pricing } from "../services.ts";

const basisOf = (basis: PriceBasis): "public_catalog" | "private" =>
  basis === "private_rates" ? "private" : "public_catalog";

/** @throws CavemanError `cave_price_rows_invalid`. */
export function priceList(rows: readonly Row[]): Pricing {
  for (const [index, row] of rows.entries()) {
    if (
      typeof row?.provider !== "string" ||
      typeof row.model !== "string" ||
      !Array.isArray(row.prices) ||
      !Array.isArray(row.aliases)
    )
      throw new CavemanError("cave_price_rows_invalid", {
        place: `pricing.rows[${index}]`,
        expected: "a row with provider, model, prices and aliases",
        received: typeof row,
      });
  }
  // The catalog is read when the first price is asked for.
  let known: Catalog | undefined;
  const prices = (): Catalog => (known ??= rows.length > 0 ? withRows(catalog(), rows) : catalog());
  // Provider packages name themselves `openai.responses`, `google.generative-ai`; the vendor comes first.
  const find = ({ provider, id }: PricedModel): Row | undefined =>
    prices().lookup(provider, id) ??
    (provider.includes(".") ? prices().lookup(provider.slice(0, provider.indexOf(".")), id) : undefined);
  const rowsOf = new WeakMap<PricedModel, { readonly row: Row | undefined }>();
  const row = (model: PricedModel): Row | undefined => {
    let found = rowsOf.get(model);
    if (!found) rowsOf.set(model, (found = { row: find(model) }));
    return found.row;
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
      const priced = priceUsage(found, usage, new Date(at));
      const price = isPriced(priced)
        ? { pico: priced.cost, basis: basisOf(priced.basis) }
        : { unpriced: priced.unpriced };
      last = { usage, model, at, price };
      return price;
    },
    ceiling(model, inputTokens, outputTokens, at) {
      const found = row(model);
      if (!found) return missing(model);
      const bound = ceiling(found, inputTokens, outputTokens, new Date(at));
      return isPriced(bound) ? { pico: bound.cost, basis: basisOf(bound.basis) } : { unpriced: bound.unpriced };
    },
  };
}
