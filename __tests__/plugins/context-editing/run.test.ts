/** Context editing in whole runs, on scripted models with a stated window. */
import { describe, expect, test } from "@jest/globals";
import {
  agent,
  createKernel,
  definePlugin,
  illegality,
  type LanguageModel,
  type ModelMessage,
  type Plugin,
  type PluginFactory,
  type Run,
  type RunOptions,
  schema,
  type Tokens,
  type Tool,
  textOf,
  tool,
  View,
} from "../../../kernel/index.ts";
import { contextEditing } from "../../../plugins/context-editing/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { pricing } from "../../../plugins/pricing/index.ts";
import { providers } from "../../../plugins/providers/index.ts";
import { type Script, type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";
import { retry } from "../../../plugins/retry/index.ts";
import { ContextGauge, type ContextSize, Models, Tokenizer } from "../../../plugins/services.ts";
import { outputStore, recoveryStore } from "./stores.ts";

const input = schema.object({ n: schema.optional(schema.integer()) });
/** A result of 8,000 tokens, at four bytes each. */
const page = (n: number) => `page ${n} `.padEnd(32_000, `${n}`);
const readFile = tool({
  name: "read_file",
  description: "Reads.",
  input,
  effect: "read",
  execute: ({ n }) => page(n ?? 0),
});
const bash = tool({ name: "bash", description: "Runs.", input, effect: "external", execute: ({ n }) => page(n ?? 0) });
const windowed = (script: Script, contextWindow: number, as?: string) =>
  Object.assign(scripted(script, as ? { as } : {}), { contextWindow, maxOutput: 1_000 });
const calls = (count: number, name = "read_file", from = 0): ScriptStep[] =>
  Array.from({ length: count }, (_, n) => ({ toolCalls: [{ id: `t${from + n}`, name, input: { n: from + n } }] }));

async function go(
  model: LanguageModel,
  plugins: readonly (Plugin | PluginFactory)[],
  options: RunOptions = {},
  tools: readonly Tool[] = [readFile, bash],
) {
  const kernel = createKernel({ plugins: [providers, ...plugins] });
  const { run, done } = kernel.start(agent({ id: "a", instructions: "Be brief.", model, tools }), "go", options);
  const outcome = await done;
  expect(illegality(run.transcript.view.messages)).toBeUndefined();
  return { run, outcome };
}
type Request = { readonly prompt: readonly ModelMessage[] };
const resultsIn = ({ prompt }: Request): string[] =>
  prompt.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) => (part.type === "tool-result" ? [textOf(part.output)] : []))
      : [],
  );
const cleared = (request: Request | undefined) =>
  request ? resultsIn(request).filter((text) => text.startsWith("<<cave_cleared ")) : [];
const declined = (run: Run) => run.ledger.of("context.clear_declined").map(({ reason }) => reason);

