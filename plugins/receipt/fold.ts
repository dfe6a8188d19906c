/**
 * The fold from a ledger to a receipt. Nothing is counted while the run goes on and nothing is read but facts, so a
 * receipt cannot disagree with its ledger. Money is added up in whole units of 1e-12 USD and becomes a number once,
 * at the edge.
 */
import type { CallId, CavemanError, Fact, Ledger, StopReason } from "../../kernel/index.ts";
import type { Denomination } from "../services.ts";
import { amountOf, figureOf, PicoSum, unitsOf, usdOf, type Writable } from "./amounts.ts";
import { type FactsOf, factsOf } from "./facts-by-type.ts";
import { addIncidents } from "./fold-incidents.ts";
import { toolsOf } from "./fold-tools.ts";
import { RECEIPT_SCHEMA, type Receipt, type ReceiptCall } from "./schema.ts";

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
  const { facts, ordinary } = factsOf(run.ledger);
  const children = run.children.map((child) => known(child) ?? fold(child, known));
  const settled = settledOf(facts);
  const startedAt = run.ledger.facts[0]?.at;
  const totals: Totals = { pico: 0n, tokens: 0, input: 0, cacheRead: 0, unpriced: false, capBreached: false };
  const calls = callsOf(settled, facts, startedAt ?? 0, totals);
  const resume = facts("run.resumed").at(-1);
  if (resume) {
    totals.pico += unitsOf(resume.priorPicoUsd);
    totals.tokens += resume.priorTokens;
    totals.unpriced ||= resume.priorUnpriced;
  }
  for (const { totals: child } of children) {
    totals.pico += child.pico;
    totals.tokens += child.tokens;
    totals.input += child.input;
    totals.cacheRead += child.cacheRead;
    totals.unpriced ||= child.unpriced;
    totals.capBreached ||= child.capBreached;
  }

  const budget = budgetOf(facts, totals);
  totals.capBreached ||= budget.breached;
  const tools = toolsOf(run.ledger);
  const end = endOf(run, facts);
  // Assigned and not spread: spreading this many parts into one object costs more than the fold itself.
  const receipt: Writable<Receipt> = {
    schema: RECEIPT_SCHEMA,
    runId: run.id,
    agentId: run.agent.id,
    basis: "estimated_list_price_subtotal",
    claimBasis: "inferred",
    stopReason: end.stopReason,
    durationMs: end.durationMs,
    denomination: budget.denomination ?? "none",
    capBreached: totals.capBreached,
    overspent: budget.overspent,
    totalEstimatedUsd: usdOf(totals.pico),
    totalTokens: totals.tokens,
    unpriced: totals.unpriced,
    turns: turnsOf(settled),
    calls,
    tools: tools.rows,
    subagents: children.map((child) => child.receipt),
    tranches: [],
    breakers: [],
    compactions: [],
  };
  if (end.code) receipt.errorCode = end.code;
  if (end.open) receipt.open = true;
  if (totals.input > 0) receipt.cacheShare = totals.cacheRead / totals.input;
  if (startedAt !== undefined) receipt.startedAt = startedAt;
  if (budget.denomination !== undefined) {
    receipt.max = budget.max;
    receipt.released = budget.released;
    receipt.spent = budget.spent;
    receipt.remaining = budget.remaining;
  }
  if (!ordinary) addIncidents(receipt, facts, { settled, declared: tools.declared });
  return { receipt, totals };
}

interface Attempt {
  readonly callId: CallId;
  readonly attempt: number;
}
// Most calls have one attempt, and their own id will do.
const attemptKey = ({ callId, attempt }: Attempt): string => (attempt === 1 ? callId : `${callId}#${attempt}`);
/** One settlement per attempt, the first: a second would count an amount twice. */
function settledOf(facts: FactsOf): Fact<"call.settled">[] {
  const seen = new Set<string>();
  return facts("call.settled").filter((fact) => seen.size < seen.add(attemptKey(fact)).size);
}

