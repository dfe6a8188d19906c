/**
 * The budget: no call goes out unless the most it can cost fits what remains. Taps `reserve` (hold, clamp, refuse),
 * `afterUsage` (settle), `admitTool` (carve a child's wallet), `settle` (roll up). Owns `budget`, `maxCostUsd`,
 * `budgetController`, `onBudgetExhausted`, `assumeMeteredCredential`.
 */
import { Type } from "@sinclair/typebox";
import { type Denial, definePlugin, defineService, type SettledCall, type ToolCall } from "../../kernel/index.ts";
import { DollarHolds, Pricing, sharedFacts } from "../services.ts";
import { admit, heldIn, holdOf } from "./admission.ts";
import type { BudgetController } from "./controller.ts";
import { errors } from "./errors.ts";
import { OWNER } from "./meter.ts";
import type { OnBudgetExhausted, RunBudget } from "./options.ts";
import { type Carved, childState, rootState, type State } from "./state.ts";
import { carveWallet, declaresOtherOnly } from "./wallets.ts";

export { type BudgetController, createBudgetController, type Release } from "./controller.ts";
export type { BudgetAnswer, BudgetExhausted, OnBudgetExhausted, RunBudget } from "./options.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** What the run and its children may spend: exactly one of `maxUsd` and `maxTokens`. */
    budget?: RunBudget;
    /** Dollars; the run fails with `cave_run_cost_budget_exceeded` when they run out. Not beside `budget`. */
    maxCostUsd?: number;
    /** Releases tranches of a staged budget, or revokes it, while the run is live. */
    budgetController?: BudgetController;
    /** Asked once when a call does not fit and more can be released. */
    onBudgetExhausted?: OnBudgetExhausted;
    /** Takes a credential of unknown billing for one that is billed by the call. */
    assumeMeteredCredential?: boolean;
  }
}

// Values are checked by options.ts, so that each mistake has its own error code.
const limits = {
  budget: Type.Optional(
    Type.Unsafe<RunBudget>({
      description: "exactly one of maxUsd and maxTokens",
      properties: {
        maxUsd: { description: "dollars" },
        maxTokens: { description: "tokens, input and output together" },
        initialUsd: { description: "dollars released at the start; default all" },
        initialTokens: { description: "tokens released at the start; default all" },
        outputFloorTokens: { description: "least output allowance a call is sent with; default 256" },
        onExhausted: { description: "compact (default) or stop" },
        compaction: { description: "options of the compaction plugin" },
      },
    }),
  ),
  maxCostUsd: Type.Optional(Type.Unsafe<number>({ description: "dollars; running out is an error" })),
};
/** The state of a run, for what is asked outside of `apply`. */
const Money = defineService<State | undefined>("budget.state");
const carved = new WeakMap<ToolCall, Carved>();

