import { describe, expect, test } from "@jest/globals";
import { z } from "zod";
import {
  agent,
  type CallOptions,
  createKernel,
  definePlugin,
  illegality,
  output,
  type Run,
  type RunEvent,
  schema,
  tool,
} from "../../kernel/index.ts";
import { createConversation } from "../../plugins/conversation/index.ts";
import { scripted } from "../../plugins/providers/scripted/index.ts";
import { models, seededClock } from "../support/harness.ts";

const kernel = (...plugins: Parameters<typeof createKernel>[0]["plugins"]) =>
  createKernel({ plugins: [models, ...plugins] });
const echo = tool({
  name: "echo",
  description: "Echoes.",
  input: schema.object({ text: schema.string() }),
  effect: "read",
  execute: ({ text }) => text,
});
const toolResults = (request: CallOptions): string[] =>
  request.prompt.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) =>
          part.type === "tool-result" && "value" in part.output ? [String(part.output.value)] : [],
        )
      : [],
  );

describe("what a tool does wrong becomes a result the model can act on", () => {
  const cases: [string, Parameters<typeof tool>[0]["execute"], unknown, string][] = [
    [
      "throws",
      () => {
        throw new Error("boom");
      },
      { text: "x" },
      "cave_tool_failed: boom",
    ],
    [
      "throws nothing",
      () => {
        throw undefined;
      },
      { text: "x" },
      "cave_tool_failed",
    ],
    [
      "returns a cycle",
      () => {
        const a: Record<string, unknown> = {};
        a.a = a;
        return a;
      },
      { text: "x" },
      "cave_tool_result_unserializable",
    ],
    ["returns a BigInt", () => ({ n: 1n }), { text: "x" }, "cave_tool_result_unserializable"],
    ["never returns", () => new Promise(() => undefined), { text: "x" }, "cave_tool_timeout"],
    ["is given arguments of the wrong type", () => "no", { text: 1 }, "cave_tool_arguments_invalid"],
    ["is given malformed JSON", () => "no", '{"text":', "cave_tool_arguments_invalid"],
    ["is given a list", () => "no", [1], "cave_tool_arguments_invalid"],
  ];
  test.each(cases)("a tool that %s", async (_name, execute, input, expected) => {
    const model = scripted([{ toolCalls: [{ name: "bad", input }] }, { text: "went on" }]);
    const bad = tool({
      name: "bad",
      description: "Bad.",
      input: schema.object({ text: schema.string() }),
      effect: "read",
      timeoutMs: 30,
      execute: execute as never,
    });
    const { run, done } = kernel().start(agent({ id: "a", instructions: "i", model, tools: [bad] }), "go");
    const outcome = await done;
    expect(outcome).toMatchObject({ stopReason: "complete", text: "went on" });
    expect(illegality(run.transcript.view.messages)).toBeUndefined();
    expect(JSON.stringify(run.transcript.view.messages.map((message) => message.value))).toContain(expected);
  });

  test("an unknown tool is named to the model and withheld from the ledger", async () => {
    const model = scripted([{ toolCalls: [{ name: "secret_name", input: {} }] }, { text: "ok" }]);
    const { run, done } = kernel().start(agent({ id: "a", instructions: "i", model, tools: [echo] }), "go");
    await done;
    expect(JSON.stringify(run.ledger.facts)).not.toContain("secret_name");
    expect(run.ledger.of("tool.denied")[0]).toMatchObject({
      name: "undeclared",
      declared: false,
      code: "cave_unknown_tool",
    });
  });

  test("an output that does not fit its schema is an error, and the raw value stays hidden", async () => {
    const leaky = tool({
      name: "leaky",
      description: "L.",
      input: schema.object({}),
      output: schema.object({ n: schema.number() }),
      effect: "read",
      execute: () => ({ n: "sk-raw-secret" }) as never,
    });
    const model = scripted([{ toolCalls: [{ name: "leaky", input: {} }] }, { text: "ok" }]);
    const { run, done } = kernel().start(agent({ id: "a", instructions: "i", model, tools: [leaky] }), "go");
    await done;
    expect(JSON.stringify(run.transcript.view.messages.map((message) => message.value))).toContain(
      "cave_tool_result_invalid",
    );
    expect(JSON.stringify(run.transcript.view.messages.map((message) => message.value))).not.toContain("sk-raw-secret");
  });
});

