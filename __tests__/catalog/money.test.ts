import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import {
  add,
  format,
  fromDollars,
  type Money,
  money,
  mulDivRoundHalfUp,
  mulDivRoundUp,
  parseRate,
  subtract,
  toDollars,
  toNumber,
  ZERO,
} from "../../catalog/money.ts";

const amounts = fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }).map(money);

describe("money", () => {
  test("is read from dollars exactly, as text or as the number people write", () => {
    expect(fromDollars("0.1")).toBe(100_000_000_000n);
    expect(fromDollars(0.1)).toBe(100_000_000_000n);
    expect(fromDollars(1e-7)).toBe(100_000n);
    expect(fromDollars("0.000000000001")).toBe(1n);
    expect(fromDollars("-2.50")).toBe(-2_500_000_000_000n);
    expect(fromDollars("1000000000")).toBe(10n ** 21n);
  });

  test.each(["", "abc", "1.", ".5", "1,5", "$1", "NaN", "Infinity", "0x10", "1e", "0.0000000000001"])(
    "refuses %j as dollars",
    (text) => {
      expect(() => fromDollars(text)).toThrow(RangeError);
    },
  );

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1e-13])("refuses the number %p as dollars", (value) => {
    expect(() => fromDollars(value)).toThrow(RangeError);
  });

  test("survives a round trip through dollars", () => {
    fc.assert(
      fc.property(amounts, (amount) => fromDollars(toDollars(amount)) === amount),
      { numRuns: 2_000 },
    );
  });

  test("does not drift over a million additions", () => {
    // A double drifts: a million times 0.1 is 100000.00000133288.
    const dime = fromDollars("0.1");
    const odd = fromDollars("0.000000000007");
    let sum = ZERO;
    for (let n = 0; n < 1_000_000; n += 1) sum = add(sum, dime, odd);
    // 1e6 × 0.1 = 100000 and 1e6 × 7e-12 = 0.000007.
    expect(toDollars(sum)).toBe("100000.000007");
  });

  test("comes home whole however it is carved, and in any order", () => {
    fc.assert(
      fc.property(fc.array(amounts, { maxLength: 50 }), amounts, (carves, whole) => {
        const left = carves.reduce<Money>(subtract, whole);
        return add(left, ...carves) === whole && add(...carves.toReversed(), left) === whole;
      }),
      { numRuns: 2_000 },
    );
  });

  test("is shown with at least cents and no more digits than matter", () => {
    expect(format(fromDollars("1.5"))).toBe("$1.50");
    expect(format(fromDollars("0.002325"))).toBe("$0.002325");
    expect(format(fromDollars("-0.01"))).toBe("-$0.01");
    expect(format(ZERO)).toBe("$0.00");
    expect(format(fromDollars("0.0023250001"), 6)).toBe("$0.002325");
    expect(format(fromDollars("0.995"), 2)).toBe("$1.00");
    expect(format(fromDollars("-0.000001"), 2)).toBe("$0.00");
    expect(() => format(ZERO, 1)).toThrow(RangeError);
    expect(toNumber(fromDollars("0.002325"))).toBe(0.002325);
  });
});

describe("rounding", () => {
  test("goes to the nearest, and a half goes up", () => {
    expect(mulDivRoundHalfUp(5n, 1n, 10n)).toBe(1n);
    expect(mulDivRoundHalfUp(4n, 1n, 10n)).toBe(0n);
    expect(mulDivRoundHalfUp(15n, 1n, 10n)).toBe(2n);
    expect(mulDivRoundHalfUp(-5n, 1n, 10n)).toBe(0n);
    expect(mulDivRoundHalfUp(-6n, 1n, 10n)).toBe(-1n);
    expect(() => mulDivRoundHalfUp(1n, 1n, 0n)).toThrow(RangeError);
  });

  test("leaves a rest of at least minus a half and less than a half; rounding up leaves none", () => {
    const any = fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n });
    fc.assert(
      fc.property(any, any, fc.bigInt({ min: 1n, max: 10n ** 12n }), (a, b, divisor) => {
        const rest = 2n * (a * b - mulDivRoundHalfUp(a, b, divisor) * divisor);
        const over = mulDivRoundUp(a, b, divisor) * divisor - a * b;
        return -divisor <= rest && rest < divisor && 0n <= over && over < divisor;
      }),
      { numRuns: 2_000 },
    );
  });
});

test("a rate is a non-negative decimal of dollars per million tokens", () => {
  expect(parseRate("1.25")).toBe(1_250_000_000_000n);
  expect(parseRate("0")).toBe(0n);
  for (const text of ["-1", "", "free", "1e-13"]) expect(parseRate(text)).toBeUndefined();
});
