/** Whatever a model's stream or a tool does, a call ends once: with what is known of it, and with nothing left behind. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  agent,
  createKernel,
  definePlugin,
  type LanguageModel,
  Message,
  type ModelMessage,
  output,
  type RunEvent,
  schema,
  type Tool,
  tool,
} from "../../kernel/index.ts";
import { models, unhandledDuring } from "../support/harness.ts";

const usage = {
  inputTokens: { total: 5, noCache: 5, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 3, text: 3, reasoning: 0 },
};
const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage };
const said = [
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "hello" },
  { type: "text-end", id: "1" },
];
const boom = (..._: unknown[]): never => {
  throw new Error("boom");
};
const unreadable = new Proxy({}, { get: boom, getPrototypeOf: boom, has: boom, ownKeys: boom });
const streamOf = (parts: readonly unknown[]): ReadableStream =>
  new ReadableStream({
    start(to) {
      for (const part of parts) to.enqueue(part);
      to.close();
    },
  });
const never = new Promise<never>(() => undefined);
const thenable = (then: (yes: (value: unknown) => void) => void): object =>
  // biome-ignore lint/suspicious/noThenProperty: thenables are what is tested
  Object.defineProperty({}, "then", { value: then });
const fail = (thing: unknown): never => {
  throw thing;
};

type Asked = { signal: AbortSignal; abort: () => void };
interface Setting {
  tools?: Tool[];
  plugins?: Parameters<typeof createKernel>[0]["plugins"];
  onEvent?: (event: RunEvent) => void;
  abortAfterMs?: number;
}

/** One run with this model: how it ended, and what nobody looked after. */
async function go(doStream: (asked: Asked) => unknown, { tools = [], plugins = [], ...setting }: Setting = {}) {
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  const model = {
    specificationVersion: "v4",
    provider: "p",
    modelId: "m",
    supportedUrls: {},
    doGenerate: boom,
    doStream: ({ abortSignal }: { abortSignal: AbortSignal }) => doStream({ signal: abortSignal, abort }),
  } as unknown as LanguageModel;
  const started = createKernel({ plugins: [models, ...plugins] }).start(
    agent({ id: "a", instructions: "i", model, tools, output: output({ maxTokens: 100 }) }),
    "go",
    { signal: stop.signal },
    setting.onEvent,
  );
  let ended = { stopReason: "never", code: undefined as string | undefined, text: "" };
  const unhandled = await unhandledDuring(async () => {
    if (setting.abortAfterMs !== undefined) setTimeout(abort, setting.abortAfterMs);
    const patience = new Promise<undefined>((give) => void setTimeout(() => give(undefined), 2_000).unref());
    const outcome = await Promise.race([started.done, patience]);
    if (outcome) ended = { stopReason: outcome.stopReason, code: outcome.error?.code, text: outcome.text };
  });
  const { ledger } = started.run;
  expect(ledger.of("call.settled")).toHaveLength(ledger.of("call.intended").length);
  expect(unhandled).toEqual([]);
  return { ...ended, run: started.run, settled: ledger.of("call.settled") };
}

describe("an answer that cannot be read is a failed call of the provider", () => {
  const reader = (read: () => unknown, cancel: () => unknown = async () => undefined) => ({
    stream: { getReader: () => ({ read, cancel }), cancel },
  });
  const locked = (): ReadableStream => {
    const stream = streamOf([finish]);
    stream.getReader();
    return stream;
  };
  const revoked = (): object => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  const cases: [string, () => unknown][] = [
    ["throws at once", boom],
    ["answers nothing", () => undefined],
    ["answers without a stream", async () => ({})],
    ["answers with a part in place of a stream", async () => ({ value: said[0] })],
    ["answers with an end in place of a stream", async () => ({ done: true })],
    ["answers with a stream that another reads", async () => ({ stream: locked() })],
    ["rejects with what cannot be looked at", () => Promise.reject(unreadable)],
    ["rejects with a revoked proxy", () => Promise.reject(revoked())],
    ["throws what cannot be looked at", () => [unreadable].map((thing) => fail(thing))],
    ["rejects with an error whose code throws", () => Promise.reject(Object.defineProperty({}, "code", { get: boom }))],
    ["sends an unreadable error", async () => ({ stream: streamOf([...said, { type: "error", error: unreadable }]) })],
    ["sends an error of nothing", async () => ({ stream: streamOf([{ type: "error", error: undefined }]) })],
    ["sends null", async () => ({ stream: streamOf([null]) })],
    ["sends an unreadable part", async () => ({ stream: streamOf([unreadable]) })],
    ["cannot be read", async () => reader(boom)],
    ["cannot be read or cancelled", async () => reader(boom, boom)],
    ["reads nothing", async () => reader(async () => undefined)],
    [
      "rejects a read and is cancelled with nothing",
      async () =>
        reader(
          async () => boom(),
          () => undefined,
        ),
    ],
    [
      "sends an error and cannot be cancelled",
      async () => reader(async () => ({ done: false, value: { type: "error", error: new Error("E") } }), boom),
    ],
  ];
  test.each(cases)("a model that %s", async (_, doStream) => {
    const { stopReason, code, settled } = await go(doStream);
    expect([stopReason, code]).toEqual(["error", "cave_provider_failed"]);
    // Nothing shows that it was not billed, so it is booked at its bound.
    expect(settled).toMatchObject([{ sent: true, basis: "bound", errorCode: "cave_provider_failed" }]);
    expect(settled[0]?.usage).toMatchObject({ output: 100 });
  });

  test("an end that comes too early stays one when the stream cannot be cancelled", async () => {
    const { code } = await go(async () => reader(async () => ({ done: true }), boom));
    expect(code).toBe("cave_provider_incomplete");
  });

  test("a reader that answers at once, or with a thenable, is read like any other", async () => {
    for (const given of [(read: object): unknown => read, (read: object): unknown => thenable((yes) => yes(read))]) {
      const parts = [...said, finish];
      const next = (): object => (parts.length > 0 ? { done: false, value: parts.shift() } : { done: true });
      const { stopReason, text } = await go(async () => reader(() => given(next())));
      expect([stopReason, text]).toEqual(["complete", "hello"]);
    }
  });
});

