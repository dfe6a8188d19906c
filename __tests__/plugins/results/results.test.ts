import { describe, expect, test } from "@jest/globals";
import { createCaveman } from "../../../index.ts";
import {
  agent,
  artifact,
  createKernel,
  definePlugin,
  illegality,
  type Plugin,
  type PluginFactory,
  type ResultPolicy,
  type Run,
  type RunOptions,
  schema,
  type Tool,
  type ToolOutput,
  textOf,
  tool,
} from "../../../kernel/index.ts";
import { breakers } from "../../../plugins/breakers/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { type Script, scripted } from "../../../plugins/providers/scripted/index.ts";
import { results } from "../../../plugins/results/index.ts";
import { Recovery, StoredOutputs } from "../../../plugins/services.ts";
import { models, seededClock } from "../../support/harness.ts";

type Plugins = readonly (Plugin | PluginFactory)[];
const CAP = 32_768;
const bytes = (text: string): number => Buffer.byteLength(text);
const LINES = Array.from({ length: 6_000 }, (_, index) => `line ${index + 1}\n`).join("");

const giving = (value: unknown, result: ResultPolicy = "page", name = "fetch"): Tool =>
  tool({
    name,
    description: "F.",
    input: schema.object({}),
    effect: "read",
    result,
    allowRepeat: true,
    execute: () => (typeof value === "function" ? value() : value),
  });
const kernelOf = (options: Parameters<typeof results>[0] = {}, more: Plugins = []) =>
  createKernel({ plugins: [models, results(options), ...more], clock: seededClock() });
const outputsOf = (run: Run): ToolOutput[] =>
  run.transcript.history.flatMap(({ value }) =>
    value.role === "tool" ? value.content.flatMap((part) => (part.type === "tool-result" ? [part.output] : [])) : [],
  );
const handleIn = (text: string): string => /handle (tool_[0-9a-f]{32})/.exec(text)?.[1] ?? "no handle";

