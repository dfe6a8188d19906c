/** The ladder in runs: what triggers it, what it refuses to do, what a bad summariser cannot break, what is recorded. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  agent,
  createKernel,
  definePlugin,
  type LanguageModel,
  type ModelMessage,
  schema,
  tool,
} from "../../../kernel/index.ts";
import { breakers } from "../../../plugins/breakers/index.ts";
import { budget } from "../../../plugins/budget/index.ts";
import { compaction } from "../../../plugins/compaction/index.ts";
import { contextEditing } from "../../../plugins/context-editing/index.ts";
import { limits } from "../../../plugins/limits/index.ts";
import { pricing } from "../../../plugins/pricing/index.ts";
import { providers } from "../../../plugins/providers/index.ts";
import { type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";
import { receipt } from "../../../plugins/receipt/index.ts";
import { retry } from "../../../plugins/retry/index.ts";
import { Receipts } from "../../../plugins/services.ts";
import { outputStore, recoveryStore } from "../context-editing/stores.ts";
import { capsuleFor } from "./summarisers.ts";
import { declinedIn, discardedIn, isSummary, look, play, type Request, settledIn, WINDOW, worker } from "./worlds.ts";

const good = (instruction: string): ScriptStep => ({ text: JSON.stringify(capsuleFor(instruction)) });
const prose = { prose: 2_400 };
const requestsOf = (model: { readonly calls: readonly Request[] }) =>
  model.calls.filter((request) => !isSummary(request));
const json = (request: Request | undefined) => JSON.stringify(request?.prompt ?? []);
const summarised = (runs: Parameters<typeof settledIn>[0]) =>
  settledIn(runs).filter(({ tier }) => tier === "summarized");

describe("pressure", () => {
  test("from the window needs no budget", async () => {
    const { model, stats } = worker(14, good, prose);
    const { run, stopReason } = await play(model, ["Go"], [recoveryStore().plugin]);
    expect(stopReason).toBe("complete");
    expect(stats.rejected).toBe(0);
    expect(run.ledger.of("budget.opened")).toEqual([]);
    expect(settledIn([run]).length).toBeGreaterThan(0);
  });
  test("below the frontier nothing is touched: every request extends the one before, byte for byte", async () => {
    const { model } = worker(6, good);
    const { run } = await play(model, ["Go"], [recoveryStore().plugin]);
    expect(run.ledger.of("transcript.compacted")).toEqual([]);
    const prompts = model.calls.map(({ prompt }) => prompt.map((message) => JSON.stringify(message)));
    for (const [at, prompt] of prompts.entries())
      for (const [index, message] of (prompts[at - 1] ?? []).entries()) expect(prompt[index]).toBe(message);
  });
  test("from a budget comes before the budget is out, and the summary is paid from it", async () => {
    // A large window: only the budget presses. 2,100 tokens a step; pressure below four cold calls.
    const { model } = worker(26, good, { ...prose, window: 1_000_000 });
    const { run, stopReason } = await play(model, ["Go"], [recoveryStore().plugin, budget, pricing, receipt], {
      budget: { maxTokens: 900_000 },
      compaction: { minYieldTokens: 5_000 },
    });
    expect(stopReason).toBe("complete");
    const made = settledIn([run]);
    expect(made.length).toBeGreaterThan(0);
    const closed = run.ledger.of("budget.closed")[0];
    const spent = run.ledger.of("call.settled").reduce((sum, { usage }) => sum + usage.input + usage.output, 0);
    expect(Number(closed?.spent)).toBe(spent); // summaries included
  });
  test("onExhausted stop wants no compaction for the budget's sake", async () => {
    const { model } = worker(26, good, { ...prose, window: 1_000_000 });
    const { run } = await play(model, ["Go"], [recoveryStore().plugin, budget], {
      budget: { maxTokens: 300_000, onExhausted: "stop" },
      compaction: { minYieldTokens: 5_000 },
    });
    expect(settledIn([run])).toEqual([]);
    expect(run.outcome?.stopReason).toBe("budget_exhausted");
  });
  test("compaction: false leaves the view alone, and the provider has the last word", async () => {
    const { model, stats } = worker(14, good, prose);
    const { run, stopReason } = await play(model, ["Go"], [recoveryStore().plugin], { compaction: false });
    expect(stopReason).toBe("cave_provider_failed");
    expect(stats.rejected).toBe(1);
    expect(settledIn([run])).toEqual([]);
  });
  test("a rejection for size, of a model whose window nobody knows, is answered with a smaller view", async () => {
    let rejected = false;
    const model = scripted((request, at) => {
      if (isSummary(request as Request))
        return good(
          json(request as Request)
            .replaceAll("\\n", "\n")
            .replaceAll('\\"', '"'),
        );
      if (at === 12 && !rejected) {
        rejected = true;
        return { error: { status: 413, message: "request_too_large" } };
      }
      return at < 16 ? { toolCalls: [{ id: `r${at}`, name: "look", input: { n: at } }] } : { text: "done" };
    });
    const { run, stopReason } = await play(model, ["Go"], [recoveryStore().plugin]);
    expect(stopReason).toBe("complete");
    expect(run.ledger.of("transcript.compacted")).toMatchObject([{ by: "compaction", reason: "rejected" }]);
  });
  test("rejected again and again, it ends: no loop when nothing shrinks", async () => {
    const model = scripted((_request, at) =>
      at < 8
        ? { toolCalls: [{ id: `r${at}`, name: "look", input: { n: at } }] }
        : { error: { status: 413, message: "request_too_large" } },
    );
    const { stopReason } = await play(model, ["Go"], [recoveryStore().plugin]);
    expect(stopReason).toBe("cave_provider_failed");
    expect(model.calls.length).toBeLessThanOrEqual(11); // one more try, and at most one summary that was refused too
  });
});

describe("a bad summariser never damages the view", () => {
  const lies = (instruction: string, more: object): ScriptStep => ({
    text: JSON.stringify(capsuleFor(instruction, more)),
  });
  const zeros = "0".repeat(64);
  test.each<[string, (instruction: string) => ScriptStep]>([
    ["returns rubbish", () => ({ text: "lorem ipsum {" })],
    ["returns nothing", () => ({ text: "" })],
    ["calls a tool instead", () => ({ toolCalls: [{ name: "look", input: { n: 1 } }] })],
    ["returns something longer", (i) => lies(i, { facts: Array(300).fill("x".repeat(800)) })],
    ["lies about its sources", (i) => lies(i, { sources: [{ id: "runtime.user.0", sha256: zeros }] })],
    ["lies about its generation", (i) => lies(i, { generation: 7 })],
    ["cites what does not exist", (i) => lies(i, { citations: [{ segment_id: "s", digest: zeros, what: "w" }] })],
    [
      "makes a tool's words the user's",
      (i) => lies(i, { critical_anchors: [{ id: "a", text: "line of result 3", source_id: "runtime.tool_result.3" }] }),
    ],
    ["is cut off", (i) => ({ ...good(i), finish: "length" })],
    ["fails", () => ({ error: { status: 500, message: "down" } })],
    ["breaks off", (i) => ({ ...good(i), error: { when: "cut" } })],
  ])("that %s", async (_name, summarise) => {
    const store = recoveryStore();
    const { model, stats } = worker(16, summarise, prose);
    const { run } = await play(model, ["Go and keep AGENTS.md as it is"], [store.plugin]);
    expect(summarised([run])).toEqual([]);
    expect(discardedIn([run]).length).toBeGreaterThan(0);
    expect(stats.summaries).toBeLessThanOrEqual(2); // two in a row, then no more is paid for
    for (const request of requestsOf(model)) {
      expect(json(request)).toContain("Go and keep AGENTS.md as it is");
      expect(json(request)).not.toContain("cave-context-summary");
    }
    // What it cost is booked all the same.
    const summaries = run.ledger.of("call.settled").filter(({ purpose }) => purpose === "summary");
    expect(summaries).toHaveLength(stats.summaries);
  });
  test("that never answers is cut off by its time limit, booked, and leaves nothing running", async () => {
    const { model } = worker(16, good, prose);
    let open = 0;
    const stuck: LanguageModel = {
      ...model,
      async doStream(options) {
        if (!isSummary(options as Request)) return model.doStream(options);
        open++;
        // Deaf to the abort, as a badly written provider is.
        return { stream: new ReadableStream({ pull: () => new Promise(() => undefined), cancel: () => void open-- }) };
      },
    };
    const started = performance.now();
    const { run, stopReason } = await play(stuck, ["Go"], [recoveryStore().plugin, budget], {
      compaction: { summaryTimeoutMs: 30 },
      budget: { maxTokens: 5_000_000 },
    });
    expect(stopReason).toBe("complete");
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(discardedIn([run])).toMatchObject([
      { reason: "cave_compaction_summary_timeout", paid: true },
      { paid: true },
    ]);
    expect(open).toBe(0);
    expect(run.ledger.of("run.settled")).toMatchObject([{ openHolds: 0 }]);
    expect(summarised([run])).toEqual([]);
  });
  test("property: whatever it writes, the run's view stays legal, sized, and holds the user's words", async () => {
    const junk = fc.oneof(
      fc.string({ maxLength: 200 }).map((text) => () => ({ text })),
      fc.json().map((text) => () => ({ text })),
      fc
        .record({
          objective: fc.string(),
          facts: fc.array(fc.string({ maxLength: 50 }), { maxLength: 5 }),
          generation: fc.nat(3),
        })
        .map((more) => (instruction: string) => ({ text: JSON.stringify(capsuleFor(instruction, more)) })),
    );
    await fc.assert(
      fc.asyncProperty(junk, fc.integer({ min: 8, max: 14 }), async (summarise, turns) => {
        const { model } = worker(turns, summarise, prose);
        // `play` itself refuses an illegal view and a wrong size.
        await play(model, ["The user's own words"], [recoveryStore().plugin]);
        for (const request of requestsOf(model)) expect(json(request)).toContain("The user's own words");
      }),
      { numRuns: 15 },
    );
  });
});

describe("safeguards", () => {
  test("a store that is full: nothing leaves the view", async () => {
    const bash = tool({
      name: "look",
      description: "Acts.",
      input: schema.object({ n: schema.integer() }),
      effect: "external",
      execute: ({ n }) => `${n} `.repeat(1_500),
    });
    const { model, stats } = worker(14, good, prose);
    const { run } = await play(model, ["Go"], [recoveryStore({ full: true }).plugin], {}, { tools: [bash] });
    expect(settledIn([run])).toEqual([]);
    expect(stats.summaries).toBe(0); // not paid for what could not be used
    expect(declinedIn([run])).toContain("not_recoverable");
  });
  test("without any store a summary is made, and it is said that nothing can be read back", async () => {
    const { model } = worker(14, good, prose);
    const { run, stopReason } = await play(model, ["Go"], []);
    expect(stopReason).toBe("complete");
    expect(summarised([run]).length).toBeGreaterThan(0);
    expect(run.ledger.of("notice").map(({ code }) => code)).toContain("cave_compaction_unrecoverable");
    expect(json(requestsOf(model).at(-1))).toContain("The originals cannot be read back.");
  });
  test("outputs kept for the run are the second choice", async () => {
    const outputs = outputStore();
    const { model } = worker(14, good, prose);
    await play(model, ["Go"], [outputs.plugin]);
    expect(json(requestsOf(model).at(-1))).toMatch(/read_tool_output\(/);
    expect(outputs.outputs.size).toBeGreaterThan(0);
  });
  test("maxCompactions bounds what is paid for, and evictions go on", async () => {
    const { model, stats } = worker(40, good, prose);
    const { run } = await play(model, ["Go"], [recoveryStore().plugin], { compaction: { maxCompactions: 1 } });
    expect(stats.summaries).toBe(1);
    expect(declinedIn([run])).toContain("max_compactions");
  });
  test("no summary when no call would be left to use it", async () => {
    const { model, stats } = worker(14, good, { prose: 6_000 });
    const { run } = await play(model, ["Go"], [recoveryStore().plugin, limits], { maxModelCalls: 6 });
    expect(stats.summaries).toBe(0);
    expect(declinedIn([run])).toContain("no_call_left_after");
  });
  test("no summary that the budget cannot pay for beside the work", async () => {
    const { model, stats } = worker(40, good, { ...prose, window: 1_000_000 });
    const { run, stopReason } = await play(model, ["Go"], [recoveryStore().plugin, budget], {
      budget: { maxTokens: 200_000 },
      compaction: { minYieldTokens: 5_000, headroomCalls: 1_000 },
    });
    expect(stats.summaries).toBe(0);
    expect(declinedIn([run])).toContain("not_affordable");
    expect(stopReason).toBe("budget_exhausted");
  });
  test("a tripped breaker ends the run before a summary is paid for, and its memory outlives a compaction", async () => {
    const stuck = scripted((request, at) => {
      if (isSummary(request as Request)) return good(json(request as Request));
      // Fresh results first, so that a compaction happens, then one call for ever.
      return at < 12
        ? { text: `thought ${at} `.padEnd(2_400, "."), toolCalls: [{ id: `s${at}`, name: "look", input: { n: at } }] }
        : { text: "x".repeat(900), toolCalls: [{ id: `s${at}`, name: "look", input: { n: 1 } }] };
    });
    const { run, stopReason } = await play(
      Object.assign(stuck, { contextWindow: WINDOW, maxOutput: 1_000 }),
      ["Go"],
      [recoveryStore().plugin, breakers],
    );
    expect(stopReason).toBe("loop_detected");
    expect(settledIn([run]).length).toBeGreaterThan(0);
    const tripped = run.ledger.of("breaker.tripped").at(-1)?.seq ?? 0;
    expect(run.ledger.of("call.settled").filter(({ seq }) => seq > tripped)).toEqual([]);
    expect(stuck.calls.length).toBeLessThan(25);
  });
  test("no thrash: rewrites are far between and each frees its yield", async () => {
    const { model } = worker(60, good, prose);
    const { run } = await play(model, ["Go"], [recoveryStore().plugin]);
    const made = settledIn([run]);
    // A fifth of the window, or a twentieth of the view when the next call would not have fitted.
    for (const { preTokens, postTokens } of made) expect(preTokens - postTokens).toBeGreaterThan(preTokens * 0.05);
    const calls = run.ledger.of("call.settled").filter(({ purpose }) => purpose === "turn").length;
    expect(made.length).toBeLessThan(calls / 2.5);
  });
  test("a warm prefix is not broken for a rewrite that never pays", async () => {
    // Past the frontier of a large window, warm at a tenth of the price: 30,000 tokens could go, 140,000 come after them.
    const step = (n: number, input: number, name = "look"): ScriptStep => ({
      toolCalls: [{ id: `w${n}`, name, input: { n } }],
      usage: { input, output: 10, cacheRead: input - 500 },
    });
    const big = tool({
      name: "report",
      description: "R.",
      input: schema.object({ n: schema.integer() }),
      effect: "read",
      execute: () => "r".repeat(600_000),
    });
    const results = Array.from({ length: 16 }, (_, n) => step(n, 2_000 * n + 1_000));
    const model = scripted([...results, step(16, 40_000, "report"), step(17, 190_000), { text: "done" }], {
      as: "anthropic/claude-haiku-4-5",
    });
    const { run } = await play(
      Object.assign(model, { contextWindow: 210_000, maxOutput: 1_000 }),
      ["Go"],
      [recoveryStore().plugin, pricing],
      { contextEditing: false, compaction: { keepRecentTokens: 100 } },
      { tools: [look, big] },
    );
    expect(settledIn([run])).toEqual([]);
    expect(declinedIn([run])).toContain("does_not_pay");
  });
  test("the newest result alone too large for the window is kept whole and cited", async () => {
    const store = recoveryStore();
    const huge = "h".repeat(120_000);
    const dump = tool({
      name: "dump",
      description: "D.",
      input: schema.object({}),
      effect: "read",
      execute: () => huge,
    });
    const model = scripted([{ toolCalls: [{ id: "d", name: "dump", input: {} }] }, { text: "read it" }]);
    const { run, stopReason } = await play(
      Object.assign(model, { contextWindow: WINDOW, maxOutput: 1_000 }),
      ["Go"],
      [store.plugin],
      {},
      { tools: [dump] },
    );
    expect(stopReason).toBe("complete");
    expect(json(model.calls[1]).length).toBeLessThan(2_000);
    expect([...store.originals.values()]).toContain(huge);
    expect(settledIn([run])).toMatchObject([{ tier: "evicted" }]);
  });
  test("what the model may write is clamped to what the window has left", async () => {
    const model = scripted([{ text: "hi" }]);
    const { run } = await play(
      Object.assign(model, { contextWindow: 2_000, maxOutput: 1_900 }),
      ["Word ".repeat(600)],
      [],
      {},
      { tools: [] },
    );
    const allowance = run.ledger.of("call.settled")[0]?.allowance ?? 0;
    expect(allowance).toBeLessThan(1_300);
    expect(allowance).toBeGreaterThanOrEqual(256);
    expect(run.ledger.of("call.settled")[0]?.clampedOutputTokens).toBe(allowance);
  });
});

describe("what is recorded", () => {
  test("the receipt has tier, sizes, pins, digests, cost and schema version, and keeps cost apart from effect", async () => {
    const { model } = worker(16, good, { ...prose, as: "anthropic/claude-haiku-4-5" });
    const { run } = await play(model, ["Go"], [recoveryStore().plugin, pricing, receipt]);
    const { compactions, rewrites } = run.service(Receipts).receiptOf(run);
    const paid = compactions.find(({ tier }) => tier === "summarized");
    expect(paid).toMatchObject({ meteredBasis: "measured", modeledBasis: "modeled", summarySchemaVersion: 2 });
    expect(paid?.meteredCost).toBeGreaterThan(0);
    expect(paid?.workingCallsAfter).toBeGreaterThan(0);
    expect(paid?.pinnedSegmentIds.length).toBeGreaterThan(0);
    for (const digest of paid?.elidedSegmentDigests ?? []) expect(digest).toMatch(/^[0-9a-f]{64}$/);
    const free = compactions.find(({ tier }) => tier === "evicted");
    if (free) expect(free.meteredCost).toBe(0);
    expect(rewrites?.every(({ by }) => by === "compaction")).toBe(true);
    expect(rewrites).toHaveLength(compactions.length);
    expect(run.ledger.of("notice").filter(({ code }) => code === "cave_context_compacted")).toHaveLength(
      compactions.length,
    );
  });
  test("facts and notices are content-blind, also about what a summary got wrong", async () => {
    const telling = (instruction: string): ScriptStep => ({
      text: JSON.stringify(
        capsuleFor(instruction, {
          critical_anchors: [{ id: 'SECRET "ID"', text: "SECRET", source_id: "SECRET-SOURCE" }],
        }),
      ),
    });
    for (const summarise of [good, telling]) {
      const { model } = worker(16, summarise, prose);
      const { run } = await play(model, ["SECRET-REQUEST"], [recoveryStore().plugin]);
      const told = run.ledger.facts.filter(({ type }) => type.startsWith("compaction.") || type === "notice");
      expect(told.length).toBeGreaterThan(0);
      expect(JSON.stringify(told)).not.toMatch(/SECRET|nothing to note|thought/);
    }
  });
});

describe("the summariser's call", () => {
  test("reads the very prefix the provider has cached, with the same system and tools", async () => {
    const { model } = worker(14, good, prose);
    await play(model, ["Go"], [recoveryStore().plugin]);
    const at = model.calls.findIndex((request) => isSummary(request));
    const [before, summary] = [model.calls[at - 1], model.calls[at]];
    expect(summary?.tools).toEqual(before?.tools);
    const texts = (prompt: readonly ModelMessage[] = []) => prompt.map((message) => JSON.stringify(message));
    const head = texts(summary?.prompt).slice(0, -1);
    expect(head.length).toBeGreaterThan(3);
    expect(texts(before?.prompt).slice(0, head.length)).toEqual(head);
  });
  test("goes through every hook, and another model may write it when its window takes the history", async () => {
    const seen: string[] = [];
    const spy = definePlugin({
      name: "spy",
      apply(kernel) {
        kernel.hooks.reserve.tap({ name: "spy", stage: "check" }, ({ purpose, model, allowance }) => {
          if (purpose === "summary") seen.push(`${model.provider}/${model.id} ${allowance}`);
        });
      },
    });
    const { model, stats } = worker(14, good, prose);
    const { run } = await play(model, ["Go"], [recoveryStore().plugin, spy], {
      compaction: { summarizerModel: "sim/nowhere", summaryMaxTokens: 900 },
    });
    expect(stats.summaries).toBeGreaterThan(0);
    expect(new Set(seen)).toEqual(new Set(["sim/worker 900"]));
    expect(
      run.ledger.of("notice").filter(({ code }) => code === "cave_compaction_summarizer_unavailable"),
    ).toHaveLength(1);
  });
  test("is made by the named model when it can be had", async () => {
    const folder = await mkdtemp(join(tmpdir(), "caveman-summariser-"));
    // Catalogued, so that its window is known: 200,000 tokens.
    const script = [{ text: JSON.stringify(capsuleFor('"generation" is 1.')) }];
    await writeFile(
      join(folder, "cheap.mjs"),
      `export default { as: "anthropic/claude-haiku-4-5", script: ${JSON.stringify(script)} };`,
    );
    try {
      const { model, stats } = worker(14, good, prose);
      const kernel = createKernel({
        plugins: [providers({ scriptRoot: folder }), recoveryStore().plugin, contextEditing, compaction, pricing],
      });
      const { run, done } = kernel.start(agent({ id: "a", instructions: "i", model, tools: [look] }), "Go", {
        compaction: { summarizerModel: "sim/cheap", maxCompactions: 1 },
      });
      expect((await done).stopReason).toBe("complete");
      const calls = run.ledger.of("call.settled").filter(({ purpose }) => purpose === "summary");
      expect(calls).toMatchObject([{ provider: "anthropic", model: "claude-haiku-4-5" }]);
      expect(stats.summaries).toBe(0);
      expect(summarised([run])).toHaveLength(1);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
  test("a failing summary is not sent again and again beside retry", async () => {
    const { model, stats } = worker(14, () => ({ error: { status: 400, message: "no" } }), prose);
    await play(model, ["Go"], [recoveryStore().plugin, retry]);
    expect(stats.summaries).toBeLessThanOrEqual(2);
  });
});

describe("options", () => {
  test.each([
    [{ maxCompactions: 0 }],
    [{ keepRecentTokens: 1.5 }],
    [{ summaryMaxTokens: "2048" }],
    [{ headroomCalls: -1 }],
    [{ minYieldTokens: Number.NaN }],
    [{ summarizerModel: "haiku" }],
    [{ preserveFirstUserMessage: "yes" }],
    [{ unknown: 1 }],
    [[]],
  ])("%j is refused with its own code, before anything is spent", (options) => {
    const model = scripted([{ text: "x" }]);
    const kernel = createKernel({ plugins: [providers, contextEditing, compaction] });
    const definition = agent({ id: "a", instructions: "i", model });
    expect(() => kernel.start(definition, "go", { compaction: options as never })).toThrow(
      "cave_compaction_option_invalid",
    );
    expect(model.calls).toHaveLength(0);
  });
  test("a plugin option is checked at assembly", () => {
    expect(() => createKernel({ plugins: [providers, contextEditing, compaction({ maxCompactions: 0 })] })).toThrow(
      "cave_compaction_option_invalid",
    );
    expect(() => compaction({ keep: 1 } as never)).toThrow("cave_option_invalid");
  });
  test("it stands on the gauge of context editing, and says so", () => {
    expect(() => createKernel({ plugins: [providers, compaction] })).toThrow("cave_plugin_missing");
  });
});
