/** Budgets, limits and subagent caps in whole runs. Scripted models pass for priced ones. */
import { describe, expect, test } from "@jest/globals";
import { NOTHING_KNOWN } from "../../../catalog/row.ts";
import {
  agent,
  CavemanError,
  createKernel,
  definePlugin,
  type LanguageModel,
  output,
  type Run,
  type RunOptions,
  schema,
  subagent,
  type Tool,
  tool,
} from "../../../kernel/index.ts";
import { budget, createBudgetController } from "../../../plugins/budget/index.ts";
import { limits } from "../../../plugins/limits/index.ts";
import { pricing } from "../../../plugins/pricing/index.ts";
import { type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";
import { foldReceipt, usdOf } from "../../../plugins/receipt/index.ts";
import { Credentials } from "../../../plugins/services.ts";
import { subagents } from "../../../plugins/subagents/index.ts";
import { models } from "../../support/harness.ts";

const HAIKU = { as: "anthropic/claude-haiku-4-5" }; // $1 in, $5 out, 0.1 cache read, 1.25 cache write a million
const PLUGINS = [models, pricing, budget, limits, subagents];
const kernel = createKernel({ plugins: PLUGINS });
const echo = tool({
  name: "echo",
  description: "Echoes.",
  input: schema.object({}),
  effect: "read",
  execute: () => "x",
});
const caller = (name: string, usage = { input: 100, output: 10 }): ScriptStep => ({
  toolCalls: [{ name, input: {} }],
  usage,
});
const of = (model: LanguageModel, tools: readonly Tool[] = [], maxTokens?: number) =>
  agent({
    id: "root",
    instructions: "Be brief.",
    model,
    tools,
    ...(maxTokens === undefined ? {} : { output: output({ maxTokens }) }),
  });

async function go(
  definition: ReturnType<typeof agent>,
  options: RunOptions,
  plugins = kernel,
): Promise<{ run: Run; outcome: Awaited<ReturnType<typeof kernel.start>["done"]> }> {
  const { run, done } = plugins.start(definition, "go", options);
  return { run, outcome: await done };
}
const closed = (run: Run) => run.ledger.of("budget.closed")[0];
const all = (run: Run): Run[] => [run, ...run.children.flatMap(all)];
const spentBy = (run: Run): bigint =>
  all(run)
    .flatMap((each) => each.ledger.of("call.priced"))
    .reduce((sum, { picoUsd }) => sum + BigInt(picoUsd), 0n);
const settledTidily = (run: Run): void => {
  for (const each of all(run)) expect(each.ledger.of("run.settled").map(({ openHolds }) => openHolds)).toEqual([0]);
};
const codeOf = (work: () => unknown): string | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as CavemanError).code;
  }
};

describe("pricing", () => {
  test("prices each attempt once, to the last unit", async () => {
    const { run, outcome } = await go(
      of(
        scripted(
          [{ text: "hi", usage: { input: 3_500, output: 100, reasoning: 40, cacheRead: 2_000, cacheWrite: 500 } }],
          HAIKU,
        ),
      ),
      {},
    );
    expect(outcome.stopReason).toBe("complete");
    // 1,000 × 1 + 2,000 × 0.1 + 500 × 1.25 + 100 × 5 = 2,325 millionths of a dollar.
    expect(run.ledger.of("call.priced")).toMatchObject([
      { picoUsd: "2325000000", unpriced: false, priceBasis: "public_catalog" },
    ]);
  });
  test("an unknown model is unpriced and says so, never free", async () => {
    const { run } = await go(of(scripted([{ text: "hi" }], { as: "nobody/nothing" })), {});
    expect(run.ledger.of("call.priced")).toMatchObject([
      { picoUsd: "0", unpriced: true, priceBasis: "unpriced", reason: "nobody/nothing is not in the catalog" },
    ]);
  });
});

