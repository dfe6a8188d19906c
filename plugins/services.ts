/**
 * What plugins share: typed services, and the facts that one plugin records and another folds. Plugins never import
 * each other's files; they meet here.
 */
import { type Static, Type } from "@sinclair/typebox";
import type { Row } from "../catalog/row.ts";
import {
  type CallId,
  defineService,
  type Hold,
  type Message,
  type ModelSpec,
  type ResolvedModel,
  type Run,
  type Tokens,
  type Usage,
  type View,
} from "../kernel/index.ts";
import type { Result as CompressionResult, CompressOptions, Compressor, ContentType } from "./compression/schema.ts";
import type { Receipt } from "./receipt/schema.ts";

/** A denomination of money: catalog dollars, or plain tokens. */
export type Denomination = "usd" | "tokens";
/** A whole number as text: units of 1e-12 USD under a `usd` budget, tokens under a `tokens` budget. */
export type Amount = string;

const closed = { additionalProperties: false };
const Count = Type.Integer({ minimum: 0 });
const AmountText = Type.String({ pattern: "^\\d+$" });
const CallIdText = Type.Unsafe<CallId>({ type: "string" });
const attempt = { callId: CallIdText, attempt: Type.Integer({ minimum: 1 }) };
const oneOf = <const T extends string>(...words: T[]) => Type.Unsafe<T>({ type: "string", enum: words });

const CallPriced = Type.Object(
  {
    ...attempt,
    picoUsd: AmountText,
    unpriced: Type.Boolean(),
    reason: Type.Optional(Type.String()),
    priceBasis: oneOf("public_catalog", "private", "unpriced"),
  },
  closed,
);
const BudgetOpened = Type.Object(
  { denomination: oneOf("usd", "tokens"), max: AmountText, released: AmountText },
  closed,
);
const BudgetReleased = Type.Object({ amount: AmountText, reason: Type.String(), atCall: Count }, closed);
const BudgetClamped = Type.Object({ ...attempt, tokens: Count }, closed);
const BudgetClosed = Type.Object(
  {
    spent: AmountText,
    /** Negative when only a level below overspent. */
    overspent: Type.String({ pattern: "^-?\\d+$" }),
    capBreached: Type.Boolean(),
    remaining: AmountText,
    max: AmountText,
    released: AmountText,
  },
  closed,
);
const SubagentsTree = Type.Object({ admitted: Count, denied: Count, peak: Count, deepest: Count }, closed);

const BreakerTripped = Type.Object(
  {
    kind: oneOf("loop_detected", "no_progress", "fan_out_blocked", "retry_attempted", "retry_exhausted"),
    tool: Type.Optional(Type.String()),
    /** SHA-256 of what repeated. */
    signature: Type.Optional(Type.String()),
    count: Count,
    reservedSpend: Type.Optional(AmountText),
    measuredSpend: Type.Optional(AmountText),
    spendBasis: Type.Optional(oneOf("pre_stream_no_usage", "provider_reported", "unavailable_worst_case")),
  },
  closed,
);
/** What a breaker saw. `retry_*` kinds carry what the repetition reserved and cost. */
export type BreakerTripped = Static<typeof BreakerTripped>;

const CompactionSettled = Type.Object(
  {
    tier: oneOf("evicted", "summarized"),
    preTokens: Count,
    postTokens: Count,
    pinnedSegmentIds: Type.Array(Type.String()),
    elidedSegmentDigests: Type.Array(Type.String()),
    cacheState: oneOf("warm", "cold", "unknown"),
    /** The call that wrote the summary; its price is the compaction's cost. */
    summaryCall: Type.Optional(CallIdText),
    summarySchemaVersion: Type.Optional(Count),
  },
  closed,
);
/** One compaction of the model's view, in tokens; recorded after the summary call, if there was one. */
export type CompactionSettled = Static<typeof CompactionSettled>;

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

const PolicyDecided = Type.Object(
  {
    toolCallId: Type.String(),
    name: Type.String(),
    decision: oneOf("allow", "deny"),
    by: oneOf("rule", "tool_policy", "person"),
    /** Short deny code, never content. */
    reason: Type.Optional(Type.String()),
    /** Index of the rule in the policy's options. */
    rule: Type.Optional(Count),
    /** What came of asking a person. */
    answer: Type.Optional(oneOf("yes", "always", "remembered", "no", "unanswered", "unavailable", "failed")),
    waitedMs: Type.Optional(Type.Number({ minimum: 0 })),
  },
  closed,
);
/** What `plugins/policy` decided of one call; recorded only when somebody had something to decide. */
export type PolicyDecided = Static<typeof PolicyDecided>;

