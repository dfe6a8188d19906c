import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  agent,
  type Clock,
  createKernel,
  definePlugin,
  type LanguageModel,
  type ModelStreamPart,
  output,
  type RunOptions,
} from "../../../kernel/index.ts";
import { budget } from "../../../plugins/budget/index.ts";
import { pricing } from "../../../plugins/pricing/index.ts";
import { providers } from "../../../plugins/providers/index.ts";
import { type ScriptFault, type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";
import { backoffMs, MAX_WAIT_MS } from "../../../plugins/retry/backoff.ts";
import { retry } from "../../../plugins/retry/index.ts";
import { Models } from "../../../plugins/services.ts";
import { models, resolved, seededClock } from "../../support/harness.ts";

function listening(seed = 1): { clock: Clock; sleeps: number[] } {
  const clock = seededClock(seed);
  const sleeps: number[] = [];
  const sleep: Clock["sleep"] = (ms, signal) => {
    sleeps.push(ms);
    return clock.sleep(ms, signal);
  };
  return { sleeps, clock: { ...clock, sleep } };
}
const failing = (times: number, error: ScriptFault, then: ScriptStep = { text: "fine" }) =>
  scripted((_request, index) =>
    index < times ? { ...(error.when ? { text: "half of it" } : {}), chunks: 4, error } : then,
  );
const OVERLOADED: ScriptFault = { status: 529 };

async function go(model: LanguageModel, options: RunOptions = {}, seed = 1) {
  const { clock, sleeps } = listening(seed);
  const kernel = createKernel({ plugins: [providers(), pricing(), budget(), retry()], clock });
  const { run, done } = kernel.start(
    agent({ id: "a", instructions: "i", model, output: output({ maxTokens: 100 }) }),
    "go",
    options,
  );
  const outcome = await done;
  return {
    run,
    outcome,
    sleeps,
    trips: run.ledger.of("breaker.tripped"),
    calls: run.ledger.of("call.settled"),
    notices: run.ledger.of("notice").map((fact) => fact.code),
  };
}
/** Streams these parts, then ends. */
const streaming = (first: ModelStreamPart[], then: LanguageModel): LanguageModel => {
  let calls = 0;
  return {
    ...then,
    doStream: async (options) =>
      calls++ === 0
        ? {
            stream: new ReadableStream<ModelStreamPart>({
              start: (c) => {
                for (const part of first) c.enqueue(part);
                c.close();
              },
            }),
          }
        : then.doStream(options),
  };
};

describe("a failure that was not billed is repeated", () => {
  test("thrown", async () => {
    const { outcome, trips, calls, sleeps } = await go(failing(2, OVERLOADED));
    expect(outcome).toMatchObject({ stopReason: "complete", text: "fine" });
    expect(calls.map(({ attempt, sent }) => [attempt, sent])).toEqual([
      [1, false],
      [2, false],
      [3, true],
    ]);
    expect(trips.map(({ kind, count }) => [kind, count])).toEqual([
      ["retry_attempted", 1],
      ["retry_attempted", 2],
    ]);
    expect(trips[0]).toMatchObject({ measuredSpend: "0", spendBasis: "pre_stream_no_usage" });
    expect(sleeps).toHaveLength(2);
  });
  test("in the stream, before any output", async () => {
    const { outcome, calls } = await go(
      streaming(
        [
          { type: "stream-start", warnings: [] },
          { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
        ],
        failing(0, OVERLOADED),
      ),
    );
    expect(outcome.text).toBe("fine");
    expect(calls[0]).toMatchObject({ sent: false, usage: { input: 0, output: 0 } });
  });
  test("waits as long as the provider asks", async () => {
    expect((await go(failing(1, { status: 429, retryAfterMs: 1_234 }))).sleeps).toEqual([1_234]);
  });
  test("does not wait for a provider that asks for more than half a minute", async () => {
    const { outcome, sleeps, trips } = await go(failing(1, { status: 429, retryAfterMs: 31_000 }));
    expect(outcome.stopReason).toBe("error");
    expect(sleeps).toEqual([]);
    expect(trips.map(({ kind }) => kind)).toEqual(["retry_exhausted"]);
  });
  test("six attempts, then the failure stands", async () => {
    const { outcome, calls, trips } = await go(failing(99, OVERLOADED));
    expect(outcome.error?.code).toBe("cave_provider_failed");
    expect(calls).toHaveLength(6);
    expect(trips.at(-1)).toMatchObject({ kind: "retry_exhausted", count: 6 });
  });
  test("the same seed waits the same, another one differently, never past the bounds", async () => {
    const waits = async (seed: number): Promise<number[]> => (await go(failing(5, OVERLOADED), {}, seed)).sleeps;
    expect(await waits(3)).toEqual(await waits(3));
    expect(await waits(3)).not.toEqual(await waits(4));
    for (const [at, ms] of (await waits(5)).entries()) {
      expect(ms).toBeGreaterThanOrEqual(125 * 2 ** at); // half of 250 doubled each time is fixed
      expect(ms).toBeLessThanOrEqual(250 * 2 ** at);
    }
  });
  test.each([
    [false as const, 1],
    [{ maxAttempts: 1 }, 1],
    [{ maxAttempts: 3 }, 3],
  ])("retry: %j", async (options, attempts) => {
    expect((await go(failing(99, OVERLOADED), { retry: options })).calls).toHaveLength(attempts);
  });
  test.each([[400], [401], [402]])("a %d is not", async (status) => {
    const { calls, trips } = await go(failing(1, { status }));
    expect(calls).toHaveLength(1);
    expect(trips).toEqual([]);
  });
  test("too large: once more with a smaller view", async () => {
    const { calls } = await go(failing(99, { status: 413 }));
    expect(calls).toHaveLength(2);
  });
});

describe("what may have been billed", () => {
  const billed: [string, LanguageModel][] = [
    ["a server error", failing(1, { status: 500 })],
    ["an overload in mid-answer", failing(1, { status: 529, when: "mid-stream" })],
    ["a lost connection", failing(1, { when: "cut" })],
    ["an answer without an end", streaming([{ type: "stream-start", warnings: [] }], failing(0, OVERLOADED))],
    [
      "an overload inside a tool call",
      streaming(
        [
          { type: "tool-input-start", id: "1", toolName: "t" },
          { type: "tool-input-delta", id: "1", delta: "{" },
          { type: "error", error: { type: "error", statusCode: 529 } },
        ],
        failing(0, OVERLOADED),
      ),
    ],
  ];
  test.each(billed)("%s is booked and not repeated", async (_name, model) => {
    const { outcome, calls, notices, trips } = await go(model);
    expect(outcome.stopReason).toBe("error");
    expect(calls).toHaveLength(1);
    expect(calls[0]).toMatchObject({ sent: true });
    expect(notices).toContain("cave_retry_billed");
    expect(trips).toEqual([]);
  });
  test("is repeated when asked for, each attempt booked", async () => {
    const { outcome, calls, run } = await go(failing(1, { status: 500 }), {
      retry: { repeatBilled: true },
      budget: { maxTokens: 10_000 },
    });
    expect(outcome.text).toBe("fine");
    expect(calls.map(({ sent }) => sent)).toEqual([true, true]);
    const sum = calls.reduce((total, { usage }) => total + usage.input + usage.output, 0);
    expect(Number(run.ledger.of("budget.closed")[0]?.spent)).toBeGreaterThanOrEqual(sum);
  });
});

describe("money", () => {
  test("bounds the repetitions of a run that has a budget", async () => {
    const first = await go(failing(1, OVERLOADED), { budget: { maxTokens: 10_000 } });
    const held = Number(first.trips[0]?.reservedSpend);
    expect(held).toBeGreaterThan(100);
    for (const n of [0, 1, 3, 9]) {
      const { calls, run, trips } = await go(failing(99, OVERLOADED), {
        budget: { maxTokens: 10_000 },
        retry: { maxSpend: held * n + 1, backoffMs: 1 },
      });
      expect(calls).toHaveLength(1 + n);
      expect(trips.at(-1)?.kind).toBe("retry_exhausted");
      expect(run.ledger.of("budget.closed")[0]).toMatchObject({ spent: "0" });
    }
  });
  test.each<RunOptions>([
    { budget: { maxTokens: 10_000 }, retry: { maxSpend: 0.5 } },
    { budget: { maxUsd: 1 }, retry: { maxSpend: 1e-13 } },
  ])("an amount that the budget's unit cannot hold is refused before the first call: %j", async (options) => {
    const { outcome, calls } = await go(failing(0, OVERLOADED), options);
    expect(outcome.error).toMatchObject({ code: "cave_option_invalid", detail: { place: "retry.maxSpend" } });
    expect(calls).toEqual([]);
  });
});

describe("fallback models", () => {
  async function fallBack(error: ScriptFault, fallbacks: Record<string, LanguageModel>, options: object = {}) {
    const { clock, sleeps } = listening();
    const shelf = definePlugin({
      name: "shelf",
      apply: (kernel) =>
        kernel.provide(Models, () => ({
          resolved: undefined,
          prepare: () => Promise.reject(new Error("none")),
          resolve: async (spec) => {
            const model = fallbacks[String(spec)];
            if (!model) throw new Error("unknown");
            return resolved(model);
          },
        })),
    });
    const kernel = createKernel({ plugins: [models, shelf, pricing(), retry()], clock });
    const { run, done } = kernel.start(
      agent({ id: "a", instructions: "i", model: scripted(() => ({ error }), { as: "x/one" }) }),
      "go",
      { retry: { fallbackModels: ["x/two", "x/three"], ...options } },
    );
    return { outcome: await done, sleeps, run, calls: run.ledger.of("call.settled").map(({ model }) => model) };
  }
  test("one more try, then the next, each recorded as itself", async () => {
    const { outcome, calls, run } = await fallBack(
      { status: 529 },
      {
        "x/two": scripted(() => ({ error: { status: 503 } }), { as: "x/two" }),
        "x/three": scripted([{ text: "three" }], { as: "x/three" }),
      },
    );
    expect(outcome.text).toBe("three");
    expect(calls).toEqual(["one", "one", "two", "two", "three"]);
    expect(run.ledger.of("call.intended").map(({ model }) => model)).toEqual(calls);
  });
  test("at once when it will not pass, and past a model that cannot be called", async () => {
    const { calls, run, sleeps } = await fallBack(
      { status: 404 },
      { "x/three": scripted([{ text: "three" }], { as: "x/three" }) },
    );
    expect(calls).toEqual(["one", "three"]);
    expect(sleeps).toEqual([]);
    expect(run.ledger.of("notice").map(({ code }) => code)).toContain("cave_retry_fallback_unavailable");
  });
  test("not for a request that is wrong in itself, and not after what may have been billed", async () => {
    const two = { "x/two": scripted([{ text: "two" }], { as: "x/two" }) };
    expect((await fallBack({ status: 400 }, two)).calls).toEqual(["one"]);
    expect((await fallBack({ status: 500 }, two)).calls).toEqual(["one"]);
  });
});

test("a wait lies between half and all of the doubled base, and under the cap", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 30_000 }),
      fc.integer({ min: 1, max: 5_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (base, n, chance) => {
        const full = Math.min(MAX_WAIT_MS, base * 2 ** Math.min(n - 1, 52));
        const ms = backoffMs(base, n, chance);
        expect(ms).toBeGreaterThanOrEqual(Math.floor(full / 2));
        expect(ms).toBeLessThanOrEqual(full);
      },
    ),
    { numRuns: 2_000 },
  );
});

test("whatever fails and however often, attempts are bounded, nothing stays held, and nothing billed is repeated", async () => {
  const fault = fc.record({
    status: fc.constantFrom(400, 401, 408, 413, 429, 500, 503, 529),
    when: fc.constantFrom<ScriptFault["when"][]>("before", "mid-stream", "cut"),
  }) as fc.Arbitrary<ScriptFault>;
  await fc.assert(
    fc.asyncProperty(fc.array(fault, { maxLength: 8 }), fc.integer({ min: 1, max: 8 }), async (faults, maxAttempts) => {
      const model = scripted((_request, index) => {
        const error = faults[index];
        return error ? { text: "half of it", chunks: 4, error } : { text: "fine" };
      });
      const { run, calls } = await go(model, { retry: { maxAttempts }, budget: { maxTokens: 100_000 } });
      expect(calls.length).toBeLessThanOrEqual(maxAttempts);
      expect(calls.slice(0, -1).every(({ sent }) => !sent)).toBe(true);
      expect(run.ledger.of("run.settled")[0]?.openHolds).toBe(0);
    }),
    { numRuns: 300 },
  );
}, 30_000);
