import { describe, expect, test } from "@jest/globals";
import {
  agent,
  createKernel,
  defineErrors,
  definePlugin,
  defineService,
  type HookName,
  type PluginKernel,
  schema,
  tool,
  View,
} from "../../kernel/index.ts";
import { scripted } from "../../plugins/providers/scripted/index.ts";
import { models, resolved } from "../support/harness.ts";

const echo = tool({ name: "echo", description: "E.", input: schema.object({}), effect: "read", execute: () => "echo" });
const agentOf = () =>
  agent({
    id: "a",
    instructions: "i",
    model: scripted([{ toolCalls: [{ name: "echo", input: {} }] }, { text: "done" }]),
    tools: [echo],
  });
async function runWith(apply: (kernel: PluginKernel) => void, tapTimeoutMs?: number) {
  const bad = definePlugin({ name: "bad", apply });
  const { run, done } = createKernel({ plugins: [models, bad], ...(tapTimeoutMs ? { tapTimeoutMs } : {}) }).start(
    agentOf(),
    "go",
  );
  const outcome = await done;
  return { run, outcome, notices: run.ledger.of("notice"), held: run.ledger.of("run.settled")[0]?.openHolds };
}
const boom = (): never => {
  throw new Error("boom");
};

describe("a tap that throws", () => {
  test("compact: its output is discarded, the view before it stands, a notice is recorded", async () => {
    const { outcome, notices, run } = await runWith((k) => k.hooks.compact.tap("bad", boom));
    expect(outcome.stopReason).toBe("complete");
    expect(notices[0]).toMatchObject({ code: "cave_plugin_failed", owner: "bad" });
    expect(run.ledger.of("transcript.compacted")).toHaveLength(0);
  });
  test("beforeCall: the call is what it was before that tap, also what the tap had set", async () => {
    let sent: unknown;
    const { outcome } = await runWith((k) => {
      k.hooks.beforeCall.tap({ name: "bad:half", stage: "shape" }, (call) => {
        call.setSettings({ temperature: 2 });
        call.addContext({ role: "user", content: [{ type: "text", text: "junk" }] });
        boom();
      });
      k.hooks.reserve.tap("bad", (call) => void (sent = call.request));
    });
    expect(outcome.stopReason).toBe("complete");
    expect(sent).not.toHaveProperty("temperature");
    expect(JSON.stringify((sent as { prompt: unknown }).prompt)).not.toContain("junk");
  });
  test("beforeCall with guard: the run fails with the guard's error, and nothing is sent", async () => {
    const { outcome, run } = await runWith((k) =>
      k.hooks.beforeCall.tap({ name: "bad", stage: "guard", guard: true }, boom),
    );
    expect(outcome).toMatchObject({ stopReason: "error", error: { code: "cave_plugin_failed" } });
    expect(run.ledger.of("call.intended")).toHaveLength(0);
  });
  test("reserve: refused, and nothing is sent", async () => {
    const { outcome, run, held } = await runWith((k) => k.hooks.reserve.tap("bad", boom));
    expect(outcome).toMatchObject({ stopReason: "error", error: { code: "cave_plugin_failed" } });
    expect(run.ledger.of("call.intended")).toHaveLength(0);
    expect(held).toBe(0);
  });
  test("afterUsage: a notice, and the others still run", async () => {
    let after = 0;
    const { outcome } = await runWith((k) => {
      k.hooks.afterUsage.tap({ name: "bad:first", stage: "settle" }, boom);
      k.hooks.afterUsage.tap({ name: "bad:second", stage: "count" }, () => void after++);
    });
    expect([outcome.stopReason, after]).toEqual(["complete", 2]);
  });
  test("afterUsage with guard: the run fails before any tool of that turn", async () => {
    const { outcome, run } = await runWith((k) => k.hooks.afterUsage.tap({ name: "bad", guard: true }, boom));
    expect(outcome.stopReason).toBe("error");
    expect(run.ledger.of("tool.admitted")).toHaveLength(0);
  });
  test("admitTool: denied, and the model reads why", async () => {
    const { outcome, run } = await runWith((k) => k.hooks.admitTool.tap("bad", boom));
    expect(outcome.stopReason).toBe("complete");
    expect(run.ledger.of("tool.denied")[0]?.code).toBe("cave_plugin_failed");
  });
  test("settle: a notice that never masks the outcome; with guard a success becomes the failure", async () => {
    expect((await runWith((k) => k.hooks.settle.tap("bad", boom))).outcome.stopReason).toBe("complete");
    expect((await runWith((k) => k.hooks.settle.tap({ name: "bad", guard: true }, boom))).outcome).toMatchObject({
      stopReason: "error",
      error: { code: "cave_plugin_failed" },
    });
  });
});