describe("a budget", () => {
  test("holds, settles what was billed, and gives the rest back", async () => {
    const { run, outcome } = await go(
      of(scripted([caller("echo"), { text: "done", usage: { input: 200, output: 20 } }], HAIKU), [echo]),
      { budget: { maxUsd: 1 } },
    );
    expect(outcome.stopReason).toBe("complete");
    // 300 in at 1 and 30 out at 5: 450 millionths.
    expect(closed(run)).toMatchObject({
      spent: "450000000",
      max: "1000000000000",
      remaining: "999550000000",
      capBreached: false,
      overspent: "0",
    });
    expect(spentBy(run)).toBe(450_000_000n);
    settledTidily(run);
  });
  test("clamps the allowance to what remains, on the wire too", async () => {
    const model = scripted([{ text: "hi", usage: { input: 10, output: 5 } }], HAIKU);
    const { run, outcome } = await go(of(model, [], 8_000), { budget: { maxTokens: 2_000 } });
    const clamp = run.ledger.of("budget.clamped")[0]?.tokens ?? 0;
    expect(outcome.stopReason).toBe("complete");
    expect(clamp).toBeGreaterThanOrEqual(256);
    expect(clamp).toBeLessThan(2_000);
    expect(model.calls[0]?.maxOutputTokens).toBe(clamp);
    expect(run.ledger.of("call.settled")[0]?.clampedOutputTokens).toBe(clamp);
    expect(closed(run)?.spent).toBe("15");
  });
  test("stops between calls with a normal result", async () => {
    const { run, outcome } = await go(
      of(scripted([caller("echo", { input: 900, output: 900 }), { text: "never" }], HAIKU), [echo]),
      { budget: { maxTokens: 2_400 } },
    );
    expect(outcome).toMatchObject({ stopReason: "budget_exhausted" });
    expect(outcome.error).toBeUndefined();
    expect(run.ledger.of("call.settled")).toHaveLength(1);
    settledTidily(run);
  });
  test("a cap that cannot fund one call makes none", async () => {
    const model = scripted([{ text: "never" }], HAIKU);
    const { outcome } = await go(of(model), { budget: { maxUsd: 0.0001 } });
    expect([outcome.stopReason, model.calls.length]).toEqual(["budget_exhausted", 0]);
  });
  test("shrinks the view once before it stops", async () => {
    const seen: string[] = [];
    const shrinker = definePlugin({
      name: "shrinker",
      apply: ({ hooks }) =>
        hooks.compact.tap("shrinker", ({ view, reason }) => {
          seen.push(reason);
          return reason === "refused"
            ? view.rewrite(view.messages.slice(0, 1), { by: "shrinker", dropped: view.length - 1 })
            : undefined;
        }),
    });
    const long = tool({
      name: "echo",
      description: "Echoes.",
      input: schema.object({}),
      effect: "read",
      execute: () => "x".repeat(30_000),
    });
    const plugins = createKernel({ plugins: [...PLUGINS, shrinker] });
    const script = (): LanguageModel =>
      scripted([caller("echo"), { text: "done", usage: { input: 50, output: 5 } }], HAIKU);
    const fits = await go(of(script(), [long], 300), { budget: { maxTokens: 20_000 } }, plugins);
    expect([fits.outcome.stopReason, fits.outcome.text]).toEqual(["complete", "done"]);
    expect(seen).toContain("refused");
    const stops = await go(of(script(), [long], 300), { budget: { maxTokens: 20_000, onExhausted: "stop" } }, plugins);
    expect(stops.outcome.stopReason).toBe("budget_exhausted");
  });
  test("maxCostUsd is the same meter, and running out is an error", async () => {
    const { outcome, run } = await go(of(scripted([{ text: "never" }], HAIKU)), { maxCostUsd: 0.0001 });
    expect(outcome).toMatchObject({ stopReason: "error", error: { code: "cave_run_cost_budget_exceeded" } });
    settledTidily(run);
  });
  test("a dollar budget on an unpriced model is refused before the first call, with the way out", async () => {
    const model = scripted([{ text: "never" }], { as: "nobody/nothing" });
    const { outcome } = await go(of(model), { budget: { maxUsd: 1 } });
    expect(outcome.error?.code).toBe("cave_budget_denomination_unavailable");
    expect(outcome.error?.message).toContain("maxTokens");
    expect(model.calls).toHaveLength(0);
    expect(
      (await go(of(scripted([{ text: "hi" }], { as: "nobody/nothing" })), { budget: { maxTokens: 5_000 } })).outcome
        .stopReason,
    ).toBe("complete");
  });
  test.each<["subscription" | "unknown" | "metered", boolean, string | undefined]>([
    ["subscription", true, "cave_budget_denomination_unavailable"],
    ["unknown", false, "cave_budget_denomination_unavailable"],
    ["unknown", true, undefined],
    ["metered", false, undefined],
  ])("dollars on a %s credential, assumed metered: %s", async (regime, assumeMeteredCredential, code) => {
    const live = definePlugin({
      name: "live",
      apply: ({ hooks, provide }) => {
        provide(Credentials, () => ({ regimeOf: () => regime }));
        hooks.beforeCall.tap({ name: "live", stage: "shape" }, (call) => {
          if (call.model) call.setModel({ ...call.model, simulated: false });
        });
      },
    });
    const { outcome } = await go(
      of(scripted([{ text: "hi", usage: { input: 1, output: 1 } }], HAIKU)),
      { budget: { maxUsd: 1 }, assumeMeteredCredential },
      createKernel({ plugins: [...PLUGINS, live] }),
    );
    expect(outcome.error?.code).toBe(code);
  });
  test("a tool that the provider executes is refused: nothing bounds it", async () => {
    const hosted = definePlugin({
      name: "hosted",
      apply: ({ hooks }) =>
        hooks.beforeCall.tap({ name: "hosted", stage: "shape" }, (call) =>
          call.setTools([{ type: "provider", id: "openai.web_search", name: "web", args: {} } as never]),
        ),
    });
    const { outcome } = await go(
      of(scripted([{ text: "never" }], HAIKU)),
      { budget: { maxTokens: 5_000 } },
      createKernel({ plugins: [...PLUGINS, hosted] }),
    );
    expect(outcome.error?.code).toBe("cave_budget_tool_unbounded");
  });
  test("private rates come before the catalog's", async () => {
    const own = {
      provider: "acme",
      model: "one",
      region: "global",
      currency: "USD",
      prices: [{ rates: { input: "2", output: "3" } }],
      limits: {},
      cache: { mode: "unsupported" },
      capabilities: NOTHING_KNOWN,
      lifecycle: "active",
      aliases: [],
      dated: false,
      unmetered: [],
      sources: [],
      verified_at: "2026-01-01",
      provenance: { source: "user", entry: "one" },
    } as const;
    const plugins = createKernel({ plugins: [models, pricing({ rows: [own] }), budget] });
    const { run, outcome } = await go(
      of(scripted([{ text: "hi", usage: { input: 10, output: 1 } }], { as: "acme/one" })),
      { budget: { maxUsd: 1 } },
      plugins,
    );
    expect(outcome.stopReason).toBe("complete");
    // 10 × 2 + 1 × 3 = 23 millionths.
    expect(run.ledger.of("call.priced")).toMatchObject([{ picoUsd: "23000000", priceBasis: "private" }]);
    expect(closed(run)?.spent).toBe("23000000");
  });
  test("rates of one's own need no more than what they price, and are private wherever they say they come from", async () => {
    const own = { provider: "Acme", model: "one", prices: { input: 2, output: "3" } };
    for (const row of [own, { ...own, provenance: { source: "overlay", entry: "x" } }]) {
      const kernel = createKernel({ plugins: [models, pricing({ rows: [row as never] })] });
      const { run } = await go(
        of(scripted([{ text: "hi", usage: { input: 10, output: 1 } }], { as: "acme/one" })),
        {},
        kernel,
      );
      expect(run.ledger.of("call.priced")).toMatchObject([{ picoUsd: "23000000", priceBasis: "private" }]);
    }
  });
  test("a provider's other name finds its rates, private ones and the catalog's", async () => {
    const plugin = pricing({
      rows: [{ provider: "acme", model: "one", prices: { input: 2, output: 3 } } as never],
      providers: { Corp: "Acme", proxy: "anthropic" },
    });
    const kernel = createKernel({ plugins: [models, plugin] });
    const priced = async (as: string) =>
      (await go(of(scripted([{ text: "hi", usage: { input: 10, output: 1 } }], { as })), {}, kernel)).run.ledger.of(
        "call.priced",
      );
    // 10 × 2 + 1 × 3 = 23 and 10 × 1 + 1 × 5 = 15 millionths.
    expect(await priced("corp/one")).toMatchObject([{ picoUsd: "23000000", priceBasis: "private" }]);
    expect(await priced("proxy/claude-haiku-4-5")).toMatchObject([
      { picoUsd: "15000000", priceBasis: "public_catalog" },
    ]);
  });
  test.each([
    [5, "pricing.rows", "a list of rows"],
    [[null], "pricing.rows[0]", "a mapping"],
    [[{ model: "one", prices: { input: 2 } }], "pricing.rows[0].provider", "a text"],
    [[{ provider: "acme", model: "one", prices: { input: -2 } }], "pricing.rows[0].prices", "-2"],
    [[{ provider: "acme", model: "one", prices: { inputt: 2 } }], "pricing.rows[0].prices", "inputt"],
  ])("rates that cannot be read are refused at assembly, with their place: %j", (rows, place, said) => {
    const refused = (): unknown => createKernel({ plugins: [pricing({ rows: rows as never })] });
    expect(refused).toThrow(expect.objectContaining({ code: "cave_price_rows_invalid" }));
    expect(refused).toThrow(place);
    expect(refused).toThrow(said);
  });
  test("a provider that bills more than could be bounded breaches the cap: the real amount is booked, nothing more goes out", async () => {
    const { run, outcome } = await go(
      of(scripted([caller("echo", { input: 100_000, output: 10 }), { text: "never" }], HAIKU), [echo]),
      { budget: { maxTokens: 20_000 } },
    );
    expect(outcome.stopReason).toBe("budget_exhausted");
    expect(closed(run)).toMatchObject({ spent: "100010", overspent: "80010", capBreached: true });
    expect(run.ledger.of("tool.denied").map(({ code }) => code)).toEqual(["cave_budget_exhausted"]);
  });
  test("without usage the bound is booked in full; a call that never reached a bill gives its hold back", async () => {
    const cut = await go(of(scripted([{ text: "half of it", error: { when: "cut" } }], HAIKU), [], 1_000), {
      budget: { maxTokens: 5_000 },
    });
    expect(BigInt(closed(cut.run)?.spent ?? 0)).toBeGreaterThan(1_000n);
    settledTidily(cut.run);
    const refused = await go(of(scripted([{ error: { when: "before", status: 429 } }], HAIKU), [], 1_000), {
      budget: { maxTokens: 5_000 },
    });
    expect(closed(refused.run)?.spent).toBe("0");
    settledTidily(refused.run);
  });
});

