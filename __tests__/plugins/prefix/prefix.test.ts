import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createCaveman } from "../../../index.ts";
import {
  agent,
  createKernel,
  definePlugin,
  Message,
  type ModelMessage,
  type Plugin,
  type RunOptions,
  schema,
  tool,
  View,
} from "../../../kernel/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { compare, newestUser } from "../../../plugins/prefix/epoch.ts";
import { prefix } from "../../../plugins/prefix/index.ts";
import type { Request } from "../../../plugins/prefix/sent.ts";
import { pricing } from "../../../plugins/pricing/index.ts";
import type { Script } from "../../../plugins/providers/scripted/index.ts";
import { models, seededClock } from "../../support/harness.ts";
import { begins, caching, factsOf } from "./worlds.ts";

const long = "a long instruction that says the same in every call ".repeat(200);
const input = schema.object({ q: schema.optional(schema.string()) });
const named = (name: string) =>
  tool({
    name,
    description: `Does ${name}.`,
    input,
    effect: "read",
    execute: () => `result of ${name} ${"x".repeat(400)}`,
  });
const tools = [named("alpha"), named("beta"), named("gamma")];
const look = { toolCalls: [{ name: "alpha", input: {} }] };
const turns = (count: number): Script => [...Array.from({ length: count - 1 }, () => look), { text: "done" }];

interface World {
  script?: Script;
  plugins?: readonly Plugin[];
  options?: RunOptions;
  instructions?: string;
  as?: string;
  caches?: ReturnType<typeof caching>;
}
async function go({
  script = turns(4),
  plugins = [],
  options = {},
  instructions = long,
  as,
  caches = caching(script, as),
}: World = {}) {
  const kernel = createKernel({ plugins: [models, pricing(), ...plugins, prefix()], clock: seededClock() });
  const { run, done } = kernel.start(agent({ id: "a", instructions, model: caches.model, tools }), "go", options);
  const outcome = await done;
  expect(outcome.error?.message).toBeUndefined();
  return { run, outcome, seen: caches.seen, notices: run.ledger.of("notice"), ...factsOf(run) };
}
const each = (
  name: string,
  shape: (
    call: Parameters<
      Parameters<Parameters<Parameters<typeof definePlugin>[0]["apply"]>[0]["hooks"]["beforeCall"]["tap"]>[1]
    >[0],
    n: number,
  ) => void,
): Plugin => {
  let n = 0;
  return definePlugin({
    name,
    apply: ({ hooks }) => hooks.beforeCall.tap({ name, stage: "shape" }, (call) => shape(call, n++)),
  })();
};
const said = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });

describe("a run that nobody disturbs", () => {
  test("is one epoch: every call begins with the one before, and the provider reads it", async () => {
    const { calls, broken, restored, totals, seen } = await go({ script: turns(6) });
    expect(calls.map(({ epoch, kept }) => [epoch, kept])).toEqual(Array.from({ length: 6 }, () => [1, true]));
    expect([broken, restored]).toEqual([[], []]);
    for (const [i, now] of seen.entries()) if (i > 0) expect(begins(now.parts, seen[i - 1]?.parts ?? [])).toBe(true);
    // What could be read is what the request before had as input, and all of it was.
    expect(calls.slice(1).map(({ cacheRead, readable }) => cacheRead === readable)).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
    expect(totals).toMatchObject([
      { calls: 6, kept: 6, breaks: 0, restored: 0, lostTokens: 0, lostPicoUsd: "0", basis: "inferred" },
    ]);
  });

  test("gives the provider the transcript's messages, and leaves every one the object it was", async () => {
    const frozen: ModelMessage[][] = [];
    const watch = definePlugin({
      name: "watch",
      apply: ({ hooks }) =>
        hooks.reserve.tap({ name: "watch", stage: "intent" }, ({ view }) => void frozen.push(view.prompt())),
    })();
    const { run } = await go({ plugins: [watch] });
    const values = run.transcript.history.map(({ value }) => value);
    for (const prompt of frozen) for (const [i, message] of prompt.entries()) expect(message).toBe(values[i]);
    expect(JSON.stringify(values)).not.toContain("cacheControl");
  });
});