describe("order of tools in a turn", () => {
  async function overlap(effect: "read" | "write"): Promise<number> {
    let running = 0;
    let most = 0;
    const slow = tool({
      name: "slow",
      description: "S.",
      input: schema.object({ n: schema.number() }),
      effect,
      execute: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running--;
        return "ok";
      },
    });
    const model = scripted([{ toolCalls: [1, 2, 3].map((n) => ({ name: "slow", input: { n } })) }, { text: "ok" }]);
    await kernel().start(agent({ id: "a", instructions: "i", model, tools: [slow] }), "go").done;
    return most;
  }
  test("all read: side by side", async () => expect(await overlap("read")).toBe(3));
  test("one that writes: one after the other", async () => expect(await overlap("write")).toBe(1));
});

describe("output schema", () => {
  const shaped = (model: ReturnType<typeof scripted>, spec = schema.object({ answer: schema.string() }) as never) =>
    agent({ id: "a", instructions: "i", model, output: output({ schema: spec }) });
  test("a fitting answer is parsed", async () => {
    const outcome = await kernel().start(shaped(scripted([{ text: '{"answer":"42"}' }])), "go").done;
    expect(outcome.output).toEqual({ answer: "42" });
  });
  test("a Standard Schema works too", async () => {
    const outcome = await kernel().start(
      shaped(scripted([{ text: '{"answer":"42"}' }]), z.object({ answer: z.string() }) as never),
      "go",
    ).done;
    expect(outcome.output).toEqual({ answer: "42" });
  });
  test("one repair turn, then the answer", async () => {
    const { run, done } = kernel().start(
      shaped(scripted([{ text: "not json" }, { text: '```json\n{"answer":"ok"}\n```' }])),
      "go",
    );
    expect((await done).output).toEqual({ answer: "ok" });
    expect(run.ledger.of("call.settled").map((fact) => fact.purpose)).toEqual(["turn", "repair"]);
  });
  test.each([true, false])(
    "reaches the model, as an option where the provider takes one (%s), else in words",
    async (takes) => {
      const unlike = definePlugin({
        name: "unlike",
        apply: ({ hooks }) =>
          hooks.beforeCall.tap({ name: "unlike", stage: "resolve", after: "models:resolve" }, (call) => {
            if (call.model) call.setModel({ ...call.model, structuredOutput: takes });
          }),
      });
      const model = scripted([{ text: "not json" }, { text: '{"answer":"42"}' }]);
      await kernel(unlike).start(shaped(model), "go").done;
      expect(model.calls).toHaveLength(2); // the answer, and its repair
      for (const { responseFormat, prompt } of model.calls) {
        const inWords = prompt.filter(({ role, content }) => role === "system" && String(content).includes('"answer"'));
        expect(inWords).toHaveLength(takes ? 0 : 1);
        if (takes) expect(responseFormat).toMatchObject({ type: "json", schema: { required: ["answer"] } });
        else expect(responseFormat).toBeUndefined();
      }
    },
  );
  test("a second miss is a coded error", async () => {
    const outcome = await kernel().start(shaped(scripted([{ text: "no" }, { text: '{"answer":1}' }])), "go").done;
    expect(outcome).toMatchObject({ stopReason: "error", error: { code: "cave_output_schema_mismatch" } });
  });
});

