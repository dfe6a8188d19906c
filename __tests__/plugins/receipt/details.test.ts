/** What only some runs have: the cache, smaller views, cleared and capped results, decisions, servers. */
import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import fc from "fast-check";
import { createCaveman } from "../../../index.ts";
import { agent, type CallId, type Facts, type FactType, schema, tool } from "../../../kernel/index.ts";
import { policy } from "../../../plugins/policy/index.ts";
import { prefix } from "../../../plugins/prefix/index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { foldReceipt, type Receipt, receiptSchema, renderReceipt } from "../../../plugins/receipt/index.ts";
import { results } from "../../../plugins/results/index.ts";
import { HandRun } from "./ledgers.ts";

const valid = new Ajv({ strict: false }).compile(receiptSchema);
const accepted = (receipt: Receipt): Receipt => {
  expect(valid(JSON.parse(JSON.stringify(receipt))) || valid.errors).toBe(true);
  return receipt;
};
type Recorded = { [K in FactType]: readonly [type: K, data: Facts[K]] }[FactType];
const record = (run: HandRun, ...facts: readonly Recorded[]): HandRun => {
  for (const [type, data] of facts) run.ledger.append(type, data as never);
  return run;
};

const cache: Recorded = [
  "prefix.run",
  {
    calls: 10,
    kept: 8,
    restored: 1,
    breaks: 3,
    input: 40_000,
    cacheRead: 30_000,
    cacheWrite: 9_000,
    lostTokens: 7_000,
    lostPicoUsd: "6300000000",
    basis: "inferred",
  },
];
const broken = (cause: "tools" | "expired", lostTokens: number, lostPicoUsd?: string): Recorded => [
  "prefix.broken",
  {
    callId: "call_2" as CallId,
    attempt: 1,
    epoch: 2,
    cause,
    lostTokens,
    ...(lostPicoUsd === undefined ? {} : { lostPicoUsd }),
    basis: "inferred",
  },
];
const shortened = (contentType: string, tokensBefore: number, tokensAfter: number, toolTokens = 0): Recorded => [
  "compression.applied",
  {
    toolCallId: "t",
    name: "bash",
    contentType,
    method: contentType,
    tokensBefore,
    tokensAfter,
    toolTokens,
    counter: "o200k_base",
    exactness: "exact",
    basis: "inferred",
    unit: "lines",
    kept: 1,
    dropped: 9,
    losslessToModel: false,
  },
];
const decided = (name: string, more: Omit<Facts["policy.decided"], "toolCallId" | "name">): Recorded => [
  "policy.decided",
  { toolCallId: "t", name, ...more },
];
const capped = (name: string, bytes: number, shownBytes: number, kept: "memory" | "nowhere"): Recorded => [
  "output.capped",
  { toolCallId: "t", name, bytes, shownBytes, kept },
];

/** A run with something of everything. */
const full = (run = new HandRun()): HandRun =>
  record(
    run
      .call({ input: 12_000, output: 100, pico: 12_300_000_000n })
      .call({ id: "s", purpose: "summary", input: 3_000, output: 10, pico: 3_050_000_000n })
      .tool("bash")
      .tool("bash", "denied"),
    decided("bash", { decision: "allow", by: "rule", rule: 0 }),
    decided("bash", { decision: "allow", by: "person", answer: "remembered" }),
    decided("bash", { decision: "deny", by: "person", answer: "unanswered", reason: "approval_unanswered" }),
    decided("bash", { decision: "allow", by: "tool_policy" }),
    [
      "mcp.server",
      {
        server: "shop",
        tools: 12,
        refused: 1,
        loading: "on_demand",
        schemaBytes: 9_000,
        schemaTokens: 2_100,
        tokenBasis: "exact",
      },
    ],
    capped("bash", 5_000_000, 24_000, "memory"),
    capped("bash", 100_000, 24_000, "nowhere"),
    shortened("log", 40_000, 4_000, 120),
    shortened("json", 10_000, 5_000),
    ["context.cleared", { trigger: "frontier", results: 6, tokensSaved: 48_000, basis: "estimate", digests: [] }],
    ["context.clear_declined", { trigger: "frontier", reason: "does_not_pay" }],
    ["compaction.discarded", { reason: "it frees too little", paid: true, summaryCall: "s" }],
    ["compaction.declined", { reason: "yield_too_small" }],
    ["compaction.declined", { reason: "yield_too_small" }],
    broken("tools", 5_000, "4500000000"),
    broken("tools", 2_000, "1800000000"),
    broken("expired", 0),
    cache,
  );

