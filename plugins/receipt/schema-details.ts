/**
 * The parts of a receipt that only some runs have: what the provider's cache did, what the model was shown less of, and
 * who decided what it may do. All of this run alone, and absent where nothing of the kind happened.
 */
import { Type } from "@sinclair/typebox";
import { amount, closed, count, name, oneOf } from "./schema-forms.ts";

const CacheBreak = closed({
  cause: name(),
  count: count(),
  lostTokens: count("Tokens that were cached and paid for again."),
  lostUsd: Type.Optional(amount("What that cost over reading them from the cache; absent when a price is missing.")),
});
const PromptCache = closed({
  calls: count("Calls that were answered."),
  keptCalls: count("Of them, those that began with the whole request before them."),
  hitRate: Type.Optional(
    Type.Number({ minimum: 0, maximum: 1, description: "Share of the input that was read from cache." }),
  ),
  inputTokens: count("Gross input, cache reads and writes included."),
  readTokens: count(),
  writtenTokens: count(),
  restored: count("Drifts of the prefix that were undone before anything was sent."),
  breaks: Type.Array(CacheBreak, { description: "One entry per cause." }),
  lostTokens: count(),
  lostUsd: Type.Optional(amount()),
  basis: Type.Literal("inferred"),
});

const Compression = closed({
  results: count("Tool results that were shown in a smaller view."),
  tokensBefore: count(),
  tokensAfter: count("Of the views, with their pointers."),
  toolTokens: count("Of the retrieval tool, which stands in every prompt for it; not in tokensAfter."),
  byType: Type.Array(closed({ contentType: name(), results: count(), tokensBefore: count(), tokensAfter: count() })),
  exactness: oneOf("exact", "modelled"),
  basis: Type.Literal("inferred"),
});

const CappedOutput = closed({
  tool: name(),
  count: count(),
  bytes: count("Of the whole results."),
  shownBytes: count("Of what is left of them in context."),
  notKept: count("Results whose rest was kept nowhere."),
});

const ContextEdits = closed({
  cleared: Type.Array(
    closed({
      trigger: name(),
      passes: count(),
      results: count("Tool results that left the view."),
      tokensSaved: count(),
    }),
    { description: "One entry per trigger." },
  ),
  declined: Type.Array(closed({ trigger: name(), reason: name(), count: count() })),
  basis: Type.Literal("estimate"),
});

const CompactionDiscarded = closed({
  reason: name(),
  paid: Type.Boolean({ description: "Its call was made, and is among the calls." }),
  meteredCost: Type.Optional(amount("What its call cost, in USD; absent when it was not paid for or has no price.")),
});
const CompactionDeclined = closed({ reason: name(), count: count() });

const Policy = closed({
  tool: name(),
  allowed: count(),
  denied: count(),
  asked: count("Calls that were put to a person; those that an earlier answer covered are not among them."),
  by: closed({
    rule: count(),
    toolPolicy: count(),
    person: count(),
    default: count("Put to a person and decided without one: nobody answered, or nobody was there."),
  }),
});

const McpServer = closed({
  server: name(),
  tools: count(),
  refused: count("Tools that were left out."),
  loading: oneOf("prompt", "on_demand"),
  schemaBytes: count(),
  schemaTokens: count("What its definitions take of every prompt, or would take if they were all in it."),
  tokenBasis: oneOf("exact", "modelled", "estimated"),
});

/** Optional properties of a receipt. */
export const details = {
  promptCache: Type.Optional(PromptCache),
  compression: Type.Optional(Compression),
  cappedOutputs: Type.Optional(Type.Array(CappedOutput, { description: "One entry per tool." })),
  contextEdits: Type.Optional(ContextEdits),
  compactionsDiscarded: Type.Optional(
    Type.Array(CompactionDiscarded, { description: "Summaries that were asked for and not used." }),
  ),
  compactionsDeclined: Type.Optional(
    Type.Array(CompactionDeclined, { description: "Compactions that were looked for and not made." }),
  ),
  policy: Type.Optional(Type.Array(Policy, { description: "Calls that somebody had to decide, by tool." })),
  mcpServers: Type.Optional(Type.Array(McpServer)),
};
