/**
 * What plugins share: typed services, and the facts that one plugin records and another folds. Plugins never import
 * each other's files; they meet here.
 */
import { type CallId, defineService, type Run } from "../kernel/index.ts";
import type { Receipt } from "./receipt/schema.ts";

/** A denomination of money: catalog dollars, or plain tokens. */
export type Denomination = "usd" | "tokens";
/** A whole number as text: units of 1e-12 USD under a `usd` budget, tokens under a `tokens` budget. */
export type Amount = string;

/** What a breaker saw. `retry_*` kinds carry what the repetition reserved and cost. */
export interface BreakerTripped {
  kind: "loop_detected" | "no_progress" | "fan_out_blocked" | "retry_attempted" | "retry_exhausted";
  tool?: string;
  /** SHA-256 of what repeated. */
  signature?: string;
  count: number;
  reservedSpend?: Amount;
  measuredSpend?: Amount;
  spendBasis?: "pre_stream_no_usage" | "provider_reported" | "unavailable_worst_case";
}

/** One compaction of the model's view, in tokens; recorded after the summary call, if there was one. */
export interface CompactionSettled {
  tier: "evicted" | "summarized";
  preTokens: number;
  postTokens: number;
  pinnedSegmentIds: string[];
  elidedSegmentDigests: string[];
  cacheState: "warm" | "cold" | "unknown";
  /** The call that wrote the summary; its price is the compaction's cost. */
  summaryCall?: CallId;
  summarySchemaVersion?: number;
}

/** What the attempts before this one had already done when a durable run was taken up again. */
export interface RunResumed {
  attempts: number;
  priorCalls: number;
  priorPicoUsd: Amount;
  priorTokens: number;
  priorUnpriced: boolean;
  possibleDoubleCountCalls: number;
  discardedPartialTurn: boolean;
  /** Settled under the budget before this attempt. */
  priorSettled?: Amount;
}

declare module "../kernel/ledger.ts" {
  interface Facts {
    /** The price of one settled attempt; `picoUsd` is a whole number of 1e-12 USD, "0" when unpriced. */
    "call.priced": { callId: CallId; attempt: number; picoUsd: Amount; unpriced: boolean; reason?: string; priceBasis: "public_catalog" | "private" | "unpriced" };
    "budget.opened": { denomination: Denomination; max: Amount; released: Amount };
    /** A tranche: `amount` more may be spent from call `atCall` on. */
    "budget.released": { amount: Amount; reason: string; atCall: number };
    /** An attempt's output allowance was lowered to `tokens`. */
    "budget.clamped": { callId: CallId; attempt: number; tokens: number };
    "budget.closed": { spent: Amount; overspent: Amount; capBreached: boolean; remaining: Amount; max: Amount; released: Amount };
    "breaker.tripped": BreakerTripped;
    "compaction.settled": CompactionSettled;
    "run.resumed": RunResumed;
  }
}

/** Receipts of runs: `plugins/receipt`. */
export interface Receipts {
  /** The receipt of a run: final once it has settled, before that a fold over what its ledger holds so far. */
  receiptOf(run: Run): Receipt;
}
export const Receipts = defineService<Receipts>("receipts");
