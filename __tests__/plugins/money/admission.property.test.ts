/** Random attempts under one budget, against holds worked out by hand from the bytes and the rates. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { bytes, type FrozenCall, Message, type ResolvedModel, type Run, Transcript } from "../../../kernel/index.ts";
import { admit } from "../../../plugins/budget/admission.ts";
import { Meter, type Reservation } from "../../../plugins/budget/meter.ts";
import type { Plan } from "../../../plugins/budget/options.ts";
import { State } from "../../../plugins/budget/state.ts";
import { priceList } from "../../../plugins/pricing/price-list.ts";
import { Credentials, Pricing, type Regime } from "../../../plugins/services.ts";
import { rowOf } from "../../catalog/rows.ts";

/** A model, and what its row says: the dearest input and output in units of 1e-12 USD a token, the context in tokens. */
interface Offer {
  readonly model: ResolvedModel;
  readonly regime: Regime;
  readonly input: bigint;
  readonly output: bigint;
  readonly window: number;
}
const offerOf = (id: string, regime: Regime, input: bigint, output: bigint, window: number): Offer => ({
  model: { provider: "acme", id, simulated: false, structuredOutput: false, route: "direct" } as ResolvedModel,
  regime,
  input,
  output,
  window,
});
const OFFERS = [
  offerOf("one", "metered", 1_250_000n, 5_000_000n, 200_000), // a write to the cache is the dearest input
  offerOf("dear", "metered", 20_000_000n, 50_000_000n, 3_000),
  offerOf("flat", "subscription", 1_250_000n, 5_000_000n, 200_000),
  offerOf("odd", "unknown", 1_250_000n, 5_000_000n, 200_000),
];
const PRICES = priceList([
  rowOf(),
  rowOf({
    model: "dear",
    cache: { mode: "unsupported" },
    prices: [{ rates: { input: "20", output: "50" } }],
    limits: { context: 3_000 },
  }),
  rowOf({ model: "flat" }),
  rowOf({ model: "odd" }),
]);
const FUNCTIONS = [{ type: "function" as const, name: "look", inputSchema: { type: "object" as const } }];
const HOSTED = [{ type: "provider" as const, id: "acme.web" as const, name: "web", args: {} }];
const OVERHEAD = 40;
const FLOOR = 256;

const attempt = fc.record({
  text: fc.nat(1_500),
  offer: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(OFFERS.length - 1)),
  /** `late`: a tool that the provider executes, set as a setting beside a tool list that is the same as before. */
  tools: fc.constantFrom("none", "none", "functions", "functions", "hosted", "late"),
  allowance: fc.integer({ min: 100, max: 9_000 }),
  retry: fc.boolean(),
  /** Dollars in millionths that the handler gives; 0 stops. */
  gives: fc.constantFrom(0, 0, 5_000, 60_000),
  end: fc.constantFrom("stays", "half", "full", "back"),
});
const world = fc.record({
  attempts: fc.array(attempt, { minLength: 1, maxLength: 14, size: "max" }),
  denomination: fc.constantFrom("usd" as const, "tokens" as const),
  assumed: fc.boolean(),
  thousands: fc.integer({ min: 1, max: 60 }),
});

