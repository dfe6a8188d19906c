/** The fold of what only some runs have. Each part is absent where none of its facts was recorded. */

import type { Fact } from "../../kernel/index.ts";
import { figureOf, unitsOf, usdOf } from "./amounts.ts";
import type { FactsOf } from "./facts-by-type.ts";
import type { Tools } from "./fold-tools.ts";
import { type Receipt, UNDECLARED } from "./schema.ts";

type Details = Pick<
  Receipt,
  | "promptCache"
  | "compression"
  | "cappedOutputs"
  | "contextEdits"
  | "compactionsDiscarded"
  | "compactionsDeclined"
  | "policy"
  | "mcpServers"
>;

/** What the fold knows beside the facts of these parts. */
export interface Known {
  readonly declared: Tools["declared"];
  /** What a call cost in units of 1e-12 USD; undefined when it has no price. */
  readonly costOf: (callId: string) => bigint | undefined;
}

export function detailsOf(facts: FactsOf, known: Known): Details {
  return {
    ...promptCacheOf(facts),
    ...compressionOf(facts("compression.applied")),
    ...cappedOf(facts("output.capped")),
    ...editsOf(facts("context.cleared"), facts("context.clear_declined")),
    ...discardedOf(facts("compaction.discarded"), known),
    ...declinedOf(facts("compaction.declined")),
    ...policyOf(facts("policy.decided"), known),
    ...serversOf(facts("mcp.server")),
  };
}

/** One row per key, in the order the keys first came. */
function byKey<F, R>(
  facts: readonly F[],
  keyOf: (fact: F) => string,
  fresh: (fact: F) => R,
  add: (row: R, fact: F) => void,
) {
  const rows = new Map<string, R>();
  for (const fact of facts) {
    const key = keyOf(fact);
    let row = rows.get(key);
    if (row === undefined) rows.set(key, (row = fresh(fact)));
    add(row, fact);
  }
  return [...rows.values()];
}

function promptCacheOf(facts: FactsOf): Details {
  const run = facts("prefix.run").at(-1);
  if (!run) return {};
  const breaks = byKey(
    facts("prefix.broken"),
    ({ cause }) => cause,
    ({ cause }) => ({ cause, count: 0, lostTokens: 0, lost: 0n, priced: true }),
    (row, { lostTokens, lostPicoUsd }) => {
      row.count++;
      row.lostTokens += lostTokens;
      row.lost += unitsOf(lostPicoUsd);
      if (lostPicoUsd === undefined && lostTokens > 0) row.priced = false;
    },
  );
  return {
    promptCache: {
      calls: run.calls,
      keptCalls: run.kept,
      ...(run.input > 0 ? { hitRate: Math.min(1, run.cacheRead / run.input) } : {}),
      inputTokens: run.input,
      readTokens: run.cacheRead,
      writtenTokens: run.cacheWrite,
      restored: run.restored,
      breaks: breaks.map(({ lost, priced, ...row }) => ({ ...row, ...(priced ? { lostUsd: usdOf(lost) } : {}) })),
      lostTokens: run.lostTokens,
      ...(run.lostPicoUsd === undefined ? {} : { lostUsd: figureOf("usd", run.lostPicoUsd) }),
      basis: "inferred",
    },
  };
}

function compressionOf(applied: readonly Fact<"compression.applied">[]): Details {
  if (applied.length === 0) return {};
  const total = { results: 0, tokensBefore: 0, tokensAfter: 0 };
  const add = (row: typeof total, { tokensBefore, tokensAfter }: Fact<"compression.applied">): void => {
    row.results++;
    row.tokensBefore += tokensBefore;
    row.tokensAfter += tokensAfter;
  };
  let toolTokens = 0;
  for (const fact of applied) {
    add(total, fact);
    toolTokens += fact.toolTokens;
  }
  const byType = byKey(
    applied,
    ({ contentType }) => contentType,
    ({ contentType }) => ({ contentType, results: 0, tokensBefore: 0, tokensAfter: 0 }),
    add,
  );
  const exactness = applied.every((fact) => fact.exactness === "exact") ? "exact" : "modelled";
  return { compression: { ...total, toolTokens, byType, exactness, basis: "inferred" } };
}