describe("drift that means nothing is undone", () => {
  test("tools in another order, or listed anew", async () => {
    const shuffle = each("shuffle", (call, n) =>
      call.setTools(n % 2 ? [...call.tools].reverse() : call.tools.map((tool) => ({ ...tool }))),
    );
    const { seen, restored, broken, notices } = await go({ plugins: [shuffle] });
    for (const [i, now] of seen.entries()) if (i > 0) expect(begins(now.parts, seen[i - 1]?.parts ?? [])).toBe(true);
    expect(restored.map(({ what }) => what)).toEqual(["tools", "tools"]);
    expect(broken).toEqual([]);
    expect(notices.map(({ code }) => code)).toEqual(["cave_cache_prefix_drift"]);
  });

  test("context that was added before the user's message and is left out of the next call", async () => {
    const once = each("once", (call, n) => void (n === 0 && call.addContext(said("recalled: the user likes tea"))));
    const { seen, restored, broken, totals } = await go({ plugins: [once] });
    for (const [i, now] of seen.entries()) if (i > 0) expect(begins(now.parts, seen[i - 1]?.parts ?? [])).toBe(true);
    expect(restored).toHaveLength(3);
    expect(broken).toEqual([]);
    expect(totals).toMatchObject([{ kept: 4, restored: 3 }]);
  });
});

describe("drift that somebody decided begins an epoch, and says why and what it cost", () => {
  test("a tool taken away", async () => {
    const narrow = each("narrow", (call, n) => void (n >= 2 && call.setTools(call.tools.slice(0, 2))));
    const { calls, broken, notices, totals } = await go({ script: turns(5), plugins: [narrow] });
    expect(calls.map(({ epoch }) => epoch)).toEqual([1, 1, 2, 2, 2]);
    expect(calls.map(({ kept }) => kept)).toEqual([true, true, false, true, true]);
    expect(broken).toMatchObject([{ cause: "tools", epoch: 2, basis: "inferred" }]);
    const [lost] = broken;
    // Everything the provider had was paid for again, but for the tool that is gone and what the turn added.
    expect(lost?.lostTokens).toBeGreaterThan((calls[1]?.input ?? 0) * 0.9);
    expect(lost?.lostTokens).toBeLessThanOrEqual(calls[1]?.input ?? 0);
    // claude-sonnet-4-5 writes its cache at 3.75 and reads it at 0.30 dollars a million tokens: 3,450,000 pico-dollars a token.
    expect(BigInt(lost?.lostPicoUsd ?? 0)).toBe(BigInt(lost?.lostTokens ?? 0) * 3_450_000n);
    expect(notices.map(({ message }) => message)).toEqual([
      expect.stringContaining("changed (tools): cache epoch 2 begins"),
    ]);
    expect(totals).toMatchObject([{ breaks: 1, lostTokens: lost?.lostTokens, lostPicoUsd: lost?.lostPicoUsd }]);
  });

  test("other context in every call", async () => {
    const volatile = each("volatile", (call, n) => call.addContext(said(`the time is ${n}`)));
    const { calls, broken } = await go({ plugins: [volatile] });
    expect(calls.map(({ epoch }) => epoch)).toEqual([1, 2, 3, 4]);
    expect(broken.map(({ cause }) => cause)).toEqual(["context", "context", "context"]);
  });

  test("a view that the compact hook rewrote; a rewrite to the same bytes is none", async () => {
    let n = 0;
    const cut = definePlugin({
      name: "cut",
      apply: ({ hooks }) =>
        hooks.compact.tap("cut", ({ view }) => {
          const copies = view.messages.map(({ value }) => new Message(structuredClone(value)));
          // The last pair goes: what stands before is the same bytes in other objects.
          if (n++ === 3) return view.rewrite(copies.slice(0, -2), { by: "cut", dropped: 2 });
          if (n === 6) return view.rewrite([copies[0] as Message, ...copies.slice(3)], { by: "cut", dropped: 2 });
          return undefined;
        }),
    })();
    const { calls, broken, seen } = await go({ script: turns(8), plugins: [cut] });
    expect(broken.map(({ cause }) => cause)).toEqual(["compaction"]);
    for (const [i, { kept }] of calls.entries())
      if (i > 0) expect(kept).toBe(begins(seen[i]?.parts ?? [], seen[i - 1]?.parts ?? []));
    expect(broken[0]?.lostTokens).toBeGreaterThan(0);
  });

  test("another model, and none when the first comes back", async () => {
    const other = caching(() => look, "anthropic/claude-haiku-4-5");
    const cheap = {
      provider: "anthropic",
      id: "claude-haiku-4-5",
      model: other.model,
      simulated: true,
      structuredOutput: true,
      route: "direct",
    };
    const route = each("route", (call, n) => void (n === 2 && call.setModel(cheap)));
    const { calls, broken } = await go({ script: turns(5), plugins: [route] });
    expect(calls.map(({ epoch }) => epoch)).toEqual([1, 1, 2, 1, 1, 1]);
    expect(broken.map(({ cause }) => cause)).toEqual(["model"]);
    expect(calls[3]).toMatchObject({ kept: true, readable: calls[1]?.input });
  });
});

