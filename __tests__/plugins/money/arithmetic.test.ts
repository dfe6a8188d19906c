/** The table of money cases, each through the code that runs. */
import { describe, expect, test } from "@jest/globals";
import { ceiling, fromDollars, isPriced, priceUsage, type Row } from "../../../catalog/index.ts";
import { largestFit } from "../../../plugins/budget/admission.ts";
import { byteBound } from "../../../plugins/budget/anchored-ceiling.ts";
import { Meter } from "../../../plugins/budget/meter.ts";
import { planOf } from "../../../plugins/budget/options.ts";
import { walletSize } from "../../../plugins/budget/wallets.ts";

const usd = (dollars: string): bigint => fromDollars(dollars);
/** 1 / 5 / 0.1 / 1.25 dollars a million: input, output, cache read, cache write. */
const row: Row = {
  provider: "test",
  model: "haiku",
  region: "global",
  currency: "USD",
  prices: [{ rates: { input: "1", output: "5", cacheRead: "0.1", cacheWrite: "1.25" } }],
  limits: { context: 200_000, output: 64_000 },
  cache: { mode: "explicit" },
  capabilities: { reasoning: "supported", tools: "supported", structuredOutput: "supported", vision: "supported" },
  lifecycle: "active",
  aliases: [],
  dated: false,
  unmetered: [],
  sources: [],
  verified_at: "2026-01-01",
  provenance: { source: "user", entry: "test" },
};
const AT = new Date("2026-06-01T00:00:00Z");
const tokensBound = (input: number) => (allowance: number) => BigInt(input + allowance);

describe("bounds and clamps", () => {
  test("1,000 bytes in 4 messages are at most 1,064 tokens", () => {
    expect(byteBound(1_000, 4)).toBe(1_064);
  });
  test("max 5,000 tokens, input 1,000, allowance 8,000: clamp 4,000", () => {
    expect(largestFit(tokensBound(1_000), 256, 8_000, 5_000n)?.allowance).toBe(4_000);
  });
  test("max 1,256 with input 1,000: clamp 256; max 1,255: nothing fits", () => {
    expect(largestFit(tokensBound(1_000), 256, 8_000, 1_256n)?.allowance).toBe(256);
    expect(largestFit(tokensBound(1_000), 256, 8_000, 1_255n)).toBeUndefined();
  });
  test("$0.01 at $1 in, $5 out, worst input 1.25, input 2,000, allowance 8,000: clamp 1,500, remaining 0", () => {
    const meter = new Meter(usd("0.01"));
    const fit = largestFit(
      (allowance) => {
        const bound = ceiling(row, 2_000, allowance, AT);
        return isPriced(bound) ? bound.cost : { unpriced: bound.unpriced };
      },
      256,
      8_000,
      meter.remaining,
    );
    expect(fit?.allowance).toBe(1_500);
    meter.reserve(fit?.amount ?? 0n);
    expect(meter.remaining).toBe(0n);
  });
  test("an allowance below the floor is never clamped", () => {
    expect(largestFit(tokensBound(1_000), 256, 200, 1_100n)).toBeUndefined();
  });
  test("1,000 in, 100 out of which 40 reasoning, 2,000 read, 500 written, input net of cache: $0.002325", () => {
    const price = priceUsage(row, { input: 3_500, output: 100, reasoning: 40, cacheRead: 2_000, cacheWrite: 500 }, AT);
    expect(isPriced(price) && price.cost).toBe(usd("0.002325"));
  });
});

describe("wallets", () => {
  test("parent 1, carve .4 three times: the third is refused; the first child spends .05 and all come home: .95 remains", () => {
    const parent = new Meter(usd("1"));
    const first = parent.carve(usd("0.4"));
    const second = parent.carve(usd("0.4"));
    expect(parent.carve(usd("0.4"))).toBeUndefined();
    first?.meter.reserve(usd("0.1"))?.settle(usd("0.05"));
    first?.close();
    expect(parent.settled).toBe(usd("0.05"));
    second?.close();
    expect([parent.settled, parent.remaining, parent.reserved]).toEqual([usd("0.05"), usd("0.95"), 0n]);
  });
  test("parent max 2, carve 1, the child settles 5: child overspent 4, parent settled 5, overspent 3, both flags", () => {
    const parent = new Meter(2n);
    const wallet = parent.carve(1n);
    wallet?.meter.reserve(1n)?.settle(5n);
    expect([wallet?.meter.overspent, wallet?.meter.capBreached, parent.capBreached]).toEqual([4n, true, true]);
    wallet?.close();
    expect([parent.settled, parent.overspent, parent.capBreached]).toEqual([5n, 3n, true]);
  });
  test("the flag rises, the amount does not: a parent with room keeps a negative overspent", () => {
    const parent = new Meter(10n);
    const wallet = parent.carve(1n);
    wallet?.meter.reserve(1n)?.settle(5n);
    wallet?.close();
    expect([parent.capBreached, parent.overspent, parent.settled]).toEqual([true, -5n, 5n]);
    expect([parent.reserve(1n), parent.carve(1n)]).toEqual([undefined, undefined]);
    expect(() => parent.release(1n, "more")).toThrow(expect.objectContaining({ code: "cave_budget_cap_breached" }));
  });
  test("a child that declares nothing takes half of what remains, at most a dollar", () => {
    expect(walletSize("usd", usd("0.5"), {})).toBe(usd("0.25"));
    expect(walletSize("usd", usd("10"), {})).toBe(usd("1"));
    expect(walletSize("tokens", 10_001n, {})).toBe(5_000n);
    expect(walletSize("usd", usd("10"), { maxCostUsd: 3 })).toBe(usd("3"));
  });
  test("revoking a parent revokes every wallet under it", () => {
    const root = new Meter(100n);
    const child = root.carve(50n);
    const grandchild = child?.meter.carve(20n);
    root.revoke();
    expect([child?.meter.closed, grandchild?.meter.closed, grandchild?.meter.reserve(1n)]).toEqual([
      "revoked",
      "revoked",
      undefined,
    ]);
  });
});

