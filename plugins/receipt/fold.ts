/**
 * The fold from a ledger to a receipt. Nothing is counted while the run goes on and nothing is read but facts, so a
 * receipt cannot disagree with its ledger. Money is added up in whole units of 1e-12 USD and becomes a number once,
 * at the edge.
 */
import type { CallId, CavemanError, Fact, Ledger, StopReason } from "../../kernel/index.ts";
import type { Amount, Denomination } from "../services.ts";
import { amountOf, unitsOf, usdOf } from "./amounts.ts";
import { type FactsOf, factsOf } from "./facts-by-type.ts";
import { detailsOf } from "./fold-details.ts";
import { toolsOf } from "./fold-tools.ts";
import {
  RECEIPT_SCHEMA,
  type Receipt,
  type ReceiptBreaker,
  type ReceiptCall,
  type ReceiptCompaction,
  type ReceiptResume,
  UNDECLARED,
} from "./schema.ts";

/** What is read of a run. A `Run` is one. */
export interface Foldable {
  readonly id: string;
  readonly agent: { readonly id: string };
  readonly ledger: Ledger;
  readonly children: readonly Foldable[];
  /** How it ended; before the kernel records `run.settled` this says it. */
  readonly outcome?:
    | { readonly stopReason: StopReason; readonly durationMs: number; readonly error?: Pick<CavemanError, "code"> }
    | undefined;
}

/** Exact sums of a tree, from which its numbers are made. */
interface Totals {
  pico: bigint;
  tokens: number;
  input: number;
  cacheRead: number;
  unpriced: boolean;
  capBreached: boolean;
}
/** A receipt, and the exact sums its numbers were made of. */
export interface Folded {
  readonly receipt: Receipt;
  readonly totals: Totals;
}

/** The receipt of a run and of every run below it. */
export const foldReceipt = (run: Foldable): Receipt => fold(run, () => undefined).receipt;

/** Folds a run; `known` may hand in what was folded of a child before. */
export function fold(run: Foldable, known: (child: Foldable) => Folded | undefined): Folded {
  const facts = factsOf(run.ledger);
  const children = run.children.map((child) => known(child) ?? fold(child, known));
  const prices = new Map(facts("call.priced").map((fact) => [attemptKey(fact), fact]));
  const settled = settledOf(facts);
  const startedAt = run.ledger.facts[0]?.at;
  const calls = callsOf(settled, facts, prices, startedAt ?? 0);
  const resume = facts("run.resumed").at(-1);

  const own: Totals = {
    pico: 0n,
    tokens: 0,
    input: 0,
    cacheRead: 0,
    unpriced: calls.some((call) => call.unpriced),
    capBreached: false,
  };
  for (const fact of settled) {
    const { usage } = fact;
    if (prices.size > 0) own.pico += picoOf(prices.get(attemptKey(fact)));
    own.tokens += usage.input + usage.output;
    own.input += usage.input;
    own.cacheRead += usage.cacheRead;
  }
  if (resume) {
    own.pico += unitsOf(resume.priorPicoUsd);
    own.tokens += resume.priorTokens;
    own.unpriced ||= resume.priorUnpriced;
  }
  const totals = children.reduce<Totals>(
    (sum, { totals: child }) => ({
      pico: sum.pico + child.pico,
      tokens: sum.tokens + child.tokens,
      input: sum.input + child.input,
      cacheRead: sum.cacheRead + child.cacheRead,
      unpriced: sum.unpriced || child.unpriced,
      capBreached: sum.capBreached || child.capBreached,
    }),
    own,
  );

  const budget = budgetOf(facts, totals);
  totals.capBreached ||= budget.breached;
  const denomination = budget.denomination ?? "usd";
  const tools = toolsOf(run.ledger);
  const rewrites = facts("transcript.compacted").map(({ by, reason, beforeBytes, afterBytes, dropped }) => ({
    by,
    reason,
    beforeBytes,
    afterBytes,
    dropped,
  }));
  const receipt: Receipt = {
    schema: RECEIPT_SCHEMA,
    runId: run.id,
    agentId: run.agent.id,
    basis: "estimated_list_price_subtotal",
    claimBasis: "inferred",
    ...endOf(run, facts),
    denomination: budget.denomination ?? "none",
    capBreached: totals.capBreached,
    overspent: budget.overspent,
    totalEstimatedUsd: usdOf(totals.pico),
    totalTokens: totals.tokens,
    unpriced: totals.unpriced,
    ...(totals.input > 0 ? { cacheShare: totals.cacheRead / totals.input } : {}),
    turns: turnsOf(facts),
    ...(startedAt === undefined ? {} : { startedAt }),
    ...budget.figures,
    calls,
    tools: tools.rows,
    subagents: children.map((child) => child.receipt),
    tranches: facts("budget.released")
      .filter((fact) => unitsOf(fact.amount) > 0n)
      .map((fact) => ({
        amount: amountOf(denomination, unitsOf(fact.amount)),
        reason: fact.reason,
        atCall: fact.atCall,
      })),
    breakers: breakersOf(facts, denomination, tools.declared),
    compactions: compactionsOf(facts, prices, unpricedIn(settled, calls)),
    ...(rewrites.length > 0 ? { rewrites } : {}),
    ...(resume ? { resume: resumeOf(resume, denomination) } : {}),
    ...detailsOf(facts, { declared: tools.declared, costOf: (callId) => costOf(callId, prices) }),
  };
  return { receipt, totals };
}