describe("a miss that the request does not explain", () => {
  const usage = (input: number, cacheRead: number) => ({
    usage: { input, output: 1, cacheRead, cacheWrite: input - cacheRead },
  });
  const scripts = (reads: readonly [number, number][]): Script =>
    reads.map(([size, read], i) => ({ ...usage(size, read), ...(i < reads.length - 1 ? look : { text: "done" }) }));

  test.each([
    ["expired", 301_000, "anthropic/claude-sonnet-4-5"],
    ["unexplained", 1_000, "anthropic/claude-sonnet-4-5"],
  ])("is %s after %d ms", async (cause, waitMs, as) => {
    const wait = definePlugin({
      name: "wait",
      apply: ({ hooks, clock }) =>
        hooks.admitTool.tap("wait", async (call) => void (await clock.sleep(waitMs, call.signal))),
    })();
    const { broken, calls } = await go({
      script: scripts([
        [5_000, 0],
        [5_200, 0],
        [5_400, 5_200],
      ]),
      plugins: [wait],
      as,
    });
    expect(broken).toMatchObject([{ cause, epoch: 1 }]);
    expect(calls.every(({ kept }) => kept)).toBe(true);
    expect(broken[0]?.lostTokens).toBeGreaterThan(4_000);
    expect(broken[0]?.lostTokens).toBeLessThanOrEqual(5_000);
  });

  test("is of the settings when they changed", async () => {
    const choose = each(
      "choose",
      (call, n) => void (n === 1 && call.setSettings({ toolChoice: { type: "required" } })),
    );
    const { broken } = await go({
      script: scripts([
        [5_000, 0],
        [5_200, 0],
        [5_400, 5_200],
      ]),
      plugins: [choose],
    });
    expect(broken).toMatchObject([{ cause: "settings" }]);
  });

  test("is none below the least a model caches, before it ever cached, or where the price list is silent about money", async () => {
    expect(
      (
        await go({
          script: scripts([
            [900, 0],
            [950, 0],
            [980, 0],
          ]),
        })
      ).broken,
    ).toEqual([]);
    const silent = [
      { usage: { input: 5_000, output: 1 }, ...look },
      { usage: { input: 5_200, output: 1 }, ...look },
      { text: "done", usage: { input: 5_300, output: 1 } },
    ];
    expect((await go({ script: silent })).broken).toEqual([]);
    const unknown = await go({
      script: scripts([
        [5_000, 0],
        [5_200, 0],
      ]),
      as: "nobody/knows-this",
    });
    expect(unknown.broken).toMatchObject([{ cause: "unexplained" }]);
    expect(unknown.broken[0]).not.toHaveProperty("lostPicoUsd");
    expect(unknown.totals[0]).not.toHaveProperty("lostPicoUsd");
  });
});

describe("a conversation", () => {
  test("is one epoch over its runs, also when it was saved and restored in between", async () => {
    const caches = caching((_, index) => (index % 2 ? { text: "done" } : look));
    const conversation = createConversation();
    const first = await go({ caches, options: { conversation } });
    const second = await go({ caches, options: { conversation } });
    const third = await go({
      caches,
      options: { conversation: createConversation(JSON.parse(JSON.stringify(conversation))) },
    });
    for (const { calls, broken } of [first, second, third]) {
      expect(broken).toEqual([]);
      expect(calls.map(({ epoch }) => epoch)).toEqual([1, 1]);
    }
    expect(third.calls[0]).toMatchObject({
      kept: true,
      readable: second.calls[1]?.input,
      cacheRead: second.calls[1]?.input,
    });
  });

  test("says it when instructions or history are not those that were cached", async () => {
    const caches = caching((_, index) => (index % 2 ? { text: "done" } : look));
    const conversation = createConversation();
    await go({ caches, options: { conversation } });
    const other = await go({ caches, options: { conversation }, instructions: `Now it is later. ${long}` });
    expect(other.broken).toMatchObject([{ cause: "system", epoch: 2 }]);
    const saved = JSON.parse(JSON.stringify(conversation));
    saved.messages[0].value.content[0].text = "another question";
    const edited = await go({
      caches,
      options: { conversation: createConversation(saved) },
      instructions: `Now it is later. ${long}`,
    });
    expect(edited.broken).toMatchObject([{ cause: "history", epoch: 3 }]);
  });

  test("that failed leaves the epoch as it was", async () => {
    const caches = caching((_, index) =>
      index === 2 ? { error: { status: 500 } } : index % 2 ? { text: "done" } : look,
    );
    const conversation = createConversation();
    const first = await go({ caches, options: { conversation } });
    const kernel = createKernel({ plugins: [models, pricing(), prefix()] });
    const failed = await kernel.start(agent({ id: "a", instructions: long, model: caches.model, tools }), "go", {
      conversation,
    }).done;
    expect(failed.error?.code).toBe("cave_provider_failed");
    const again = await go({ caches, options: { conversation } });
    expect(again.calls[0]).toMatchObject({ kept: true, readable: first.calls[1]?.input });
  });
});