describe("a meter", () => {
  test("closes a reservation once", () => {
    const held = new Meter(10n).reserve(5n);
    held?.settle(1n);
    expect(() => held?.settle(1n)).toThrow(expect.objectContaining({ code: "cave_budget_reservation_double_settle" }));
    expect(() => held?.release()).toThrow(expect.objectContaining({ code: "cave_budget_reservation_double_settle" }));
  });
  test("books what it really cost, and nothing for a negative amount", () => {
    const meter = new Meter(10n);
    meter.reserve(5n)?.settle(7n);
    meter.reserve(2n)?.settle(-3n);
    expect([meter.settled, meter.capBreached, meter.overspent]).toEqual([7n, false, 0n]);
  });
  test("gives what is released and no more, in tranches with a reason", () => {
    const meter = new Meter(10n, 4n);
    expect(meter.reserve(5n)).toBeUndefined();
    const code = (work: () => unknown): unknown => {
      try {
        return work();
      } catch (error) {
        return (error as { code?: string }).code;
      }
    };
    expect(code(() => meter.release(7n, "more"))).toBe("cave_budget_release_exceeds_max");
    expect(code(() => meter.release(0n, "more"))).toBe("cave_budget_release_invalid");
    expect(code(() => meter.release(1n, "  "))).toBe("cave_budget_release_reason_required");
    expect(meter.release(6n, "it pays")).toEqual({ amount: 6n, reason: "it pays", atCall: 0 });
    expect(meter.reserve(10n)?.amount).toBe(10n);
    meter.revoke();
    expect(code(() => meter.release(1n, "late"))).toBe("cave_budget_revoked");
  });
  test("holds nothing once it is closed: what was in flight is booked in full", () => {
    const meter = new Meter(10n);
    meter.reserve(4n);
    meter.close();
    expect([meter.reserved, meter.settled]).toEqual([0n, 4n]);
  });
});

test.each([
  [{}, "cave_budget_denomination_ambiguous"],
  [{ maxUsd: 1, maxTokens: 1 }, "cave_budget_denomination_ambiguous"],
  [{ maxUsd: 1, initialTokens: 1 }, "cave_budget_denomination_ambiguous"],
  [{ maxTokens: 10, initialUsd: 1 }, "cave_budget_denomination_ambiguous"],
  [{ maxUsd: 0 }, "cave_budget_max_invalid"],
  [{ maxUsd: -1 }, "cave_budget_max_invalid"],
  [{ maxUsd: Number.NaN }, "cave_budget_max_invalid"],
  [{ maxUsd: Number.POSITIVE_INFINITY }, "cave_budget_max_invalid"],
  [{ maxUsd: 1e-13 }, "cave_budget_max_invalid"],
  [{ maxUsd: "1" }, "cave_budget_max_invalid"],
  [{ maxTokens: 1.5 }, "cave_budget_max_invalid"],
  [{ maxTokens: 2 ** 53 }, "cave_budget_max_invalid"],
  [{ maxUsd: 1, initialUsd: 0 }, "cave_budget_initial_invalid"],
  [{ maxUsd: 1, initialUsd: 1.01 }, "cave_budget_initial_invalid"],
  [{ maxTokens: 10, initialTokens: 2.5 }, "cave_budget_initial_invalid"],
  [{ maxUsd: 1, outputFloorTokens: 0 }, "cave_budget_output_floor_invalid"],
  [{ maxUsd: 1, outputFloorTokens: 1.5 }, "cave_budget_output_floor_invalid"],
  [{ maxUsd: 1, onExhausted: "wait" }, "cave_budget_on_exhausted_invalid"],
  [{ maxUsd: 1, maximum: 2 }, "cave_option_invalid"],
  [null, "cave_budget_denomination_ambiguous"],
  [3, "cave_budget_denomination_ambiguous"],
  [[], "cave_budget_denomination_ambiguous"],
  [{ maxUsd: null }, "cave_budget_max_invalid"],
])("budget %j is refused with %s", (budget, code) => {
  expect(() => planOf(budget as never, undefined)).toThrow(expect.objectContaining({ code }));
});
test.each([
  [{ maxUsd: "1" }, 'received "1"'],
  [{ maxUsd: null }, "received null"],
  [{ maxUsd: [1] }, "received a list"],
  [[], "received a list"],
])("what came is shown as it came: %j", (budget, said) => {
  expect(() => planOf(budget as never, undefined)).toThrow(said);
});
test("budget and maxCostUsd are two caps on one run", () => {
  expect(() => planOf({ maxUsd: 1 }, 1)).toThrow(expect.objectContaining({ code: "cave_budget_conflicting_cap" }));
});