describe("conversations", () => {
  test("history carries over, survives JSON, and a failed run leaves it alone", async () => {
    const seen: number[] = [];
    const model = scripted((request, index) => {
      seen.push(request.prompt.length);
      return index === 1 ? { error: { status: 500, when: "before" } } : { text: `answer ${index}` };
    });
    const a = agent({ id: "a", instructions: "i", model });
    const conversation = createConversation();
    await kernel().start(a, "first", { conversation }).done;
    const failed = await kernel().start(a, "second", { conversation }).done;
    expect(failed.stopReason).toBe("error");
    const restored = createConversation(JSON.parse(JSON.stringify(conversation)));
    await kernel().start(a, "third", { conversation: restored }).done;
    expect(seen).toEqual([2, 4, 4]); // system + user; then with one exchange before; the failed one left no trace
  });
  test("a plugin's saved state is checked against its schema before anything is spent", async () => {
    const counter = definePlugin({
      name: "counter",
      apply: (k) => {
        k.perConversation("counter", schema.object({ n: schema.number() }), (_run, saved) => ({
          n: ((saved as { n?: number } | undefined)?.n ?? 0) + 1,
          toJSON() {
            return { n: (this as { n: number }).n };
          },
        }));
      },
    });
    const a = agent({ id: "a", instructions: "i", model: scripted([{ text: "x" }, { text: "y" }]) });
    const conversation = createConversation();
    await kernel(counter()).start(a, "go", { conversation }).done;
    await kernel(counter()).start(a, "go", { conversation }).done;
    const saved = JSON.parse(JSON.stringify(conversation));
    expect(saved.states).toEqual({ counter: { n: 2 } });
    saved.states.counter = { n: "many" };
    expect(() => kernel(counter()).start(a, "go", { conversation: createConversation(saved) })).toThrow(
      /cave_conversation_invalid/,
    );
  });
  test("one owner at a time", async () => {
    const a = agent({ id: "a", instructions: "i", model: scripted([{ text: "x", delayMs: 10 }, { text: "y" }]) });
    const conversation = createConversation();
    const first = kernel().start(a, "go", { conversation });
    expect(() => kernel().start(a, "go", { conversation })).toThrow(/cave_conversation_in_use/);
    await first.done;
    expect((await kernel().start(a, "go", { conversation }).done).stopReason).toBe("complete");
  });
  test.each([[null], [{}], [{ schema: "caveman.conversation.v1", messages: [{}], states: {} }], ["text"]])(
    "a damaged form is refused: %j",
    (saved) => {
      expect(() => createConversation(saved)).toThrow(/cave_conversation_invalid/);
    },
  );
});

describe("bad input is refused before any call", () => {
  const a = agent({ id: "a", instructions: "i", model: scripted([{ text: "x" }]) });
  test.each([[""], [[]], [[{ type: "video" }]], [42]])("input %j", async (input) => {
    const { run, done } = kernel().start(a, input as never);
    expect((await done).error?.code).toBe("cave_input_invalid");
    expect(run.ledger.of("call.intended")).toHaveLength(0);
  });
  test("an unknown run option names the nearest", () => {
    expect(() => kernel().start(a, "go", { modle: "x" } as never)).toThrow(/"model"/);
  });
  test("a missing file", async () => {
    const { file } = await import("../../kernel/index.ts");
    const b = agent({ id: "b", instructions: file("./nowhere.md"), model: scripted([{ text: "x" }]) });
    expect((await kernel().start(b, "go").done).error?.code).toBe("cave_file_unreadable");
  });
});

describe("same input, same plugins, same script, seeded clock", () => {
  test("the same ledger, apart from ids", async () => {
    const once = async (): Promise<string> => {
      const model = scripted([{ toolCalls: [{ name: "echo", input: { text: "a" } }] }, { text: "ok" }]);
      const { run, done } = createKernel({ plugins: [models], clock: seededClock() }).start(
        agent({ id: "a", instructions: "i", model, tools: [echo] }),
        "go",
        { runId: "same" },
      );
      await done;
      return JSON.stringify(run.ledger.facts);
    };
    expect(await once()).toBe(await once());
  });
});

