/**
 * Pricing: prices every settled attempt once, from usage in the normal form, at the instant of its admission. Taps
 * `afterUsage`. Provides the service `Pricing` over the catalog and rows of the user's own. What is not known is
 * unpriced and says why; it is never free.
 */
import { Type } from "@sinclair/typebox";
import type { Row } from "../../catalog/index.ts";
import { definePlugin, type Facts, type SettledCall } from "../../kernel/index.ts";
import { DollarHolds, type Price, Pricing, sharedFacts } from "../services.ts";
import { priceList } from "./price-list.ts";

export const pricing = definePlugin({
  name: "pricing",
  description: "Prices every settled call from the catalog, or says why it cannot.",
  options: Type.Object({
    rows: Type.Optional(
      Type.Unsafe<readonly Row[]>({ description: "private rates, in front of the catalog: rows of its shape" }),
    ),
    providers: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: "other names of providers, for private rates" }),
    ),
  }),
  facts: sharedFacts.pricing,
  errors: {
    cave_price_rows_invalid: {
      meaning: "Private rates are not rows of the catalog's shape.",
      remedy: "Import them with `caveman catalog import`, or follow the shape of a row.",
    },
  },
  apply(kernel, options) {
    const prices = priceList(options.rows ?? [], options.providers);
    kernel.provide(Pricing, () => prices);
    kernel.hooks.afterUsage.tap({ name: "pricing", stage: "price", guard: true }, (settled) => {
      const price = priceOf(settled, prices);
      const { callId, attempt, run, frozen, latencyMs } = settled;
      const { ledger } = run;
      const stamp = { type: "call.priced", seq: ledger.facts.length, at: frozen.at + latencyMs } as const;
      const fact: Facts["call.priced"] & typeof stamp =
        "pico" in price
          ? { ...stamp, callId, attempt, picoUsd: String(price.pico), unpriced: false, priceBasis: price.basis }
          : { ...stamp, callId, attempt, picoUsd: "0", unpriced: true, reason: price.unpriced, priceBasis: "unpriced" };
      ledger.append("call.priced", fact);
    });
  },
});

function priceOf(settled: SettledCall, prices: Pricing): Price {
  const { usage, basis, sent, replayed, run, holds } = settled;
  const { model, at } = settled.frozen;
  if (replayed || !sent) {
    const row = prices.row(model);
    return { pico: 0n, basis: row && row.provenance.source === "user" ? "private" : "public_catalog" };
  }
  if (basis !== "bound") return prices.cost(model, usage, at);
  // Nobody said which rate applied, so a bound takes the worst. A budget in dollars books what it held for the call, which
  // counts what a vendor adds and all that it was allowed to write; a receipt of the same call says the same.
  const bound = prices.ceiling(model, usage.input, usage.output, at);
  const held = "pico" in bound ? run.find(DollarHolds)?.heldIn(holds) : undefined;
  return "pico" in bound && held !== undefined ? { ...bound, pico: held } : bound;
}