test("are parts of the receipt, by this run alone", () => {
  const child = full(new HandRun("run_2", "clerk")).end();
  const receipt = accepted(foldReceipt(full().child(child).end()));
  const parts: Partial<Receipt> = {
    promptCache: {
      calls: 10,
      keptCalls: 8,
      hitRate: 0.75,
      inputTokens: 40_000,
      readTokens: 30_000,
      writtenTokens: 9_000,
      restored: 1,
      breaks: [
        { cause: "tools", count: 2, lostTokens: 7_000, lostUsd: 0.0063 },
        { cause: "expired", count: 1, lostTokens: 0, lostUsd: 0 },
      ],
      lostTokens: 7_000,
      lostUsd: 0.0063,
      basis: "inferred",
    },
    compression: {
      results: 2,
      tokensBefore: 50_000,
      tokensAfter: 9_000,
      toolTokens: 120,
      byType: [
        { contentType: "log", results: 1, tokensBefore: 40_000, tokensAfter: 4_000 },
        { contentType: "json", results: 1, tokensBefore: 10_000, tokensAfter: 5_000 },
      ],
      exactness: "exact",
      basis: "inferred",
    },
    cappedOutputs: [{ tool: "bash", count: 2, bytes: 5_100_000, shownBytes: 48_000, notKept: 1 }],
    contextEdits: {
      cleared: [{ trigger: "frontier", passes: 1, results: 6, tokensSaved: 48_000 }],
      declined: [{ trigger: "frontier", reason: "does_not_pay", count: 1 }],
      basis: "estimate",
    },
    compactionsDiscarded: [{ reason: "it frees too little", paid: true, meteredCost: 0.00305 }],
    compactionsDeclined: [{ reason: "yield_too_small", count: 2 }],
    policy: [{ tool: "bash", allowed: 3, denied: 1, asked: 1, by: { rule: 1, toolPolicy: 1, person: 1, default: 1 } }],
    mcpServers: [
      {
        server: "shop",
        tools: 12,
        refused: 1,
        loading: "on_demand",
        schemaBytes: 9_000,
        schemaTokens: 2_100,
        tokenBasis: "exact",
      },
    ],
  };
  expect(receipt).toMatchObject(parts);
  expect(receipt.subagents[0]).toMatchObject(parts);
});

test("are printed, each in its row", () => {
  expect(renderReceipt(foldReceipt(full().end()), { width: 120 })).toBe(
    `${[
      "run complete · 1 turn · 1.2s",
      "",
      "  model          anthropic/claude-haiku-4-5",
      "  calls          2 · 1 for summaries",
      "  input          15,000 tokens",
      "  output         110 tokens",
      "  prompt cache   75% hit rate · 30,000 tokens read, 9,000 written · prefix kept in 8 of 10 calls · 1 restored",
      "                 break: tools ×2 · 7,000 tokens paid for again, $0.0063 more, inferred",
      "                 break: expired",
      "  tools          bash ×1 (1 denied)",
      "  policy         bash · 3 allowed, 1 denied · 1 asked · by rules 1, toolPolicy 1, a person 1, default 1",
      "  mcp            shop · 12 tools, 1 refused · 2,100 tokens of definitions loaded on demand, exact",
      "  cost           $0.01535 · estimated list price, inferred",
      "  capped outputs bash ×2 · 48,000 of 5,100,000 bytes shown · 1 not kept",
      "  compression    2 results · 50,000 → 9,000 tokens · 120 for the retrieval tool · inferred",
      "                 log 40,000 → 4,000, json 10,000 → 5,000",
      "  context edits  frontier · 6 results cleared · about 48,000 tokens, estimated",
      "                 frontier · not cleared: does not pay",
      "  compactions    summary discarded, paid for with $0.00305: it frees too little",
      "                 not compacted: yield too small ×2",
    ].join("\n")}\n`,
  );
});

