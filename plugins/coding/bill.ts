/** What a turn used and cost: a fold over the ledgers of its runs, exact to the picodollar. */
import { add, type Money, money, ZERO } from "../../catalog/money.ts";
import type { Run } from "../../kernel/index.ts";
import "../services.ts";

/** What runs used and cost. Inferred: list prices times reported usage. */
export interface Bill {
  /** Attempts that were sent. */
  readonly calls: number;
  /** Gross: cache reads and writes included. */
  readonly inputTokens: number;
  /** Thinking included. */
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  readonly spent: Money;
  /** Some call had no price: `spent` is a lower bound. */
  readonly unpriced: boolean;
  /** Some figure is a script's and not a vendor's. */
  readonly simulated: boolean;
  /** Some usage is not what the provider reported but the most it can have been. */
  readonly bounded: boolean;
}

export const NOTHING: Bill = Object.freeze({
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  spent: ZERO,
  unpriced: false,
  simulated: false,
  bounded: false,
});

export const plus = (a: Bill, b: Bill): Bill => ({
  calls: a.calls + b.calls,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
  cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
  reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  spent: add(a.spent, b.spent),
  unpriced: a.unpriced || b.unpriced,
  simulated: a.simulated || b.simulated,
  bounded: a.bounded || b.bounded,
});

/** Share of the input that was read from the provider's cache, 0 to 1; undefined without input. */
export const cacheShareOf = ({ cacheReadTokens, inputTokens }: Bill): number | undefined =>
  inputTokens > 0 ? cacheReadTokens / inputTokens : undefined;

/** The bill of a run and of every run below it. */
export function billOf(run: Run): Bill {
  const { ledger, children } = run;
  let bill = NOTHING;
  const priced = new Set<string>();
  for (const { callId, attempt, picoUsd, unpriced } of ledger.of("call.priced")) {
    priced.add(`${callId} ${attempt}`);
    bill = plus(bill, { ...NOTHING, spent: money(BigInt(picoUsd)), unpriced });
  }
  for (const { callId, attempt, usage, sent, simulated, basis } of ledger.of("call.settled")) {
    if (!sent) continue;
    bill = plus(bill, {
      ...NOTHING,
      calls: 1,
      inputTokens: usage.input,
      outputTokens: usage.output,
      cacheReadTokens: usage.cacheRead,
      cacheWriteTokens: usage.cacheWrite,
      reasoningTokens: usage.reasoning,
      // A kernel without the pricing plugin prices nothing, and what has no price is not free.
      unpriced: !priced.has(`${callId} ${attempt}`),
      simulated,
      bounded: basis === "bound" || basis === "partial",
    });
  }
  return children.reduce((sum, child) => plus(sum, billOf(child)), bill);
}
