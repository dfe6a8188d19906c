import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  catalog,
  ceiling,
  fromDollars,
  isPriced,
  type PricedUsage,
  type Pricing,
  priceUsage,
  type Row,
  toDollars,
} from "../../catalog/index.ts";
import type { Rates } from "../../catalog/row.ts";
import { priced, rowOf } from "./rows.ts";

const NOON = new Date("2026-11-30T12:00:00Z");
const usageOf = (changes: Partial<PricedUsage> = {}): PricedUsage => ({
  input: 0,
  output: 0,
  cacheRead: 0,
  cacheWrite: 0,
  reasoning: 0,
  ...changes,
});
const dollars = (pricing: Pricing): string => (isPriced(pricing) ? toDollars(pricing.cost) : pricing.unpriced);

/** Whole units of a decimal with up to twelve places, on its own. */
const unitsOf = (decimal: string): bigint => {
  const [whole = "", fraction = ""] = decimal.split(".");
  return BigInt(whole + fraction.padEnd(12, "0"));
};

describe("a settled call", () => {
  test("is the exact sum, rounded half up once, however small its rates and large its counts", () => {
    const rate = fc.oneof(
      fc.constantFrom("0.25", "1", "3", "15", "0.0000005", "0.000000000001", "0.1234567", "90000000"),
      fc.bigInt({ min: 0n, max: 10n ** 14n }).map((units) => toDollars(units as Parameters<typeof toDollars>[0])),
    );
    const count = fc.oneof(fc.nat(2_000), fc.nat(10_000_000), fc.nat(2 ** 51));
    const world = fc.record({ input: rate, output: rate, cacheRead: rate, fresh: count, read: count, out: count });
    fc.assert(
      fc.property(world, ({ fresh, read, out, ...rates }) => {
        const usage = usageOf({ input: fresh + read, cacheRead: read, output: out });
        const price = priceUsage(priced({ rates }), usage, NOON);
        const millionths =
          BigInt(fresh) * unitsOf(rates.input) +
          BigInt(read) * unitsOf(rates.cacheRead) +
          BigInt(out) * unitsOf(rates.output);
        expect(isPriced(price) && price.cost).toBe((millionths * 2n + 1_000_000n) / 2_000_000n);
      }),
      { numRuns: 2_000 },
    );
  });

  test("costs what every class of its tokens costs", () => {
    // 1,000 fresh × 1 + 2,000 read × 0.1 + 500 written × 1.25 + 100 out × 5 = 1,000 + 200 + 625 + 500 = 2,325 millionths.
    const usage = usageOf({ input: 3_500, cacheRead: 2_000, cacheWrite: 500, output: 100, reasoning: 40 });
    expect(priceUsage(rowOf(), usage, NOON)).toEqual({
      cost: fromDollars("0.002325"),
      basis: "public_catalog",
      tier: "standard",
    });
  });

  test("bills reasoning at its own rate where there is one", () => {
    const row = priced({ rates: { input: "2", output: "8", reasoning: "3" } });
    // 60 × 8 + 40 × 3 = 600 millionths.
    expect(dollars(priceUsage(row, usageOf({ output: 100, reasoning: 40 }), NOON))).toBe("0.0006");
  });

  test("bills hour-long cache writes at their own rate", () => {
    const row = priced({ rates: { input: "1", output: "5", cacheRead: "0.1", cacheWrite: "1.25", cacheWrite1h: "2" } });
    // 300 × 1.25 + 200 × 2 = 775 millionths.
    expect(dollars(priceUsage(row, usageOf({ input: 500, cacheWrite: 500, cacheWrite1h: 200 }), NOON))).toBe(
      "0.000775",
    );
  });

  test("bills a price for the request beside the tokens", () => {
    const row = priced({ rates: { input: "1", output: "1", requests: "12" } });
    // A thousandth of 12 dollars, and 1,000 millionths.
    expect(dollars(priceUsage(row, usageOf({ input: 1_000 }), NOON))).toBe("0.013");
  });

  test("is rounded half up, once", () => {
    // 0.5 and 0.4 picodollars a token.
    expect(
      priceUsage(priced({ rates: { input: "0.0000005", output: "0" } }), usageOf({ input: 1 }), NOON),
    ).toMatchObject({ cost: 1n });
    expect(
      priceUsage(priced({ rates: { input: "0.0000004", output: "0" } }), usageOf({ input: 1 }), NOON),
    ).toMatchObject({ cost: 0n });
    // Two halves are one, not two: the parts are not rounded.
    expect(
      priceUsage(
        priced({ rates: { input: "0.0000005", output: "0.0000005" } }),
        usageOf({ input: 1, output: 1 }),
        NOON,
      ),
    ).toMatchObject({ cost: 1n });
  });

  test.each([
    ["input", { input: 1 }],
    ["output", { output: 1 }],
    ["output", { output: 1, reasoning: 1 }],
    ["cacheRead", { input: 1, cacheRead: 1 }],
    ["cacheWrite", { input: 1, cacheWrite: 1 }],
    ["cacheWrite1h", { input: 1, cacheWrite: 1, cacheWrite1h: 1 }],
  ] as const)("is unpriced when the %s rate it needs is missing", (name, usage) => {
    expect(priceUsage(priced({ rates: { requests: "0" } }), usageOf(usage), NOON)).toEqual({
      unpriced: `acme/one has no ${name} rate`,
    });
  });

  test("does not need a rate of which there are no tokens", () => {
    expect(dollars(priceUsage(priced({ rates: { input: "1" } }), usageOf({ input: 1_000 }), NOON))).toBe("0.001");
  });

  test.each([
    [{ input: -1 }],
    [{ input: 1.5 }],
    [{ output: Number.NaN }],
    [{ output: Number.POSITIVE_INFINITY }],
    [{ cacheRead: 1 }],
    [{ input: 2, cacheRead: 1, cacheWrite: 2 }],
    [{ reasoning: 1 }],
    [{ input: 5, cacheWrite: 1, cacheWrite1h: 2 }],
  ])("is unpriced when its usage %j cannot be", (usage) => {
    expect(isPriced(priceUsage(rowOf(), usageOf(usage), NOON))).toBe(false);
  });

  test("is unpriced in another currency, with a price that cannot be read, and at no date", () => {
    expect(isPriced(priceUsage(rowOf({ currency: "CNY" }), usageOf(), NOON))).toBe(false);
    expect(isPriced(priceUsage(priced({ rates: { input: "cheap" } }), usageOf(), NOON))).toBe(false);
    expect(isPriced(priceUsage(rowOf(), usageOf(), new Date("no date")))).toBe(false);
    expect(isPriced(priceUsage(priced(), usageOf(), NOON))).toBe(false);
  });
});