/** The rows of the calls; what they sum up to is added to the totals. */
function callsOf(
  settled: readonly Fact<"call.settled">[],
  facts: FactsOf,
  startedAt: number,
  totals: Totals,
): ReceiptCall[] {
  const prices = matched(settled, facts("call.priced"));
  const clamps = matched(settled, facts("budget.clamped"));
  const sum = new PicoSum();
  const rows = settled.map((fact, index) => {
    const { usage } = fact;
    const price = prices[index];
    // What never left was never billed: nothing about it is unpriced, with or without a catalog.
    const unpriced = price ? price.unpriced : fact.sent;
    const usd = sum.add(price);
    const clamped = fact.clampedOutputTokens ?? clamps[index]?.tokens;
    totals.tokens += usage.input + usage.output;
    totals.input += usage.input;
    totals.cacheRead += usage.cacheRead;
    totals.unpriced ||= unpriced;
    const row: Writable<ReceiptCall> = {
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
      purpose: fact.purpose,
      attempt: fact.attempt,
      atMs: Math.max(0, fact.at - fact.latencyMs - startedAt),
      latencyMs: Math.max(0, fact.latencyMs),
    };
    if (!unpriced) row.costUsd = usd;
    if (fact.simulated) row.simulated = true;
    if (clamped !== undefined) row.clampedOutputTokens = clamped;
    if (fact.errorCode) row.errorCode = fact.errorCode;
    return row;
  });
  totals.pico += sum.total;
  return rows;
}
/** For each attempt the fact that belongs to it, of two the later. Nearly always there is one for each, in their order. */
function matched<F extends Attempt>(settled: readonly Attempt[], facts: readonly F[]): readonly (F | undefined)[] {
  if (facts.length === 0) return [];
  const same = ({ callId, attempt }: F, index: number): boolean =>
    settled[index]?.callId === callId && settled[index].attempt === attempt;
  if (facts.length === settled.length && facts.every(same)) return facts;
  const byKey = new Map(facts.map((fact) => [attemptKey(fact), fact]));
  return settled.map((fact) => byKey.get(attemptKey(fact)));
}

/** Calls of the loop that gave an answer, however many attempts each took: a call ends with the first. */
function turnsOf(settled: readonly Fact<"call.settled">[]): number {
  let turns = 0;
  for (const { purpose, errorCode } of settled) if (purpose !== "summary" && errorCode === undefined) turns++;
  return turns;
}

interface End {
  readonly stopReason: StopReason;
  /** Why it failed. */
  readonly code: string | undefined;
  readonly durationMs: number;
  /** It has not ended yet. */
  readonly open: boolean;
}
function endOf(run: Foldable, facts: FactsOf): End {
  const settled = facts("run.settled").at(-1);
  const stopped = facts("run.stopped")[0];
  const stopReason = settled?.stopReason ?? run.outcome?.stopReason ?? stopped?.reason ?? "complete";
  const failed = stopReason === "error" || stopReason === "aborted";
  const first = run.ledger.facts[0];
  const last = run.ledger.facts.at(-1);
  return {
    stopReason,
    code: failed ? (settled?.code ?? run.outcome?.error?.code ?? stopped?.code) : undefined,
    durationMs: Math.max(0, settled?.durationMs ?? run.outcome?.durationMs ?? (first && last ? last.at - first.at : 0)),
    open: !settled && !run.outcome,
  };
}

interface Budget {
  readonly denomination: Denomination | undefined;
  readonly breached: boolean;
  readonly overspent: number;
  readonly max: number;
  readonly released: number;
  readonly spent: number;
  readonly remaining: number;
}
const NO_BUDGET: Budget = {
  denomination: undefined,
  breached: false,
  overspent: 0,
  max: 0,
  released: 0,
  spent: 0,
  remaining: 0,
};
/** Closed budgets say their figures themselves; one still open is read from what was released and what the tree spent. */
function budgetOf(facts: FactsOf, totals: Totals): Budget {
  const opened = facts("budget.opened").at(-1);
  if (!opened) return NO_BUDGET;
  const { denomination } = opened;
  const figure = (units: bigint): number => amountOf(denomination, units);
  const closed = facts("budget.closed").at(-1);
  if (closed)
    return {
      denomination,
      breached: closed.capBreached,
      overspent: figureOf(denomination, closed.overspent),
      max: figureOf(denomination, closed.max),
      released: figureOf(denomination, closed.released),
      spent: figureOf(denomination, closed.spent),
      remaining: figureOf(denomination, closed.remaining),
    };
  const max = unitsOf(opened.max);
  const released = facts("budget.released").reduce((sum, fact) => sum + unitsOf(fact.amount), unitsOf(opened.released));
  const spent = denomination === "usd" ? totals.pico : BigInt(totals.tokens);
  const over = spent > max ? spent - max : 0n;
  return {
    denomination,
    breached: over > 0n,
    overspent: figure(over),
    max: figure(max),
    released: figure(released),
    spent: figure(spent),
    remaining: figure(released > spent ? released - spent : 0n),
  };
}
