/** Reads that are started ahead of their turn: adopted by an identical call, or given up as if they had never been. */
import { describe, expect, test } from "@jest/globals";
import {
  agent,
  type CallId,
  createKernel,
  definePlugin,
  type Plugin,
  type Run,
  schema,
  subagent,
  tool,
} from "../../kernel/index.ts";
import { limits } from "../../plugins/limits/index.ts";
import { scripted } from "../../plugins/providers/scripted/index.ts";
import { models } from "../support/harness.ts";

const CALL = "c1" as CallId;
interface World {
  readonly run: Run;
  readonly made: string[];
  readonly signals: AbortSignal[];
  close(): Promise<unknown>;
}

async function open(plugins: readonly Plugin[] = [], options: object = {}): Promise<World> {
  const made: string[] = [];
  const signals: AbortSignal[] = [];
  const named = (name: string, effect: "read" | "write") =>
    tool({
      name,
      description: "Looks.",
      input: schema.object({ page: schema.integer() }),
      effect,
      execute: async ({ page }, { signal }) => {
        signals.push(signal);
        made.push(`${name} ${page}`);
        if (page === 99) throw new Error("no such page");
        if (page === 50)
          await new Promise((_, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason), { once: true });
          });
        return `page ${page}`;
      },
    });
  const look = named("look", "read");
  const outer = tool({
    name: "outer",
    description: "Composes.",
    input: schema.object({ page: schema.integer() }),
    effect: "read",
    nestedTools: [named("inner", "read")],
    execute: () => "x",
  });
  const child = agent({ id: "child", instructions: "i", model: scripted([{ text: "hi" }]) });
  const reader = agent({
    id: "reader",
    instructions: "i",
    model: scripted(() => ({ text: "done" })),
    tools: [look, named("change", "write"), outer, subagent({ name: "ask", description: "Asks.", agent: child })],
  });
  const kernel = createKernel({ plugins: [models, limits(), ...plugins] });
  const { run, close } = await kernel.open(reader, options);
  return { run, made, signals, close };
}
const ahead = (run: Run, name: string, input: unknown) =>
  run.tool({ toolCallId: `ahead ${name}`, name, input, speculative: CALL });
const call = (run: Run, name: string, input: unknown) => run.tool({ toolCallId: `real ${name}`, name, input });

describe("a read made ahead of its turn", () => {
  test("is adopted by an identical call, whatever the order of its keys: made once, counted once", async () => {
    const { run, made, close } = await open([], { maxToolCalls: 1 });
    expect(await ahead(run, "look", '{"page": 3}')).toMatchObject({ isError: false, value: "page 3" });
    expect(run.ledger.of("tool.finished")).toEqual([]);
    expect(await call(run, "look", { page: 3 })).toMatchObject({ isError: false, value: "page 3" });
    expect(made).toEqual(["look 3"]);
    expect(run.ledger.of("tool.speculated")).toMatchObject([{ toolCallId: "ahead look", adopted: true }]);
    expect(run.ledger.of("tool.finished")).toHaveLength(1);
    // The ceiling of one call is reached by the real call alone.
    expect(await call(run, "look", { page: 4 })).toMatchObject({ code: "cave_tool_call_budget_exceeded" });
    await close();
  });

  test("is made no more often than other calls may be, also when it fails", async () => {
    const { run, made, close } = await open([], { maxToolCalls: 3 });
    for (let time = 0; time < 10; time++) await ahead(run, "look", { page: 99 });
    expect(made).toHaveLength(3);
    // What was made ahead takes nothing from the calls themselves.
    expect(await call(run, "look", { page: 1 })).toMatchObject({ isError: false });
    await close();
  });

  test("is adopted while it still runs", async () => {
    const { run, made, close } = await open();
    const early = ahead(run, "look", { page: 3 });
    const real = call(run, "look", { page: 3 });
    expect((await Promise.all([early, real])).map((outcome) => outcome.value)).toEqual(["page 3", "page 3"]);
    expect(made).toEqual(["look 3"]);
    await close();
  });

  test("is adopted once: the second identical call is made", async () => {
    const { run, made, close } = await open();
    await ahead(run, "look", { page: 3 });
    await call(run, "look", { page: 3 });
    await call(run, "look", { page: 3 });
    expect(made).toEqual(["look 3", "look 3"]);
    await close();
  });

  test("is not adopted by other arguments, and is given up when the next call begins", async () => {
    const { run, made, signals, close } = await open();
    const early = ahead(run, "look", { page: 50 });
    await call(run, "look", { page: 4 });
    await run.call({ purpose: "turn" });
    expect((await early).isError).toBe(true);
    expect([...made].sort()).toEqual(["look 4", "look 50"]);
    expect(signals.some((signal) => signal.aborted)).toBe(true);
    expect(run.ledger.of("tool.speculated")).toMatchObject([{ adopted: false }]);
    // What was given up is nobody's any more.
    const again = call(run, "look", { page: 50 });
    run.abort(new (await import("../../kernel/index.ts")).CavemanError("cave_run_aborted"));
    expect((await again).isError).toBe(true);
    expect(made).toHaveLength(3);
    await close();
  });

  test("is given up when a call that acts comes before it: what was read may no longer be so", async () => {
    const { run, made, close } = await open();
    await ahead(run, "look", { page: 3 });
    await call(run, "change", { page: 3 });
    await call(run, "look", { page: 3 });
    expect(made).toEqual(["look 3", "change 3", "look 3"]);
    expect(run.ledger.of("tool.speculated")).toMatchObject([{ adopted: false }]);
    await close();
  });

  test("that failed is made anew when its turn comes", async () => {
    const { run, made, close } = await open();
    expect((await ahead(run, "look", { page: 99 })).isError).toBe(true);
    expect((await call(run, "look", { page: 99 })).isError).toBe(true);
    expect(made).toEqual(["look 99", "look 99"]);
    await close();
  });

  test("is given up when the run settles", async () => {
    const { run, signals, close } = await open();
    const early = ahead(run, "look", { page: 50 });
    await new Promise((resolve) => setImmediate(resolve));
    await close();
    expect((await early).isError).toBe(true);
    expect(signals.some((signal) => signal.aborted)).toBe(true);
    expect(run.ledger.of("tool.speculated")).toMatchObject([{ adopted: false }]);
  });

  test.each([
    ["a tool that acts", "change", { page: 1 }],
    ["a tool with nested tools", "outer", { page: 1 }],
    ["a subagent", "ask", { task: "x" }],
    ["an unknown tool", "nothing", {}],
    ["arguments that do not fit", "look", { page: "one" }],
    ["arguments that are not JSON", "look", "{"],
  ])("%s is not made ahead", async (_, name, input) => {
    const { run, made, close } = await open();
    expect(await ahead(run, name, input)).toMatchObject({ isError: true, code: "cave_speculation_denied" });
    expect([made, run.children]).toEqual([[], []]);
    await close();
  });

  test("at most eight wait at one time", async () => {
    const { run, close } = await open();
    const codes: (string | undefined)[] = [];
    for (let page = 1; page <= 9; page++) codes.push((await ahead(run, "look", { page })).code);
    expect(codes).toEqual([...Array.from({ length: 8 }, () => undefined), "cave_speculation_denied"]);
    await close();
  });
});