declare module "../kernel/ledger.ts" {
  interface Facts {
    /** The price of one settled attempt; `picoUsd` is a whole number of 1e-12 USD, "0" when unpriced. */
    "call.priced": Static<typeof CallPriced>;
    "budget.opened": Static<typeof BudgetOpened>;
    /** A tranche: `amount` more may be spent from call `atCall` on. */
    "budget.released": Static<typeof BudgetReleased>;
    /** An attempt's output allowance was lowered to `tokens`. */
    "budget.clamped": Static<typeof BudgetClamped>;
    "budget.closed": Static<typeof BudgetClosed>;
    "breaker.tripped": BreakerTripped;
    /** The counters of a whole tree of runs, recorded by its root when it settles. */
    "subagents.tree": Static<typeof SubagentsTree>;
    "compaction.settled": CompactionSettled;
    "policy.decided": PolicyDecided;
    "run.resumed": RunResumed;
  }
}

/** The schemas of the facts that are read by others than their plugin, for the `facts` of who records them. */
export const sharedFacts = Object.freeze({
  pricing: { "call.priced": CallPriced },
  budget: {
    "budget.opened": BudgetOpened,
    "budget.released": BudgetReleased,
    "budget.clamped": BudgetClamped,
    "budget.closed": BudgetClosed,
  },
  subagents: { "subagents.tree": SubagentsTree },
  breakers: { "breaker.tripped": BreakerTripped },
  compaction: { "compaction.settled": CompactionSettled },
  policy: { "policy.decided": PolicyDecided },
});

/** Receipts of runs: `plugins/receipt`. */
export interface Receipts {
  /** The receipt of a run: final once it has settled, before that a fold over what its ledger holds so far. */
  receiptOf(run: Run): Receipt;
}
export const Receipts = defineService<Receipts>("receipts");

/** Which model is asked about; a simulated model is priced as the model it passes for. */
export type PricedModel = Pick<ResolvedModel, "provider" | "id">;
/** Units of 1e-12 USD, or what is missing to know them. Never zero for an unknown price. */
export type Price =
  | { readonly pico: bigint; readonly basis: "public_catalog" | "private" }
  | { readonly unpriced: string };
/** Prices over the catalog: `plugins/pricing`. `at` is the price instant in epoch milliseconds. */
export interface Pricing {
  row(model: PricedModel): Row | undefined;
  /** What a settled usage costs. */
  cost(model: PricedModel, usage: Usage, at: number): Price;
  /** The most that a call of so many tokens can cost. */
  ceiling(model: PricedModel, inputTokens: number, outputTokens: number, at: number): Price;
}
export const Pricing = defineService<Pricing>("pricing");

/** What a budget in dollars set aside for an attempt: `plugins/budget`. One a run. */
export interface DollarHolds {
  /** Units of 1e-12 USD among these holds; undefined when no dollars were held. */
  heldIn(holds: readonly Hold[]): bigint | undefined;
}
export const DollarHolds = defineService<DollarHolds>("dollar-holds");

/** How the account behind a model is billed. */
export type Regime = "metered" | "subscription" | "unknown";
/** Provided by whoever holds the credentials; without it accounts count as metered. */
export interface Credentials {
  regimeOf(model: ResolvedModel): Regime;
}
export const Credentials = defineService<Credentials>("credentials");

/** What is known of a failed call. */
export interface ProviderFault {
  /** HTTP status, when there was one. */
  readonly status?: number;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** Milliseconds the provider asks to wait. */
  readonly retryAfterMs?: number;
  /** Whether a smaller request may succeed. */
  readonly tooLarge: boolean;
  /** `no` only when the request provably reached no model. */
  readonly billed: "no" | "maybe";
  readonly code: string;
}
/** Reads the cause of a failed call: `plugins/providers`. */
export interface ProviderFaults {
  classify(cause: unknown): ProviderFault;
}
export const ProviderFaults = defineService<ProviderFaults>("provider-faults");

/** The models of a run: `plugins/providers`. */
export interface Models {
  /** The run's own model, once the run has started. */
  readonly resolved: ResolvedModel | undefined;
  /** Resolves the run's own model, a model object at once; later calls give the same. */
  prepare(): ResolvedModel | Promise<ResolvedModel>;
  /** Resolves another one, for a router or a retry. */
  resolve(spec: ModelSpec): Promise<ResolvedModel>;
}
export const Models = defineService<Models>("models");

