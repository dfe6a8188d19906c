/**
 * What only some runs have to say, in words: the terminal prints these rows, the page shows them. Names in them are as
 * they were recorded; whoever prints them makes them safe.
 */
import type { Receipt } from "./schema.ts";
import { grouped, plural, share, tokens, words } from "./wording.ts";

/** A kind of row and its lines. */
export type Detail = readonly [
  label: "prompt cache" | "compression" | "capped outputs" | "context edits" | "compactions" | "policy" | "mcp",
  lines: string[],
];

/** The rows of one run, those below it left out; none without something to say. `usd` writes dollars. */
export function detailsIn(receipt: Receipt, usd: (amount: number) => string): Detail[] {
  // Of a run with a price missing, no amount is told.
  const money = (amount: number | undefined): string =>
    amount === undefined || amount === 0 || receipt.unpriced ? "" : usd(amount);
  const rows: Detail[] = [
    ["prompt cache", promptCache(receipt, money)],
    ["compression", compression(receipt)],
    ["capped outputs", cappedOutputs(receipt)],
    ["context edits", contextEdits(receipt)],
    ["compactions", unmade(receipt, money)],
    ["policy", policy(receipt)],
    ["mcp", servers(receipt)],
  ];
  return rows.filter(([, lines]) => lines.length > 0);
}

type Money = (amount: number | undefined) => string;
const joined = (...parts: (string | false)[]): string => parts.filter(Boolean).join(" · ");
const times = (n: number): string => (n > 1 ? ` ×${grouped(n)}` : "");

function promptCache({ promptCache: cache }: Receipt, money: Money): string[] {
  if (
    !cache ||
    (cache.readTokens === 0 && cache.writtenTokens === 0 && cache.breaks.length === 0 && cache.restored === 0)
  )
    return [];
  const { hitRate, readTokens, writtenTokens, keptCalls, calls, restored, breaks } = cache;
  return [
    joined(
      hitRate !== undefined && `${share(hitRate)} hit rate`,
      `${tokens(readTokens)} read, ${grouped(writtenTokens)} written`,
      `prefix kept in ${keptCalls} of ${plural(calls, "call")}`,
      restored > 0 && `${restored} restored`,
    ),
    ...breaks.map(({ cause, count, lostTokens, lostUsd }) => {
      const cost = money(lostUsd);
      return joined(
        `break: ${words(cause)}${times(count)}`,
        lostTokens > 0 && `${tokens(lostTokens)} paid for again${cost ? `, ${cost} more` : ""}, inferred`,
      );
    }),
  ];
}

function compression({ compression: all }: Receipt): string[] {
  if (!all) return [];
  const { results, tokensBefore, tokensAfter, toolTokens, byType } = all;
  const only = byType.length === 1 ? byType[0] : undefined;
  const types = byType.map(
    (type) =>
      `${words(type.contentType)}${times(type.results)} ${grouped(type.tokensBefore)} → ${grouped(type.tokensAfter)}`,
  );
  return [
    joined(
      `${plural(results, "result")}${only ? ` of ${words(only.contentType)}` : ""}`,
      `${grouped(tokensBefore)} → ${tokens(tokensAfter)}`,
      toolTokens > 0 && `${grouped(toolTokens)} for the retrieval tool`,
      "inferred",
    ),
    ...(only ? [] : [types.join(", ")]),
  ];
}

const cappedOutputs = ({ cappedOutputs: capped = [] }: Receipt): string[] =>
  capped.map(({ tool, count, bytes, shownBytes, notKept }) =>
    joined(
      `${tool} ×${grouped(count)}`,
      `${grouped(shownBytes)} of ${plural(bytes, "byte")} shown`,
      notKept > 0 && `${notKept} not kept`,
    ),
  );

function contextEdits({ contextEdits: edits }: Receipt): string[] {
  if (!edits) return [];
  return [
    ...edits.cleared.map(({ trigger, passes, results, tokensSaved }) =>
      joined(
        `${words(trigger)}${times(passes)}`,
        `${plural(results, "result")} cleared`,
        `about ${tokens(tokensSaved)}, estimated`,
      ),
    ),
    ...edits.declined.map(
      ({ trigger, reason, count }) => `${words(trigger)} · not cleared: ${words(reason)}${times(count)}`,
    ),
  ];
}

function unmade({ compactionsDiscarded = [], compactionsDeclined = [] }: Receipt, money: Money): string[] {
  return [
    ...compactionsDiscarded.map(({ reason, paid, meteredCost }) => {
      const cost = money(meteredCost);
      return `summary discarded${paid ? `, paid for${cost ? ` with ${cost}` : ""}` : ""}: ${words(reason)}`;
    }),
    ...compactionsDeclined.map(({ reason, count }) => `not compacted: ${words(reason)}${times(count)}`),
  ];
}

function policy({ policy: rows = [] }: Receipt): string[] {
  return rows.map(({ tool, allowed, denied, asked, by }) => {
    const deciders = (
      [
        [by.rule, "rules"],
        [by.toolPolicy, "toolPolicy"],
        [by.person, "a person"],
        [by.default, "default"],
      ] as const
    ).filter(([n]) => n > 0);
    return joined(
      tool,
      [`${grouped(allowed)} allowed`, `${grouped(denied)} denied`].filter((text) => !text.startsWith("0 ")).join(", "),
      asked > 0 && `${grouped(asked)} asked`,
      `by ${deciders.map(([n, who]) => (deciders.length > 1 ? `${who} ${grouped(n)}` : who)).join(", ")}`,
    );
  });
}

const servers = ({ mcpServers = [] }: Receipt): string[] =>
  mcpServers.map(({ server, tools, refused, loading, schemaTokens, tokenBasis }) =>
    joined(
      server,
      `${plural(tools, "tool")}${refused > 0 ? `, ${grouped(refused)} refused` : ""}`,
      `${tokens(schemaTokens)} of definitions ${loading === "prompt" ? "in every prompt" : "loaded on demand"}, ${tokenBasis}`,
    ),
  );
