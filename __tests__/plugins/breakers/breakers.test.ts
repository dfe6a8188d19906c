import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  agent,
  createKernel,
  definePlugin,
  illegality,
  type Run,
  type RunOptions,
  schema,
  type Tool,
  tool,
} from "../../../kernel/index.ts";
import { breakers } from "../../../plugins/breakers/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { type Script, scripted } from "../../../plugins/providers/scripted/index.ts";
import { models } from "../../support/harness.ts";
import { play, type Step } from "./worlds.ts";

const input = schema.object({
  q: schema.optional(schema.string()),
  a: schema.optional(schema.integer()),
  b: schema.optional(schema.integer()),
});
const look = tool({ name: "look", description: "L.", input, effect: "read", execute: () => "secret result" });
const nothing = tool({ name: "find", description: "F.", input, effect: "read", execute: () => "nothing found" });
const act = tool({ name: "act", description: "A.", input, effect: "write", execute: () => "ok" });
const kernel = (...plugins: Parameters<typeof createKernel>[0]["plugins"]) =>
  createKernel({ plugins: [models, breakers(), ...plugins] });

async function go(script: Script, options: RunOptions = {}, of = kernel(), tools: Tool[] = [look, nothing, act]) {
  const { run, done } = of.start(agent({ id: "a", instructions: "i", model: scripted(script), tools }), "go", options);
  const outcome = await done;
  expect(illegality(run.transcript.history)).toBeUndefined();
  return {
    run,
    outcome,
    trips: run.ledger.of("breaker.tripped"),
    denied: run.ledger.of("tool.denied").map(({ code }) => code),
    results: resultsOf(run),
  };
}
const resultsOf = (run: Run): string[] =>
  run.transcript.history.flatMap(({ value }) =>
    value.role === "tool"
      ? value.content.flatMap((part) =>
          part.type === "tool-result" && "value" in part.output ? [String(part.output.value)] : [],
        )
      : [],
  );
const always =
  (name: string, value: object = {}, text?: string): Script =>
  () => ({ ...(text ? { text } : {}), toolCalls: [{ name, input: value }] });

describe("a repeated call", () => {
  test("that only reads: nudged under its third result, stopped at the fourth", async () => {
    const { outcome, trips, results } = await go(always("look"));
    expect(outcome.stopReason).toBe("loop_detected");
    expect(results).toHaveLength(4);
    expect(results.map((text) => text.includes("cave_tool_call_loop_nudge"))).toEqual([false, false, true, false]);
    expect(trips.map(({ kind, count, tool: name }) => [kind, count, name])).toEqual([
      ["loop_detected", 3, "look"],
      ["loop_detected", 4, "look"],
    ]);
    expect(trips[0]?.signature).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(trips.map(({ signature }) => signature)).size).toBe(1);
  });
  test("that writes: not done a third time", async () => {
    const { outcome, run, denied } = await go(always("act"));
    expect(outcome.stopReason).toBe("loop_detected");
    expect(run.ledger.of("tool.finished")).toHaveLength(2);
    expect(denied).toEqual(["cave_tool_call_loop_nudge", "cave_tool_call_loop_detected"]);
  });
  test.each([
    ["an unknown tool", "no_such_tool", {}],
    ["wrong arguments", "look", { a: "x" }],
  ])("with %s", async (_name, called, value) => {
    const { outcome, run } = await go((_request, index) => ({
      text: `try ${index}`,
      toolCalls: [{ name: called, input: value }],
    }));
    expect(outcome.stopReason).toBe("loop_detected");
    expect(run.ledger.of("tool.denied")).toHaveLength(5); // the first failure is pardoned
    expect(JSON.stringify(run.ledger.of("breaker.tripped"))).not.toContain("no_such_tool");
  });
  test("is found whatever the order of its keys", async () => {
    const { outcome } = await go((_request, index) => ({
      toolCalls: [{ name: "look", input: index % 2 ? '{"a":1,"b":2}' : '{"b":2, "a":1}' }],
    }));
    expect(outcome.stopReason).toBe("loop_detected");
  });
  test("several times in one turn is nudged, and the run goes on", async () => {
    const { outcome, results } = await go([
      { toolCalls: Array.from({ length: 6 }, () => ({ name: "look", input: {} })) },
      { text: "done" },
    ]);
    expect(outcome.stopReason).toBe("complete");
    expect(results.some((text) => text.includes("cave_tool_call_loop_nudge"))).toBe(true);
  });
  test("is forgotten once the window has passed", async () => {
    const wait = tool({
      name: "wait",
      description: "W.",
      input,
      effect: "read",
      allowRepeat: true,
      execute: () => "waited",
    });
    const script: Script = (_request, index) =>
      index < 50 ? { toolCalls: [{ name: index % 10 === 0 ? "look" : "wait", input: {} }] } : { text: "done" };
    expect((await go(script, {}, kernel(), [look, wait])).outcome.stopReason).toBe("complete"); // ten turns apart
    expect(
      (await go(script, { breakers: { repeatedToolCallWindowTurns: 10 } }, kernel(), [look, wait])).outcome.stopReason,
    ).toBe("loop_detected");
  });
  test.each([
    [2, 3],
    [5, 6],
  ])("repeatedToolCalls %d stops at call %d", async (repeatedToolCalls, calls) => {
    const { run, outcome } = await go(always("look"), { breakers: { repeatedToolCalls, noProgressTurns: 50 } });
    expect(outcome.stopReason).toBe("loop_detected");
    expect(run.ledger.of("tool.finished")).toHaveLength(calls);
  });
  test("that gives one object again and again, changed each time, is progress", async () => {
    const status = { done: 0 };
    const poll = tool({
      name: "poll",
      description: "P.",
      input,
      effect: "read",
      execute: () => {
        status.done++;
        return status;
      },
    });
    expect(
      (
        await go(
          (_request, index) => (index < 12 ? { toolCalls: [{ name: "poll", input: {} }] } : { text: "done" }),
          {},
          kernel(),
          [poll],
        )
      ).outcome.stopReason,
    ).toBe("complete");
  });
  test("nested inside a tool is the tool's affair", async () => {
    const outer = tool({
      name: "outer",
      description: "O.",
      input,
      effect: "read",
      nestedTools: [look],
      execute: async (_input, { call }) => {
        for (let i = 0; i < 20; i++) await call("look", {});
        return "ok";
      },
    });
    expect(
      (await go([{ toolCalls: [{ name: "outer", input: {} }] }, { text: "done" }], {}, kernel(), [outer])).outcome
        .stopReason,
    ).toBe("complete");
  });
});