describe("nothing to say", () => {
  const keys = [
    "promptCache",
    "compression",
    "cappedOutputs",
    "contextEdits",
    "compactionsDiscarded",
    "compactionsDeclined",
    "policy",
    "mcpServers",
  ];
  test("is no part and no row", () => {
    const receipt = foldReceipt(new HandRun().call({ input: 5 }).tool("read").end());
    for (const key of keys) expect(receipt).not.toHaveProperty(key);
  });
  test("of the cache, where a provider has none, is a part without a row", () => {
    const idle: Recorded = [
      "prefix.run",
      {
        calls: 2,
        kept: 1,
        restored: 0,
        breaks: 0,
        input: 0,
        cacheRead: 0,
        cacheWrite: 0,
        lostTokens: 0,
        lostPicoUsd: "0",
        basis: "inferred",
      },
    ];
    const receipt = accepted(foldReceipt(record(new HandRun().call(), idle).end()));
    expect(receipt.promptCache).not.toHaveProperty("hitRate");
    expect(renderReceipt(receipt)).not.toContain("prompt cache");
  });
});

describe("money", () => {
  test("of a break without a price is not told, and an unpriced run shows no dollar", () => {
    const run = record(
      new HandRun().call({ pico: "unpriced" }),
      broken("tools", 4_000),
      broken("tools", 10, "1000"),
      cache,
    );
    const receipt = accepted(foldReceipt(run.end()));
    expect(receipt.promptCache?.breaks).toEqual([{ cause: "tools", count: 2, lostTokens: 4_010 }]);
    expect(renderReceipt(receipt)).toContain("break: tools ×2 · 4,010 tokens paid for again, inferred");
    expect(renderReceipt(receipt)).not.toContain("$");
  });
  test("of a discarded summary is what all its attempts cost; unknown when one has no price, nothing when none was paid", () => {
    const discarded = (paid: boolean): Recorded => [
      "compaction.discarded",
      { reason: "rubbish", paid, ...(paid ? { summaryCall: "s" } : {}) },
    ];
    const twice = record(
      new HandRun().call({ id: "s", pico: 5n }).call({ id: "s", attempt: 2, pico: 7n }),
      discarded(true),
    );
    expect(foldReceipt(twice.end()).compactionsDiscarded).toEqual([
      { reason: "rubbish", paid: true, meteredCost: 1.2e-11 },
    ]);
    const unknown = record(
      new HandRun().call({ id: "s", pico: 5n }).call({ id: "s", attempt: 2, pico: "unpriced" }),
      discarded(true),
    );
    expect(foldReceipt(unknown.end()).compactionsDiscarded).toEqual([{ reason: "rubbish", paid: true }]);
    expect(foldReceipt(record(new HandRun(), discarded(false)).end()).compactionsDiscarded).toEqual([
      { reason: "rubbish", paid: false },
    ]);
  });
  test("is never made of tokens that compression left out", () => {
    const receipt = foldReceipt(record(new HandRun().call({ pico: 1_000_000n }), shortened("log", 90_000, 10)).end());
    expect(Object.keys(receipt.compression ?? {}).filter((key) => /usd|cost|saved/i.test(key))).toEqual([]);
    expect(renderReceipt(receipt)).toContain("1 result of log · 90,000 → 10 tokens · inferred");
  });
});

test("names cannot move the cursor, those of runs below say whose they are, and invented tools stay a word", () => {
  const child = record(new HandRun("run_2", "clerk\u001b[2J"), capped("ba\u202esh", 9, 3, "memory"));
  const run = record(new HandRun().call(), decided("rm_secret", { decision: "deny", by: "rule", reason: "no" }));
  const receipt = accepted(foldReceipt(run.child(child.end()).end()));
  expect(receipt.policy?.[0]?.tool).toBe("undeclared");
  expect(JSON.stringify(receipt)).not.toContain("rm_secret");
  const text = renderReceipt(receipt);
  for (const unsafe of ["\u001b", "\u202e"]) expect(text).not.toContain(unsafe);
  expect(text).toMatch(/capped outputs clerk.*: ba.sh ×1 · 3 of 9 bytes shown/);
});