// Most calls have one attempt, and their own id will do.
const attemptKey = ({ callId, attempt }: { callId: CallId; attempt: number }): string =>
  attempt === 1 ? callId : `${callId}#${attempt}`;
/** One settlement per attempt, the first: a second would count an amount twice. */
function settledOf(facts: FactsOf): Fact<"call.settled">[] {
  const seen = new Set<string>();
  return facts("call.settled").filter((fact) => seen.size < seen.add(attemptKey(fact)).size);
}

type Prices = ReadonlyMap<string, Fact<"call.priced">>;
const picoOf = (price: Fact<"call.priced"> | undefined): bigint =>
  price && !price.unpriced ? unitsOf(price.picoUsd) : 0n;

/** What all attempts of a call cost; undefined when one of them, or the call itself, has no price. */
function costOf(callId: string, prices: Prices): bigint | undefined {
  let sum: bigint | undefined;
  for (const price of prices.values()) {
    if (price.callId !== callId) continue;
    if (price.unpriced) return undefined;
    sum = (sum ?? 0n) + picoOf(price);
  }
  return sum;
}

function callsOf(
  settled: readonly Fact<"call.settled">[],
  facts: FactsOf,
  prices: Prices,
  startedAt: number,
): ReceiptCall[] {
  const clamps = new Map(facts("budget.clamped").map((fact) => [attemptKey(fact), fact.tokens]));
  const keyed = prices.size > 0 || clamps.size > 0;
  return settled.map((fact) => {
    const { usage } = fact;
    const key = keyed ? attemptKey(fact) : "";
    const price = prices.get(key);
    // What never left was never billed: nothing about it is unpriced, with or without a catalog.
    const unpriced = price ? price.unpriced : fact.sent;
    const usd = usdOf(picoOf(price));
    const clamped = fact.clampedOutputTokens ?? clamps.get(key);
    return {
      provider: fact.provider,
      model: fact.model,
      inputTokens: Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite),
      outputTokens: usage.output,
      cacheReadTokens: usage.cacheRead,
      cacheWriteTokens: usage.cacheWrite,
      reasoningTokens: usage.reasoning,
      estimatedUsd: usd,
      unpriced,
      usageBasis: fact.sent ? fact.basis : "unavailable",
      ...(clamped === undefined ? {} : { clampedOutputTokens: clamped }),
      ...(fact.simulated ? { simulated: true } : {}),
      purpose: fact.purpose,
      attempt: fact.attempt,
      ...(unpriced ? {} : { costUsd: usd }),
      ...(fact.errorCode ? { errorCode: fact.errorCode } : {}),
      atMs: Math.max(0, fact.at - fact.latencyMs - startedAt),
      latencyMs: Math.max(0, fact.latencyMs),
    };
  });
}

/** Calls of the loop that gave an answer, however many attempts each took. */
const turnsOf = (facts: FactsOf): number =>
  new Set(
    facts("call.settled")
      .filter((fact) => fact.purpose !== "summary" && fact.errorCode === undefined)
      .map((fact) => fact.callId),
  ).size;