describe("a call that nobody reported", () => {
  test.each<[string, ScriptStep, boolean]>([
    ["is cut in the middle", { text: "half of it", error: { when: "cut" } }, false],
    ["is aborted in the middle of its stream", { text: "word ".repeat(200) }, true],
    ["is aborted before anything came", { text: "never", delayMs: 5_000 }, true],
  ])("%s costs what its budget held for it, on the receipt too, alone or in a child", async (_what, step, aborted) => {
    for (const inChild of [false, true]) {
      const stop = new AbortController();
      const last = of(scripted([step], HAIKU), [], 2_000);
      const kid = subagent({ name: "kid", description: "Does a part.", agent: last });
      const root = inChild
        ? of(
            scripted(
              [
                { toolCalls: [{ name: "kid", input: { task: "part" } }], usage: { input: 100, output: 10 } },
                { text: "done", usage: { input: 50, output: 5 } },
              ],
              HAIKU,
            ),
            [kid],
            1_000,
          )
        : last;
      const timer = aborted ? setTimeout(() => stop.abort(), 500) : undefined;
      const { run, done } = kernel.start(root, "go", { budget: { maxUsd: 1 }, signal: stop.signal }, ({ type }) => {
        if (aborted && type === "text_delta") stop.abort();
      });
      await done;
      clearTimeout(timer);
      const bound = all(run)
        .flatMap((each) => each.ledger.of("call.settled"))
        .filter(({ basis }) => basis === "bound");
      expect(bound).toHaveLength(1);
      const spent = BigInt(closed(run)?.spent ?? 0);
      expect(spentBy(run)).toBe(spent);
      expect(foldReceipt(run)).toMatchObject({ totalEstimatedUsd: usdOf(spent), spent: usdOf(spent) });
      // All 2,000 tokens it was allowed may have been written: at $5 a million, 10,000 millionths for the output alone.
      expect(spent).toBeGreaterThan(10_000_000_000n);
      settledTidily(run);
    }
  });
  test("without a budget, or under one of tokens, is priced at the bound of what was sent", async () => {
    for (const options of [{}, { budget: { maxTokens: 50_000 } }]) {
      const { run } = await go(
        of(scripted([{ text: "half of it", error: { when: "cut" } }], HAIKU), [], 2_000),
        options,
      );
      const [settled] = run.ledger.of("call.settled");
      const input = BigInt(settled?.usage.input ?? 0);
      // The worst input rate is that of a write to the hour-long cache, $2 a million.
      expect(spentBy(run)).toBe(input * 2_000_000n + 2_000n * 5_000_000n);
    }
  });
});