test("rows add up to their facts, whatever comes in whatever order", () => {
  const kinds = ["log", "json", "text"] as const;
  const fact = fc.oneof(
    fc
      .tuple(fc.constantFrom(...kinds), fc.nat(1e6), fc.nat(1e5), fc.nat(200))
      .map(([type, before, after, spent]) => shortened(type, before, after, spent)),
    fc
      .tuple(fc.constantFrom("bash", "grep"), fc.nat(1e7), fc.nat(24_000), fc.boolean())
      .map(([name, bytes, shown, kept]) => capped(name, bytes, shown, kept ? "memory" : "nowhere")),
    fc.constantFrom<Recorded>(
      decided("bash", { decision: "allow", by: "rule" }),
      decided("grep", { decision: "deny", by: "tool_policy" }),
      decided("bash", { decision: "deny", by: "person", answer: "failed" }),
      decided("bash", { decision: "allow", by: "person", answer: "yes" }),
    ),
  );
  fc.assert(
    fc.property(fc.array(fact, { maxLength: 60 }), (facts) => {
      const run = record(new HandRun().tool("bash").tool("grep"), ...facts).end();
      const { compression, cappedOutputs = [], policy: rows = [] } = accepted(foldReceipt(run));
      const of = <T extends FactType>(type: T): Facts[T][] => run.ledger.of(type) as never;
      const sum = <T>(list: readonly T[], pick: (one: T) => number): number =>
        list.reduce((total, one) => total + pick(one), 0);
      const applied = of("compression.applied");
      expect(compression?.results ?? 0).toBe(applied.length);
      for (const key of ["tokensBefore", "tokensAfter"] as const) {
        expect(compression?.[key] ?? 0).toBe(sum(applied, (one) => one[key]));
        expect(sum(compression?.byType ?? [], (one) => one[key])).toBe(sum(applied, (one) => one[key]));
      }
      expect(sum(cappedOutputs, ({ bytes }) => bytes)).toBe(sum(of("output.capped"), ({ bytes }) => bytes));
      const all = of("policy.decided").length;
      expect(sum(rows, ({ allowed, denied }) => allowed + denied)).toBe(all);
      expect(sum(rows, ({ by }) => by.rule + by.toolPolicy + by.person + by.default)).toBe(all);
    }),
  );
});

describe("in whole runs", () => {
  const shell = (name: string, effect: "external" | "write", text: string) =>
    tool({ name, description: "Acts.", input: schema.object({}), effect, execute: () => text });

  test("a refused call is on the receipt as one call, one error, one refusal, and who refused it", async () => {
    const reviewer = agent({
      id: "reviewer",
      instructions: "Review.",
      sandbox: "host",
      tools: [shell("bash", "external", "4000"), shell("write_file", "write", "written")],
      model: scripted([
        {
          toolCalls: [
            { name: "bash", input: {} },
            { name: "write_file", input: {} },
          ],
        },
        { text: "4,000 lines." },
      ]),
    });
    const { receipt } = await createCaveman({ plugins: [policy()] }).run(reviewer, "Count the lines.", {
      toolPolicy: ({ effect }) => (effect === "write" ? { deny: "read_only_review" } : undefined),
    });
    expect(receipt.tools).toEqual([
      { name: "bash", calls: 1, errors: 0 },
      { name: "write_file", calls: 1, errors: 1, denied: 1 },
    ]);
    const by = { rule: 0, toolPolicy: 1, person: 0, default: 0 };
    expect(accepted(receipt).policy).toEqual([
      { tool: "bash", allowed: 1, denied: 0, asked: 0, by },
      { tool: "write_file", allowed: 0, denied: 1, asked: 0, by },
    ]);
  });

  test("what plugins record of the cache and of long outputs arrives", async () => {
    const text = "a line of output\n".repeat(4_000);
    const worker = agent({
      id: "worker",
      instructions: "Work.",
      sandbox: "host",
      tools: [shell("bash", "external", text)],
      model: scripted(
        [
          { toolCalls: [{ name: "bash", input: {} }], usage: { input: 2_000, output: 10, cacheWrite: 2_000 } },
          { text: "done", usage: { input: 8_000, output: 5, cacheRead: 2_000 } },
        ],
        { as: "anthropic/claude-haiku-4-5" },
      ),
    });
    const { receipt } = await createCaveman({ plugins: [prefix(), results()] }).run(worker, "Go");
    expect(accepted(receipt).promptCache).toMatchObject({
      calls: 2,
      readTokens: 2_000,
      writtenTokens: 2_000,
      hitRate: 0.2,
      breaks: [],
    });
    const [row] = receipt.cappedOutputs ?? [];
    expect(row).toMatchObject({ tool: "bash", count: 1, bytes: Buffer.byteLength(text) });
    expect(row?.shownBytes).toBeLessThanOrEqual(32_768);
  });
});