describe("an abort ends a call whatever its stream does", () => {
  const open = (read: () => unknown, cancel: () => unknown) => async () => ({
    stream: { getReader: () => ({ read, cancel }) },
  });
  const cases: [string, (asked: Asked) => unknown][] = [
    ["never opens", () => never],
    ["never ends", async () => ({ stream: new ReadableStream() })],
    [
      "never ends, and never finishes its cancelling",
      async () => ({ stream: new ReadableStream({ cancel: () => never }) }),
    ],
    ["never ends, and throws when cancelled", async () => ({ stream: new ReadableStream({ cancel: boom }) })],
    [
      "has a reader that answers neither a read nor a cancel",
      open(
        () => never,
        () => never,
      ),
    ],
    ["has a reader whose cancel throws", open(() => never, boom)],
    [
      "has a reader whose cancel answers nothing",
      open(
        () => never,
        () => undefined,
      ),
    ],
    ["is aborted while it opens", async ({ abort }) => ({ stream: streamOf([abort(), ...said, finish]) })],
    ["is aborted and throws while it opens", ({ abort }) => boom(abort())],
    [
      "errors on the abort",
      async ({ signal }) => ({
        stream: new ReadableStream({
          start: (to) => signal.addEventListener("abort", () => to.error(new Error("gone"))),
        }),
      }),
    ],
    ["opens late", () => new Promise((give) => setTimeout(() => give({ stream: streamOf([finish]) }), 20))],
    ["opens late, with nothing", () => new Promise((give) => setTimeout(() => give(undefined), 20))],
    ["fails late", () => new Promise((_, no) => setTimeout(() => no(new Error("late")), 20))],
  ];
  test.each(cases)("a model that %s", async (_, doStream) => {
    const { stopReason, code, settled } = await go(doStream, { abortAfterMs: 5 });
    expect([stopReason, code]).toEqual(["aborted", "cave_run_aborted"]);
    expect(settled).toMatchObject([{ sent: true, errorCode: "cave_run_aborted" }]);
  });

  test("a stream that opens after the abort is cancelled", async () => {
    let cancelled = 0;
    const stream = new ReadableStream({ cancel: () => void cancelled++ });
    await go(() => new Promise((give) => setTimeout(() => give({ stream }), 15)), { abortAfterMs: 5 });
    await new Promise((give) => setTimeout(give, 25));
    expect(cancelled).toBe(1);
  });

  test("what a provider still says on the abort is booked", async () => {
    const { stopReason, settled } = await go(
      async ({ signal }) => ({
        stream: new ReadableStream({
          start(to) {
            signal.addEventListener("abort", () => {
              to.enqueue(finish);
              to.close();
            });
          },
        }),
      }),
      { abortAfterMs: 5 },
    );
    expect(stopReason).toBe("aborted");
    expect(settled).toMatchObject([{ basis: "simulated", usage: { input: 5, output: 3 } }]);
  });

  test("a call aborted before its model is asked, or whose headers fail, was not sent", async () => {
    let asked = 0;
    const model = async () => ({ stream: streamOf([...said, { ...finish, asked: asked++ }]) });
    const stops = definePlugin({
      name: "stops",
      apply: ({ hooks }) =>
        hooks.beforeCall.tap("stops", ({ run }) =>
          run.ledger.subscribe(({ type }) => {
            if (type === "call.intended") (run as unknown as { abort(reason: Error): void }).abort(new Error("now"));
          }),
        ),
    });
    const headers = definePlugin({
      name: "headers",
      apply: ({ hooks }) => hooks.beforeCall.tap("headers", (call) => call.transport(boom)),
    });
    for (const plugin of [stops(), headers()]) {
      const { settled } = await go(model, { plugins: [plugin] });
      expect(settled).toMatchObject([{ sent: false, usage: { input: 0, output: 0 } }]);
    }
    expect(asked).toBe(0);
  });
});

