/** What attempts reserve and cost, in the denomination of the run's budget. */
import { fromDollars } from "../../catalog/money.ts";
import { CavemanError, type ResolvedModel, type Run, type SettledCall } from "../../kernel/index.ts";
import { type BreakerTripped, type Denomination, Pricing } from "../services.ts";

/** The unit of the budget this run draws on, its own or an ancestor's. */
export function denominationOf(run: Run): Denomination | undefined {
  for (let at: Run | undefined = run; at; at = at.parent) {
    const opened = at.ledger.of("budget.opened")[0];
    if (opened) return opened.denomination;
  }
  return undefined;
}

/** @throws CavemanError `cave_option_invalid` for an amount the unit cannot hold. */
export function unitsOf(amount: number, unit: Denomination): bigint {
  try {
    return unit === "usd" ? fromDollars(amount) : BigInt(amount);
  } catch {
    throw new CavemanError("cave_option_invalid", {
      place: "retry.maxSpend",
      expected: unit === "usd" ? "dollars no finer than 1e-12" : "a whole number of tokens",
      received: String(amount),
    });
  }
}

/** What the budget held for an attempt; undefined without a budget. */
export function heldFor({ holds }: SettledCall): bigint | undefined {
  const amounts = holds
    .filter((hold) => hold.owner === "budget" && typeof hold.amount === "bigint")
    .map((hold) => hold.amount as bigint);
  return amounts.length === 0 ? undefined : amounts.reduce((sum, amount) => sum + amount, 0n);
}

/** What another model would be held for, when its price per token bounds the ratio; never less than `held` when it is unknown. */
export function heldOn(model: ResolvedModel, held: bigint, { run, frozen }: SettledCall, unit: Denomination): bigint {
  const pricing = run.find(Pricing);
  if (unit === "tokens" || !pricing) return held;
  let most = 0n;
  for (const [input, output] of [
    [1_000_000, 0],
    [0, 1_000_000],
  ] as const) {
    const [then, now] = [
      pricing.ceiling(frozen.model, input, output, frozen.at),
      pricing.ceiling(model, input, output, frozen.at),
    ];
    const amount =
      "pico" in then && "pico" in now && then.pico > 0n ? (held * now.pico + then.pico - 1n) / then.pico : held;
    if (amount > most) most = amount;
  }
  return most;
}

type Spend = Pick<BreakerTripped, "reservedSpend" | "measuredSpend" | "spendBasis">;

/** What a repeated attempt reserved and cost. */
export function spendOf(settled: SettledCall, unit: Denomination | undefined): Spend {
  const held = heldFor(settled);
  const reserved = held === undefined ? {} : { reservedSpend: String(held) };
  if (!settled.sent) return { ...reserved, measuredSpend: "0", spendBasis: "pre_stream_no_usage" };
  const measured = settled.basis === "bound" ? undefined : measuredOf(settled, unit);
  if (measured !== undefined) return { ...reserved, measuredSpend: String(measured), spendBasis: "provider_reported" };
  return {
    ...reserved,
    ...(held === undefined ? {} : { measuredSpend: String(held) }),
    spendBasis: "unavailable_worst_case",
  };
}

function measuredOf({ run, callId, attempt, usage }: SettledCall, unit: Denomination | undefined): bigint | undefined {
  if (unit === "tokens") return BigInt(usage.input + usage.output);
  const { facts } = run.ledger;
  for (let at = facts.length - 1; at >= 0; at--) {
    const fact = facts[at];
    if (fact?.type === "call.settled" && fact.callId === callId) return undefined;
    if (fact?.type === "call.priced" && fact.callId === callId && fact.attempt === attempt)
      return fact.unpriced ? undefined : BigInt(fact.picoUsd);
  }
  return undefined;
}