async function go(script: Script, tools: Tool[], kernel = kernelOf(), options: RunOptions = {}) {
  const started = kernel.start(agent({ id: "a", instructions: "i", model: scripted(script), tools }), "go", options);
  const outcome = await started.done;
  expect(outcome.stopReason).toBe("complete");
  expect(illegality(started.run.transcript.history)).toBeUndefined();
  const outputs = outputsOf(started.run);
  const capped = started.run.ledger
    .of("output.capped")
    .map(({ type: _, seq: __, at: ___, toolCallId: ____, ...rest }) => rest);
  return { ...started, outcome, outputs, texts: outputs.map(textOf), capped };
}
const once: Script = [{ toolCalls: [{ name: "fetch", input: {} }] }, { text: "done" }];
describe("a result policy", () => {
  test.each<ResultPolicy>(["auto", "inline", "page", "compress", "exact_ccr", artifact()])(
    "%j leaves a result under the cap as it is",
    async (policy) => {
      const value = "x".repeat(4_800);
      const { texts, capped } = await go(once, [giving(value, policy)]);
      expect(texts).toEqual([value]);
      expect(capped).toEqual([]);
    },
  );
  test.each<[ResultPolicy, number]>([
    ["page", CAP],
    ["auto", CAP],
    [artifact(), 4_800],
    [artifact({ maxInlineTokens: 6_000 }), 24_000],
  ])("%j caps at its bytes, with head, tail and the gap stated", async (policy, cap) => {
    const { texts, capped, run } = await go(once, [giving(LINES, policy)], kernelOf({ readTool: "always" }));
    const [text = ""] = texts;
    expect(bytes(text)).toBeLessThanOrEqual(cap);
    expect(bytes(text)).toBeGreaterThan(cap * 0.95);
    expect(text.startsWith("line 1\nline 2\n")).toBe(true);
    expect(text.endsWith("\nline 6000\n")).toBe(true);
    const stated =
      /\n\[output capped: (\d+) of (\d+) bytes, (\d+) lines, left out here; read_tool_output with handle tool_[0-9a-f]{32} reads on from offset (\d+)\]\n/.exec(
        text,
      );
    expect(Number(stated?.[2])).toBe(bytes(LINES));
    expect(Number(stated?.[3])).toBe(6_000 - (text.split("\n").length - 2));
    expect(text).toContain(`line ${Number(stated?.[4]) - 1}\n[output capped`);
    expect(run.service(StoredOutputs).read(handleIn(text))).toBe(LINES);
    expect(capped).toEqual([{ name: "fetch", bytes: bytes(LINES), shownBytes: bytes(text), kept: "memory" }]);
  });
  test.each<ResultPolicy>([
    "inline",
    artifact({ strategy: "verbatim", recovery: "source_ref", maxInlineTokens: 8_192 }),
  ])("%j refuses a result over the cap, and says where it is", async (policy) => {
    const { outputs, texts, run } = await go(once, [giving(LINES, policy)], kernelOf({ readTool: "always" }));
    expect(outputs[0]?.type).toBe("error-text");
    expect(texts[0]).toMatch(/^cave_tool_result_inline_limit: /);
    expect(texts[0]).toContain(`expected at most ${CAP} bytes; received ${bytes(LINES)} bytes`);
    expect(run.service(StoredOutputs).read(handleIn(texts[0] ?? ""))).toBe(LINES);
    expect(run.ledger.of("tool.finished")[0]).toMatchObject({ isError: true, code: "cave_tool_result_inline_limit" });
  });

  const exact: ResultPolicy[] = [
    "compress",
    "exact_ccr",
    artifact({ strategy: "verbatim" }),
    artifact({ strategy: "json-index" }),
  ];
  const keeping = (keep: (text: string) => string | undefined, retrieve: (handle: string) => string | undefined) =>
    definePlugin({
      name: "keeper",
      apply: (kernel) => kernel.provide(Recovery, () => ({ keep, retrieve, isRecovered: () => false })),
    });
  test.each(exact)("%j refuses rather than lose bytes when nothing keeps them for good", async (policy) => {
    for (const more of [
      [],
      [
        keeping(
          () => undefined,
          () => undefined,
        ),
      ],
    ]) {
      const { texts, run, capped } = await go(once, [giving(LINES, policy)], kernelOf({}, more));
      expect(texts[0]).toMatch(/^cave_tool_result_requires_recovery: /);
      expect(capped).toEqual([]);
      expect(run.ledger.of("tool.finished")[0]?.code).toBe("cave_tool_result_requires_recovery");
    }
  });
  test.each(exact)("%j shows head and tail once the original came back byte for byte", async (policy) => {
    const kept = new Map<string, string>();
    const keep = (text: string): string => {
      kept.set("r_1", text);
      return "r_1";
    };
    const { texts, capped } = await go(
      once,
      [giving(LINES, policy)],
      kernelOf({}, [keeping(keep, (handle) => kept.get(handle))]),
    );
    expect(texts[0]).toContain("; cave_retrieve with recovery_handle r_1 gives back the whole]");
    expect(kept.get("r_1")).toBe(LINES);
    expect(capped[0]?.kept).toBe("recovery");
    const wrong = await go(
      once,
      [giving(LINES, policy)],
      kernelOf({}, [
        keeping(
          () => "r_1",
          () => `${LINES} `,
        ),
      ]),
    );
    expect(wrong.texts[0]).toMatch(/^cave_tool_result_recovery_mismatch: /);
  });
  test("that may lose nothing refuses more than 16 MiB", async () => {
    const { texts } = await go(once, [giving(() => "x".repeat(16 * 1024 * 1024 + 1), "exact_ccr")]);
    expect(texts[0]).toMatch(/^cave_tool_result_limit: /);
  });
});