describe("a tap whose answer cannot be read fails closed", () => {
  test.each([
    ["reserve", true],
    ["reserve", { refuse: "no" }],
    ["reserve", async () => "late text"],
  ] as const)("%s answering %p", async (_hook, answer) => {
    const { outcome } = await runWith((k) =>
      k.hooks.reserve.tap("bad", (() => (typeof answer === "function" ? answer() : answer)) as never),
    );
    expect(outcome.error?.code).toBe("cave_plugin_failed");
  });
  test.each([[true], [false], [null], [{ allow: true }], ["yes"]])("admitTool answering %p denies", async (answer) => {
    const { run } = await runWith((k) => k.hooks.admitTool.tap("bad", (() => answer) as never));
    expect(run.ledger.of("tool.denied")[0]?.code).toBe("cave_plugin_failed");
  });
  test("compact answering an illegal or larger view changes nothing", async () => {
    const { outcome, run } = await runWith((k) => {
      k.hooks.compact.tap("bad:illegal", ({ view }) =>
        view.rewrite(
          view.messages
            .filter((message) => message.role !== "assistant")
            .slice(-1)
            .filter((message) => message.role === "tool"),
          { by: "bad", dropped: 1 },
        ),
      );
      k.hooks.compact.tap("bad:larger", ({ view }) => ({
        view: View.of([...view.messages, ...view.messages]),
        by: "bad",
        dropped: 0,
      }));
    });
    expect(outcome.stopReason).toBe("complete");
    expect(run.transcript.history).toHaveLength(4);
  });
});

describe("a tap that hangs is given up, and its late answer is ignored", () => {
  const hang = (): Promise<never> => new Promise(() => undefined);
  test.each(["compact", "beforeCall", "reserve", "afterUsage", "admitTool", "settle"] as HookName[])(
    "%s",
    async (hook) => {
      const { run, held } = await runWith((k) => k.hooks[hook].tap("bad", hang as never), 15);
      expect(run.ledger.of("run.settled")).toHaveLength(1);
      expect(held).toBe(0);
      expect(run.ledger.of("notice").some((fact) => fact.owner === "bad")).toBe(true);
    },
  );
});

describe("holds", () => {
  test("one that a plugin forgot is settled in full when the attempt was sent, and released when it was not", async () => {
    const log: string[] = [];
    const { held } = await runWith((k) =>
      k.hooks.reserve.tap(
        { name: "bad", stage: "hold" },
        (call) =>
          void call.hold({
            owner: "bad",
            amount: 7,
            settle: (n) => log.push(`settled ${n}`),
            release: () => log.push("released"),
          }),
      ),
    );
    expect(log).toEqual(["settled 7", "settled 7"]);
    expect(held).toBe(0);
    log.length = 0;
    await runWith((k) => {
      k.hooks.reserve.tap(
        { name: "bad:hold", stage: "check" },
        (call) =>
          void call.hold({
            owner: "bad",
            amount: 7,
            settle: (n) => log.push(`settled ${n}`),
            release: () => log.push("released"),
          }),
      );
      k.hooks.reserve.tap({ name: "bad:no", stage: "intent" }, () => ({
        refuse: { code: "no", message: "no", stop: "budget_exhausted" as const },
      }));
    });
    expect(log).toEqual(["released"]);
  });
  test("a hold on a closed call throws, and closing twice throws", async () => {
    const seen: string[] = [];
    await runWith((k) => {
      k.hooks.afterUsage.tap("bad", ({ frozen, holds }) => {
        for (const hold of holds) {
          hold.settle(hold.amount);
          try {
            hold.release();
          } catch (error) {
            seen.push((error as { code: string }).code);
          }
        }
        queueMicrotask(() => {
          try {
            frozen.hold({ owner: "bad", amount: 1, settle: () => undefined, release: () => undefined });
          } catch (error) {
            seen.push((error as { code: string }).code);
          }
        });
      });
      k.hooks.reserve.tap(
        { name: "bad", stage: "hold" },
        (call) => void call.hold({ owner: "bad", amount: 1, settle: () => undefined, release: () => undefined }),
      );
    });
    expect(seen.slice(0, 2)).toEqual(["cave_hold_closed", "cave_hold_closed"]);
  });
  test("the allowance can only be lowered", async () => {
    const { outcome } = await runWith((k) =>
      k.hooks.reserve.tap("bad", (call) => call.lowerAllowance(call.allowance + 1)),
    );
    expect(outcome.error?.code).toBe("cave_allowance_raised");
  });
});

