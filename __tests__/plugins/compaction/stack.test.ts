/** The whole stack: real stores, a real tokenizer, the standard preset. What was removed is fetched back after a restart. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createCaveman } from "../../../index.ts";
import { agent, CavemanError, type RunOptions } from "../../../kernel/index.ts";
import { compaction } from "../../../plugins/compaction/index.ts";
import { settingsOf } from "../../../plugins/compaction/options.ts";
import { contextEditing } from "../../../plugins/context-editing/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { recovery } from "../../../plugins/recovery/index.ts";
import { results } from "../../../plugins/results/index.ts";
import { tokens } from "../../../plugins/tokens/index.ts";
import { textsOf } from "../context-editing/stores.ts";
import { capsuleFor } from "./summarisers.ts";
import { CONSTRAINTS, discardedIn, FOUND, isSummary, look, type Request, settledIn, WINDOW, worker } from "./worlds.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "caveman-compaction-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const stack = () =>
  createCaveman({
    plugins: [tokens(), results(), recovery({ path: join(folder, "ccr.db") }), contextEditing(), compaction()],
  });
const truthful = (instruction: string) => ({ text: JSON.stringify(capsuleFor(instruction)) });
const of = (model: ReturnType<typeof scripted>) =>
  agent({ id: "worker", instructions: "Be brief.", model, tools: [look], sandbox: "host" });

describe("ten windows on the standard preset with a store on disk", () => {
  test("complete, generation after generation; the model reads back what left it, also after a restart", async () => {
    const { model, stats } = worker(17, truthful, { prose: 4_000 });
    const conversation = createConversation();
    const caveman = stack();
    const done = [];
    for (const input of CONSTRAINTS)
      done.push(await caveman.run(of(model), input, { conversation, maxToolCalls: 500, maxModelCalls: 500 }));
    expect(done.map(({ stopReason }) => stopReason)).toEqual(CONSTRAINTS.map(() => "complete"));
    expect(stats.rejected).toBe(0);
    const compactions = done.flatMap(({ receipt }) => receipt.compactions);
    expect(compactions.filter(({ tier }) => tier === "summarized").length).toBeGreaterThanOrEqual(5);
    expect(stats.read).toBeGreaterThan(10 * WINDOW);

    // A new process: the conversation from its JSON, the store from its file.
    const saved: unknown = JSON.parse(JSON.stringify(conversation.toJSON()));
    const handles = [...JSON.stringify(saved).matchAll(/ccr_[0-9a-f]{32}/g)].map(([handle]) => handle);
    const found: string[] = [];
    const reader = scripted((request, at) => {
      const last = request.prompt.at(-1);
      if (last?.role === "tool") found.push(JSON.stringify(last.content));
      const handle = [...new Set(handles)][at];
      return handle
        ? { toolCalls: [{ id: `h${at}`, name: "cave_retrieve", input: { recovery_handle: handle } }] }
        : { text: "read" };
    });
    const again = await stack().run(of(reader), "Read it back", {
      conversation: createConversation(saved),
      breakers: false,
      maxToolCalls: 500,
      maxModelCalls: 500,
    });
    expect(again.stopReason).toBe("complete");
    const all = found.join("\n");
    expect(all).not.toContain("out_of_scope");
    for (const fact of Object.values(FOUND)) expect(all).toContain(fact);
  }, 60_000);

  test("every text that was ever in the view can be fetched back from the store, byte for byte", async () => {
    const { model } = worker(40, truthful, { prose: 2_400 });
    const caveman = stack();
    const { run, done } = caveman.kernel.start(of(model), "Go", { maxToolCalls: 500, maxModelCalls: 500 });
    expect((await done).stopReason).toBe("complete");
    expect(discardedIn([run])).toEqual([]);
    expect(settledIn([run]).length).toBeGreaterThan(3);
    const { OriginalStore } = await import("../../../plugins/recovery/index.ts");
    const store = new OriginalStore({ path: join(folder, "ccr.db") } as never);
    try {
      const reached: string[] = [];
      const seen = new Set<string>();
      const follow = (text: string): void => {
        for (const [handle] of text.replaceAll("\\u0063cr_", "ccr_").matchAll(/ccr_[0-9a-f]{32}/g)) {
          if (seen.has(handle)) continue;
          seen.add(handle);
          const original = Buffer.from(store.get(handle).bytes).toString("utf8");
          reached.push(original);
          follow(original);
        }
      };
      const view = JSON.stringify(run.transcript.view.messages.map(({ value }) => value));
      follow(view);
      for (const text of textsOf(run)) {
        const inside = JSON.stringify(text).slice(1, -1);
        expect(view.includes(inside) || reached.some((one) => one === text || one.includes(inside))).toBe(true);
      }
    } finally {
      store.close();
    }
  }, 60_000);
});

describe("money and ends", () => {
  test("a refused call gets further with a smaller view than without", async () => {
    const turns = async (options: RunOptions): Promise<number> => {
      const { model } = worker(60, truthful, { window: 1_000_000 });
      const run = await stack().run(of(model), "Go", {
        budget: { maxTokens: 120_000 },
        maxToolCalls: 500,
        maxModelCalls: 500,
        ...options,
      });
      expect(run.stopReason).toBe("budget_exhausted");
      expect(run.receipt.spent).toBeLessThanOrEqual(120_000);
      return run.receipt.turns ?? 0;
    };
    const compaction = { keepRecentTokens: 500, minYieldTokens: 3_000 };
    expect(await turns({ compaction })).toBeGreaterThan(
      (await turns({ compaction: false, contextEditing: false })) + 1,
    );
  });
  test("an abort while a summary is written leaves a legal view, a settled receipt and nothing held", async () => {
    const abort = new AbortController();
    const { model } = worker(16, truthful, { prose: 2_400 });
    const slow: typeof model = {
      ...model,
      async doStream(options) {
        if (!isSummary(options as Request)) return model.doStream(options);
        setTimeout(() => abort.abort(), 5);
        return { stream: new ReadableStream({ pull: () => new Promise(() => undefined) }) };
      },
    };
    const caveman = stack();
    const { run, done } = caveman.kernel.start(of(slow), "Go", {
      signal: abort.signal,
      budget: { maxTokens: 3_000_000 },
    });
    const outcome = await done;
    expect(outcome.stopReason).toBe("aborted");
    expect(run.ledger.of("run.settled")).toMatchObject([{ openHolds: 0 }]);
    expect(settledIn([run]).filter(({ tier }) => tier === "summarized")).toEqual([]);
    const summaries = run.ledger.of("call.settled").filter(({ purpose }) => purpose === "summary");
    expect(summaries).toHaveLength(1);
    expect(summaries[0]?.usage.input).toBeGreaterThan(0);
  });
  test("a deadline that passes in a summary ends the run with what is known", async () => {
    const { model } = worker(16, truthful, { prose: 2_400 });
    const slow: typeof model = {
      ...model,
      async doStream(options) {
        if (!isSummary(options as Request)) return model.doStream(options);
        return { stream: new ReadableStream({ pull: () => new Promise(() => undefined) }) };
      },
    };
    const result = await stack().run(of(slow), "Go", { deadlineMs: 400 });
    expect(result.stopReason).toBe("deadline");
  });
});

describe("settings", () => {
  test("the run option stands before the budget's, and that before the plugin's", () => {
    const budget = { maxTokens: 1, compaction: { keepRecentTokens: 7, headroomCalls: 7 } };
    const options = { budget, compaction: { headroomCalls: 9 } } as RunOptions;
    expect(settingsOf(options, { keepRecentTokens: 5, pinnedUserTokens: 5 })).toMatchObject({
      headroomCalls: 9,
      keepRecentTokens: 7,
      pinnedUserTokens: 5,
      summaryMaxTokens: 2_048,
    });
    expect(() => settingsOf({ budget: { compaction: { keepRecentTokens: 0 } } } as RunOptions, {})).toThrow(
      CavemanError,
    );
  });
});
