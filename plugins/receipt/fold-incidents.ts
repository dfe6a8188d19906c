/** The fold of what only some runs have: tranches, trips of breakers, compactions, an earlier attempt. */
import type { Fact } from "../../kernel/index.ts";
import type { Amount, Denomination } from "../services.ts";
import { figureOf, picoOf, unitsOf, usdOf, type Writable } from "./amounts.ts";
import type { FactsOf } from "./facts-by-type.ts";
import { detailsOf } from "./fold-details.ts";
import type { Tools } from "./fold-tools.ts";
import {
  type Receipt,
  type ReceiptBreaker,
  type ReceiptCall,
  type ReceiptCompaction,
  type ReceiptResume,
  UNDECLARED,
} from "./schema.ts";

type Prices = readonly Fact<"call.priced">[];

interface Known {
  readonly settled: readonly Fact<"call.settled">[];
  readonly declared: Tools["declared"];
}
/** Adds them, and what plugins have to say, to a receipt that has none of them yet. */
export function addIncidents(receipt: Writable<Receipt>, facts: FactsOf, { settled, declared }: Known): void {
  const denomination = receipt.denomination === "none" ? "usd" : receipt.denomination;
  const prices = facts("call.priced");
  receipt.tranches = facts("budget.released")
    .filter((fact) => unitsOf(fact.amount) > 0n)
    .map(({ amount, reason, atCall }) => ({ amount: figureOf(denomination, amount), reason, atCall }));
  receipt.breakers = breakersOf(facts, denomination, declared);
  receipt.compactions = compactionsOf(facts, settled, receipt.calls);
  const rewrites = facts("transcript.compacted");
  if (rewrites.length > 0)
    receipt.rewrites = rewrites.map(({ by, reason, beforeBytes, afterBytes, dropped }) => ({
      by,
      reason,
      beforeBytes,
      afterBytes,
      dropped,
    }));
  const resume = facts("run.resumed").at(-1);
  if (resume) receipt.resume = resumeOf(resume, denomination);
  Object.assign(receipt, detailsOf(facts, { declared, costOf: (callId) => costOf(callId, prices) }));
}

/** What all attempts of a call cost; undefined when one of them, or the call itself, has no price. */
function costOf(callId: string, prices: Prices): bigint | undefined {
  let sum: bigint | undefined;
  for (const price of prices) {
    if (price.callId !== callId) continue;
    if (price.unpriced) return undefined;
    sum = (sum ?? 0n) + picoOf(price);
  }
  return sum;
}

function breakersOf(facts: FactsOf, denomination: Denomination, declared: Tools["declared"]): ReceiptBreaker[] {
  return facts("breaker.tripped").map((fact) => {
    const retried = fact.kind === "retry_attempted";
    const spend = (amount: Amount | undefined): number | undefined =>
      amount === undefined && !retried ? undefined : figureOf(denomination, amount);
    const reservedSpend = spend(fact.reservedSpend);
    const measuredSpend = spend(fact.measuredSpend);
    const spendBasis = fact.spendBasis ?? (retried ? "unavailable_worst_case" : undefined);
    return {
      kind: fact.kind,
      count: fact.count,
      ...(fact.tool ? { tool: declared.has(fact.tool) ? fact.tool : UNDECLARED } : {}),
      ...(fact.signature ? { signature: fact.signature } : {}),
      ...(reservedSpend === undefined ? {} : { reservedSpend }),
      ...(measuredSpend === undefined ? {} : { measuredSpend }),
      ...(spendBasis ? { spendBasis } : {}),
    };
  });
}

/** `calls` are the rows of `settled`, in its order. */
function compactionsOf(
  facts: FactsOf,
  settled: readonly Fact<"call.settled">[],
  calls: readonly ReceiptCall[],
): ReceiptCompaction[] {
  const compactions = facts("compaction.settled");
  if (compactions.length === 0) return [];
  const prices = facts("call.priced");
  const unpriced = new Set(settled.flatMap(({ callId }, index) => (calls[index]?.unpriced ? [callId] : [])));
  const working = settled.filter((fact) => fact.sent && fact.purpose !== "summary");
  return compactions.map((fact, index) => {
    const after = working.filter((call) => call.seq > fact.seq).length;
    const spent = prices
      .filter((price) => price.callId === fact.summaryCall)
      .reduce((sum, price) => sum + picoOf(price), 0n);
    return {
      index,
      tier: fact.tier,
      preTokens: fact.preTokens,
      postTokens: fact.postTokens,
      pinnedSegmentIds: [...fact.pinnedSegmentIds],
      elidedSegmentDigests: [...fact.elidedSegmentDigests],
      cacheState: fact.cacheState,
      meteredCost: usdOf(spent),
      meteredBasis: "measured",
      ...(fact.summaryCall !== undefined && unpriced.has(fact.summaryCall) ? { unpriced: true } : {}),
      modeledNetTokens: (fact.preTokens - fact.postTokens) * after - (after > 0 ? fact.postTokens : 0),
      modeledBasis: "modeled",
      workingCallsAfter: after,
      ...(fact.summarySchemaVersion === undefined ? {} : { summarySchemaVersion: fact.summarySchemaVersion }),
    };
  });
}

const resumeOf = (fact: Fact<"run.resumed">, denomination: Denomination): ReceiptResume => ({
  attempts: fact.attempts,
  priorCalls: fact.priorCalls,
  priorEstimatedUsd: figureOf("usd", fact.priorPicoUsd),
  priorTokens: fact.priorTokens,
  priorUnpriced: fact.priorUnpriced,
  possibleDoubleCountCalls: fact.possibleDoubleCountCalls,
  discardedPartialTurn: fact.discardedPartialTurn,
  ...(fact.priorSettled === undefined ? {} : { priorSettled: figureOf(denomination, fact.priorSettled) }),
});