describe("a tool call ends whatever its tool answers with", () => {
  const calling = (...names: string[]) => {
    let turn = 0;
    const calls = names.map((toolName, index) => ({
      type: "tool-call",
      toolCallId: `c${index}`,
      toolName,
      input: "{}",
    }));
    return async () => ({ stream: streamOf(turn++ > 0 ? [...said, finish] : [...calls, finish]) });
  };
  const named = (name: string, execute: () => unknown, more: object = {}): Tool =>
    tool({ name, description: "d", input: schema.any(), effect: "read", timeoutMs: 30, execute, ...more } as never);
  const cases: [string, () => unknown, string | undefined][] = [
    ["a thenable that throws", () => thenable(boom), "cave_tool_failed"],
    // biome-ignore lint/suspicious/noThenProperty: thenables are what is tested
    ["what throws when asked for its then", () => Object.defineProperty({}, "then", { get: boom }), "cave_tool_failed"],
    ["a thenable that never answers", () => thenable(() => undefined), "cave_tool_timeout"],
    [
      "a thenable that answers with one that never does",
      () => thenable((yes) => yes(thenable(() => undefined))),
      "cave_tool_timeout",
    ],
    ["a promise of a thenable that never answers", async () => thenable(() => undefined), "cave_tool_timeout"],
    ["a thenable that answers at once", () => thenable((yes) => yes("v")), undefined],
    ["a rejection of nothing", () => Promise.reject(), "cave_tool_failed"],
    ["a rejection that cannot be looked at", () => Promise.reject(unreadable), "cave_tool_failed"],
    [
      "a rejection after its time",
      () => new Promise((_, no) => setTimeout(() => no(new Error("late")), 45)),
      "cave_tool_timeout",
    ],
    ["what cannot be looked at", () => unreadable, "cave_tool_failed"],
  ];
  test.each(cases)("%s", async (_, execute, code) => {
    const { stopReason, text, run } = await go(calling("any"), { tools: [named("any", execute)] });
    expect([stopReason, text]).toEqual(["complete", "hello"]);
    const [finished] = run.ledger.of("tool.finished");
    expect([finished?.isError, finished?.code]).toEqual([code !== undefined, code]);
    await new Promise((give) => setTimeout(give, 20));
  });

  test("an abort takes the time limit of a tool off, so that it keeps nothing alive", async () => {
    const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const deaf = named("deaf", () => never, { timeoutMs: 60_000 });
    await go(calling("deaf"), { tools: [deaf], abortAfterMs: 5 });
    const before = timers();
    await go(calling("deaf"), { tools: [deaf], abortAfterMs: 5 });
    expect(timers()).toBe(before);
  });

  test("side by side, one that fails leaves the others alone", async () => {
    const tools = [named("good", () => "ok"), named("bad", boom), named("late", async () => fail(undefined))];
    const { stopReason, run } = await go(calling("good", "bad", "good", "late", "good"), { tools });
    expect(stopReason).toBe("complete");
    const codes = run.ledger.of("tool.finished").map(({ name, code }) => `${name} ${code ?? "ok"}`);
    expect(codes.sort()).toEqual(["bad cave_tool_failed", "good ok", "good ok", "good ok", "late cave_tool_failed"]);
  });

  test.each(["tool_start", "tool_end"])("a listener that throws at %s fails the run once", async (type) => {
    const slow = named("slow", () => new Promise((give) => setTimeout(() => give("v"), 3)));
    const onEvent = (event: RunEvent): void => {
      if (event.type === type) throw new Error("listener");
    };
    const { stopReason } = await go(calling("slow", "quick", "slow", "quick"), {
      tools: [slow, named("quick", () => 1)],
      onEvent,
    });
    expect(stopReason).toBe("error");
    await expect(unhandledDuring(() => new Promise((give) => setTimeout(give, 20)))).resolves.toEqual([]);
  });

  test("the digest of a result is of what the tool gave, whatever its output schema makes of it", async () => {
    const short = {
      "~standard": {
        version: 1,
        vendor: "t",
        validate: () => ({ value: "short" }),
        jsonSchema: { input: () => ({}), output: () => ({}) },
      },
    };
    const digests: (string | undefined)[] = [];
    for (const given of ["one", "two"]) {
      const { run } = await go(calling("any"), { tools: [named("any", () => given, { output: short })] });
      digests.push(run.ledger.of("tool.finished")[0]?.resultDigest);
      expect(JSON.stringify(run.transcript.view.messages.map(({ value }) => value))).toContain("short");
    }
    expect(digests[0]).not.toBe(digests[1]);
  });
});

