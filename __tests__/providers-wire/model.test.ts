import { APICallError } from "@ai-sdk/provider";
import { describe, expect, test } from "@jest/globals";
import { type Script, ScriptError, type ScriptStep, scripted } from "../../plugins/providers/scripted/index.ts";
import { ask, of, read, rejection } from "./vendors.ts";

const usage = { input: 100, output: 50, cacheRead: 30, cacheWrite: 20, reasoning: 10 };
const full: ScriptStep = { reasoning: "hm", text: "hi", toolCalls: [{ name: "add", input: { a: 1 } }], usage };

describe("a scripted model", () => {
  test("streams its parts in the order of the specification", async () => {
    const model = scripted([full], { as: "acme/large/v2" });
    expect(model).toMatchObject({ specificationVersion: "v4", provider: "acme", modelId: "large/v2", simulated: true });
    const { parts } = await read((await model.doStream(ask("Hi"))).stream);
    expect(parts).toEqual([
      { type: "stream-start", warnings: [] },
      { type: "response-metadata", id: "scripted-0", modelId: "large/v2" },
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "hm" },
      { type: "reasoning-end", id: "0" },
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "hi" },
      { type: "text-end", id: "1" },
      { type: "tool-input-start", id: "call_0_0", toolName: "add" },
      { type: "tool-input-delta", id: "call_0_0", delta: '{"a":1}' },
      { type: "tool-input-end", id: "call_0_0" },
      { type: "tool-call", toolCallId: "call_0_0", toolName: "add", input: '{"a":1}' },
      {
        type: "finish",
        finishReason: { unified: "tool-calls", raw: "tool-calls" },
        usage: {
          inputTokens: { total: 100, noCache: 50, cacheRead: 30, cacheWrite: 20 }, // 100 - 30 - 20
          outputTokens: { total: 50, text: 40, reasoning: 10 }, // 50 - 10
        },
      },
    ]);
  });

  test("generates the same content and usage", async () => {
    expect(await scripted([full]).doGenerate(ask("Hi"))).toMatchObject({
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "hi" },
        { type: "tool-call", toolName: "add", input: '{"a":1}' },
      ],
      finishReason: { unified: "tool-calls" },
      usage: { inputTokens: { total: 100 }, outputTokens: { total: 50 } },
    });
  });

  test("estimates usage a script leaves out: bytes over four, rounded up", async () => {
    const request = ask("Hi");
    const { usage: estimated } = await scripted([{ reasoning: "é", text: "abcde" }]).doGenerate(request);
    expect(estimated.inputTokens.total).toBe(
      Math.ceil(Buffer.byteLength(JSON.stringify({ prompt: request.prompt })) / 4),
    );
    // "é" is 2 bytes and "abcde" 5: ceil(7 / 4) and ceil(2 / 4).
    expect(estimated.outputTokens).toEqual({ total: 2, text: 1, reasoning: 1 });
  });

  test("cuts text into chunks without splitting a character", async () => {
    const { parts } = await read((await scripted([{ text: "🎉🎉🎉", chunks: 5 }]).doStream(ask("Hi"))).stream);
    const deltas = of(parts, "text-delta").map(({ delta }) => delta);
    expect(deltas.join("")).toBe("🎉🎉🎉");
    expect(deltas.every((delta) => delta.isWellFormed())).toBe(true);
  });

  test("calls made at the same time never share a step, and all are recorded", async () => {
    const model = scripted(Array.from({ length: 50 }, (_, n) => ({ text: `${n}` })));
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => model.doGenerate(ask(`${n}`))));
    expect(answers.map(({ content: [part] }) => part?.type === "text" && Number(part.text))).toEqual(
      Array.from({ length: 50 }, (_, n) => n),
    );
    expect(model.calls).toHaveLength(50);
  });

  test("a recorded request is not changed by a prompt that grows", async () => {
    const model = scripted([{ text: "a" }]);
    const request = ask("Hi");
    await model.doGenerate(request);
    request.prompt.push({ role: "assistant", content: [] });
    expect(model.calls[0]?.prompt).toHaveLength(1);
  });

  test("a script that runs out says so", async () => {
    const model = scripted([{ text: "only" }]);
    await model.doGenerate(ask("Hi"));
    expect(await rejection(model.doGenerate(ask("Hi")))).toMatchObject({
      code: "cave_script_exhausted",
      message: expect.stringContaining("at most 1 calls"),
    });
  });

  test("a function answers by request and index, also later", async () => {
    const model = scripted(async ({ prompt }, index) => ({ text: `${index}:${prompt.length}` }));
    await model.doGenerate(ask("Hi"));
    expect((await model.doGenerate(ask("Hi"))).content).toEqual([{ type: "text", text: "1:1" }]);
  });
});