describe("turns without progress", () => {
  const searching: Script = (_request, index) =>
    index < 12
      ? { text: "Searching.", toolCalls: [{ name: "find", input: { q: `term ${index}` } }] }
      : { text: "done" };
  test("nudged in the third, stopped after the fourth", async () => {
    const { outcome, results, trips } = await go(searching);
    expect(outcome.stopReason).toBe("no_progress");
    expect(results.map((text) => text.includes("cave_no_progress_nudge"))).toEqual([false, false, true, false]);
    expect(trips.map(({ kind, count }) => [kind, count])).toEqual([
      ["no_progress", 3],
      ["no_progress", 4],
    ]);
  });
  test("another text, or a write in between, is progress", async () => {
    expect(
      (
        await go((request, index) =>
          index < 12
            ? { text: `Searching ${index}.`, toolCalls: [{ name: "find", input: { q: `${request.prompt.length}` } }] }
            : { text: "done" },
        )
      ).outcome.stopReason,
    ).toBe("complete");
    expect(
      (
        await go((_request, index) =>
          index < 12
            ? { toolCalls: [{ name: index % 3 === 2 ? "act" : "find", input: { q: `${index}` } }] }
            : { text: "done" },
        )
      ).outcome.stopReason,
    ).toBe("complete");
  });
});

describe("fan-out", () => {
  test("calls past the cap are denied, each is recorded, the run goes on", async () => {
    const { outcome, denied, trips } = await go([
      { toolCalls: Array.from({ length: 11 }, (_, at) => ({ name: "look", input: { q: `${at}` } })) },
      { text: "done" },
    ]);
    expect(outcome.stopReason).toBe("complete");
    expect(denied).toEqual(Array(3).fill("cave_fan_out_cap_exceeded"));
    expect(trips.map(({ kind, count }) => [kind, count])).toEqual([
      ["fan_out_blocked", 9],
      ["fan_out_blocked", 10],
      ["fan_out_blocked", 11],
    ]);
  });
});