describe("what the transcript holds of a call's arguments is its own", () => {
  test.each(["its tool", "its model"])(
    "%s changes the ones it was given, and the next call is given what was written",
    async (who) => {
      const given: unknown[] = [];
      const change = (input: unknown): void => void Object.assign(input as object, { a: "changed" });
      const any = tool({
        name: "any",
        description: "d",
        input: schema.any(),
        effect: "read",
        execute(input) {
          given.push({ ...(input as object) });
          if (who === "its tool") change(input);
          return "ok";
        },
      });
      let turn = 0;
      const kernel = createKernel({ plugins: [models] });
      const model = {
        specificationVersion: "v4",
        provider: "p",
        modelId: "m",
        supportedUrls: {},
        doGenerate: boom,
        async doStream({ prompt }: { prompt: ModelMessage[] }) {
          for (const { role, content } of prompt)
            for (const part of role === "assistant" ? content : [])
              if (part.type === "tool-call" && who === "its model") change(part.input);
          return {
            stream: streamOf(
              turn++ > 2
                ? [...said, finish]
                : [{ type: "tool-call", toolCallId: `c${turn}`, toolName: "any", input: '{"a":"written"}' }, finish],
            ),
          };
        },
      } as unknown as LanguageModel;
      const { run, done } = kernel.start(agent({ id: "a", instructions: "i", model, tools: [any] }), "go");
      await done;
      expect(given).toEqual([{ a: "written" }, { a: "written" }, { a: "written" }]);
      if (who === "its model") return; // it was handed the message itself
      const last = run.transcript.view.messages.filter(({ role }) => role === "assistant").at(2);
      expect(last?.value.content).toMatchObject([{ input: { a: "written" } }]);
    },
  );
});

describe("the size of a message is the bytes of it as JSON", () => {
  const sized = (value: unknown): void =>
    expect(new Message(value as ModelMessage).bytes).toBe(Buffer.byteLength(JSON.stringify(value)));
  const call = (input: unknown) => ({
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "c", toolName: "t", input }],
  });
  const odd: [string, unknown][] = [
    ["nothing", undefined],
    ["a function", () => 1],
    ["minus zero", { a: -0, b: -1.5e-7, c: 1e21, d: 5e-324 }],
    ["no number", { a: Number.NaN, b: Number.POSITIVE_INFINITY }],
    ["undefined members", { a: 1, b: undefined, c: "x" }],
    ["no prototype", Object.assign(Object.create(null), { a: "b" })],
    ["an inherited member", Object.create({ a: 1 })],
    ["a form of its own", { a: 1, toJSON: () => "another" }],
    ["a hidden form of its own", Object.defineProperty({ a: 1 }, "toJSON", { value: () => "another" })],
    ["a form that is nothing", { toJSON: () => undefined }],
    ["a member named toJSON", { toJSON: "text" }],
    ["a member named __proto__", JSON.parse('{"__proto__":1,"a":"b"}')],
    ["half a character", { "\ud800": "\udfff" }],
    ["a list with holes", Object.assign(new Array(4), { 0: 1, 2: "é" })],
    ["a date", new Date(0)],
    ["boxes", { a: new Number(5), b: new String("é") }],
  ];
  test.each(odd)("arguments of %s", (_, input) => {
    sized(call(input));
    sized({ role: "user", content: [{ type: "text", text: input }] });
    sized({
      role: "tool",
      content: [{ type: "tool-result", toolCallId: "c", toolName: "t", output: { type: "text", value: input } }],
    });
  });

  test("a call that carries options in place of arguments", () =>
    sized({
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "c", toolName: "t", providerOptions: { a: { b: 1 } } }],
    }));

  test("any arguments", () => {
    const anything = fc.anything({
      withNullPrototype: true,
      withDate: true,
      withSparseArray: true,
      withBoxedValues: true,
      withUnicodeString: true,
    } as fc.ObjectConstraints);
    fc.assert(
      fc.property(anything, (input) => sized(call(input))),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.string({ unit: "binary" }),
          fc.oneof(fc.string({ unit: "binary", maxLength: 80 }), fc.double(), fc.constant(undefined)),
        ),
        (input) => sized(call(input)),
      ),
      { numRuns: 2_000 },
    );
  });
});