describe("invariant: within one epoch a request begins, byte for byte, with the request before it", () => {
  const event = fc.constantFrom(
    "append",
    "append",
    "append",
    "shuffle",
    "narrow",
    "context",
    "same context",
    "compact",
    "copy",
    "summary",
    "refuse",
    "fail",
  );
  test("whatever taps do to the calls", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 2, maxLength: 14 }), async (events) => {
        let n = 0;
        const chaos = definePlugin({
          name: "chaos",
          apply({ hooks }) {
            hooks.compact.tap("chaos:compact", ({ view }) => {
              const what = events[n];
              const { messages } = view;
              if (what === "compact" && messages.length > 4)
                return view.rewrite([messages[0] as Message, ...messages.slice(3)], { by: "chaos", dropped: 2 });
              if (what === "copy" && messages.length > 2)
                return view.rewrite(
                  messages.slice(0, -2).map(({ value }) => new Message(structuredClone(value))),
                  { by: "chaos", dropped: 2 },
                );
              return undefined;
            });
            hooks.beforeCall.tap({ name: "chaos:shape", stage: "shape" }, async (call) => {
              const what = call.purpose === "summary" ? undefined : events[n];
              if (what === "shuffle") call.setTools([...call.tools].reverse());
              if (what === "narrow") call.setTools(call.tools.slice(0, 2));
              if (what === "context") call.addContext(said(`new ${n}`));
              if (what === "same context") call.addContext(said("always"));
              if (what === "summary")
                await call.run.call({ purpose: "summary", view: View.of(call.view.messages), tools: [] });
            });
            hooks.reserve.tap({ name: "chaos:refuse", stage: "intent" }, ({ purpose }) => {
              if (purpose === "summary") return undefined;
              return events[n++] === "refuse"
                ? { refuse: { code: "cave_test", message: "no", compact: true } }
                : undefined;
            });
            hooks.afterUsage.tap({ name: "chaos:again", stage: "decide" }, (settled) => settled.again({}));
          },
        })();
        let failed = false;
        const caches = caching(() => {
          if (events[n - 1] === "fail" && (failed = !failed)) return { error: { status: 529 } };
          return n < events.length ? look : { text: "done" };
        });
        const kernel = createKernel({ plugins: [models, pricing(), chaos, prefix()], clock: seededClock() });
        const { run, done } = kernel.start(agent({ id: "a", instructions: "i", model: caches.model, tools }), "go");
        await done;
        const sent = run.ledger.of("call.settled");
        const byCall = new Map(run.ledger.of("prefix.call").map((fact) => [`${fact.callId} ${fact.attempt}`, fact]));
        let before: { epoch: number; parts: readonly string[] } | undefined;
        for (const [i, { callId, attempt }] of sent.entries()) {
          const fact = byCall.get(`${callId} ${attempt}`);
          const parts = caches.seen[i]?.parts;
          if (!fact || !parts) continue;
          if (before)
            expect({ kept: fact.kept, same: fact.epoch === before.epoch }).toEqual({
              kept: begins(parts, before.parts),
              same: fact.kept,
            });
          before = { epoch: fact.epoch, parts };
        }
      }),
      { numRuns: 150 },
    );
  });
});

test("under the standard preset and a budget a run spends what it spends without the plugin", async () => {
  const spent = async (plugins: Plugin[]) => {
    const { model } = caching(turns(6));
    const runtime = createCaveman({ preset: "standard", plugins, clock: seededClock() });
    const result = await runtime.run(agent({ id: "a", instructions: long, model, tools, sandbox: "host" }), "go", {
      budget: { maxUsd: 1 },
    });
    return [result.costUsd, result.cacheReadTokens, result.receipt.capBreached ?? false];
  };
  expect(await spent([prefix()])).toEqual(await spent([]));
});

test("comparing costs what is new: ten thousand messages of history cost no more than ten", () => {
  const request = (view: View): Request => ({
    view,
    system: ["s"],
    tools: [],
    additions: [],
    userAt: 0,
    length: view.length + 1,
  });
  let reads = 0;
  class Counted extends Message {
    override get digest(): string {
      reads++;
      return super.digest;
    }
  }
  const messages = Array.from({ length: 10_000 }, () => new Counted(said("m")));
  const all = View.of(messages);
  const before = new View(messages, 9_998, all.epoch, [0]);
  expect(compare(request(before), request(all), "compaction")).not.toHaveProperty("cause");
  expect(reads).toBe(0);
  let looked = 0;
  const watched = {
    length: 10_000,
    at(index: number) {
      looked++;
      return all.at(index);
    },
  };
  newestUser(watched as View, 9_998, 0);
  expect(looked).toBe(1);
});