/** A model whose finish part reports something else. */
const reporting = (usage: unknown): LanguageModel => {
  const inner = scripted([{ text: "hi" }], HAIKU);
  return {
    ...inner,
    doStream: async (request) => ({
      stream: (await inner.doStream(request)).stream.pipeThrough(
        new TransformStream({
          transform: (part, out) =>
            out.enqueue(part.type === "finish" ? { ...part, usage: usage as typeof part.usage } : part),
        }),
      ),
    }),
  };
};
test.each<[string, unknown]>([
  ["null", null],
  ["nothing in it", {}],
  ["NaN", { inputTokens: { total: Number.NaN }, outputTokens: { total: 1 } }],
  ["infinite", { inputTokens: { total: Number.POSITIVE_INFINITY }, outputTokens: { total: 1 } }],
  ["negative", { inputTokens: { total: -5 }, outputTokens: { total: 1 } }],
  ["half missing", { inputTokens: { total: 5 }, outputTokens: {} }],
])("usage that is %s books the whole bound and says so", async (_name, usage) => {
  const { run, outcome } = await go(of(reporting(usage), [], 1_000), { budget: { maxTokens: 50_000 } });
  expect(outcome.stopReason).toBe("complete");
  expect(run.ledger.of("call.settled")).toMatchObject([{ basis: "bound" }]);
  expect(BigInt(closed(run)?.spent ?? 0)).toBeGreaterThan(1_000n);
  settledTidily(run);
});