describe("read_tool_output", () => {
  const names = (run: Run): string[] => [...run.tools.keys()];
  test("is there when a tool's results are paged, when the agent brings it, or when asked for", async () => {
    const own = giving("own", "inline", "read_tool_output");
    const cases: [Tool[], Parameters<typeof results>[0], string[]][] = [
      [[giving("x")], {}, ["fetch", "read_tool_output"]],
      [[giving("x", artifact())], {}, ["fetch", "read_tool_output"]],
      [[giving("x", "auto")], {}, ["fetch"]],
      [[giving("x", "auto")], { readTool: "always" }, ["fetch", "read_tool_output"]],
      [[], { readTool: "always" }, []],
      [[giving("x")], { readTool: "never" }, ["fetch"]],
      [[giving("x"), own], {}, ["fetch", "read_tool_output"]],
    ];
    for (const [tools, options, expected] of cases) {
      const { run } = await go([{ text: "done" }], tools, kernelOf(options));
      expect(names(run)).toEqual(expected);
    }
  });
  test("without it a capped result says so and stops there", async () => {
    const { texts, capped } = await go(once, [giving(LINES, "auto")]);
    expect(texts[0]).toContain("left out here; the rest was not kept, so ask for less at a time]");
    expect(capped[0]?.kept).toBe("nowhere");
  });

  /** One run that fetches, then reads with the handle it was given. */
  async function readBack(input: object, tools: Tool[], kernel = kernelOf()) {
    const conversation = createConversation();
    const first = await go(once, tools, kernel, { conversation });
    const handle = handleIn(first.texts[0] ?? "");
    const script: Script = [
      { toolCalls: [{ name: "read_tool_output", input: { handle, ...input } }] },
      { text: "done" },
    ];
    const second = await go(script, tools, kernel, { conversation });
    return { handle, text: second.texts.at(-1) ?? "", conversation, second };
  }
  test("reads on where the cap cut, in the same conversation", async () => {
    const { text } = await readBack({ offset: 3_000, limit: 2 }, [giving(LINES)]);
    expect(text).toBe(
      `[fetch: lines 3000 to 3001 of 6000, ${bytes(LINES)} bytes in all]\nline 3000\nline 3001\n[goes on at offset 3002]`,
    );
  });
  test("finds a literal text with its line number", async () => {
    const { text } = await readBack({ query: "line 4321" }, [giving(LINES)]);
    expect(text).toContain("\n4321: line 4321\n");
  });
  test("answers from the run's store whoever declared the tool", async () => {
    const loose = tool({
      name: "read_tool_output",
      description: "R.",
      input: schema.object({ handle: schema.string() }),
      effect: "read",
      execute: () => "its own",
    });
    const { text } = await readBack({}, [giving(LINES), loose]);
    expect(text).toMatch(/^\[fetch: lines 1 to/);
    const other: Script = [
      { toolCalls: [{ name: "read_tool_output", input: { handle: "elsewhere" } }] },
      { text: "done" },
    ];
    expect((await go(other, [loose])).texts).toEqual(["its own"]);
  });
  test("does not know the handles of another run, nor of a restored conversation", async () => {
    const tools = [giving(LINES)];
    const kernel = kernelOf();
    const { handle, conversation } = await readBack({ limit: 1 }, tools, kernel);
    const script: Script = [{ toolCalls: [{ name: "read_tool_output", input: { handle } }] }, { text: "done" }];
    expect((await go(script, tools, kernel)).texts[0]).toMatch(/^cave_output_handle_unknown: /);
    const restored = createConversation(JSON.parse(JSON.stringify(conversation)));
    expect((await go(script, tools, kernel, { conversation: restored })).texts.at(-1)).toMatch(
      /^cave_output_handle_unknown: /,
    );
  });
  test.each([
    {},
    { handle: 7 },
    { handle: "x", offset: 0 },
    { handle: "x", limit: -1 },
    { handle: "x", query: "" },
    { handle: "x", page: 2 },
    "[",
  ])("given %j answers with an error the model can read", async (input) => {
    const script: Script = [{ toolCalls: [{ name: "read_tool_output", input: input as object }] }, { text: "done" }];
    const { texts } = await go(script, [giving(LINES)]);
    expect(texts[0]).toMatch(/^cave_(tool_arguments_invalid|output_handle_unknown)/);
  });
});

test("in the default runtime a paged result is read back within one run", async () => {
  const caveman = createCaveman({ plugins: [results()], clock: seededClock() });
  const model = scripted(({ prompt }, index) => {
    const said = JSON.stringify(prompt);
    if (index === 0) return { toolCalls: [{ name: "fetch", input: {} }] };
    if (index === 1)
      return { toolCalls: [{ name: "read_tool_output", input: { handle: handleIn(said), offset: 3_000, limit: 1 } }] };
    return { text: said.includes("lines 3000 to 3000 of 6000") ? "read" : "not read" };
  });
  const { text, receipt } = await caveman.run(
    agent({ id: "a", instructions: "i", model, tools: [giving(LINES)], sandbox: "host" }),
    "go",
  );
  expect(text).toBe("read");
  expect(receipt.tools).toEqual([
    { name: "fetch", calls: 1, errors: 0 },
    { name: "read_tool_output", calls: 1, errors: 0 },
  ]);
});

describe("hostile results", () => {
  const cyclic: Record<string, unknown> = {};
  cyclic.self = cyclic;
  test.each<[string, unknown, RegExp]>([
    ["a cycle", cyclic, /^cave_tool_result_unserializable/],
    ["a BigInt", { n: 1n }, /^cave_tool_result_unserializable/],
    ["a symbol", Symbol("x"), /^cave_tool_result_unserializable/],
    [
      "a function",
      {
        valueOf: () => 1,
        toJSON: () => {
          throw new Error("no");
        },
      },
      /^cave_tool_result_unserializable/,
    ],
    ["nothing", undefined, /^$/],
    ["null", null, /^null$/],
    ["half a character", "\ud83d", /^\ufffd$/],
  ])("%s", async (_, value, expected) => {
    const { texts } = await go(once, [giving(() => value)]);
    expect(texts[0]).toMatch(expected);
  });
  test.each<[string, () => unknown]>([
    ["a text of 100 MB", () => "0123456789abcdef\n".repeat(6_250_000)],
    ["an object of 100 MB", () => ({ rows: Array.from({ length: 100_000 }, () => "x".repeat(1_000)) })],
    ["a line of 20 MB", () => "🙂".repeat(5_000_000)],
  ])("%s: the run goes on, the model reads head and tail, memory stays bounded", async (_, make) => {
    const { texts, run, capped } = await go(once, [giving(make)]);
    const [text = ""] = texts;
    expect(bytes(text)).toBeLessThanOrEqual(CAP);
    expect(text.isWellFormed()).toBe(true);
    const stored = run.service(StoredOutputs).read(handleIn(text)) ?? "";
    expect(bytes(stored)).toBeLessThanOrEqual(8 * 1024 * 1024);
    expect(stored).toContain(": more than is kept of one output]");
    expect(capped).toHaveLength(1);
  });
  test("an error as long as a book is capped like a result", async () => {
    // Thrown messages are short already; other stages may write long ones.
    const shouting = definePlugin({
      name: "shouting",
      apply: (kernel) =>
        kernel.hooks.admitTool.tap({ name: "shouting", stage: "place", before: "results:place" }, (call) =>
          call.output((output) => ({ type: "error-json", value: { was: textOf(output), more: "e".repeat(200_000) } })),
        ),
    });
    const { outputs, texts } = await go(once, [giving("x", "inline")], kernelOf({}, [shouting]));
    expect(outputs[0]?.type).toBe("error-text");
    expect(bytes(texts[0] ?? "")).toBeLessThanOrEqual(CAP);
    expect(texts[0]).toContain("[output capped: ");
  });
});

describe("other output stages", () => {
  test("what shortens an output in between spares it the cap, and the whole is not stored", async () => {
    const seen: number[] = [];
    const shortening = definePlugin({
      name: "shortening",
      apply: (kernel) =>
        kernel.hooks.admitTool.tap(
          { name: "shortening", stage: "place", after: "results:source", before: "results:place" },
          (call) =>
            call.output((output) => {
              seen.push(textOf(output).length);
              return { type: "text", value: "[short]" };
            }),
        ),
    });
    const { texts, capped } = await go(once, [giving(LINES, "compress")], kernelOf({}, [shortening]));
    expect(seen).toEqual([LINES.length]);
    expect(texts).toEqual(["[short]"]);
    expect(capped).toEqual([]);
  });
  test("what is still too long is capped, with the whole as the tool gave it behind the handle", async () => {
    const half = definePlugin({
      name: "half",
      apply: (kernel) =>
        kernel.hooks.admitTool.tap({ name: "half", stage: "place", before: "results:place" }, (call) =>
          call.output((output) => ({ type: "text", value: textOf(output).slice(0, 40_000) })),
        ),
    });
    const { texts, run } = await go(once, [giving(LINES)], kernelOf({}, [half]));
    expect(texts[0]).toMatch(/read_tool_output with handle tool_[0-9a-f]{32} has the whole\]/);
    expect(run.service(StoredOutputs).read(handleIn(texts[0] ?? ""))).toBe(LINES);
  });
  test("a nudge of the breakers survives the cap, and a refused result counts once", async () => {
    const again: Script = [
      ...Array.from({ length: 3 }, () => ({ toolCalls: [{ name: "look", input: {} }] })),
      { text: "done" },
    ];
    const look = (result: ResultPolicy) =>
      tool({ name: "look", description: "L.", input: schema.object({}), effect: "read", result, execute: () => LINES });
    const paged = await go(again, [look("page")], kernelOf({}, [breakers()]));
    expect(paged.texts.map((text) => text.includes("cave_tool_call_loop_nudge"))).toEqual([false, false, true]);
    expect(bytes(paged.texts[2] ?? "")).toBeLessThanOrEqual(CAP);
    const refused = await go(again, [look("inline")], kernelOf({}, [breakers()]));
    expect(refused.run.ledger.of("breaker.tripped").length).toBeLessThanOrEqual(1);
  });
  test("content passes, with its files bounded", async () => {
    const picture = definePlugin({
      name: "picture",
      apply: (kernel) =>
        kernel.hooks.admitTool.tap({ name: "picture", stage: "place", before: "results:place" }, (call) =>
          call.output(() => ({
            type: "content",
            value: [
              { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array(2_000) } },
              { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array(2_049) } },
            ],
          })),
        ),
    });
    const { outputs } = await go(once, [giving("x")], kernelOf({ maxPartBytes: 2_048 }, [picture]));
    expect(outputs[0]).toMatchObject({
      type: "content",
      value: [{ type: "file" }, { type: "text", text: "[image/png of 2049 bytes left out: one part may have 2048]" }],
    });
  });
});