describe("at the frontier", () => {
  test("old results become pointers, and every one is read back byte for byte", async () => {
    const store = recoveryStore();
    // Window 120,000: frontier 87,000. Eleven results of 8,000 tokens pass it.
    const model = windowed([...calls(14), { text: "done" }], 120_000);
    const { run, outcome } = await go(model, [store.plugin, contextEditing]);
    expect(outcome.text).toBe("done");
    expect(run.ledger.of("context.cleared")).toMatchObject([
      { trigger: "frontier", results: 6, tokensSaved: 48_000, basis: "estimate" },
    ]);
    const markers = cleared(model.calls.at(-1));
    expect(markers).toHaveLength(6);
    for (const [n, marker] of markers.entries()) {
      const handle = /cave_retrieve\(\{"recovery_handle":"(ccr_[0-9a-f]{32})"\}\)/.exec(marker)?.[1] ?? "";
      expect(store.originals.get(handle)).toBe(page(n));
    }
    // History keeps the originals, whatever the view shows.
    expect(run.transcript.history.some(({ bytes }) => bytes > 32_000)).toBe(true);
    expect(run.ledger.of("transcript.compacted")).toHaveLength(1);
    expect(run.ledger.of("notice").map(({ code }) => code)).toEqual(["cave_context_cleared"]);
  });
  test("what was sent once is sent again unchanged, but for the one call that cleared", async () => {
    const model = windowed([...calls(16), { text: "done" }], 120_000);
    await go(model, [recoveryStore().plugin, contextEditing]);
    const texts = model.calls.map(({ prompt }) => prompt.map((message) => JSON.stringify(message)));
    const broken = texts.slice(1).filter((now, at) => {
      const before = texts[at] ?? [];
      return before.some((message, index) => now[index] !== message);
    });
    expect(broken).toHaveLength(1);
  });
  test("without a store only what can be called again is cleared", async () => {
    const asked = windowed([...calls(14, "bash"), { text: "done" }], 120_000);
    const { run } = await go(asked, [contextEditing]);
    expect(cleared(asked.calls.at(-1))).toEqual([]);
    expect(declined(run)).toContain("nothing_worth_clearing");
    const read = windowed([...calls(14), { text: "done" }], 120_000);
    await go(read, [contextEditing]);
    expect(cleared(read.calls.at(-1))[0]).toContain("Call read_file again");
  });
  test("a store that is full keeps results in the view; outputs kept for the run are the second choice", async () => {
    const full = windowed([...calls(14, "bash"), { text: "done" }], 120_000);
    await go(full, [recoveryStore({ full: true }).plugin, contextEditing]);
    expect(cleared(full.calls.at(-1))).toEqual([]);
    const outputs = outputStore();
    const second = windowed([...calls(14, "bash"), { text: "done" }], 120_000);
    await go(second, [recoveryStore({ full: true }).plugin, outputs.plugin, contextEditing]);
    expect(cleared(second.calls.at(-1))[0]).toContain('read_tool_output({"handle":"tool_1"})');
    expect([...outputs.outputs.values()]).toEqual(Array.from({ length: 6 }, (_, n) => page(n)));
  });
  test("a result that carries handles of its own is kept as JSON, and a handle in it is none", async () => {
    const handle = `ccr_${"ab".repeat(16)}`;
    const marked = tool({
      name: "bash",
      description: "Runs.",
      input,
      effect: "external",
      execute: ({ n }) => `${page(n ?? 0)}\n"quoted" \\ccr_ \udcccr_ <<ccr:${handle}>>`,
    });
    const store = recoveryStore();
    const model = windowed([...calls(14, "bash"), { text: "done" }], 120_000);
    const { run } = await go(model, [store.plugin, contextEditing], {}, [marked]);
    expect(run.ledger.of("context.cleared")).toHaveLength(1);
    expect(cleared(model.calls.at(-1))[0]).toContain("as one JSON string");
    const texts = [...store.originals.values()];
    expect(texts).toHaveLength(6);
    for (const [n, text] of texts.entries()) {
      expect(text).not.toMatch(/ccr_[0-9a-f]{32}/);
      expect(JSON.parse(text)).toBe(`${page(n)}\n"quoted" \\ccr_ \udcccr_ <<ccr:${handle}>>`);
    }
  });
  test("a store that throws leaves the view as it was and is noted", async () => {
    const broken = recoveryStore();
    const model = windowed([...calls(14), { text: "done" }], 120_000);
    broken.originals.set = () => {
      throw new Error("disk on fire");
    };
    const { outcome, run } = await go(model, [broken.plugin, contextEditing]);
    expect(outcome.stopReason).toBe("complete");
    expect(cleared(model.calls.at(-1))).toEqual([]);
    expect(run.ledger.of("notice").map(({ code }) => code)).toContain("cave_plugin_failed");
  });
  test("a window the model states nothing of is taken from the catalog; an unknown one never triggers", async () => {
    const unknown = scripted([...calls(14), { text: "done" }], { as: "nobody/nothing" });
    const { run } = await go(unknown, [recoveryStore().plugin, contextEditing, pricing]);
    expect(run.ledger.of("context.cleared")).toEqual([]);
    const haiku = scripted([...calls(26), { text: "done" }], { as: "anthropic/claude-haiku-4-5" }); // 200,000
    const priced = await go(haiku, [recoveryStore().plugin, contextEditing, pricing]);
    expect(priced.run.ledger.of("context.cleared")).toHaveLength(1);
  });
});

