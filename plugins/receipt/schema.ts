/**
 * The receipt `caveman.agent.run-receipt.v1`: one schema, from which the types are inferred and the shipped
 * `receipt.schema.json` is written. Closed at every level. Fields may be added as optional ones; none changes its
 * meaning and none goes away.
 */
import { type Static, Type } from "@sinclair/typebox";
import { details } from "./schema-details.ts";
import { amount, closed, count, digest, name, oneOf } from "./schema-forms.ts";

export const RECEIPT_SCHEMA = "caveman.agent.run-receipt.v1";
/** The name that stands for every tool the model asked for and no agent declared. */
export const UNDECLARED = "undeclared";

const Call = closed({
  provider: Type.String(),
  model: Type.String(),
  inputTokens: count("Input that was neither read from nor written to the provider's cache."),
  outputTokens: count("Output, reasoning included."),
  cacheReadTokens: count(),
  cacheWriteTokens: count(),
  reasoningTokens: count("Part of outputTokens."),
  estimatedUsd: amount("Estimated list price; 0 when unpriced."),
  unpriced: Type.Boolean(),
  usageBasis: oneOf("provider_reported", "partial", "bound", "simulated", "unavailable"),
  clampedOutputTokens: Type.Optional(count("The output allowance a budget lowered this attempt to.")),
  simulated: Type.Optional(Type.Boolean({ description: "The figures come from a script, not from a vendor." })),
  purpose: Type.Optional(oneOf("turn", "repair", "summary")),
  attempt: Type.Optional(Type.Integer({ minimum: 1, description: "Which attempt of its call this was." })),
  costUsd: Type.Optional(
    amount("The same figure as estimatedUsd, absent when unpriced, so that a missing price is never taken for zero."),
  ),
  errorCode: Type.Optional(name()),
  atMs: Type.Optional(amount("Milliseconds from the start of its run to the call.")),
  latencyMs: Type.Optional(amount("Milliseconds from the call to its settlement.")),
});

const Tool = closed({
  name: name(),
  calls: count("Calls the model asked for, refused ones among them."),
  errors: count("Of them, calls that ended in an error; a refused one did."),
  denied: Type.Optional(count("Of them, calls that were refused and never ran.")),
  nameDigest: Type.Optional(
    Type.String({ minLength: 1, description: 'Digest of the name the model made up; only on "undeclared".' }),
  ),
});

const Tranche = closed({ amount: Type.Number({ exclusiveMinimum: 0 }), reason: name(), atCall: count() });

const Breaker = closed(
  {
    kind: oneOf("loop_detected", "no_progress", "fan_out_blocked", "retry_attempted", "retry_exhausted"),
    count: count(),
    tool: Type.Optional(name()),
    signature: Type.Optional(digest()),
    reservedSpend: Type.Optional(amount()),
    measuredSpend: Type.Optional(amount()),
    spendBasis: Type.Optional(oneOf("pre_stream_no_usage", "provider_reported", "unavailable_worst_case")),
  },
  {
    if: { properties: { kind: { const: "retry_attempted" } } },
    // biome-ignore lint/suspicious/noThenProperty: the keyword of JSON Schema
    then: { required: ["reservedSpend", "measuredSpend", "spendBasis"] },
  },
);

const Compaction = closed({
  index: count(),
  tier: oneOf("evicted", "summarized"),
  preTokens: count(),
  postTokens: count(),
  pinnedSegmentIds: Type.Array(Type.String()),
  elidedSegmentDigests: Type.Array(digest()),
  cacheState: oneOf("warm", "cold", "unknown"),
  meteredCost: amount("What the summary call cost, in USD; 0 when there was none. Without what is unpriced."),
  meteredBasis: oneOf("measured"),
  unpriced: Type.Optional(
    Type.Literal(true, { description: "The summary call, or an attempt of it, has no price: meteredCost is a floor." }),
  ),
  modeledNetTokens: Type.Integer({
    description: "(preTokens − postTokens) × workingCallsAfter, less postTokens once if any call followed.",
  }),
  modeledBasis: oneOf("modeled"),
  workingCallsAfter: count("Calls after this compaction, summary calls left out."),
  summarySchemaVersion: Type.Optional(Type.Integer({ minimum: 1 })),
});