/** Which tokenizer counted, and how far its figure may be trusted. */
export interface TokenizerIdentity {
  /** Name of the encoding, as `o200k_base`. */
  readonly backend: string;
  /** Version of the ranks. */
  readonly revision: string;
  /** SHA-256 of the ranks and the split pattern; empty for a modelled count. */
  readonly digest: string;
  /** `exact` for this encoding; `modelled` when it stands in for one that is not public. */
  readonly exactness: "exact" | "modelled";
  /** What was counted: bare text, without a provider's own framing. */
  readonly surface: "text";
  /** Why another counter than `o200k_base` counted. */
  readonly reason?: string;
}
/** Tokens of text: `plugins/tokens`. Every figure is inferred; a provider's report is what bills. */
export interface Tokenizer {
  /** The tokenizer that stands for a model; undefined when none is known to: the model is unmeasured. */
  identityOf(model: PricedModel): TokenizerIdentity | undefined;
  readonly identity: TokenizerIdentity;
  /** Exact tokens of a text in this encoding. */
  count(text: string): Tokens;
  /** Tokens of a message's text, counted once a message. */
  countMessage(message: Message): Tokens;
}
export const Tokenizer = defineService<Tokenizer>("tokenizer");

/** Exact originals of what a model no longer sees: `plugins/recovery`. One a run: it hands out what that run was shown. */
export interface Recovery {
  /**
   * Stores an original, durably, before anything of it is left out, and lets this run's model fetch it back.
   * Undefined when it cannot be stored (full, read-only, broken): then nothing of it may be dropped.
   */
  keep(original: string, about: { readonly contentType: string; readonly by: string }): string | undefined;
  /** The exact original of a handle this run was shown. */
  retrieve(handle: string): string | undefined;
  /** Whether a text came out of `cave_retrieve`, or carries a handle already: it is never compressed or stored again. */
  isRecovered(toolName: string, text: string): boolean;
}
export const Recovery = defineService<Recovery>("recovery");

/** Outputs kept aside whole while the run lasts, for `read_tool_output`: `plugins/results`. */
export interface StoredOutputs {
  /** Keeps a text and answers with its handle; undefined when it is over the limit of one entry. */
  keep(text: string, toolName: string): string | undefined;
  read(handle: string): string | undefined;
}
export const StoredOutputs = defineService<StoredOutputs>("stored-outputs");

/** Tokens of a view, and where the figure comes from: the provider's last report, a tokenizer, or bytes over four. */
export interface ContextSize {
  readonly tokens: number;
  readonly basis: "reported" | "exact" | "modelled" | "estimate";
}
/** How full the model's context is, and what rewriting it costs: `plugins/context-editing`. One a run. */
export interface ContextGauge {
  /** Tokens of context a model takes; undefined when nobody knows. */
  windowOf(model: ResolvedModel): number | undefined;
  /** Tokens of input from which on the view is worth rewriting; undefined for an unknown window. */
  frontierOf(model: ResolvedModel): number | undefined;
  /** Tokens of input that a call with this view takes: system, tools and messages. */
  sizeOf(view: View, model: ResolvedModel | undefined): ContextSize;
  /** Tokens of one message. */
  messageTokens(message: Message, model: ResolvedModel | undefined): number;
  /** Tokens of a text. */
  textTokens(text: string, model: ResolvedModel | undefined): number;
  /** Whether the last call read this run's prefix from the provider's cache. */
  readonly cacheState: "warm" | "cold" | "unknown";
  /**
   * Calls after which a rewrite has paid for the cached prefix it breaks, at this model's prices: `again` tokens that
   * must be sent anew, `saved` tokens less in every call. 0 when nothing is cached; undefined without prices.
   */
  callsToPay(model: ResolvedModel, rewrite: { readonly again: number; readonly saved: number }): number | undefined;
}
export const ContextGauge = defineService<ContextGauge>("context-gauge");

/** Where exact originals go before they leave the view, in the place that lasts longest: `plugins/context-editing`. */
export interface Originals {
  /** Whether this run has a store, and its model a tool that reads from it. */
  readonly available: boolean;
  /**
   * Keeps a text and answers with the call that reads it back whole. Undefined when it cannot be kept: then nothing of it
   * may be dropped. `whole`: the text is a piece of history, which may carry handles of its own.
   */
  keep(
    text: string,
    about: { readonly toolName: string; readonly by: string; readonly whole?: boolean },
  ): string | undefined;
  /** What a marker in the place of a text must say of the handles in it, and whether that names all of them. */
  carriedBy(text: string): { readonly words: string; readonly complete: boolean };
}
export const Originals = defineService<Originals>("originals");

/** Smaller views of text: `plugins/compression`. One a run. */
export interface Compression {
  /** Adds a compressor to this run, in place of the one its type had. */
  register(compressor: Compressor): void;
  /** Every content type of this run with what its compressor keeps. */
  types(): { readonly type: ContentType; readonly keeps: string }[];
  /** What a text is. */
  detect(text: string): ContentType;
  /** A smaller view, or the text itself with the reason. Never rejects; lossy only when `keep` stored the original. */
  compress(text: string, options?: CompressOptions): Promise<CompressionResult>;
}
export const Compression = defineService<Compression>("compression");