describe("a clear pays for the cached prefix it breaks", () => {
  const cachedUsage = (tokens: number) => ({ input: tokens, output: 10, cacheRead: tokens - 1_000 });
  test("while everything fits, a warm prefix is not broken for little", async () => {
    // 25,000 tokens could go, 142,000 after them would be written anew: 1.15 × 142,000 / (0.1 × 25,000) is 65 calls.
    const steps = [
      ...calls(8, "read_file").map((step) => ({ ...step, usage: cachedUsage(30_000) })),
      { toolCalls: [{ name: "report", input: {} }], usage: cachedUsage(60_000) },
      { toolCalls: [{ name: "read_file", input: { n: 9 } }], usage: cachedUsage(168_000) },
      { text: "done" },
    ];
    const report = tool({
      name: "report",
      description: "Reports.",
      input: schema.object({}),
      effect: "read",
      execute: () => "r".repeat(400_000),
    });
    const model = windowed(steps, 200_000, "anthropic/claude-haiku-4-5");
    const { run } = await go(model, [recoveryStore().plugin, contextEditing, pricing], {}, [readFile, report]);
    expect(run.ledger.of("context.cleared")).toEqual([]);
    expect(declined(run)).toEqual(["does_not_pay"]);
    // The same on a provider that cached nothing: there is no prefix to break.
    const cold = steps.map((step) =>
      "usage" in step && step.usage ? { ...step, usage: { ...step.usage, cacheRead: 0 } } : step,
    );
    const second = windowed(cold, 200_000, "anthropic/claude-haiku-4-5");
    const { run: other } = await go(second, [recoveryStore().plugin, contextEditing, pricing], {}, [readFile, report]);
    expect(other.ledger.of("context.cleared")).toHaveLength(1);
  });
});

describe("machine off", () => {
  test("waits until the call does not fit", async () => {
    const model = windowed([...calls(16), { text: "done" }], 120_000);
    const { run } = await go(model, [recoveryStore().plugin, contextEditing({ machine: "off" })]);
    expect(run.ledger.of("context.cleared")).toMatchObject([{ trigger: "blocking" }]);
    // 120,000 less 1,000 for the answer: the fifteenth result would not have fitted.
    expect(model.calls.findIndex((request) => cleared(request).length > 0)).toBe(15);
  });
  test("contextEditing: false keeps everything", async () => {
    const model = windowed([...calls(16), { text: "done" }], 120_000);
    const { run } = await go(model, [recoveryStore().plugin, contextEditing], { contextEditing: false });
    expect(run.ledger.of("context.cleared")).toEqual([]);
    expect(cleared(model.calls.at(-1))).toEqual([]);
  });
});