const Rewrite = closed({
  by: name(),
  reason: name(),
  beforeBytes: count(),
  afterBytes: count(),
  dropped: count("Messages that left the view."),
});

const Resume = closed({
  attempts: Type.Integer({ minimum: 2 }),
  priorCalls: count(),
  priorEstimatedUsd: amount(),
  priorTokens: count(),
  priorUnpriced: Type.Boolean(),
  possibleDoubleCountCalls: count(),
  discardedPartialTurn: Type.Boolean(),
  priorSettled: Type.Optional(amount()),
});

const Level = closed({
  schema: Type.Literal(RECEIPT_SCHEMA),
  runId: Type.String({ pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$" }),
  agentId: Type.String(),
  basis: Type.Literal("estimated_list_price_subtotal"),
  claimBasis: Type.Literal("inferred"),
  stopReason: oneOf(
    "complete",
    "budget_exhausted",
    "deadline",
    "loop_detected",
    "no_progress",
    "wallet_revoked",
    "call_budget_exhausted",
    "error",
    "aborted",
  ),
  denomination: oneOf("usd", "tokens", "none"),
  capBreached: Type.Boolean({ description: "Of this run or of any run below it." }),
  overspent: amount("What this run alone spent past its maximum, in its denomination."),
  totalEstimatedUsd: amount("This run, every run below it and what came before a resume, each once."),
  totalTokens: count("Input, output, cache reads and cache writes of the same tree."),
  unpriced: Type.Boolean({ description: "Some call of the tree has no price, so totalEstimatedUsd is a floor." }),
  calls: Type.Array(Call, { description: "One entry per attempt." }),
  tools: Type.Array(Tool),
  tranches: Type.Array(Tranche),
  breakers: Type.Array(Breaker),
  compactions: Type.Array(Compaction),
  max: Type.Optional(amount("In the denomination.")),
  released: Type.Optional(amount()),
  spent: Type.Optional(amount()),
  resume: Type.Optional(Resume),
  remaining: Type.Optional(amount("What was still free to spend.")),
  cacheShare: Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: "Share of the tree's input that was read from cache; absent without input.",
    }),
  ),
  errorCode: Type.Optional(name()),
  turns: Type.Optional(count("Model turns this run completed.")),
  startedAt: Type.Optional(amount("When the run started, in epoch milliseconds.")),
  durationMs: Type.Optional(amount()),
  open: Type.Optional(
    Type.Boolean({ description: "The run had not ended when this was folded; stopReason says nothing yet." }),
  ),
  rewrites: Type.Optional(Type.Array(Rewrite, { description: "Every rewrite of the model's view, in bytes." })),
  ...details,
});

/** The receipt of one run and, under `subagents`, of every run below it. */
export interface Receipt extends Static<typeof Level> {
  subagents: Receipt[];
}
export type ReceiptCall = Static<typeof Call>;
export type ReceiptTool = Static<typeof Tool>;
export type ReceiptBreaker = Static<typeof Breaker>;
export type ReceiptCompaction = Static<typeof Compaction>;
export type ReceiptResume = Static<typeof Resume>;

/** JSON Schema (draft-07) of a receipt. */
export const receiptSchema = closed(
  { ...Level.properties, subagents: Type.Array(Type.Unsafe<Receipt>({ $ref: "#" })) },
  { $schema: "http://json-schema.org/draft-07/schema#", title: "Receipt of a caveman-agent run" },
);

/** The text of `receipt.schema.json`. */
export const receiptSchemaText = (): string => `${JSON.stringify(receiptSchema, null, 2)}\n`;