describe("nested tools", () => {
  test("go through the same admission, and a denial reaches the composite as an error", async () => {
    const inner = tool({
      name: "inner",
      description: "I.",
      input: schema.object({ n: schema.number() }),
      effect: "read",
      execute: ({ n }) => n * 2,
    });
    const outer = tool({
      name: "outer",
      description: "O.",
      input: schema.object({}),
      effect: "read",
      nestedTools: [inner],
      execute: async (_input, { call }) => [
        await call("inner", { n: 2 }),
        await call("inner", { n: 13 }).catch((error: Error) => error.message),
        await call("echo", {}).catch((error: Error) => error.message),
      ],
    });
    const deny = definePlugin({
      name: "deny",
      apply: (k) =>
        k.hooks.admitTool.tap({ name: "deny", stage: "policy" }, (call) =>
          (call.input as { n?: number }).n === 13 ? { deny: { code: "unlucky", message: "not thirteen" } } : undefined,
        ),
    });
    const model = scripted((request, index) =>
      index === 0 ? { toolCalls: [{ name: "outer", input: {} }] } : { text: toolResults(request).join() },
    );
    const { run, done } = kernel(deny()).start(
      agent({ id: "a", instructions: "i", model, tools: [outer, echo] }),
      "go",
    );
    expect(JSON.parse((await done).text)).toEqual([
      4,
      expect.stringContaining("not thirteen"),
      expect.stringContaining("cave_unknown_tool"),
    ]);
    expect(run.ledger.of("tool.denied").map((fact) => fact.nested)).toEqual([true, true]);
  });
});

describe("stops", () => {
  test("a stop is graceful: tools of the turn not yet started are answered, the run ends between calls", async () => {
    const stopper = definePlugin({
      name: "stopper",
      apply: (k) =>
        k.hooks.admitTool.tap(
          { name: "stopper" },
          (call) => void (call.toolCallId.endsWith("_1") && call.run.stop("loop_detected")),
        ),
    });
    const model = scripted([
      { toolCalls: [1, 2, 3].map(() => ({ name: "echo", input: { text: "x" } })) },
      { text: "never" },
    ]);
    const { run, done } = kernel(stopper()).start(agent({ id: "a", instructions: "i", model, tools: [echo] }), "go");
    expect((await done).stopReason).toBe("loop_detected");
    expect(run.ledger.of("tool.denied").map((fact) => fact.code)).toEqual(["cave_run_stopping", "cave_run_stopping"]);
    expect(run.ledger.of("call.settled")).toHaveLength(1);
    expect(illegality(run.transcript.view.messages)).toBeUndefined();
  });
});

describe("events", () => {
  test("the terminal event comes after the conversation is free", async () => {
    const conversation = createConversation();
    const a = agent({ id: "a", instructions: "i", model: scripted([{ text: "x" }, { text: "y" }]) });
    let second: Promise<unknown> | undefined;
    await kernel().start(a, "go", { conversation }, (event: RunEvent) => {
      if (event.type === "run_end") second = kernel().start(a, "again", { conversation }).done;
    }).done;
    expect(await second).toMatchObject({ stopReason: "complete", text: "y" });
  });
});

describe("another framework's loop", () => {
  test("kernel.open gives a run that is closed by close()", async () => {
    const { run, close } = await kernel().open(
      agent({ id: "a", instructions: "i", model: scripted([{ text: "hi" }]), tools: [echo] }),
    );
    const answer = await run.call({ purpose: "turn" });
    expect(answer.text).toBe("hi");
    expect((await run.tool({ toolCallId: "1", name: "echo", input: { text: "x" } })).value).toBe("x");
    expect((await close({ text: "hi" })).stopReason).toBe("complete");
    await expect((run as Run).call({ purpose: "turn" })).rejects.toThrow(/cave_run_closed/);
  });
});
