/**
 * Money is a whole number of picodollars: 1e-12 US dollars. Adding, carving and returning it never rounds; only a
 * division does, and the one division of a priced call rounds half up. Dollars appear at the edges only.
 */
declare const unit: unique symbol;

/** A whole number of picodollars (1e-12 USD). */
export type Money = bigint & { readonly [unit]: "Money" };
/** Picodollars for a million tokens: what a price list calls dollars per million, exactly. */
export type Rate = bigint & { readonly [unit]: "Rate" };

/** Decimal places of a dollar that money holds. */
const PLACES = 12;
const DOLLAR = 10n ** BigInt(PLACES);

export const money = (picodollars: bigint): Money => picodollars as Money;
export const rate = (picodollarsPerMillion: bigint): Rate => picodollarsPerMillion as Rate;
export const ZERO: Money = money(0n);

/** Digits, sign and exponent of a decimal, as JavaScript and price lists write them. */
const DECIMAL = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/;

/** Exact picodollars of a decimal, or undefined when it is not a decimal or is finer than a picodollar. */
function exact(dollars: string | number): bigint | undefined {
  if (Number.isSafeInteger(dollars)) return BigInt(dollars) * DOLLAR;
  const decimal = String(dollars);
  const found = DECIMAL.exec(decimal);
  if (found === null) return undefined;
  const [, sign, whole = "", fraction = "", exponent = "0"] = found;
  const digits = BigInt(whole + fraction);
  const shift = PLACES + Number(exponent) - fraction.length;
  const size = shift >= 0 ? digits * 10n ** BigInt(shift) : digits / 10n ** BigInt(-shift);
  if (shift < 0 && digits % 10n ** BigInt(-shift) !== 0n) return undefined;
  return sign === "-" ? -size : size;
}

/**
 * Dollars to money, exactly. A number is read by its shortest decimal, so `0.1` is ten cents.
 * @throws RangeError when it is no finite decimal, or finer than a picodollar.
 */
export function fromDollars(dollars: string | number): Money {
  const value = exact(dollars);
  if (value === undefined)
    throw new RangeError(
      `expected dollars as a decimal with at most ${PLACES} places, got ${JSON.stringify(String(dollars))}; write it like "0.05"`,
    );
  return money(value);
}

/** Reads a price in dollars per million tokens; undefined when it is no non-negative decimal, or finer than a picodollar. */
export function parseRate(dollarsPerMillion: string): Rate | undefined {
  const value = exact(dollarsPerMillion);
  return value === undefined || value < 0n ? undefined : rate(value);
}

/** Money as an exact decimal of dollars, without trailing zeros: `0.002325`. `fromDollars` reads it back. */
export function toDollars(amount: Money | Rate): string {
  const size = amount < 0n ? -amount : amount;
  const fraction = (size % DOLLAR).toString().padStart(PLACES, "0").replace(/0+$/, "");
  return `${amount < 0n ? "-" : ""}${size / DOLLAR}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Money as the nearest number of dollars, for JSON at the edges. Never compute with it. */
export const toNumber = (amount: Money): number => Number(toDollars(amount));

/**
 * Money for people: `$1.50`, `$0.002325`, `-$0.01`. At least two decimals, all that matter, or as many as `digits`
 * (2 to 12) allows, rounded half up.
 */
export function format(amount: Money, digits: number = PLACES): string {
  if (!Number.isInteger(digits) || digits < 2 || digits > PLACES)
    throw new RangeError(`expected digits from 2 to ${PLACES}, got ${digits}`);
  const step = 10n ** BigInt(PLACES - digits);
  const size = mulDivRoundHalfUp(amount < 0n ? -amount : amount, 1n, step) * step;
  const fraction = (size % DOLLAR).toString().padStart(PLACES, "0").replace(/0+$/, "").padEnd(2, "0");
  return `${amount < 0n && size !== 0n ? "-" : ""}$${size / DOLLAR}.${fraction}`;
}

export const add = (...amounts: readonly Money[]): Money =>
  money(amounts.reduce<bigint>((sum, amount) => sum + amount, 0n));
export const subtract = (from: Money, amount: Money): Money => money(from - amount);

/**
 * `a × b / divisor`, rounded half up: a half goes towards positive infinity.
 * @throws RangeError when the divisor is not positive.
 */
export function mulDivRoundHalfUp(a: bigint, b: bigint, divisor: bigint): bigint {
  if (divisor <= 0n) throw new RangeError(`expected a positive divisor, got ${divisor}`);
  return floorDivide(2n * a * b + divisor, 2n * divisor);
}

/** `a × b / divisor`, rounded up: for what must bound another figure. */
export function mulDivRoundUp(a: bigint, b: bigint, divisor: bigint): bigint {
  if (divisor <= 0n) throw new RangeError(`expected a positive divisor, got ${divisor}`);
  return -floorDivide(-(a * b), divisor);
}

function floorDivide(a: bigint, divisor: bigint): bigint {
  const quotient = a / divisor;
  return a % divisor < 0n ? quotient - 1n : quotient;
}
