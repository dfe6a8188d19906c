/** The caller's hand on a live budget: releases tranches, revokes. Bound to one run at a time. */
import { format, type Money, toNumber } from "../../catalog/money.ts";
import { CavemanError } from "../../kernel/index.ts";
import type { Denomination } from "../services.ts";
import type { Meter } from "./meter.ts";
import { unitsOf } from "./options.ts";

/** What a release did. `atCall` is how many calls had been reserved when it came. */
export interface Release {
  readonly amount: number;
  readonly reason: string;
  readonly atCall: number;
}

/** The side of a meter that a controller may touch. */
interface Controlled {
  release(amount: unknown, reason: unknown): Release;
  revoke(): void;
}

export class BudgetController {
  #bound: { readonly run: object; readonly to: Controlled } | undefined;

  /**
   * Lets `amount` more be spent: dollars or tokens, as the budget is stated.
   * @throws CavemanError `cave_budget_controller_unbound`, or the code of what is wrong with the release.
   */
  releaseBudget(amount: number, reason: string): Release {
    if (!this.#bound) throw new CavemanError("cave_budget_controller_unbound");
    return this.#bound.to.release(amount, reason);
  }
  /** Takes back what is not spent, from the run and every child: they stop between calls with `wallet_revoked`. */
  revoke(): void {
    if (!this.#bound) throw new CavemanError("cave_budget_controller_unbound");
    this.#bound.to.revoke();
  }
  /** @internal @throws CavemanError `cave_budget_controller_in_use`. */
  bind(run: object, to: Controlled): void {
    if (this.#bound && this.#bound.run !== run) throw new CavemanError("cave_budget_controller_in_use");
    this.#bound = { run, to };
  }
  /** @internal */
  unbind(run: object): void {
    if (this.#bound?.run === run) this.#bound = undefined;
  }
  /** Whether a live run has it. */
  get bound(): boolean {
    return this.#bound !== undefined;
  }
}

/** Makes a controller; pass it as `budgetController` beside a `budget`. */
export const createBudgetController = (): BudgetController => new BudgetController();

/** Units as the number a person reads: dollars or tokens. */
export const amountOf = (denomination: Denomination, units: bigint): number =>
  denomination === "usd" ? toNumber(units as Money) : Number(units);

const said = (denomination: Denomination, units: bigint): string =>
  denomination === "usd" ? format(units as Money) : `${units} tokens`;

/** A release in units, checked, on a meter. @throws CavemanError with the code of what is wrong at `place`. */
export function releaseOn(
  meter: Meter,
  denomination: Denomination,
  amount: unknown,
  reason: unknown,
  place = "releaseBudget(amount)",
): Release {
  const units = unitsOf(denomination, amount, "cave_budget_release_invalid", place);
  if (units > meter.releasable && !meter.closed)
    throw new CavemanError("cave_budget_release_exceeds_max", {
      place,
      expected: `at most ${said(denomination, meter.releasable)}`,
      received: said(denomination, units),
    });
  const tranche = meter.release(units, reason as string);
  return Object.freeze({
    amount: amountOf(denomination, tranche.amount),
    reason: tranche.reason,
    atCall: tranche.atCall,
  });
}