describe("memory of a loop", () => {
  test("a compaction between turns does not clear it", async () => {
    const forgetful = definePlugin({
      name: "forgetful",
      apply: (k) =>
        k.hooks.compact.tap("forgetful", ({ view }) =>
          view.length > 2
            ? view.rewrite(view.messages.slice(0, 1), { by: "forgetful", dropped: view.length - 1 })
            : undefined,
        ),
    });
    const { outcome, run } = await go(always("look"), {}, kernel(forgetful()));
    expect(run.ledger.of("transcript.compacted").length).toBeGreaterThan(1);
    expect(outcome.stopReason).toBe("loop_detected");
  });
  test("a conversation taken up after the stop remembers it; the saved state holds no content", async () => {
    const conversation = createConversation();
    expect(
      (await go(always("look", { q: "secret argument" }), { conversation })).run.ledger.of("tool.finished"),
    ).toHaveLength(4);
    const { states } = JSON.parse(JSON.stringify(conversation)) as { states: unknown };
    expect(JSON.stringify(states)).not.toContain("secret");
    const restored = createConversation(JSON.parse(JSON.stringify(conversation)));
    const { outcome, run } = await go(always("look", { q: "secret argument" }), { conversation: restored });
    expect(outcome.stopReason).toBe("loop_detected");
    expect(run.ledger.of("tool.finished")).toHaveLength(1);
  });
  test("an answer ends it: asking the same once a run is no loop", async () => {
    const conversation = createConversation();
    for (let i = 0; i < 6; i++)
      expect(
        (await go([{ toolCalls: [{ name: "look", input: {} }] }, { text: "fine" }], { conversation })).outcome
          .stopReason,
      ).toBe("complete");
  });
});

describe("options", () => {
  test("false turns everything off", async () => {
    const { outcome, trips } = await go(
      (_request, index) =>
        index < 20 ? { toolCalls: Array.from({ length: 9 }, () => ({ name: "look", input: {} })) } : { text: "done" },
      { breakers: false },
    );
    expect(outcome.stopReason).toBe("complete");
    expect(trips).toEqual([]);
  });
  test.each([
    [{ repeatedToolCalls: 1 }],
    [{ noProgressTurns: 0 }],
    [{ maxToolCallsPerTurn: 1.5 }],
    [{ repeatedToolCals: 3 }],
    [true],
  ])("%j is refused", (value) => {
    expect(() =>
      kernel().start(agent({ id: "a", instructions: "i", model: scripted([{ text: "x" }]) }), "go", {
        breakers: value as never,
      }),
    ).toThrow(/cave_option_invalid/);
  });
  test("plugin options are the defaults of a run's", async () => {
    const of = createKernel({ plugins: [models, breakers({ repeatedToolCalls: 2 })] });
    expect((await go(always("look"), {}, of)).run.ledger.of("tool.finished")).toHaveLength(3);
    expect(
      (await go(always("look"), { breakers: { repeatedToolCalls: 4, noProgressTurns: 50 } }, of)).run.ledger.of(
        "tool.finished",
      ),
    ).toHaveLength(5);
  });
});

test("any cycle of one to four distinct calls stops with its fourth round, one call short of it never, whatever came before", async () => {
  const cycle = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(cycle, fc.nat(6), fc.boolean(), async (names, before, whole) => {
      const prelude: Step[] = Array.from({ length: before }, (_, i) => ({
        tool: "look",
        q: `before the loop ${i}`,
        gives: `${i}`,
      }));
      const loop: Step[] = Array.from({ length: names.length * 4 - (whole ? 0 : 1) }, (_, i) => ({
        tool: "look",
        q: names[i % names.length] ?? "",
        gives: `about ${names[i % names.length]}`,
      }));
      const { stopReason, executed } = await play({
        kind: "",
        name: "",
        stops: "complete",
        turns: [...prelude, ...loop].map((step) => [step]),
      });
      expect(stopReason).toBe(whole ? "loop_detected" : "complete");
      expect(executed).toBe(prelude.length + loop.length);
    }),
    { numRuns: 200 },
  );
});

test("results that never come twice never stop a run, whatever is asked", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.constantFrom("a", "b"), { minLength: 1, maxLength: 4 }), { maxLength: 24 }),
      async (turns) => {
        let n = 0;
        const { stopReason } = await play({
          kind: "",
          name: "",
          stops: "complete",
          turns: turns.map((turn) => turn.map((q): Step => ({ tool: "look", q, gives: `${n++}` }))),
        });
        expect(stopReason).toBe("complete");
      },
    ),
    { numRuns: 200 },
  );
});

test("400 turns of 16 kB results cost little", async () => {
  const big = tool({
    name: "big",
    description: "B.",
    input,
    effect: "read",
    execute: ({ a = 0 }) => `${a}${"x".repeat(16_000)}`,
  });
  const script: Script = (_request, index) =>
    index < 400
      ? { usage: { input: 1, output: 1 }, toolCalls: [{ name: "big", input: { a: index } }] }
      : { text: "done", usage: { input: 1, output: 1 } };
  let spent = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 3; round++) {
    const of = kernel();
    await go(script, {}, of, [big]);
    spent = Math.min(
      spent,
      of.taps.filter(({ plugin }) => plugin === "breakers").reduce((sum, { totalMs }) => sum + totalMs, 0),
    );
  }
  process.stdout.write(`breakers: ${spent.toFixed(1)} ms in their taps over 400 turns of 16 kB\n`);
  expect(spent).toBeLessThan(500); // 5 ms; work that grows with the square of the turns takes seconds
});
