/**
 * The admission of one attempt: the full reserve, else the largest allowance that fits, else once a smaller view, once
 * the caller's answer, else a stop. The check and the hold are one synchronous step.
 */
import { CavemanError, describe, errorRow, type FrozenCall, type Hold, type Refusal } from "../../kernel/index.ts";
import { Credentials, Pricing } from "../services.ts";
import { amountOf, releaseOn } from "./controller.ts";
import { OWNER, type Reservation } from "./meter.ts";
import type { OnBudgetExhausted } from "./options.ts";
import type { State, Terms } from "./state.ts";

type Bound = (allowance: number) => bigint | { readonly unpriced: string };
const SHORT = Symbol("nothing fits");

const refuse = (code: string, message: string, more: Partial<Refusal["refuse"]> = {}): Refusal => ({
  refuse: { code, message, ...more },
});

/** Holds the call's most, or says why it may not go out. */
export function admit(call: FrozenCall, state: State): Refusal | undefined | Promise<Refusal | undefined> {
  const first = hold(call, state);
  if (first !== SHORT) return first;
  // A summary that cannot be paid for fails by itself: whoever asked for it falls back, the run goes on.
  if (call.purpose === "summary")
    return refuse("cave_budget_exhausted", "What is left of the budget cannot pay for a summary.");
  if (state.plan.onExhausted === "compact" && state.compacted !== call.callId) {
    state.compacted = call.callId;
    return refuse("cave_budget_exhausted", "The call does not fit what remains; trying once with a smaller view.", {
      compact: true,
      stop: "budget_exhausted",
    });
  }
  const { handler, meter } = state;
  if (typeof handler === "function" && meter.releasable > 0n && state.escalated !== call.callId) {
    state.escalated = call.callId;
    return escalate(call, state, handler);
  }
  return exhausted(state);
}

function exhausted({ plan }: State): Refusal {
  if (plan.failing)
    return refuse("cave_run_cost_budget_exceeded", "The next call could cost more than what is left of maxCostUsd.");
  return refuse("cave_budget_exhausted", "The next call could cost more than what is left of the budget.", {
    stop: "budget_exhausted",
  });
}

async function escalate(
  call: FrozenCall,
  state: State,
  handler: Exclude<OnBudgetExhausted, "stop">,
): Promise<Refusal | undefined> {
  const {
    meter,
    plan: { denomination },
  } = state;
  const figure = (units: bigint): number => amountOf(denomination, units);
  let answer: unknown;
  try {
    answer = await handler(
      Object.freeze({
        denomination,
        max: figure(meter.max),
        released: figure(meter.released),
        spent: figure(meter.settled),
        remaining: figure(meter.remaining),
        releasable: figure(meter.releasable),
        calls: meter.calls,
      }),
    );
  } catch (cause) {
    return refuse("cave_budget_escalation_result_invalid", `onBudgetExhausted threw: ${describe(cause)}`);
  }
  if (call.signal.aborted || call.run.stopping)
    return refuse("cave_run_stopping", "The run ended while the budget's handler was asked.");
  if (answer === "stop") return exhausted(state);
  if (typeof answer !== "object" || answer === null || !("release" in answer) || !("reason" in answer))
    return refuse(
      "cave_budget_escalation_result_invalid",
      `onBudgetExhausted answered ${answer === null ? "null" : typeof answer}; expected "stop" or { release, reason }.`,
    );
  try {
    state.tranche(releaseOn(meter, denomination, answer.release, answer.reason, "onBudgetExhausted"));
  } catch (error) {
    if (!(error instanceof CavemanError)) return refuse("cave_budget_escalation_result_invalid", describe(error));
    // The code and what to do are said once, by whoever reports the refusal.
    const { expected, received } = error.detail;
    const why = expected ? `expected ${expected}, got ${received}` : (errorRow(error.code)?.meaning ?? "it is refused");
    return refuse(error.code, `What onBudgetExhausted releases cannot be released: ${why}`);
  }
  const again = hold(call, state);
  return again === SHORT ? exhausted(state) : again;
}

// No await in here: between the check and the take nobody else can have what remains.
function hold(call: FrozenCall, state: State): Refusal | undefined | typeof SHORT {
  const { meter, plan } = state;
  if (meter.revoked) return refuse("cave_budget_revoked", "The budget was revoked.", { stop: "wallet_revoked" });
  if (meter.capBreached)
    return plan.failing
      ? exhausted(state)
      : refuse("cave_budget_cap_breached", "More was spent than could be bounded, so nothing more goes out.", {
          stop: "budget_exhausted",
        });
  const bound = boundOf(call, state);
  if (typeof bound !== "function") return bound;
  const full = bound(call.allowance);
  if (typeof full !== "bigint") return unpriced(call, full.unpriced);
  const reservation = meter.reserve(full) ?? clamped(call, state, bound);
  if (!reservation) return SHORT;
  call.hold(reservation);
  return undefined;
}

