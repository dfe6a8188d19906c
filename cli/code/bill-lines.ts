/** What a turn or a session used and cost, in a line. Prices are list prices and local figures: they are called so. */
import type { Money } from "../../catalog/money.ts";
import { type Bill, cacheShareOf } from "../../plugins/coding/index.ts";
import { dollars, grouped, plural } from "./figures.ts";

export function billLine(bill: Bill, remaining?: Money): string {
  return [
    tokensOf(bill),
    plural(bill.calls, "call"),
    costOf(bill),
    ...(remaining === undefined ? [] : [leftOf(remaining)]),
  ].join(" · ");
}

export function tokensOf(bill: Bill): string {
  const share = cacheShareOf(bill);
  const cached = share === undefined ? "" : ` (${Math.round(share * 100)}% from cache)`;
  const thinking = bill.reasoningTokens > 0 ? ` (${grouped(bill.reasoningTokens)} reasoning)` : "";
  return `${grouped(bill.inputTokens)} tokens in${cached} · ${grouped(bill.outputTokens)} out${thinking}`;
}

/** Never a zero for a price that nobody knows. */
export function costOf({ calls, spent, unpriced, simulated, bounded }: Bill): string {
  if (calls === 0) return "$0.00";
  const notes = [
    simulated ? "simulated" : "",
    "estimated list price, inferred",
    bounded ? "partly booked at the bound" : "",
  ].filter(Boolean);
  if (!unpriced) return `${dollars(spent)} (${notes.join(", ")})`;
  return spent > 0n
    ? `at least ${dollars(spent)}, some calls unpriced (${notes.join(", ")})`
    : `unpriced${simulated ? " (simulated)" : ""}`;
}

export const leftOf = (remaining: Money): string =>
  remaining > 0n ? `${dollars(remaining)} left of --max-usd` : "nothing left of --max-usd";
