/** Recorded amounts, which are whole units as text, and the numbers a receipt has of them. */
import type { Fact } from "../../kernel/index.ts";
import type { Amount, Denomination } from "../services.ts";

const PICO_DIGITS = 12;
const PICO_PER_USD = 1e12;
const MICRO_PER_USD = 1e6;
const PICO_PER_MICRO = 1_000_000n;

/** Whole units of 1e-12 USD as the number nearest to that many dollars. */
export const usdOf = (pico: bigint): number => {
  const whole = Number(pico);
  // Both are exact, so their quotient is the nearest number.
  if (Number.isSafeInteger(whole)) return whole / PICO_PER_USD;
  if (pico % PICO_PER_MICRO === 0n) {
    const micro = Number(pico / PICO_PER_MICRO);
    if (Number.isSafeInteger(micro)) return micro / MICRO_PER_USD;
  }
  const digits = (pico < 0n ? -pico : pico).toString().padStart(PICO_DIGITS + 1, "0");
  return Number(`${pico < 0n ? "-" : ""}${digits.slice(0, -PICO_DIGITS)}.${digits.slice(-PICO_DIGITS)}`);
};
export const amountOf = (denomination: Denomination, units: bigint): number =>
  denomination === "usd" ? usdOf(units) : Number(units);
/** A recorded amount; one that cannot be read, or is negative, counts as nothing. */
export const unitsOf = (amount: Amount | undefined): bigint =>
  typeof amount === "string" && isWhole(amount) ? BigInt(amount) : 0n;

/** One to sixty digits. Read one by one: a receipt has many amounts, and an expression costs more than the number. */
function isWhole(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x30 || code > 0x39) return false;
  }
  return text.length > 0 && text.length <= 60;
}

/** What an attempt cost; nothing when it has no price. */
export const picoOf = (price: Fact<"call.priced"> | undefined): bigint =>
  price && !price.unpriced ? unitsOf(price.picoUsd) : 0n;

/** A receipt, or a part of one, while it is made. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