describe("tranches", () => {
  test("a controller releases, with a reason, and only while its run is live", async () => {
    const budgetController = createBudgetController();
    expect(codeOf(() => budgetController.releaseBudget(1, "early"))).toBe("cave_budget_controller_unbound");
    const more = tool({
      name: "more",
      description: "Releases.",
      input: schema.object({}),
      effect: "read",
      execute: () => budgetController.releaseBudget(3_000, "the tool asked").amount,
    });
    const { run, outcome } = await go(
      of(
        scripted(
          [caller("more", { input: 1_000, output: 900 }), { text: "done", usage: { input: 10, output: 1 } }],
          HAIKU,
        ),
        [more],
        400,
      ),
      { budget: { maxTokens: 5_000, initialTokens: 2_000 }, budgetController },
    );
    expect(outcome.stopReason).toBe("complete");
    expect(run.ledger.of("budget.released")).toMatchObject([{ amount: "3000", reason: "the tool asked", atCall: 1 }]);
    expect(codeOf(() => budgetController.releaseBudget(1, "late"))).toBe("cave_budget_controller_unbound");
  });
  test("a controller drives one live run", async () => {
    const budgetController = createBudgetController();
    const first = kernel.start(of(scripted([{ text: "hi" }], HAIKU)), "go", {
      budget: { maxTokens: 5_000 },
      budgetController,
    });
    expect(
      codeOf(() =>
        kernel.start(of(scripted([{ text: "hi" }], HAIKU)), "go", { budget: { maxTokens: 5_000 }, budgetController }),
      ),
    ).toBe("cave_budget_controller_in_use");
    await first.done;
    expect(codeOf(() => kernel.start(of(scripted([{ text: "hi" }], HAIKU)), "go", { budgetController }))).toBe(
      "cave_budget_controller_without_budget",
    );
  });
  test("the handler is asked once, with what it needs to know", async () => {
    const asked: unknown[] = [];
    const { run, outcome } = await go(
      of(scripted([{ text: "done", usage: { input: 10, output: 1 } }], HAIKU), [], 400),
      {
        budget: { maxTokens: 5_000, initialTokens: 100 },
        onBudgetExhausted: async (exhausted) => {
          asked.push(exhausted);
          return { release: 2_000, reason: "approved" };
        },
      },
    );
    expect(outcome.stopReason).toBe("complete");
    expect(asked).toEqual([
      { denomination: "tokens", max: 5_000, released: 100, spent: 0, remaining: 100, releasable: 4_900, calls: 0 },
    ]);
    expect(run.ledger.of("budget.released")).toMatchObject([{ amount: "2000", reason: "approved" }]);
  });
  test.each<[string, unknown, string | undefined]>([
    ["stop", "stop", undefined],
    ["too little", { release: 1, reason: "a bit" }, undefined],
    ["nothing", undefined, "cave_budget_escalation_result_invalid"],
    ["a word", "more", "cave_budget_escalation_result_invalid"],
    ["no reason", { release: 10 }, "cave_budget_escalation_result_invalid"],
    ["a blank reason", { release: 10, reason: " " }, "cave_budget_release_reason_required"],
    ["NaN", { release: Number.NaN, reason: "x" }, "cave_budget_release_invalid"],
    ["too much", { release: 1_000_000, reason: "x" }, "cave_budget_release_exceeds_max"],
  ])("an answer of %s", async (_name, answer, code) => {
    const { outcome, run } = await go(of(scripted([{ text: "never" }], HAIKU)), {
      budget: { maxTokens: 5_000, initialTokens: 100 },
      onBudgetExhausted: () => answer as never,
    });
    expect(outcome.error?.code).toBe(code);
    if (!code) expect(outcome.stopReason).toBe("budget_exhausted");
    settledTidily(run);
  });
  test("a release past the maximum is refused in the budget's unit, its code and remedy said once", async () => {
    const { outcome } = await go(of(scripted([{ text: "never" }], HAIKU)), {
      budget: { maxUsd: 0.01, initialUsd: 0.000_001 },
      onBudgetExhausted: () => ({ release: 5, reason: "x" }),
    });
    const { message = "" } = outcome.error ?? {};
    expect(message).toContain("expected at most $0.009999, got $5.00");
    expect(message.split("cave_budget_release_exceeds_max")).toHaveLength(2);
    expect(message.split("Release at most")).toHaveLength(2);
  });
  test("an abort while the handler waits ends the run with nothing held", async () => {
    const stop = new AbortController();
    const { outcome, run } = await go(of(scripted([{ text: "never" }], HAIKU)), {
      signal: stop.signal,
      budget: { maxTokens: 5_000, initialTokens: 100 },
      onBudgetExhausted: () => new Promise(() => setTimeout(() => stop.abort(), 5)),
    });
    expect(outcome.stopReason).toBe("aborted");
    settledTidily(run);
  });
});

const kid = (model: LanguageModel, more: Partial<Parameters<typeof subagent>[0]> = {}, tools: readonly Tool[] = []) =>
  subagent({
    name: "kid",
    description: "Does a part.",
    agent: agent({ id: "kid", instructions: "Do it.", model, tools, output: output({ maxTokens: 300 }) }),
    ...more,
  });
const spawn = (count: number, usage = { input: 100, output: 10 }): ScriptStep => ({
  toolCalls: Array.from({ length: count }, (_, i) => ({ id: `s${i}`, name: "kid", input: { task: `part ${i}` } })),
  usage,
});

describe("what is held for a text", () => {
  // 2,500 tokens: more than a thousand signs and the least answer can need, less than the 3,000 bytes of these.
  test.each([
    ["x", "complete", 1],
    ["語", "budget_exhausted", 0],
  ])("counts its bytes: a thousand times %s", async (sign, stopReason, sent) => {
    const model = scripted([{ text: "done", usage: { input: 1_000, output: 1 } }], HAIKU);
    const { run, done } = kernel.start(of(model), sign.repeat(1_000), { budget: { maxTokens: 2_500 } });
    expect((await done).stopReason).toBe(stopReason);
    expect(model.calls).toHaveLength(sent);
    settledTidily(run);
  });
});