describe("attempts", () => {
  test("a failed attempt may be asked for again, with another model and its own holds; deltas are reset", async () => {
    const second = scripted([{ text: "from the second" }]);
    const first = scripted([{ text: "half an answ", chunks: 4, error: { status: 529, when: "mid-stream" } }]);
    const again = definePlugin({
      name: "again",
      apply: (k) =>
        k.hooks.afterUsage.tap({ name: "again", stage: "decide" }, (call) => {
          if (call.error) call.again({ model: resolved(second), afterMs: 1 });
        }),
    });
    const events: string[] = [];
    const { run, done } = createKernel({ plugins: [models, again] }).start(
      agent({ id: "a", instructions: "i", model: first }),
      "go",
      {},
      (event) => events.push(event.type),
    );
    expect(await done).toMatchObject({ stopReason: "complete", text: "from the second" });
    expect(run.ledger.of("call.settled").map((fact) => fact.attempt)).toEqual([1, 2]);
    expect(events).toContain("attempt_reset");
  });
  test("a fault before any output is not booked; one after output is booked at its bound", async () => {
    const usage = async (when: "before" | "mid-stream") => {
      const { run, done } = createKernel({ plugins: [models] }).start(
        agent({
          id: "a",
          instructions: "i",
          model: scripted([{ text: "some words here", chunks: 4, error: { status: 529, when } }]),
        }),
        "go",
      );
      expect((await done).error?.code).toBe("cave_provider_failed");
      return run.ledger.of("call.settled")[0];
    };
    expect(await usage("before")).toMatchObject({ sent: false, usage: { input: 0, output: 0 } });
    const booked = await usage("mid-stream");
    expect(booked).toMatchObject({ sent: true, basis: "bound" });
    expect(booked?.usage.input).toBeGreaterThan(0);
  });
});

describe("assembly names both sides of what is wrong", () => {
  test("a missing requirement, a duplicate, a service twice", () => {
    const a = definePlugin({ name: "a", requires: ["budgte"], apply: () => undefined });
    const b = definePlugin({ name: "budget", apply: () => undefined });
    expect(() => createKernel({ plugins: [a, b] })).toThrow(/plugin a.*plugin budgte.*budget/s);
    expect(() => createKernel({ plugins: [b, b] })).toThrow(/cave_plugin_duplicate/);
    const s = (name: string) => definePlugin({ name, apply: (k) => k.provide({ name: "clock" }, () => 1) });
    expect(() => createKernel({ plugins: [s("x"), s("y")] })).toThrow(
      /cave_service_duplicate.*plugin y|cave_service_duplicate.*y/,
    );
  });
  test("one code with two meanings", () => {
    const row = (meaning: string) => ({ cave_test_two_meanings: { meaning, remedy: "None." } });
    defineErrors(row("This."));
    expect(() => defineErrors(row("This."))).not.toThrow(); // a module that is loaded twice says the same
    expect(() => defineErrors(row("That."))).toThrow(/cave_error_code_duplicate.*cave_test_two_meanings/);
  });
  test("a service that nobody provides, when it is asked for", async () => {
    const { outcome } = await runWith((k) =>
      k.hooks.beforeCall.tap({ name: "bad", guard: true }, ({ run }) => void run.service(defineService("nowhere"))),
    );
    expect(outcome.error).toMatchObject({ code: "cave_service_missing", detail: { received: "nowhere" } });
  });
  test("two executors for one call: the second is an error, and the tool does not run", async () => {
    const executor = async (): Promise<never> => {
      throw new Error("must not run");
    };
    const { run, outcome } = await runWith((k) => {
      for (const name of ["bad:first", "bad:second"])
        k.hooks.admitTool.tap({ name, stage: "place" }, (call) => void call.executor(executor));
    });
    expect(outcome.stopReason).toBe("complete");
    expect(run.ledger.of("tool.denied")).toMatchObject([{ name: "echo", code: expect.stringMatching(/^cave_/) }]);
    expect(JSON.stringify(run.transcript.view.messages.map(({ value }) => value))).toContain("cave_executor_duplicate");
  });
  test("nothing can be tapped or provided once the kernel is frozen", () => {
    let late: (() => void) | undefined;
    const plugin = definePlugin({
      name: "late",
      apply: (k) => {
        late = () => k.hooks.reserve.tap("late", () => undefined);
      },
    });
    createKernel({ plugins: [plugin] });
    expect(late).toThrow(/cave_kernel_frozen/);
  });
});