describe("a provider that says the input does not fit", () => {
  const tooLong: ScriptStep = { error: { status: 400, message: "prompt is too long: 210000 tokens > 200000 maximum" } };
  test.each([
    ["alone", []],
    ["beside retry", [retry]],
  ])("is answered with a smaller view, %s", async (_name, more) => {
    // No window is known, so nothing but the rejection can tell.
    const model = scripted([...calls(9), tooLong, { text: "done" }]);
    const { run, outcome } = await go(model, [recoveryStore().plugin, contextEditing, ...more]);
    expect(outcome.text).toBe("done");
    expect(run.ledger.of("context.cleared")).toMatchObject([{ trigger: "rejected", results: 4, tokensSaved: 32_000 }]);
    expect(cleared(model.calls.at(-2))).toEqual([]);
    expect(cleared(model.calls.at(-1))).toHaveLength(4);
    expect(
      new Set(
        run.ledger
          .of("call.settled")
          .slice(-2)
          .map(({ callId }) => callId),
      ).size,
    ).toBe(1);
  });
  test("again and again ends the run: nothing is asked for twice", async () => {
    const model = scripted([...calls(9), tooLong, tooLong, tooLong]);
    const { outcome } = await go(model, [recoveryStore().plugin, contextEditing]);
    expect(outcome.error?.code).toBe("cave_provider_failed");
    expect(model.calls).toHaveLength(11);
  });
  test("is left to stand when there is nothing to clear", async () => {
    const model = scripted([...calls(3), tooLong]);
    const { outcome, run } = await go(model, [recoveryStore().plugin, contextEditing]);
    expect(outcome.error?.code).toBe("cave_provider_failed");
    expect(model.calls).toHaveLength(4);
    expect(run.ledger.of("transcript.compacted")).toEqual([]);
  });
});

describe("across runs of a conversation", () => {
  test("a view rebuilt from the originals is repainted with the same bytes, also after a restart", async () => {
    const conversation = createConversation();
    const store = recoveryStore();
    const first = windowed([...calls(14), { text: "done" }], 120_000);
    const { run } = await go(first, [store.plugin, contextEditing], { conversation });
    const saved = JSON.parse(JSON.stringify(conversation.toJSON())) as { messages: { value: ModelMessage }[] };
    // Whoever keeps the whole history puts the originals back.
    saved.messages = run.transcript.history.map(({ value }) => ({ value }));
    const second = windowed([{ text: "again" }], 120_000);
    await go(second, [store.plugin, contextEditing], { conversation: createConversation(saved) });
    const before = first.calls.at(-1)?.prompt.map((message) => JSON.stringify(message)) ?? [];
    const after = second.calls[0]?.prompt.map((message) => JSON.stringify(message)) ?? [];
    expect(cleared(second.calls[0])).toHaveLength(6);
    expect(after.slice(0, before.length)).toEqual(before);
  });
  test("an answer that said nothing is left out of the next run's first request", async () => {
    const conversation = createConversation();
    await go(scripted([{ text: "" }]), [contextEditing], { conversation });
    const model = scripted([{ text: "hello" }]);
    await go(model, [contextEditing], { conversation });
    expect(model.calls[0]?.prompt.map(({ role }) => role)).toEqual(["system", "user", "user"]);
  });
  test("a damaged ledger is refused before anything is spent", async () => {
    const conversation = createConversation();
    await go(scripted([{ text: "hi" }]), [contextEditing], { conversation });
    const saved = JSON.parse(JSON.stringify(conversation.toJSON())) as { states: Record<string, unknown> };
    saved.states["context-editing"] = [{ key: "k", marker: 1 }];
    const model = scripted([{ text: "hi" }]);
    const kernel = createKernel({ plugins: [providers, contextEditing] });
    expect(() =>
      kernel.start(agent({ id: "a", instructions: "i", model }), "go", { conversation: createConversation(saved) }),
    ).toThrow("cave_conversation_invalid");
    expect(model.calls).toHaveLength(0);
  });
});

describe("options", () => {
  test.each([
    [{ machine: "on" }],
    [{ keepRecentToolResults: -1 }],
    [{ keepRecentToolResults: Number.NaN }],
    [{ tools: "bash" }],
    [{ autoCompactTokens: 0 }],
  ])("%p is refused with its own code, as plugin and as run option", (options) => {
    expect(() => createKernel({ plugins: [providers, contextEditing(options as never)] })).toThrow(
      "cave_context_edit_option_invalid",
    );
    const kernel = createKernel({ plugins: [providers, contextEditing] });
    const definition = agent({ id: "a", instructions: "i", model: scripted([{ text: "x" }]) });
    expect(() => kernel.start(definition, "go", { contextEditing: options as never })).toThrow(
      "cave_context_edit_option_invalid",
    );
  });
  test("an unknown key is refused", () => {
    expect(() => contextEditing({ keep: 3 } as never)).toThrow("cave_option_invalid");
  });
  test("a trigger window above the model's is announced once", async () => {
    const model = windowed([...calls(2), { text: "done" }], 50_000);
    const { run } = await go(model, [contextEditing({ autoCompactTokens: 967_000 })]);
    const notices = run.ledger.of("notice");
    expect(notices.map(({ code }) => code)).toEqual(["cave_context_window_clamped"]);
    expect(notices[0]?.message).toContain("967000");
  });
});

