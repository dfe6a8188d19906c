/**
 * Random runs against an oracle outside the runtime: the models themselves add up what they report. Trees of children
 * three deep, spawned side by side, with faults, further attempts, clamps, tranches and aborts.
 */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  agent,
  createKernel,
  definePlugin,
  type LanguageModel,
  output,
  type Run,
  subagent,
  type Tool,
} from "../../../kernel/index.ts";
import { budget } from "../../../plugins/budget/index.ts";
import { limits } from "../../../plugins/limits/index.ts";
import { pricing } from "../../../plugins/pricing/index.ts";
import { type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";
import { subagents } from "../../../plugins/subagents/index.ts";
import { models } from "../../support/harness.ts";

const WORLDS = 2_000;
/** Asks once more for a failed call: each attempt has its own hold. */
const again = definePlugin({
  name: "again",
  apply: ({ hooks }) =>
    hooks.afterUsage.tap({ name: "again", stage: "decide" }, (settled) => {
      if (settled.error && settled.attempt === 1) settled.again({});
    }),
});
const kernel = createKernel({ plugins: [models, pricing, budget, limits, subagents, again] });

/** $1 and $5 a million tokens are 1e6 and 5e6 units a token. */
const priceOf = (denomination: "usd" | "tokens", input: number, written: number): bigint =>
  denomination === "usd" ? BigInt(input) * 1_000_000n + BigInt(written) * 5_000_000n : BigInt(input + written);

interface World {
  readonly denomination: "usd" | "tokens";
  readonly max: number;
  readonly initial: number;
  readonly honest: boolean;
  readonly declared: boolean;
  readonly releases: boolean;
  readonly abortAt: number | undefined;
  readonly dice: readonly number[];
}
const world = (honest: boolean): fc.Arbitrary<World> =>
  fc.record({
    denomination: fc.constantFrom("usd" as const, "tokens" as const),
    max: fc.integer({ min: 500, max: 60_000 }),
    initial: fc.integer({ min: 20, max: 100 }),
    honest: fc.constant(honest),
    declared: fc.boolean(),
    releases: fc.boolean(),
    abortAt: fc.option(fc.nat(40), { nil: undefined, freq: 4 }),
    dice: fc.array(fc.nat(999), { minLength: 10, maxLength: 60 }),
  });
/** What a level that was not breached has left: one call may have passed what was released, not the maximum. */
const left = ({ released, spent }: { released: string; spent: string }): bigint =>
  BigInt(released) > BigInt(spent) ? BigInt(released) - BigInt(spent) : 0n;
const all = (run: Run): Run[] => [run, ...run.children.flatMap(all)];

async function play({
  denomination,
  max,
  initial,
  honest,
  declared,
  releases,
  abortAt,
  dice,
}: World): Promise<{ run: Run; reported: bigint; calls: number }> {
  let at = 0;
  const roll = (): number => dice[at++ % dice.length] ?? 0;
  let reported = 0n;
  let calls = 0;
  const density = roll() % 101;
  const model = (depth: number): LanguageModel =>
    scripted(
      (request): ScriptStep => {
        calls++;
        const chance = roll();
        if (chance < 60) return { text: "half", error: { when: "cut" } };
        if (chance < 120) return { error: { when: "before", status: 429 } };
        // A message costs the same whenever it is sent: a share of its bytes, and at most 16 tokens of framing.
        const counted = request.prompt.reduce(
          (sum, message) =>
            sum + Math.floor((Buffer.byteLength(JSON.stringify(message)) * density) / 100) + (density % 17),
          0,
        );
        const input = honest ? counted : counted * (1 + (roll() % 5));
        const allowance = request.maxOutputTokens ?? 0;
        const written = honest ? Math.floor((allowance * (roll() % 101)) / 100) : allowance + (roll() % 2_000);
        reported += priceOf(denomination, input, written);
        const usage = { input, output: written };
        const children = depth < 2 && chance < 600 ? 1 + (roll() % 4) : 0;
        if (children === 0) return { text: "done", usage };
        return {
          toolCalls: Array.from({ length: children }, (_, i) => ({
            id: `k${calls}_${i}`,
            name: "kid",
            input: { task: `part ${i}` },
          })),
          usage,
        };
      },
      { as: "anthropic/claude-haiku-4-5" },
    );
  const wallet = declared
    ? denomination === "usd"
      ? { maxCostUsd: Math.ceil(max / 4) / 1e6 }
      : { maxTokens: Math.ceil(max / 4) }
    : {};
  const build = (depth: number): ReturnType<typeof agent> =>
    agent({
      id: `level${depth}`,
      instructions: "Do your part.",
      model: model(depth),
      output: output({ maxTokens: 2_000 }),
      tools: depth < 2 ? [kid(depth + 1)] : [],
    });
  const kid = (depth: number): Tool =>
    subagent({ name: "kid", description: "Does a part.", agent: build(depth), maxCalls: 6, ...wallet });
  const first = Math.max(1, Math.floor((max * initial) / 100));
  const stop = new AbortController();
  let events = 0;
  const { run, done } = kernel.start(
    build(0),
    "go",
    {
      signal: stop.signal,
      maxModelCalls: 6,
      budget:
        denomination === "usd"
          ? { maxUsd: max / 1e6, initialUsd: first / 1e6 }
          : { maxTokens: max, initialTokens: first },
      ...(releases ? { onBudgetExhausted: ({ releasable }) => ({ release: releasable, reason: "all of it" }) } : {}),
    },
    () => {
      if (events++ === abortAt) stop.abort();
    },
  );
  await done;
  return { run, reported, calls };
}

function check({ run, reported }: Awaited<ReturnType<typeof play>>, { honest, denomination }: World): void {
  const [closed, twice] = run.ledger.of("budget.closed");
  expect(twice).toBeUndefined();
  const spent = BigInt(closed?.spent ?? 0);
  const runs = all(run);
  const settled = runs.flatMap((each) => each.ledger.of("call.settled"));
  // Calls that reported are booked as reported; a call that did not is booked at its bound, never at nothing.
  const unreported = settled.filter(({ basis, sent }) => basis === "bound" && sent).length;
  const cutShort = runs.some(({ signal }) => signal.aborted);
  if (!cutShort) expect(unreported > 0 ? spent > reported : spent === reported).toBe(true);
  // Each amount is the same on the record as in the budget, those that nobody reported too.
  const priced = runs
    .flatMap((each) => each.ledger.of("call.priced"))
    .reduce((sum, { picoUsd }) => sum + BigInt(picoUsd), 0n);
  if (denomination === "usd") expect(priced).toBe(spent);
  // What was recorded as reported is what was booked, whatever was aborted.
  const recorded = settled
    .filter(({ basis }) => basis === "simulated")
    .reduce((sum, { usage }) => sum + priceOf(denomination, usage.input, usage.output), 0n);
  expect(unreported > 0 ? spent > recorded : spent === recorded).toBe(true);
  const max = BigInt(closed?.max ?? 0);
  if (honest) expect([spent <= max, closed?.capBreached ?? false]).toEqual([true, false]);
  else if (spent > max) expect(closed).toMatchObject({ capBreached: true, overspent: String(spent - max) });
  for (const each of runs) {
    expect(each.ledger.of("run.settled").map(({ openHolds }) => openHolds)).toEqual([0]);
    const own = each.ledger.of("budget.closed")[0];
    if (own && !own.capBreached) expect([own.remaining]).toEqual([String(left(own))]);
    expect(each.ledger.of("notice").filter(({ code }) => code === "cave_plugin_failed")).toEqual([]);
  }
  // The sum over the tree, each amount once: a parent's spend is its own calls and its children's.
  for (const each of runs) {
    const below = each.children.reduce(
      (sum, child) => sum + BigInt(child.ledger.of("budget.closed")[0]?.spent ?? 0),
      0n,
    );
    const own = each.ledger.of("budget.closed")[0];
    const reportedHere = each.ledger
      .of("call.settled")
      .filter(({ basis }) => basis === "simulated")
      .reduce((sum, { usage }) => sum + priceOf(denomination, usage.input, usage.output), 0n);
    if (own) expect(BigInt(own.spent) >= below + reportedHere).toBe(true);
    if (own && !each.ledger.of("call.settled").some(({ basis, sent }) => basis === "bound" && sent))
      expect(BigInt(own.spent)).toBe(below + reportedHere);
  }
}

test.each([true, false])(
  `${WORLDS} random trees, a model that keeps to its bound: %s`,
  async (honest) => {
    const seen = { calls: 0, children: 0, clamps: 0, released: 0, aborted: 0, breached: 0, stopped: 0 };
    await fc.assert(
      fc.asyncProperty(world(honest), async (made) => {
        const played = await play(made);
        check(played, made);
        const runs = all(played.run);
        seen.calls += played.calls;
        seen.children += runs.length - 1;
        seen.clamps += runs.reduce((sum, { ledger }) => sum + ledger.of("budget.clamped").length, 0);
        seen.released += played.run.ledger.of("budget.released").length;
        seen.aborted += played.run.signal.aborted ? 1 : 0;
        seen.breached += played.run.ledger.of("budget.closed")[0]?.capBreached ? 1 : 0;
        seen.stopped += played.run.outcome?.stopReason === "budget_exhausted" ? 1 : 0;
      }),
      { numRuns: WORLDS },
    );
    console.log(JSON.stringify(seen));
    // The worlds are worth something only when they reach these places.
    for (const [place, count] of Object.entries(seen))
      if (place !== "breached" || !honest) expect([place, count > 50]).toEqual([place, true]);
  },
  180_000,
);
