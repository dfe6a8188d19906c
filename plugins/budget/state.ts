/** What a run knows of its money: its meter, where the meter comes from, and how calls are bounded. */
import {
  type CallId,
  CavemanError,
  type Hold,
  type ResolvedModel,
  type Run,
  type RunOptions,
  type ToolCall,
} from "../../kernel/index.ts";
import type { Pricing, Regime } from "../services.ts";
import { AnchoredCeiling } from "./anchored-ceiling.ts";
import { BudgetController, type Release, releaseOn } from "./controller.ts";
import { Meter, type Wallet } from "./meter.ts";
import { type OnBudgetExhausted, OUTPUT_FLOOR_TOKENS, type Plan, planOf, type RunBudget } from "./options.ts";
import { declaredIn } from "./wallets.ts";

/** Where a meter comes from: the run's own, a wallet carved from the parent's, or the parent's itself. */
export type Source =
  | { readonly kind: "own" }
  | { readonly kind: "wallet"; readonly wallet: Wallet; readonly hold: Hold }
  | { readonly kind: "shared" };

/** What bounds the calls of one model. */
export interface Terms {
  readonly model: ResolvedModel;
  readonly pricing: Pricing | undefined;
  /** Tokens of its context, when they are known. */
  readonly window: number | undefined;
  readonly regime: Regime;
}

export class State {
  readonly ceiling = new AnchoredCeiling();
  readonly run: Run;
  readonly meter: Meter;
  readonly plan: Plan;
  readonly source: Source;
  readonly assumeMetered: boolean;
  readonly handler: OnBudgetExhausted | undefined;
  readonly controller: BudgetController | undefined;
  /** The calls that were last answered with a compaction, and with the caller's handler: each at most once. */
  compacted: CallId | undefined;
  escalated: CallId | undefined;
  /** Those of the last call's model. */
  terms: Terms | undefined;
  /** The tools that the last request carried, none of which the provider executes. */
  bounded: object | undefined;
  /** The breach was already told. */
  told = false;
  #opened = false;

  constructor(
    run: Run,
    meter: Meter,
    plan: Plan,
    source: Source,
    options: Pick<RunOptions, "assumeMeteredCredential" | "onBudgetExhausted" | "budgetController">,
  ) {
    this.run = run;
    this.meter = meter;
    this.plan = plan;
    this.source = source;
    this.assumeMetered = options.assumeMeteredCredential === true;
    this.handler = options.onBudgetExhausted;
    this.controller = options.budgetController;
  }

  /** Makes the tranche a fact. */
  tranche(release: Release): void {
    const made = this.meter.tranches.at(-1);
    if (made)
      this.run.record("budget.released", { amount: String(made.amount), reason: release.reason, atCall: made.atCall });
  }
  /** Opens the meter for its caller and in the record. */
  open(): void {
    this.controller?.bind(this.run, {
      release: (amount, reason) => {
        const release = releaseOn(this.meter, this.plan.denomination, amount, reason);
        this.tranche(release);
        return release;
      },
      revoke: () => this.meter.revoke(),
    });
    this.#opened = true;
    if (this.source.kind !== "shared")
      this.run.record("budget.opened", {
        denomination: this.plan.denomination,
        max: String(this.meter.max),
        released: String(this.meter.released),
      });
  }
  /** Ends the meter: nothing stays held, the parent is booked what was really spent. */
  close(): void {
    this.controller?.unbind(this.run);
    if (this.source.kind === "shared") return;
    this.meter.close();
    if (this.source.kind === "wallet" && this.source.hold.state === "open") this.source.hold.settle(this.meter.settled);
    if (!this.#opened) return; // the run failed before its money was there
    const { meter } = this;
    this.run.record("budget.closed", {
      spent: String(meter.settled),
      overspent: String(meter.overspent),
      capBreached: meter.capBreached,
      remaining: String(meter.remaining),
      max: String(meter.max),
      released: String(meter.released),
    });
  }
}

/** Defaults of the plugin, for root runs that say nothing. */
export interface Defaults {
  readonly budget?: RunBudget;
  readonly maxCostUsd?: number;
}
export interface Carved {
  readonly wallet: Wallet;
  readonly hold: Hold;
}

/** The money of a root run. @throws CavemanError with the code of the option that is wrong. */
export function rootState(run: Run, defaults: Defaults): State | undefined {
  const { options } = run;
  const own = options.budget !== undefined || options.maxCostUsd !== undefined;
  const plan = own ? planOf(options.budget, options.maxCostUsd) : planOf(defaults.budget, defaults.maxCostUsd);
  const { budgetController: controller, onBudgetExhausted: handler } = options;
  if (controller !== undefined && !(controller instanceof BudgetController))
    throw new CavemanError("cave_option_invalid", {
      place: "budgetController",
      expected: "what createBudgetController() gives",
      received: typeof controller,
    });
  if (handler !== undefined && handler !== "stop" && typeof handler !== "function")
    throw new CavemanError("cave_option_invalid", {
      place: "onBudgetExhausted",
      expected: '"stop" or a function',
      received: typeof handler,
    });
  if ((controller || typeof handler === "function") && (!plan || plan.failing))
    throw new CavemanError("cave_budget_controller_without_budget", {
      place: controller ? "budgetController" : "onBudgetExhausted",
    });
  if (controller?.bound) throw new CavemanError("cave_budget_controller_in_use");
  return plan && new State(run, new Meter(plan.max, plan.initial), plan, { kind: "own" }, options);
}

/** The money of a child: its wallet, a cap of its own under a parent without a budget, or the parent's meter. */
export function childState(
  run: Run,
  parent: State | undefined,
  by: ToolCall | undefined,
  carved: Carved | undefined,
): State | undefined {
  const { assumeMeteredCredential = false } = run.options;
  const options = { assumeMeteredCredential };
  if (parent) {
    const plan: Plan = { ...parent.plan, failing: false };
    if (!carved) return new State(run, parent.meter, plan, { kind: "shared" }, options);
    return new State(
      run,
      carved.wallet.meter,
      { ...plan, max: carved.wallet.amount, initial: carved.wallet.amount },
      { kind: "wallet", ...carved },
      options,
    );
  }
  const spec = by?.tool?.subagent;
  if (!spec) return undefined;
  const denomination = spec.maxCostUsd !== undefined ? "usd" : "tokens";
  const max = declaredIn(denomination, spec);
  if (max === undefined) return undefined;
  return new State(
    run,
    new Meter(max),
    { denomination, max, initial: max, floor: OUTPUT_FLOOR_TOKENS, onExhausted: "compact", failing: false },
    { kind: "own" },
    options,
  );
}