test("what a composite tool calls reaches its code whole", async () => {
  let length = 0;
  const inner = giving(LINES, "inline", "inner");
  const outer = tool({
    name: "fetch",
    description: "O.",
    input: schema.object({}),
    effect: "read",
    nestedTools: [inner],
    execute: async (_, { call }) => {
      length = String(await call("inner", {})).length;
      return "ok";
    },
  });
  expect((await go(once, [outer])).texts).toEqual(["ok"]);
  expect(length).toBe(LINES.length);
});

test("the same run gives the same bytes, handles included", async () => {
  const [one, two] = [await go(once, [giving(LINES)]), await go(once, [giving(LINES)])];
  expect(one.texts).toEqual(two.texts);
});

test("half a character never reaches a model, in a result or in an error cut within one", async () => {
  const lone = "a\ud800b\udc00";
  const failing = tool({
    name: "fetch",
    description: "F.",
    input: schema.object({}),
    effect: "read",
    execute: () => {
      throw new Error(`${"x".repeat(1_999)}😀`);
    },
  });
  const { texts } = await go(once, [giving(lone)]);
  expect(texts).toEqual(["a\ufffdb\ufffd"]);
  const { texts: errors } = await go(once, [failing]);
  expect(errors[0]).toMatch(/^cave_tool_failed: x+\ufffd/);
  expect(errors[0]?.isWellFormed()).toBe(true);
});
