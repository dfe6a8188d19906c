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
export const unitsOf = (amount: Amount | undefined): bigint => {
  const exact = exactOf(amount);
  return exact === undefined ? BigInt(amount as Amount) : BigInt(exact);
};
/** A recorded amount as a receipt shows it. */
export const figureOf = (denomination: Denomination, amount: Amount | undefined): number => {
  const exact = exactOf(amount);
  if (exact === undefined) return amountOf(denomination, unitsOf(amount));
  return denomination === "usd" ? exact / PICO_PER_USD : exact;
};

/** Digits that every number holds exactly, and the most that are taken for an amount. */
const [EXACT_DIGITS, MOST_DIGITS] = [15, 60];
/**
 * A recorded amount as a number, 0 for what is none, undefined for one that only a bigint holds. Read digit by digit: a
 * receipt has many amounts, and an expression or a bigint costs more than all the rest.
 */
function exactOf(amount: Amount | undefined): number | undefined {
  if (typeof amount !== "string" || amount.length > MOST_DIGITS) return 0;
  let exact = 0;
  for (let at = 0; at < amount.length; at++) {
    const digit = amount.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return 0;
    exact = exact * 10 + digit;
  }
  return amount.length <= EXACT_DIGITS ? exact : undefined;
}

type Price = Fact<"call.priced"> | undefined;
/** What an attempt cost; nothing when it has no price. */
export const picoOf = (price: Price): bigint => (price && !price.unpriced ? unitsOf(price.picoUsd) : 0n);

/** Adds up what attempts cost: in numbers as long as they are exact, else in bigints. */
export class PicoSum {
  #exact = 0;
  #rest = 0n;

  /** Answers with the dollars of the one that was added. */
  add(price: Price): number {
    const exact = price && !price.unpriced ? exactOf(price.picoUsd) : 0;
    if (exact !== undefined && Number.isSafeInteger(this.#exact + exact)) {
      this.#exact += exact;
      return exact / PICO_PER_USD;
    }
    const pico = picoOf(price);
    this.#rest += pico;
    return usdOf(pico);
  }
  get total(): bigint {
    return BigInt(this.#exact) + this.#rest;
  }
}

/** A receipt, or a part of one, while it is made. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