describe("taps decide twice", () => {
  const tapping = (tap: (speculative: boolean) => unknown) =>
    definePlugin({
      name: "tapping",
      apply: ({ hooks }) =>
        hooks.admitTool.tap(
          { name: "tapping", stage: "policy" },
          (asked) => tap(asked.speculative !== undefined) as never,
        ),
    })();

  test("what policy lets ahead it may still deny when the turn comes", async () => {
    const { run, close } = await open([
      tapping((speculative) => (speculative ? undefined : { deny: { code: "no", message: "No." } })),
    ]);
    expect((await ahead(run, "look", { page: 3 })).isError).toBe(false);
    expect(await call(run, "look", { page: 3 })).toMatchObject({ isError: true, code: "no" });
    await close();
  });

  test("what policy denies ahead is made when its turn comes", async () => {
    const { run, made, close } = await open([
      tapping((speculative) => (speculative ? { deny: { code: "no", message: "No." } } : undefined)),
    ]);
    expect((await ahead(run, "look", { page: 3 })).isError).toBe(true);
    expect((await call(run, "look", { page: 3 })).isError).toBe(false);
    expect(made).toEqual(["look 3"]);
    await close();
  });

  test("a tap that would wait, hold or fails is a denial: nobody is asked for a call that may never be made", async () => {
    const holding = definePlugin({
      name: "holding",
      apply: ({ hooks }) =>
        hooks.admitTool.tap({ name: "holding", stage: "hold" }, (asked) => {
          if (asked.speculative)
            asked.hold({ owner: "holding", amount: 1, settle: () => undefined, release: () => undefined });
        }),
    })();
    for (const plugin of [
      tapping((speculative) => (speculative ? new Promise(() => undefined) : undefined)),
      tapping((speculative) => {
        if (speculative) throw new Error("broken");
      }),
      holding,
    ]) {
      const { run, made, close } = await open([plugin]);
      expect(await ahead(run, "look", { page: 3 })).toMatchObject({ isError: true, code: "cave_speculation_denied" });
      expect(made).toEqual([]);
      expect((await call(run, "look", { page: 3 })).isError).toBe(false);
      expect(await close()).toMatchObject({ stopReason: "complete" });
      expect(run.ledger.of("run.settled")[0]?.openHolds).toBe(0);
    }
  });
});
