/** How much of a parent's remainder a child is given, and the wallet that carries it. */
import type { SubagentSpec } from "../../kernel/index.ts";
import type { Denomination } from "../services.ts";
import type { Meter, Wallet } from "./meter.ts";
import { unitsOf } from "./options.ts";

/** Most that a child takes of a dollar budget when its definition declares nothing: 1 USD. */
const DEFAULT_WALLET_PICO = 1_000_000_000_000n;

type Declared = Pick<SubagentSpec, "maxCostUsd" | "maxTokens">;

/** What the definition declares in this denomination; undefined when it declares nothing. */
export const declaredIn = (denomination: Denomination, spec: Declared): bigint | undefined => {
  const value = denomination === "usd" ? spec.maxCostUsd : spec.maxTokens;
  return value === undefined
    ? undefined
    : unitsOf(
        denomination,
        value,
        "cave_budget_max_invalid",
        denomination === "usd" ? "subagent.maxCostUsd" : "subagent.maxTokens",
      );
};

/** Whether the definition bounds the child only in the unit that this budget is not stated in. */
export const declaresOtherOnly = (denomination: Denomination, spec: Declared): boolean =>
  denomination === "usd"
    ? spec.maxCostUsd === undefined && spec.maxTokens !== undefined
    : spec.maxTokens === undefined && spec.maxCostUsd !== undefined;

/** The wallet a child asks for: what it declares, else half of what remains and at most 1 USD. */
export function walletSize(denomination: Denomination, remaining: bigint, spec: Declared): bigint {
  const declared = declaredIn(denomination, spec);
  if (declared !== undefined) return declared;
  const half = remaining / 2n;
  return denomination === "usd" && half > DEFAULT_WALLET_PICO ? DEFAULT_WALLET_PICO : half;
}

/** Carves a child's wallet in one step, all or nothing. */
export const carveWallet = (meter: Meter, denomination: Denomination, spec: Declared): Wallet | undefined =>
  meter.carve(walletSize(denomination, meter.remaining, spec));