test("each attempt holds the most of its own model, clamped to what remains, or nothing: models that change within a call, escalations, tools that come late", async () => {
  const seen = { full: 0, clamped: 0, afterAsking: 0, refused: 0, unbounded: 0, otherModel: 0 };
  await fc.assert(
    fc.asyncProperty(world, async ({ attempts, denomination, assumed, thousands }) => {
      const usd = denomination === "usd";
      const max = BigInt(thousands) * (usd ? 10_000_000_000n : 1_000n);
      const meter = new Meter(max, max / 2n);
      let gives = 0;
      let asked = 0;
      const run = {
        record: () => undefined,
        find: (service: unknown) =>
          service === Pricing
            ? PRICES
            : service === Credentials
              ? { regimeOf: (model: ResolvedModel) => OFFERS.find((offer) => offer.model === model)?.regime }
              : undefined,
      } as unknown as Run;
      const plan: Plan = { denomination, max, initial: max / 2n, floor: FLOOR, onExhausted: "stop", failing: false };
      const state = new State(
        run,
        meter,
        plan,
        { kind: "own" },
        {
          assumeMeteredCredential: assumed,
          onBudgetExhausted: async () => {
            asked++;
            return gives === 0 ? "stop" : { release: usd ? gives / 1e6 : gives, reason: "more" };
          },
        },
      );
      const transcript = new Transcript();
      const open: { held: Reservation; amount: bigint }[] = [];
      const none: object[] = [];
      let [free, more, callId, before] = [max / 2n, max - max / 2n, 0, -1];
      let askedIn = -1;
      for (const { text, offer: at, tools, allowance, retry, gives: given, end } of attempts) {
        const offer = OFFERS[at] as Offer;
        if (!retry) callId++;
        else if (before !== at) seen.otherModel++;
        before = at;
        gives = given;
        transcript.append(new Message({ role: "user", content: [{ type: "text", text: "x".repeat(text) }] }));
        const { view } = transcript;
        const list = tools === "functions" ? FUNCTIONS : tools === "hosted" ? HOSTED : none;
        const sent = tools === "late" ? HOSTED : list.length > 0 ? list : undefined;
        const taken: Reservation[] = [];
        let lowered = allowance;
        const call = {
          run,
          callId: `call_${callId}`,
          attempt: 1,
          purpose: "turn",
          signal: new AbortController().signal,
          view,
          prompt: view.prompt(),
          request: { prompt: view.prompt(), ...(sent ? { tools: sent } : {}) },
          overheadBytes: bytes(OVERHEAD),
          toolsKey: list,
          model: offer.model,
          get allowance() {
            return lowered;
          },
          at: Date.parse("2026-11-30T12:00:00Z"),
          lowerAllowance: (to: number) => {
            lowered = to;
          },
          hold: (held: Reservation) => taken.push(held),
        } as unknown as FrozenCall;
        const askedBefore = asked;
        const refusal = await admit(call, state);

        // By hand: nothing ever settled here that reported its input, so bytes, framing and the vendor's own prompt bound it.
        const written = view.messages.reduce((sum, { value }) => sum + JSON.stringify(value).length, 0);
        const input = BigInt(
          Math.min(offer.window, written + OVERHEAD + 16 * view.length + (list.length > 0 ? 1_024 : 0)),
        );
        const [perInput, perOutput] = usd ? [offer.input, offer.output] : [1n, 1n];
        if (tools === "hosted" || tools === "late") {
          expect(refusal).toMatchObject({ refuse: { code: "cave_budget_tool_unbounded" } });
          expect(taken).toEqual([]);
          seen.unbounded++;
          continue;
        }
        if (usd && (offer.regime === "subscription" || (offer.regime === "unknown" && !assumed))) {
          expect(refusal).toMatchObject({ refuse: { code: "cave_budget_denomination_unavailable" } });
          continue;
        }
        const fits = (): bigint | undefined => {
          const most = (free - input * perInput) / perOutput;
          if (free >= input * perInput + BigInt(allowance) * perOutput) return BigInt(allowance);
          return free >= input * perInput && most >= BigInt(FLOOR) && allowance >= FLOOR ? most : undefined;
        };
        let fitting = fits();
        if (fitting === undefined && more > 0n && askedIn !== callId) {
          askedIn = callId;
          expect(asked).toBe(askedBefore + 1);
          const release = BigInt(given) * (usd ? 1_000_000n : 1n);
          if (given > 0 && release <= more) {
            [free, more] = [free + release, more - release];
            fitting = fits();
            if (fitting !== undefined) seen.afterAsking++;
          }
        } else expect(asked).toBe(askedBefore);
        if (fitting === undefined) {
          expect(refusal).toHaveProperty("refuse");
          expect([taken.length, lowered]).toEqual([0, allowance]);
          seen.refused++;
        } else {
          expect(refusal).toBeUndefined();
          const amount = input * perInput + fitting * perOutput;
          expect([lowered, taken.map((held) => held.amount)]).toEqual([Number(fitting), [amount]]);
          seen[fitting === BigInt(allowance) ? "full" : "clamped"]++;
          free -= amount;
          const [held] = taken;
          if (held) open.push({ held, amount });
        }
        // The oldest ends first or last, as it comes: a place that became free is taken by another.
        const ending = end === "stays" ? undefined : open.splice(allowance % (open.length || 1), 1)[0];
        if (ending) {
          const actual = end === "full" ? ending.amount : end === "half" ? ending.amount / 2n : 0n;
          if (end === "back") ending.held.release();
          else ending.held.settle(actual);
          free += ending.amount - actual;
        }
        expect(meter.remaining).toBe(free);
      }
    }),
    { numRuns: 400 },
  );
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(20);
});