describe("the gauge", () => {
  test("counts what the provider reported, and only what came after it by itself", async () => {
    const sizes: number[] = [];
    const probe = definePlugin({
      name: "probe",
      after: ["context-editing"],
      apply(kernel) {
        kernel.hooks.compact.tap("probe", ({ run, view, model }) => {
          const gauge = run.service(ContextGauge);
          const size = gauge.sizeOf(view, model);
          sizes.push(size.tokens);
          expect(size.basis).toBe(sizes.length === 1 ? "estimate" : "reported");
          // A view of its own shares nothing with what was sent, so it is counted whole.
          expect(gauge.sizeOf(View.of([]), model).tokens).toBeLessThan(200);
        });
      },
    });
    const model = windowed(
      [
        { ...calls(1)[0], usage: { input: 5_000, output: 50 } },
        { text: "done", usage: { input: 13_100, output: 5 } },
      ],
      100_000,
    );
    await go(model, [contextEditing, probe]);
    // 5,000 in, 50 out, and a result of 32,000 bytes with its message around it.
    expect(sizes[1]).toBeGreaterThan(13_050);
    expect(sizes[1]).toBeLessThan(13_110);
  });
  test("counts instructions and tools before any report", async () => {
    const sizeWith = async (instructions: string, description: string): Promise<number> => {
      const definition = agent({
        id: "a",
        instructions,
        model: scripted([]),
        tools: [tool({ name: "look", description, input, effect: "read", execute: () => "x" })],
      });
      const { run, close } = await createKernel({ plugins: [providers, contextEditing] }).open(definition);
      const { tokens } = run.service(ContextGauge).sizeOf(run.transcript.view, undefined);
      await close();
      return tokens;
    };
    const least = await sizeWith("Be brief.", "Looks.");
    // Four bytes a token.
    expect((await sizeWith("Be brief.".padEnd(40_009, "!"), "Looks.")) - least).toBe(10_000);
    expect((await sizeWith("Be brief.", "Looks.".padEnd(20_006, "!"))) - least).toBe(5_000);
  });
  test("counts by the tokenizer where the model has one, and says what the figure is", async () => {
    const seen: ContextSize[] = [];
    const identity = { backend: "b", revision: "r", digest: "", exactness: "exact", surface: "text" } as const;
    const counter = definePlugin({
      name: "tokens",
      apply: (kernel) =>
        kernel.provide(Tokenizer, () => ({
          identity,
          identityOf: ({ provider }) => (provider === "sim" ? identity : undefined),
          count: () => 1_000 as Tokens,
          countMessage: () => 1_000 as Tokens,
        })),
    });
    const probe = definePlugin({
      name: "probe",
      after: ["context-editing"],
      apply(kernel) {
        kernel.hooks.compact.tap("probe", ({ run, view }) => {
          const model = run.find(Models)?.resolved;
          seen.push(run.service(ContextGauge).sizeOf(view, model));
        });
      },
    });
    await go(scripted([{ text: "x" }]), [counter, contextEditing, probe]);
    await go(scripted([{ text: "x" }], { as: "nobody/nothing" }), [counter, contextEditing, probe]);
    expect(seen.map(({ basis }) => basis)).toEqual(["exact", "estimate"]);
    expect(seen[0]?.tokens).toBeGreaterThan(1_000);
    expect(seen[1]?.tokens).toBeLessThan(1_000);
  });
});