describe("wallets", () => {
  test("a child that fails is a tool error: the parent goes on, and pays for what the child had spent", async () => {
    const child = scripted(
      [caller("echo", { input: 1_000, output: 100 }), { error: { status: 400, message: "no" } }],
      HAIKU,
    );
    const { run, outcome } = await go(
      of(scripted([spawn(1), { text: "done without it", usage: { input: 200, output: 20 } }], HAIKU), [
        kid(child, { maxTokens: 20_000 }, [echo]),
      ]),
      { budget: { maxTokens: 100_000 } },
    );
    expect(outcome).toMatchObject({ stopReason: "complete", text: "done without it" });
    expect(run.children[0]?.outcome).toMatchObject({ stopReason: "error", error: { code: "cave_provider_failed" } });
    expect(run.ledger.of("tool.finished")).toMatchObject([{ code: "cave_subagent_failed", isError: true }]);
    expect(closed(run)?.spent).toBe("1430"); // 110 and 220 of its own, 1,100 of the child
    settledTidily(run);
  });
  test("a child spends from its own, the parent is booked what was spent, once", async () => {
    const child = scripted([{ text: "part", usage: { input: 1_000, output: 100 } }], HAIKU);
    const { run, outcome } = await go(
      of(scripted([spawn(1), { text: "done", usage: { input: 200, output: 20 } }], HAIKU), [
        kid(child, { maxCostUsd: 0.1 }),
      ]),
      { budget: { maxUsd: 1 } },
    );
    expect(outcome.stopReason).toBe("complete");
    // The child: 1,000 × 1 + 100 × 5 = 1,500 millionths; the root 150 and 300.
    const [below] = run.children;
    expect(below && closed(below)).toMatchObject({ max: "100000000000", spent: "1500000000" });
    expect(closed(run)).toMatchObject({ spent: "1950000000" });
    expect(spentBy(run)).toBe(1_950_000_000n);
    settledTidily(run);
  });
  test("64 parallel children on a wallet that funds 10: exactly 10 are admitted, the sum is exact, all money comes home", async () => {
    // Every child is still at work when the last one asks.
    const child = scripted(() => ({ text: "part", usage: { input: 500, output: 50 }, delayMs: 40 }), HAIKU);
    const { run } = await go(
      of(
        scripted([spawn(64), { text: "done", usage: { input: 10, output: 1 } }], HAIKU),
        [kid(child, { maxTokens: 5_000, maxCalls: 64 })],
        300,
      ),
      { budget: { maxTokens: 50_500 }, maxToolCalls: 100 },
    );
    expect(run.ledger.of("child.spawned")).toHaveLength(10);
    expect(new Set(run.ledger.of("tool.denied").map(({ code }) => code))).toEqual(
      new Set(["cave_subagent_wallet_unavailable"]),
    );
    // 10 children of 550 tokens, the root's calls of 110 and 11.
    expect(closed(run)).toMatchObject({ spent: "5621", remaining: String(50_500 - 5_621), capBreached: false });
    settledTidily(run);
  });
  test("the same with half of them aborted at random moments", async () => {
    let aborted = 0;
    for (let seed = 0; seed < 20; seed++) {
      const child = scripted(() => ({ text: "part", usage: { input: 500, output: 50 }, delayMs: 1, chunks: 4 }), HAIKU);
      const { run, done } = kernel.start(
        of(
          scripted([spawn(64), { text: "done", usage: { input: 10, output: 1 } }], HAIKU),
          [kid(child, { maxTokens: 5_000, maxCalls: 64 })],
          300,
        ),
        "go",
        { budget: { maxTokens: 50_500 }, maxToolCalls: 100 },
      );
      const failing = setInterval(
        () =>
          run.children.forEach((each, index) => {
            if (index % 2 === 0 && (seed + index) % 3 !== 0) each.abort(new CavemanError("cave_run_aborted"));
          }),
        1 + (seed % 4),
      );
      await done;
      clearInterval(failing);
      const spent = BigInt(closed(run)?.spent ?? -1);
      const tree = all(run)
        .filter((each) => each.parent)
        .reduce((sum, each) => sum + BigInt(closed(each)?.spent ?? 0), 0n);
      expect(run.ledger.of("child.spawned")).toHaveLength(10);
      expect(spent - tree).toBe(121n);
      expect(closed(run)?.remaining).toBe(String(50_500n - spent));
      settledTidily(run);
      aborted += run.children.filter(({ outcome }) => outcome?.stopReason === "aborted").length;
    }
    expect(aborted).toBeGreaterThan(20);
  });
  test("a child that declares nothing takes half; one that declares the other unit only is denied", async () => {
    const child = (): LanguageModel => scripted([{ text: "part", usage: { input: 10, output: 1 } }], HAIKU);
    const root = (): LanguageModel => scripted([spawn(1, { input: 100, output: 0 }), { text: "done" }], HAIKU);
    const half = await go(of(root(), [kid(child())]), { budget: { maxTokens: 100_100 } });
    expect(half.run.children.map((each) => closed(each)?.max)).toEqual(["50000"]);
    const other = await go(of(root(), [kid(child(), { maxCostUsd: 1 })]), { budget: { maxTokens: 100_100 } });
    expect(other.run.ledger.of("tool.denied").map(({ code }) => code)).toEqual([
      "cave_subagent_wallet_denomination_unavailable",
    ]);
  });
  test("a denial after the carve gives the wallet and the place back", async () => {
    const never = definePlugin({
      name: "never",
      apply: ({ hooks }) =>
        hooks.admitTool.tap({ name: "never", stage: "policy" }, (call) =>
          call.name === "kid" ? { deny: { code: "cave_policy_denied", message: "Not today." } } : undefined,
        ),
    });
    const { run, outcome } = await go(
      of(scripted([spawn(3), { text: "done", usage: { input: 10, output: 1 } }], HAIKU), [
        kid(scripted([{ text: "never" }], HAIKU), { maxTokens: 5_000, maxCalls: 3 }),
      ]),
      { budget: { maxTokens: 20_000 } },
      createKernel({ plugins: [subagents, never, ...PLUGINS.slice(0, 4)] }),
    );
    expect(outcome.stopReason).toBe("complete");
    expect(run.ledger.of("tool.denied").map(({ code }) => code)).toEqual(Array(3).fill("cave_policy_denied"));
    expect(closed(run)).toMatchObject({ spent: "121", remaining: "19879" });
    expect(run.ledger.of("subagents.tree")).toMatchObject([{ admitted: 0, denied: 3, peak: 1 }]);
  });
  test("a declared cap holds without a budget above it", async () => {
    const { run } = await go(
      of(scripted([spawn(1), { text: "done" }], HAIKU), [
        kid(scripted([{ text: "never" }], HAIKU), { maxTokens: 100 }),
      ]),
      {},
    );
    expect(run.children[0]?.outcome?.stopReason).toBe("budget_exhausted");
    expect(closed(run)).toBeUndefined();
  });
  test("revoking the budget stops the children between calls with wallet_revoked", async () => {
    const budgetController = createBudgetController();
    const revoke = tool({
      name: "revoke",
      description: "Revokes.",
      input: schema.object({}),
      effect: "read",
      execute: () => budgetController.revoke(),
    });
    const child = scripted([caller("revoke"), { text: "never" }], HAIKU);
    const { run, outcome } = await go(of(scripted([spawn(1), { text: "never" }], HAIKU), [kid(child, {}, [revoke])]), {
      budget: { maxTokens: 100_000 },
      budgetController,
    });
    expect([outcome.stopReason, run.children[0]?.outcome?.stopReason]).toEqual(["wallet_revoked", "wallet_revoked"]);
    settledTidily(run);
  });
  test("a child's breach is flagged above it; each level keeps its own amount", async () => {
    const child = scripted([{ text: "part", usage: { input: 30_000, output: 0 } }], HAIKU);
    const { run, outcome } = await go(
      of(scripted([spawn(1), { text: "never" }], HAIKU), [kid(child, { maxTokens: 5_000 })]),
      { budget: { maxTokens: 100_000 } },
    );
    expect(outcome.stopReason).toBe("budget_exhausted");
    expect(run.children.map(closed)).toMatchObject([{ overspent: "25000", capBreached: true }]);
    expect(closed(run)).toMatchObject({ spent: "30110", overspent: "-69890", capBreached: true });
  });
});