describe("a scripted fault", () => {
  test.each([
    [408, true],
    [409, true],
    [429, true],
    [500, true],
    [529, true],
    [400, false],
    [404, false],
  ])("before, status %i: the call rejects; retryable: %s", async (statusCode, isRetryable) => {
    const model = scripted(() => ({ error: { status: statusCode, retryAfterMs: 1500 } }));
    for (const error of [await rejection(model.doStream(ask("Hi"))), await rejection(model.doGenerate(ask("Hi")))]) {
      expect(APICallError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ statusCode, isRetryable, responseHeaders: { "retry-after": "2" } });
    }
  });

  test("mid-stream: an error part after half the chunks, and no finish", async () => {
    const { parts, failure } = await read(
      (await scripted([{ text: "abcd", chunks: 4, error: { when: "mid-stream" } }]).doStream(ask("Hi"))).stream,
    );
    expect(failure).toBeUndefined();
    expect(parts.map(({ type }) => type)).toEqual([
      "stream-start",
      "response-metadata",
      "text-start",
      "text-delta",
      "text-delta",
      "error",
    ]);
  });

  test("cut: the stream fails after half the chunks", async () => {
    const { parts, failure } = await read(
      (await scripted([{ text: "abcd", chunks: 4, error: { when: "cut" } }]).doStream(ask("Hi"))).stream,
    );
    expect(parts.map(({ type }) => type)).toEqual([
      "stream-start",
      "response-metadata",
      "text-start",
      "text-delta",
      "text-delta",
    ]);
    expect(failure).toMatchObject({ name: "TypeError", message: "terminated" });
  });
});

describe("abort", () => {
  const reason = new Error("enough");

  test("a call that arrives aborted takes no step", async () => {
    const model = scripted([{ text: "a" }]);
    expect(await rejection(model.doStream(ask("Hi", { abortSignal: AbortSignal.abort(reason) })))).toBe(reason);
    expect(model.calls).toHaveLength(0);
    expect((await model.doGenerate(ask("Hi"))).content).toHaveLength(1);
  });

  test.each([0, 5])("between two parts, with a delay of %i ms", async (delayMs) => {
    const ending = new AbortController();
    const { stream } = await scripted([{ text: "abcd", chunks: 4, delayMs }]).doStream(
      ask("Hi", { abortSignal: ending.signal }),
    );
    const reader = stream.getReader();
    while ((await reader.read()).value?.type !== "text-delta");
    ending.abort(reason);
    expect(await rejection(reader.read())).toBe(reason);
  });

  test.each(["doStream", "doGenerate"] as const)("%s: during a delay the timer is cleared", async (method) => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    const ending = new AbortController();
    const model = scripted([{ text: "a", delayMs: 1_000_000 }]);
    const request = ask("Hi", { abortSignal: ending.signal });
    const pending =
      method === "doStream"
        ? model
            .doStream(request)
            .then(({ stream }) => read(stream))
            .then(({ failure }) => {
              throw failure;
            })
        : model.doGenerate(request);
    const failure = rejection(pending);
    await new Promise(setImmediate);
    ending.abort(reason);
    expect(await failure).toBe(reason);
    expect(timers()).toBe(before);
  });

  test("a cancelled stream clears its timer", async () => {
    const before = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const { stream } = await scripted([{ text: "a", delayMs: 1_000_000 }]).doStream(ask("Hi"));
    const reader = stream.getReader();
    for (let n = 0; n < 3; n++) await reader.read();
    void reader.read();
    await new Promise(setImmediate);
    await reader.cancel();
    expect(process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length).toBe(before);
  });

  test("while a function script thinks", async () => {
    const ending = new AbortController();
    const failure = rejection(
      scripted(() => new Promise<ScriptStep>(() => {})).doStream(ask("Hi", { abortSignal: ending.signal })),
    );
    ending.abort(reason);
    expect(await failure).toBe(reason);
  });
});

describe("a wrong script is refused with place, expected and received", () => {
  test.each<[unknown, string]>([
    ["text", "script"],
    [[{ txt: "a" }], "script[0].txt"],
    [[{ text: "a" }, { text: 1 }], "script[1].text"],
    [[null], "script[0]"],
    [[{ usage: { input: 1 } }], "script[0].usage.output"],
    [[{ usage: { input: -1, output: 0 } }], "script[0].usage.input"],
    [[{ usage: { input: 1.5, output: 0 } }], "script[0].usage.input"],
    [[{ usage: { input: 5, output: 1, cacheRead: 3, cacheWrite: 3 } }], "script[0].usage"],
    [[{ usage: { input: 5, output: 1, reasoning: 2 } }], "script[0].usage"],
    [[{ toolCalls: {} }], "script[0].toolCalls"],
    [[{ toolCalls: [{ name: "a" }] }], "script[0].toolCalls[0].input"],
    [[{ toolCalls: [{ name: "a", input: 1 }] }], "script[0].toolCalls[0].input"],
    [[{ finish: "end" }], "script[0].finish"],
    [[{ chunks: 0 }], "script[0].chunks"],
    [[{ delayMs: 2 ** 31 }], "script[0].delayMs"],
    [[{ error: { status: 200 } }], "script[0].error.status"],
    [[{ error: { when: "late" } }], "script[0].error.when"],
    [[{ error: { constructor: 1 } }], "script[0].error.constructor"],
  ])("%j at %s", (script, place) => {
    let error: unknown;
    try {
      scripted(script as Script);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ScriptError);
    expect(error).toMatchObject({ code: "cave_script_invalid", detail: { place } });
    expect(String(error)).toMatch(/expected .*received /);
  });

  test("a function's answer is checked when it comes", async () => {
    expect(await rejection(scripted(() => ({ chunks: -1 })).doStream(ask("Hi")))).toMatchObject({
      code: "cave_script_invalid",
      detail: { place: "step 0.chunks" },
    });
  });

  test("a model's name needs a provider", () => {
    expect(() => scripted([], { as: "model" })).toThrow("provider/model");
  });
});