function endOf(run: Foldable, facts: FactsOf): Pick<Receipt, "stopReason" | "errorCode" | "durationMs" | "open"> {
  const settled = facts("run.settled").at(-1);
  const stopped = facts("run.stopped")[0];
  const stopReason = settled?.stopReason ?? run.outcome?.stopReason ?? stopped?.reason ?? "complete";
  const failed = stopReason === "error" || stopReason === "aborted";
  const code = settled?.code ?? run.outcome?.error?.code ?? stopped?.code;
  const first = run.ledger.facts[0];
  const last = run.ledger.facts.at(-1);
  return {
    stopReason,
    ...(failed && code ? { errorCode: code } : {}),
    durationMs: Math.max(0, settled?.durationMs ?? run.outcome?.durationMs ?? (first && last ? last.at - first.at : 0)),
    ...(settled || run.outcome ? {} : { open: true }),
  };
}

interface Budget {
  readonly denomination: Denomination | undefined;
  readonly breached: boolean;
  readonly overspent: number;
  readonly figures: Pick<Receipt, "max" | "released" | "spent" | "remaining">;
}
/** Closed budgets say their figures themselves; one still open is read from what was released and what the tree spent. */
function budgetOf(facts: FactsOf, totals: Totals): Budget {
  const opened = facts("budget.opened").at(-1);
  if (!opened) return { denomination: undefined, breached: false, overspent: 0, figures: {} };
  const { denomination } = opened;
  const figure = (units: bigint): number => amountOf(denomination, units);
  const closed = facts("budget.closed").at(-1);
  if (closed) {
    const [max, released, spent, remaining] = [closed.max, closed.released, closed.spent, closed.remaining].map(
      (amount) => figure(unitsOf(amount)),
    );
    return {
      denomination,
      breached: closed.capBreached,
      overspent: figure(unitsOf(closed.overspent)),
      figures: { max: max ?? 0, released: released ?? 0, spent: spent ?? 0, remaining: remaining ?? 0 },
    };
  }
  const max = unitsOf(opened.max);
  const released = facts("budget.released").reduce((sum, fact) => sum + unitsOf(fact.amount), unitsOf(opened.released));
  const spent = denomination === "usd" ? totals.pico : BigInt(totals.tokens);
  const over = spent > max ? spent - max : 0n;
  return {
    denomination,
    breached: over > 0n,
    overspent: figure(over),
    figures: {
      max: figure(max),
      released: figure(released),
      spent: figure(spent),
      remaining: figure(released > spent ? released - spent : 0n),
    },
  };
}

function breakersOf(facts: FactsOf, denomination: Denomination, declared: ReadonlySet<string>): ReceiptBreaker[] {
  return facts("breaker.tripped").map((fact) => {
    const retried = fact.kind === "retry_attempted";
    const spend = (amount: Amount | undefined): number | undefined =>
      amount === undefined && !retried ? undefined : amountOf(denomination, unitsOf(amount));
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

/** Calls of which some attempt has no price. `calls` are the rows of `settled`, in its order. */
const unpricedIn = (settled: readonly Fact<"call.settled">[], calls: readonly ReceiptCall[]): ReadonlySet<CallId> =>
  new Set(settled.flatMap(({ callId }, index) => (calls[index]?.unpriced ? [callId] : [])));

function compactionsOf(facts: FactsOf, prices: Prices, unpriced: ReadonlySet<CallId>): ReceiptCompaction[] {
  const working = settledOf(facts).filter((fact) => fact.sent && fact.purpose !== "summary");
  return facts("compaction.settled").map((fact, index) => {
    const after = working.filter((call) => call.seq > fact.seq).length;
    const spent = [...prices.values()]
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
  priorEstimatedUsd: usdOf(unitsOf(fact.priorPicoUsd)),
  priorTokens: fact.priorTokens,
  priorUnpriced: fact.priorUnpriced,
  possibleDoubleCountCalls: fact.possibleDoubleCountCalls,
  discardedPartialTurn: fact.discardedPartialTurn,
  ...(fact.priorSettled === undefined ? {} : { priorSettled: amountOf(denomination, unitsOf(fact.priorSettled)) }),
});