describe("the conditions of a price", () => {
  const long = priced({
    rates: { input: "1", output: "5" },
    tiers: [{ above: 200_000, rates: { input: "2", output: "7.5" } }],
  });

  test("a long context bills the whole request at its tier", () => {
    // 200,000 × 1 = 0.2 dollars; one token more and all of them cost double: 200,001 × 2.
    expect(priceUsage(long, usageOf({ input: 200_000 }), NOON)).toMatchObject({
      cost: fromDollars("0.2"),
      tier: "standard",
    });
    expect(priceUsage(long, usageOf({ input: 200_001 }), NOON)).toMatchObject({
      cost: fromDollars("0.400002"),
      tier: "over 200000",
    });
  });

  test("a price starts on its day, and hours decide within the day", () => {
    const row = priced(
      { rates: { input: "1", output: "1" } },
      { from: "2026-08-17", rates: { input: "2", output: "2" } },
      { from: "2026-08-17", hours: { start: "01:00", end: "04:00" }, rates: { input: "4", output: "4" } },
      { from: "2026-08-17", hours: { start: "23:00", end: "00:30" }, rates: { input: "8", output: "8" } },
    );
    const at = (time: string): string => dollars(priceUsage(row, usageOf({ input: 1_000_000 }), new Date(time)));
    expect(at("2026-08-16T23:59:59Z")).toBe("1");
    expect(at("2026-08-17T00:30:00Z")).toBe("2");
    expect(at("2026-08-17T01:00:00Z")).toBe("4");
    expect(at("2026-08-17T03:59:59.999Z")).toBe("4");
    expect(at("2026-08-17T04:00:00Z")).toBe("2");
    expect(at("2026-08-17T23:00:00Z")).toBe("8");
    expect(at("2026-08-18T00:29:59Z")).toBe("8");
    expect(priceUsage(row, usageOf(), new Date("2026-08-17T02:00:00Z"))).toMatchObject({
      tier: "standard 01:00-04:00 UTC",
    });
  });
});