function clamped(call: FrozenCall, { meter, plan }: State, bound: Bound): Reservation | undefined {
  const fit = largestFit(bound, plan.floor, call.allowance, meter.remaining);
  const reservation = fit && meter.reserve(fit.amount);
  if (!reservation) return undefined;
  call.lowerAllowance(fit.allowance);
  call.run.record("budget.clamped", { callId: call.callId, attempt: call.attempt, tokens: fit.allowance });
  return reservation;
}

function boundOf(call: FrozenCall, state: State): Bound | Refusal {
  const { model, at } = call;
  const { denomination } = state.plan;
  const { tools } = call.request;
  if (state.bounded !== tools && runsAtProvider(tools))
    return refuse(
      "cave_budget_tool_unbounded",
      "A tool that the provider executes has no bound on what it reads and writes; remove it, or run without a budget.",
    );
  state.bounded = tools;
  const { pricing, window, regime } = termsOf(call, state);
  const input = state.ceiling.of(call, window);
  if (input === undefined)
    return refuse(
      "cave_budget_input_unbounded",
      "Nothing bounds what a document costs on a model whose context window is unknown; send its text, or name a model of the catalog.",
    );
  if (denomination === "tokens") return (allowance) => BigInt(input + allowance);
  if (!pricing) return unpriced(call, "no pricing plugin is loaded");
  if (regime === "subscription")
    return refuse(
      "cave_budget_denomination_unavailable",
      "A subscription is not billed by the call, so dollars cannot bound it; use budget.maxTokens.",
    );
  if (regime === "unknown" && !state.assumeMetered)
    return refuse(
      "cave_budget_denomination_unavailable",
      "It cannot be proven that this credential is billed by the call; use budget.maxTokens, or set assumeMeteredCredential.",
    );
  return (allowance) => {
    const price = pricing.ceiling(model, input, allowance, at);
    return "unpriced" in price ? price : price.pico;
  };
}

function termsOf({ model, run }: FrozenCall, state: State): Terms {
  if (state.terms?.model === model) return state.terms;
  const pricing = run.find(Pricing);
  const window = model.contextWindow ?? pricing?.row(model)?.limits.context;
  const regime = model.simulated ? "metered" : (run.find(Credentials)?.regimeOf(model) ?? "metered");
  return (state.terms = { model, pricing, window, regime });
}

/** Whether the provider itself executes one of the tools. */
function runsAtProvider(tools: FrozenCall["request"]["tools"] = []): boolean {
  for (const { type } of tools) if (type !== "function") return true;
  return false;
}

const unpriced = ({ model }: FrozenCall, why: string): Refusal =>
  refuse(
    "cave_budget_denomination_unavailable",
    `${model.provider}/${model.id} cannot be held to dollars: ${why}; use budget.maxTokens, add private rates, or choose a model of the catalog.`,
  );

/** The largest allowance in `[floor, most]` whose bound fits, by halving: a bound never falls as the allowance grows. */
export function largestFit(
  bound: Bound,
  floor: number,
  most: number,
  remaining: bigint,
): { readonly allowance: number; readonly amount: bigint } | undefined {
  let best: { allowance: number; amount: bigint } | undefined;
  let low = floor;
  let high = most;
  while (low <= high) {
    const allowance = best === undefined ? low : Math.ceil((low + high) / 2);
    const amount = bound(allowance);
    if (typeof amount === "bigint" && amount <= remaining) {
      best = { allowance, amount };
      low = allowance + 1;
    } else {
      if (best === undefined) return undefined;
      high = allowance - 1;
    }
  }
  return best;
}

/** The budget's own hold among those of an attempt. */
export const holdOf = (holds: readonly Hold[]): Hold<bigint> | undefined =>
  holds.find((entry) => entry.owner === OWNER && entry.state === "open") as Hold<bigint> | undefined;

/** What the budget set aside for an attempt, settled or not. */
export const heldIn = (holds: readonly Hold[]): bigint | undefined => {
  const amount = holds.find((entry) => entry.owner === OWNER)?.amount;
  return typeof amount === "bigint" ? amount : undefined;
};