describe("subagent caps", () => {
  const child = (): LanguageModel => scripted(() => ({ text: "part", usage: { input: 10, output: 1 } }), HAIKU);
  const denials = (run: Run): string[] =>
    all(run).flatMap((each) => each.ledger.of("tool.denied").map(({ code }) => code));

  test("invocations and concurrency hold over parallel spawns, and a denied place gives its wallet back", async () => {
    const few = await go(
      of(scripted([spawn(8), { text: "done", usage: { input: 10, output: 1 } }], HAIKU), [
        kid(child(), { maxCalls: 8, maxTokens: 2_000 }),
      ]),
      { maxSubagentInvocations: 3, budget: { maxTokens: 50_000 } },
    );
    expect(few.run.ledger.of("child.spawned")).toHaveLength(3);
    expect(denials(few.run)).toEqual(Array(5).fill("cave_subagent_invocation_limit"));
    expect(few.run.ledger.of("subagents.tree")).toMatchObject([{ admitted: 3, denied: 5, deepest: 1 }]);
    expect(closed(few.run)?.spent).toBe(String(110 + 3 * 11 + 11));
    const narrow = await go(
      of(scripted([spawn(4), spawn(1), { text: "done" }], HAIKU), [
        kid(
          scripted(() => ({ text: "part", delayMs: 5 }), HAIKU),
          { maxCalls: 8 },
        ),
      ]),
      { maxConcurrentSubagents: 2 },
    );
    expect(denials(narrow.run)).toEqual(Array(2).fill("cave_subagent_concurrency_limit"));
    expect(narrow.run.ledger.of("subagents.tree")).toMatchObject([{ admitted: 3, peak: 2 }]);
    settledTidily(few.run);
  });
  test("calls per tool, input length and depth", async () => {
    const often = await go(of(scripted([spawn(3), { text: "done" }], HAIKU), [kid(child(), { maxCalls: 2 })]), {});
    expect(denials(often.run)).toEqual(["cave_subagent_call_budget"]);
    const long = await go(of(scripted([spawn(1), { text: "done" }], HAIKU), [kid(child(), { maxInputChars: 3 })]), {});
    expect(denials(long.run)).toEqual(["cave_subagent_input_limit"]);
    const nest = (levels: number): Tool =>
      kid(
        levels === 0 ? child() : scripted(() => ({ ...spawn(1) }), HAIKU),
        {},
        levels === 0 ? [] : [nest(levels - 1)],
      );
    const deep = await go(of(scripted([spawn(1), { text: "done" }], HAIKU), [nest(3)]), { maxModelCalls: 2 });
    expect(denials(deep.run)).toContain("cave_subagent_depth_limit");
    expect(deep.run.ledger.of("subagents.tree")).toMatchObject([{ deepest: 2 }]);
  });
  test("a child's context stays within its definition", async () => {
    const bulk = tool({
      name: "echo",
      description: "Reads.",
      input: schema.object({}),
      effect: "read",
      execute: () => "word ".repeat(2_000),
    });
    const reader = scripted([caller("echo", { input: 40, output: 5 }), { text: "never" }], HAIKU);
    const { run } = await go(
      of(scripted([spawn(1), { text: "done" }], HAIKU), [kid(reader, { maxContextTokens: 500 }, [bulk])]),
      {},
    );
    expect(run.children[0]?.outcome?.error?.code).toBe("cave_subagent_context_budget");
    expect(run.ledger.of("tool.finished")).toMatchObject([{ code: "cave_subagent_failed" }]);
  });
  test.each<[RunOptions, string]>([
    [{ maxSubagentDepth: 0 }, "cave_subagent_depth_limit_invalid"],
    [{ maxSubagentDepth: 9 }, "cave_subagent_depth_limit_invalid"],
    [{ maxSubagentInvocations: 65_537 }, "cave_subagent_invocation_limit_invalid"],
    [{ maxConcurrentSubagents: 1.5 }, "cave_subagent_concurrency_limit_invalid"],
    [{ deadlineMs: 0 }, "cave_run_deadline_invalid"],
    [{ maxModelCalls: -1 }, "cave_max_model_calls_invalid"],
    [{ maxToolCalls: Number.NaN }, "cave_max_tool_calls_invalid"],
    // What JSON or an untyped caller brings: null is a value and no "leave it out", text is no number.
    [{ deadlineMs: null as never }, "cave_run_deadline_invalid"],
    [{ maxModelCalls: null as never }, "cave_max_model_calls_invalid"],
    [{ maxToolCalls: "5" as never }, "cave_max_tool_calls_invalid"],
    [{ maxSubagentDepth: null as never }, "cave_subagent_depth_limit_invalid"],
    [{ maxSubagentInvocations: Object.create(null) as never }, "cave_subagent_invocation_limit_invalid"],
    [{ maxConcurrentSubagents: null as never }, "cave_subagent_concurrency_limit_invalid"],
    [{ budget: { maxUsd: 1 }, maxCostUsd: 1 }, "cave_budget_conflicting_cap"],
    [{ onBudgetExhausted: () => "stop" }, "cave_budget_controller_without_budget"],
    [{ maxCostUsd: 1, budgetController: createBudgetController() }, "cave_budget_controller_without_budget"],
  ])("%j is refused with %s before anything starts", (options, code) => {
    expect(codeOf(() => kernel.start(of(child()), "go", options))).toBe(code);
  });
});