describe("the ceiling of a call", () => {
  const most = (...call: Parameters<typeof ceiling>): string => {
    const bound = ceiling(...call);
    return isPriced(bound) ? toDollars(bound.cost) : bound.unpriced;
  };

  test("takes the worst input rate and the worst output rate", () => {
    // 2,000 × 1.25 + 1,500 × 5 = 10,000 millionths.
    expect(most(rowOf(), 2_000, 1_500, NOON)).toBe("0.01");
    // The worst output rate is the reasoning rate: 1,000 × 9.
    expect(
      most(
        priced({ rates: { input: "1", output: "5", cacheRead: "0.1", cacheWrite: "1.25", reasoning: "9" } }),
        0,
        1_000,
        NOON,
      ),
    ).toBe("0.009");
  });

  test("counts an hour-long cache write unless the request asks for none", () => {
    const row = priced({ rates: { input: "1", output: "5", cacheRead: "0.1", cacheWrite: "1.25", cacheWrite1h: "2" } });
    expect(most(row, 1_000, 0, NOON)).toBe("0.002");
    expect(most(row, 1_000, 0, NOON, { cacheWrite1h: false })).toBe("0.00125");
  });

  test("counts every tier the call can fall into", () => {
    const row = rowOf({
      cache: { mode: "unknown" },
      prices: [{ rates: { input: "1", output: "5" }, tiers: [{ above: 1_000, rates: { input: "2", output: "4" } }] }],
    });
    expect(most(row, 1_000, 1_000, NOON)).toBe("0.006");
    // Over the threshold 1,001 × 2 + 1,000 × 4 = 6,002; with few tokens in the first tier is worse: 1,001 × 1 + 10,000 × 5.
    expect(most(row, 1_001, 1_000, NOON)).toBe("0.006002");
    expect(most(row, 1_001, 10_000, NOON)).toBe("0.051001");
  });

  test("is unpriced without a rate that can apply", () => {
    const without = (mode: "explicit" | "implicit" | "unsupported" | "unknown", rates: object): string =>
      most(rowOf({ cache: { mode }, prices: [{ rates }] }), 1, 1, NOON);
    expect(without("unknown", { output: "1" })).toBe("acme/one has no input rate");
    expect(without("unknown", { input: "1" })).toBe("acme/one has no output rate");
    expect(without("implicit", { input: "1", output: "1" })).toBe("acme/one has no cacheRead rate");
    expect(without("explicit", { input: "1", output: "1", cacheRead: "1" })).toBe("acme/one has no cacheWrite rate");
    expect(without("unsupported", { input: "1", output: "1" })).toBe("0.000002");
    expect(most(rowOf(), -1, 0, NOON)).toContain("expected whole tokens");
  });

  test("and a settled call are what the rates of their tier say, with rows that take turns", () => {
    const CLASSES = ["input", "output", "cacheRead", "cacheWrite", "cacheWrite1h", "reasoning", "requests"] as const;
    const rate = fc.constantFrom("0", "0.25", "1", "3", "15", "0.0000005", "0.1234567", "90000000");
    const rates = fc.record(Object.fromEntries(CLASSES.map((each) => [each, rate])), {
      requiredKeys: ["input", "output", "cacheRead"],
    }) as fc.Arbitrary<Rates>;
    const row = fc.record({
      rates,
      tiers: fc
        .tuple(rates, rates)
        .map((both) => both.map((each, at) => ({ above: [1_000, 50_000][at] ?? 0, rates: each }))),
      mode: fc.constantFrom("explicit" as const, "implicit" as const, "unsupported" as const, "unknown" as const),
    });
    const part = fc.integer({ min: 0, max: 4 }).map((quarters) => quarters / 4);
    const call = fc.record({
      row: fc.nat(2),
      input: fc.oneof(fc.constantFrom(0, 1, 1_000, 1_001, 50_000, 50_001), fc.nat(200_000), fc.nat(2 ** 40)),
      output: fc.nat(100_000),
      parts: fc.tuple(part, part, part, part),
      hour: fc.boolean(),
    });
    const greatest = (list: readonly bigint[]): bigint => list.toSorted((a, b) => Number(b - a))[0] ?? 0n;
    const up = (millionths: bigint): bigint => (millionths + 999_999n) / 1_000_000n;
    const seen = { settled: 0, missing: 0, bounded: 0, unbounded: 0 };
    const world = fc.tuple(
      fc.array(row, { minLength: 3, maxLength: 3 }),
      fc.array(call, { minLength: 6, maxLength: 8 }),
    );
    fc.assert(
      fc.property(world, ([given, calls]) => {
        const rows = given.map(({ mode, ...price }) => rowOf({ cache: { mode }, prices: [price] }));
        for (const { row: at, input, output, parts, hour } of calls) {
          const { rates: first, tiers, mode } = given[at] as (typeof given)[number];
          const all = [{ above: -1, rates: first }, ...tiers];
          const cacheRead = Math.floor(input * parts[0]);
          const cacheWrite = Math.floor((input - cacheRead) * parts[1]);
          const cacheWrite1h = Math.floor(cacheWrite * parts[2]);
          const reasoning = Math.floor(output * parts[3]);
          const own = all.filter(({ above }) => input > above).at(-1)?.rates ?? {};
          const counts: readonly (readonly [number, string | undefined])[] = [
            [input - cacheRead - cacheWrite, own.input],
            [cacheRead, own.cacheRead],
            [cacheWrite - cacheWrite1h, own.cacheWrite],
            [cacheWrite1h, own.cacheWrite1h],
            [output - reasoning, own.output],
            [reasoning, own.reasoning ?? own.output],
          ];
          const price = priceUsage(
            rows[at] as Row,
            { input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning },
            NOON,
          );
          if (counts.some(([count, each]) => count > 0 && each === undefined)) {
            expect(isPriced(price)).toBe(false);
            seen.missing++;
          } else {
            // A request costs a thousandth of the rate of a thousand; 1,000 millionths of 1e-12 USD for each unit of it.
            const sum = counts.reduce(
              (total, [count, each]) => total + BigInt(count) * unitsOf(each ?? "0"),
              1_000n * unitsOf(own.requests ?? "0"),
            );
            expect(isPriced(price) && price.cost).toBe((2n * sum + 1_000_000n) / 2_000_000n);
            seen.settled++;
          }
          const bound = ceiling(rows[at] as Row, input, output, NOON, { cacheWrite1h: hour });
          const reached = all.filter(({ above }) => above < 0 || input > above);
          if (mode === "explicit" && reached.some((tier) => tier.rates.cacheWrite === undefined)) {
            expect(isPriced(bound)).toBe(false);
            seen.unbounded++;
            continue;
          }
          const dearest = (names: readonly (keyof Rates)[], each: Rates): bigint =>
            greatest(names.map((name) => unitsOf(each[name] ?? "0")));
          const most = reached.map(({ rates: each }) =>
            up(
              1_000n * unitsOf(each.requests ?? "0") +
                BigInt(input) *
                  dearest(
                    mode === "unsupported"
                      ? ["input"]
                      : ["input", "cacheRead", "cacheWrite", ...(hour ? (["cacheWrite1h"] as const) : [])],
                    each,
                  ) +
                BigInt(output) * dearest(["output", "reasoning"], each),
            ),
          );
          expect(isPriced(bound) && bound.cost).toBe(greatest(most));
          seen.bounded++;
        }
      }),
      { numRuns: 300 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100);
  });

  test("is never below what any row of the catalog settles at, at any hour", () => {
    const { rows } = catalog();
    const world = fc.record({
      row: fc.nat(rows.length - 1),
      input: fc.nat(600_000),
      output: fc.nat(100_000),
      read: fc.double({ min: 0, max: 1, noNaN: true }),
      write: fc.double({ min: 0, max: 1, noNaN: true }),
      hour: fc.double({ min: 0, max: 1, noNaN: true }),
      reasoning: fc.double({ min: 0, max: 1, noNaN: true }),
      at: fc.date({
        min: new Date("2026-01-01T00:00:00Z"),
        max: new Date("2027-06-01T00:00:00Z"),
        noInvalidDate: true,
      }),
      slackIn: fc.nat(100_000),
      slackOut: fc.nat(10_000),
    });
    let compared = 0;
    fc.assert(
      fc.property(world, ({ row: at, input, output, read, write, hour, reasoning, at: date, slackIn, slackOut }) => {
        const row = rows[at];
        if (row === undefined) return false;
        const { rates } = row.prices[0] ?? { rates: {} };
        const cacheRead = rates.cacheRead === undefined ? 0 : Math.floor(input * read);
        const cacheWrite = rates.cacheWrite === undefined ? 0 : Math.floor((input - cacheRead) * write);
        const cacheWrite1h = rates.cacheWrite1h === undefined ? 0 : Math.floor(cacheWrite * hour);
        const settled = priceUsage(
          row,
          { input, output, cacheRead, cacheWrite, reasoning: Math.floor(output * reasoning), cacheWrite1h },
          date,
        );
        const bound = ceiling(row, input + slackIn, output + slackOut, date);
        if (!isPriced(settled) || !isPriced(bound)) return true;
        compared += 1;
        return settled.cost <= bound.cost;
      }),
      { numRuns: 5_000 },
    );
    expect(compared).toBeGreaterThan(4_900);
  });
});