function cappedOf(capped: readonly Fact<"output.capped">[]): Details {
  if (capped.length === 0) return {};
  const cappedOutputs = byKey(
    capped,
    ({ name }) => name,
    ({ name }) => ({ tool: name, count: 0, bytes: 0, shownBytes: 0, notKept: 0 }),
    (row, { bytes, shownBytes, kept }) => {
      row.count++;
      row.bytes += bytes;
      row.shownBytes += shownBytes;
      if (kept === "nowhere") row.notKept++;
    },
  );
  return { cappedOutputs };
}

function editsOf(
  cleared: readonly Fact<"context.cleared">[],
  declined: readonly Fact<"context.clear_declined">[],
): Details {
  if (cleared.length === 0 && declined.length === 0) return {};
  return {
    contextEdits: {
      cleared: byKey(
        cleared,
        ({ trigger }) => trigger,
        ({ trigger }) => ({ trigger, passes: 0, results: 0, tokensSaved: 0 }),
        (row, { results, tokensSaved }) => {
          row.passes++;
          row.results += results;
          row.tokensSaved += tokensSaved;
        },
      ),
      declined: byKey(
        declined,
        ({ trigger, reason }) => `${trigger} ${reason}`,
        ({ trigger, reason }) => ({ trigger, reason, count: 0 }),
        (row) => void row.count++,
      ),
      basis: "estimate",
    },
  };
}

function discardedOf(discarded: readonly Fact<"compaction.discarded">[], { costOf }: Known): Details {
  if (discarded.length === 0) return {};
  const compactionsDiscarded = discarded.map(({ reason, paid, summaryCall }) => {
    const cost = paid && summaryCall !== undefined ? costOf(summaryCall) : undefined;
    return { reason, paid, ...(cost === undefined ? {} : { meteredCost: usdOf(cost) }) };
  });
  return { compactionsDiscarded };
}

function declinedOf(declined: readonly Fact<"compaction.declined">[]): Details {
  if (declined.length === 0) return {};
  const compactionsDeclined = byKey(
    declined,
    ({ reason }) => reason,
    ({ reason }) => ({ reason, count: 0 }),
    (row) => void row.count++,
  );
  return { compactionsDeclined };
}

/** Answers of a person. Any other end of the question is what the run falls back to. */
const ANSWERED: ReadonlySet<string> = new Set(["yes", "always", "remembered", "no"]);

function policyOf(decided: readonly Fact<"policy.decided">[], { declared }: Known): Details {
  if (decided.length === 0) return {};
  const toolOf = (name: string): string => (declared.has(name) ? name : UNDECLARED);
  const policy = byKey(
    decided,
    ({ name }) => toolOf(name),
    ({ name }) => ({
      tool: toolOf(name),
      allowed: 0,
      denied: 0,
      asked: 0,
      by: { rule: 0, toolPolicy: 0, person: 0, default: 0 },
    }),
    (row, { decision, by, answer }) => {
      if (decision === "allow") row.allowed++;
      else row.denied++;
      if (answer !== undefined && answer !== "remembered") row.asked++;
      if (by === "rule") row.by.rule++;
      else if (by === "tool_policy") row.by.toolPolicy++;
      else if (answer === undefined || ANSWERED.has(answer)) row.by.person++;
      else row.by.default++;
    },
  );
  return { policy };
}

function serversOf(servers: readonly Fact<"mcp.server">[]): Details {
  if (servers.length === 0) return {};
  const mcpServers = servers.map(({ server, tools, refused, loading, schemaBytes, schemaTokens, tokenBasis }) => ({
    server,
    tools,
    refused,
    loading,
    schemaBytes,
    schemaTokens,
    tokenBasis,
  }));
  return { mcpServers };
}