export const budget = definePlugin({
  name: "budget",
  description: "Holds the most a call can cost before it is sent, and settles what it did cost.",
  options: Type.Object(limits),
  runOptions: Type.Object({
    ...limits,
    budgetController: Type.Optional(Type.Unsafe<BudgetController>({ description: "from createBudgetController()" })),
    onBudgetExhausted: Type.Optional(
      Type.Unsafe<OnBudgetExhausted>({
        description: '"stop", or a function that answers "stop" or { release, reason }',
      }),
    ),
    assumeMeteredCredential: Type.Optional(
      Type.Boolean({ description: "take a credential of unknown billing for a metered one" }),
    ),
  }),
  facts: sharedFacts.budget,
  errors,
  after: ["pricing"],
  controls: (run) => {
    const state = run.find(Money);
    return {
      root_budget: state ? (state.plan.failing ? "legacy_usd" : state.plan.denomination) : "absent",
      child_spend: state ? `${state.plan.denomination}_pre_call` : "unknown",
    };
  },
  prepare: (run) => run.find(Money)?.open(),
  apply(kernel, options) {
    const stateOf = kernel.perRun((run): State | undefined => {
      const { parent, spawnedBy } = run;
      if (!parent) return rootState(run, options);
      const state = childState(run, stateOf(parent), spawnedBy, spawnedBy && carved.get(spawnedBy));
      if (spawnedBy) carved.delete(spawnedBy); // a wallet pays for one child
      return state;
    });
    kernel.provide(Money, stateOf);

    kernel.provide(DollarHolds, (run) => ({
      heldIn: (holds) => (stateOf(run)?.plan.denomination === "usd" ? heldIn(holds) : undefined),
    }));

    // A handler may wait for a person.
    kernel.hooks.reserve.tap({ name: "budget", stage: "hold", timeoutMs: Number.POSITIVE_INFINITY }, (call) => {
      const state = stateOf(call.run);
      return state && admit(call, state);
    });

    kernel.hooks.afterUsage.tap({ name: "budget", stage: "settle", guard: true }, (settled) => {
      const state = stateOf(settled.run);
      if (state) settle(settled, state);
    });

    kernel.hooks.admitTool.tap({ name: "budget:wallet", stage: "hold" }, (call) => {
      const state = stateOf(call.run);
      return state && !call.problem ? carve(call, state) : undefined;
    });

    kernel.hooks.settle.tap({ name: "budget", stage: "work", guard: true }, ({ run }) => stateOf(run)?.close());
  },
});

function settle(settled: SettledCall, state: State): void {
  const { frozen, usage, run } = settled;
  const hold = holdOf(settled.holds);
  if (hold) {
    if (!settled.sent) hold.release();
    else hold.settle(actualOf(settled, state) ?? hold.amount);
  }
  const reported = settled.basis === "provider_reported" || settled.basis === "simulated";
  if (reported && settled.sent && !settled.replayed) state.ceiling.settled(frozen, usage.input);
  if (state.meter.capBreached && !state.told) {
    state.told = true;
    run.notice("budget", "cave_budget_cap_breached", "More was spent than could be bounded; no further call goes out.");
  }
}

/**
 * What was really billed, or undefined when nobody knows and the whole hold is booked: what was received bounds nothing,
 * since a vendor bills thinking it does not send and text it had written when the stream ended.
 */
function actualOf({ frozen, usage, basis, run }: SettledCall, { plan }: State): bigint | undefined {
  if (basis === "bound") return undefined;
  if (plan.denomination === "tokens") return BigInt(usage.input + usage.output);
  const price = run.find(Pricing)?.cost(frozen.model, usage, frozen.at);
  return price && "pico" in price ? price.pico : undefined;
}

const deny = (code: string, message: string): Denial => ({ deny: { code, message } });

function carve(call: ToolCall, state: State): Denial | undefined {
  const { meter, plan } = state;
  const spec = call.tool?.kind === "subagent" ? call.tool.subagent : undefined;
  if (meter.revoked) return deny("cave_budget_revoked", "The budget was revoked; answer with what is known.");
  const more = state.controller !== undefined || typeof state.handler === "function";
  if (!spec && (meter.capBreached || (meter.released <= meter.settled && !(more && meter.releasable > 0n))))
    return deny("cave_budget_exhausted", "Nothing is left of the budget; answer with what is known.");
  if (!spec) return undefined;
  if (call.speculative) return deny("cave_subagent_wallet_unavailable", "A subagent is not started ahead of its turn.");
  if (declaresOtherOnly(plan.denomination, spec))
    return deny(
      "cave_subagent_wallet_denomination_unavailable",
      `The run is held to ${plan.denomination}, the subagent declares the other unit only.`,
    );
  const wallet = carveWallet(meter, plan.denomination, spec);
  if (!wallet)
    return deny(
      "cave_subagent_wallet_unavailable",
      "What is left of the budget cannot fund this subagent; answer with what is known.",
    );
  // Whoever closes the hold, the parent is booked what the child's meter says: nothing when no child started.
  const hold = call.hold<bigint>({
    owner: OWNER,
    amount: wallet.amount,
    settle: () => wallet.close(),
    release: () => wallet.close(),
  });
  carved.set(call, { wallet, hold });
  return undefined;
}