describe("limits", () => {
  test.each<[RunOptions, string]>([
    [{ deadlineMs: "5000" as never }, 'received "5000"'],
    [{ maxModelCalls: null as never }, "received null"],
    [{ maxSubagentDepth: "2" as never }, 'received "2"'],
  ])("%j: the refusal shows what came as it came", (options, said) => {
    expect(() => kernel.start(of(scripted([])), "go", options)).toThrow(said);
  });
  test("model calls stop the run, tool calls are denied", async () => {
    const looping = (): LanguageModel => scripted(() => caller("echo"), HAIKU);
    const calls = await go(of(looping(), [echo]), { maxModelCalls: 3 });
    expect([calls.outcome.stopReason, calls.run.ledger.of("call.settled").length]).toEqual([
      "call_budget_exhausted",
      3,
    ]);
    const tools = await go(of(looping(), [echo]), { maxModelCalls: 5, maxToolCalls: 2 });
    expect(tools.run.ledger.of("tool.denied").map(({ code }) => code)).toEqual(
      Array(3).fill("cave_tool_call_budget_exceeded"),
    );
    const defaults = await go(of(looping(), [echo]), {});
    expect(defaults.run.ledger.of("call.settled")).toHaveLength(64);
  });
  test("a deadline stops the run, and aborts what is in flight after a grace", async () => {
    const started = Date.now();
    const slow = tool({
      name: "slow",
      description: "Waits.",
      input: schema.object({}),
      effect: "read",
      execute: (_input, { signal }) =>
        new Promise((resolve) => {
          signal.addEventListener("abort", () => resolve("late"));
          setTimeout(resolve, 60_000).unref();
        }),
    });
    const { run, outcome } = await go(of(scripted([caller("slow"), { text: "never" }], HAIKU), [slow]), {
      deadlineMs: 30,
      budget: { maxTokens: 50_000 },
    });
    expect(outcome.stopReason).toBe("deadline");
    expect(Date.now() - started).toBeGreaterThanOrEqual(270);
    expect(Date.now() - started).toBeLessThan(30_000); // the tool would take a minute
    settledTidily(run);
  });
  test("a child shares its parent's instant", async () => {
    const { run, outcome } = await go(
      of(scripted([spawn(1), { text: "never" }], HAIKU), [kid(scripted([{ text: "part", delayMs: 5_000 }], HAIKU))]),
      { deadlineMs: 200 },
    );
    expect([outcome.stopReason, run.children[0]?.outcome?.stopReason]).toEqual(["deadline", "deadline"]);
  });
});
