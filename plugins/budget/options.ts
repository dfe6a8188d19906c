/** What a caller may ask of a budget, checked field by field, in whole units from here on. */
import { fromDollars } from "../../catalog/money.ts";
import { CavemanError } from "../../kernel/index.ts";
import { shown } from "../given.ts";
import type { Denomination } from "../services.ts";

/** Exactly one of `maxUsd` and `maxTokens`. */
export interface RunBudget {
  /** Dollars this run and its children may spend. */
  readonly maxUsd?: number;
  /** Tokens, input and output together. */
  readonly maxTokens?: number;
  /** Dollars released at the start; the rest needs a release. Default: all. */
  readonly initialUsd?: number;
  readonly initialTokens?: number;
  /** The least output allowance a call is worth sending with. Default 256 tokens. */
  readonly outputFloorTokens?: number;
  /** `compact` (default) shrinks the view once before it stops. */
  readonly onExhausted?: "compact" | "stop";
  /** How the view is made smaller; read and checked by the compaction plugin. */
  readonly compaction?: object;
}

/** What an exhausted budget tells its handler: dollars or tokens, as the budget is stated. */
export interface BudgetExhausted {
  readonly denomination: "usd" | "tokens";
  readonly max: number;
  readonly released: number;
  readonly spent: number;
  readonly remaining: number;
  readonly releasable: number;
  readonly calls: number;
}
export type BudgetAnswer = "stop" | { readonly release: number; readonly reason: string };
export type OnBudgetExhausted = "stop" | ((exhausted: BudgetExhausted) => BudgetAnswer | Promise<BudgetAnswer>);

/** A budget in whole units. */
export interface Plan {
  readonly denomination: Denomination;
  readonly max: bigint;
  readonly initial: bigint;
  readonly floor: number;
  readonly onExhausted: "compact" | "stop";
  /** `maxCostUsd`: running out is a failure and not a result. */
  readonly failing: boolean;
}

export const OUTPUT_FLOOR_TOKENS = 256;
const KEYS = [
  "maxUsd",
  "maxTokens",
  "initialUsd",
  "initialTokens",
  "outputFloorTokens",
  "onExhausted",
  "compaction",
] as const;

const refuse = (code: string, place: string, expected: string, received: unknown): never => {
  throw new CavemanError(code, {
    place,
    expected,
    received: shown(received),
  });
};
const positiveWhole = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) > 0;

/**
 * Dollars or tokens in whole units.
 * @throws CavemanError `code` for what is not positive, not finite, finer than 1e-12 USD, or no whole number of tokens.
 */
export function unitsOf(denomination: Denomination, value: unknown, code: string, place: string): bigint {
  if (denomination === "tokens")
    return positiveWhole(value) ? BigInt(value) : refuse(code, place, "a positive whole number of tokens", value);
  if (typeof value !== "number" || !Number.isFinite(value) || value <= 0)
    return refuse(code, place, "a positive number of dollars", value);
  let units: bigint;
  try {
    units = fromDollars(value);
  } catch {
    return refuse(code, place, "dollars no finer than 1e-12", value);
  }
  return units;
}

/** @throws CavemanError with the code of the field that is wrong. */
export function planOf(budget: RunBudget | undefined, maxCostUsd: number | undefined): Plan | undefined {
  if (budget !== undefined && maxCostUsd !== undefined) throw new CavemanError("cave_budget_conflicting_cap");
  if (maxCostUsd !== undefined) {
    const max = unitsOf("usd", maxCostUsd, "cave_budget_max_invalid", "maxCostUsd");
    return {
      denomination: "usd",
      max,
      initial: max,
      floor: OUTPUT_FLOOR_TOKENS,
      onExhausted: "compact",
      failing: true,
    };
  }
  if (budget === undefined) return undefined;
  if (typeof budget !== "object" || budget === null || Array.isArray(budget))
    return refuse("cave_budget_denomination_ambiguous", "budget", "an object with maxUsd or maxTokens", budget);
  for (const key of Object.keys(budget))
    if (!(KEYS as readonly string[]).includes(key)) refuse("cave_option_invalid", "budget", KEYS.join(", "), key);
  const {
    maxUsd,
    maxTokens,
    initialUsd,
    initialTokens,
    outputFloorTokens = OUTPUT_FLOOR_TOKENS,
    onExhausted = "compact",
  } = budget;
  if ((maxUsd === undefined) === (maxTokens === undefined))
    throw new CavemanError("cave_budget_denomination_ambiguous", {
      place: "budget",
      received: maxUsd === undefined ? "neither" : "both",
    });
  const denomination: Denomination = maxUsd === undefined ? "tokens" : "usd";
  const [initial, stray] = denomination === "usd" ? [initialUsd, initialTokens] : [initialTokens, initialUsd];
  if (stray !== undefined)
    throw new CavemanError("cave_budget_denomination_ambiguous", {
      place: "budget",
      expected: "max and initial in one unit",
      received: "both units",
    });
  const max = unitsOf(
    denomination,
    maxUsd === undefined ? maxTokens : maxUsd,
    "cave_budget_max_invalid",
    denomination === "usd" ? "budget.maxUsd" : "budget.maxTokens",
  );
  const place = denomination === "usd" ? "budget.initialUsd" : "budget.initialTokens";
  const released = initial === undefined ? max : unitsOf(denomination, initial, "cave_budget_initial_invalid", place);
  if (released > max) refuse("cave_budget_initial_invalid", place, "at most the maximum", initial);
  if (!positiveWhole(outputFloorTokens))
    refuse(
      "cave_budget_output_floor_invalid",
      "budget.outputFloorTokens",
      "a positive whole number of tokens",
      outputFloorTokens,
    );
  if (onExhausted !== "compact" && onExhausted !== "stop")
    refuse("cave_budget_on_exhausted_invalid", "budget.onExhausted", "compact or stop", onExhausted);
  return { denomination, max, initial: released, floor: outputFloorTokens, onExhausted, failing: false };
}
