/**
 * The ledger: the append-only list of what happened in one run. Hooks decide, the ledger records. Receipt, telemetry
 * and totals are folds over it, so they cannot disagree. Facts are content-blind: ids, names, digests, counts, money
 * and time, never prompts, arguments or results.
 */
import type { CallBasis, CallPurpose, Usage } from "./model.ts";

/** Identity of a run: `run_` and 16 hex digits, unless the caller names it. */
export type RunId = string & { readonly __brand: "RunId" };
/** Identity of a model call within a run; its attempts share it. */
export type CallId = string & { readonly __brand: "CallId" };

/** Why a run ended. The first seven are graceful results; `error` and `aborted` are failures. */
export type StopReason =
  | "complete" | "budget_exhausted" | "deadline" | "loop_detected" | "no_progress" | "wallet_revoked"
  | "call_budget_exhausted" | "error" | "aborted";

/** The facts the kernel records. A plugin adds its own by declaration merging and `definePlugin({ facts })`. */
export interface Facts {
  "run.started": { agentId: string; depth: number; input: string; parentCall?: string };
  "call.intended": { callId: CallId; attempt: number; purpose: CallPurpose; provider: string; model: string; allowance: number };
  "call.settled": {
    callId: CallId; attempt: number; purpose: CallPurpose; provider: string; model: string; simulated: boolean;
    usage: Usage; basis: CallBasis; sent: boolean; route: string; finish: string; latencyMs: number; allowance: number;
    clampedOutputTokens?: number; errorCode?: string;
  };
  "call.abandoned": { callId: CallId; attempt: number; code: string };
  "tool.admitted": { toolCallId: string; name: string; effect: string; nested: boolean };
  "tool.denied": { toolCallId: string; name: string; declared: boolean; nameDigest?: string; code: string; nested: boolean };
  "tool.finished": {
    toolCallId: string; name: string; effect: string; isError: boolean; code?: string; durationMs: number; nested: boolean;
    /** SHA-256 of the raw arguments, made when first read. */
    readonly argsDigest: string;
    /** SHA-256 of the raw result, before caps and random handles, made when first read. */
    readonly resultDigest: string;
  };
  /** The end of a read that was started ahead of its turn. */
  "tool.speculated": { toolCallId: string; name: string; adopted: boolean };
  "child.spawned": { childRunId: RunId; agentId: string; toolCallId: string };
  "child.settled": { childRunId: RunId; agentId: string; toolCallId: string; stopReason: StopReason };
  "transcript.compacted": { by: string; reason: string; beforeBytes: number; afterBytes: number; dropped: number };
  notice: { code: string; message: string; owner: string };
  "run.stopped": { reason: StopReason; code?: string };
  "run.settled": { stopReason: StopReason; code?: string; durationMs: number; openHolds: number };
}

export type FactType = keyof Facts;
interface Stamp<T> { type: T; seq: number; at: number }
/** A recorded fact: its type, its place in the run's order, and when it happened (epoch milliseconds). */
export type Fact<T extends FactType = FactType> = { [K in T]: { readonly type: K; readonly seq: number; readonly at: number } & Readonly<Facts[K]> }[T];

/** The append-only list of one run. Appending is O(1); subscribers are called in order and cannot fail the run. */
export class Ledger {
  readonly #facts: Fact[] = [];
  readonly #subscribers: ((fact: Fact) => void)[] = [];
  readonly #now: () => number;

  constructor(now: () => number) { this.#now = now; }

  /** Appends a fact and tells the subscribers. `at` is now, for whoever has just read the clock. The data object becomes the fact; getters on it stay lazy. */
  append<T extends FactType>(type: T, data: Facts[T] & Partial<Stamp<T>>, at?: number): Fact<T> {
    // Written onto the fact itself: copying would run its lazy getters. What every turn brings has its stamp from the start.
    const fact = data as unknown as Fact, stamp = data as Partial<Stamp<FactType>>;
    if (stamp.seq !== this.#facts.length || stamp.type !== type || stamp.at === undefined) {
      stamp.type = type; stamp.seq = this.#facts.length; stamp.at = at ?? this.#now();
    }
    this.#facts.push(fact);
    for (const tell of this.#subscribers) {
      try {
        tell(fact);
      } catch {
        // A subscriber only watches: what it throws is its own loss, the record stands.
      }
    }
    return fact as unknown as Fact<T>;
  }

  /** Every fact so far, in order. */
  get facts(): readonly Fact[] { return this.#facts; }

  /** The facts of one type, in order. */
  of<T extends FactType>(type: T): Fact<T>[] { return this.#facts.filter(({ type: its }) => its === type) as unknown as Fact<T>[]; }

  /** Watches facts as they are appended, for as long as the run lasts. */
  subscribe(tell: (fact: Fact) => void): void { this.#subscribers.push(tell); }
}
