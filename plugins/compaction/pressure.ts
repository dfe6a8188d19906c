/** When a view is to be rewritten: for the budget's sake or the window's, whichever is nearer, and how urgently. */
import type { Compaction, ResolvedModel, Run, View } from "../../kernel/index.ts";
import { type ContextGauge, Pricing } from "../services.ts";
import type { Settings } from "./options.ts";
import type { Purse, Remaining } from "./purse.ts";

/** Compaction is looked for when the budget holds fewer than this many calls, each priced as if nothing were cached. */
const COMPACTION_TRIGGER_MULTIPLIER = 4;
/** Share of a small window that stands in for each figure stated in tokens. */
const SHARES = { yield: 0.2, recent: 0.25, pinned: 0.25, summary: 0.125 } as const;
/** Output tokens a call wants when nothing says how many. */
const DEFAULT_OUTPUT = 8_192;

export interface Pressure {
  readonly cause: "budget" | "window";
  /** The next call does not fit, or was refused or rejected: there is nothing to weigh. */
  readonly forced: boolean;
  readonly tokens: number;
  readonly window: number | undefined;
}

/** The settings as far as a window of this size can give them. */
export function fitted(settings: Settings, window: number | undefined): Settings {
  if (window === undefined) return settings;
  const most = (tokens: number, share: number): number => Math.max(1, Math.min(tokens, Math.floor(window * share)));
  return {
    ...settings,
    minYieldTokens: most(settings.minYieldTokens, SHARES.yield),
    keepRecentTokens: most(settings.keepRecentTokens, SHARES.recent),
    pinnedUserTokens: most(settings.pinnedUserTokens, SHARES.pinned),
    summaryMaxTokens: most(settings.summaryMaxTokens, SHARES.summary),
  };
}

export class Scales {
  readonly #run: Run;
  readonly #gauge: ContextGauge;
  readonly #purse: Purse;

  constructor(run: Run, gauge: ContextGauge, purse: Purse) {
    this.#run = run;
    this.#gauge = gauge;
    this.#purse = purse;
  }

  /** Output tokens the next call wants. */
  output(model: ResolvedModel): number {
    const wanted = this.#run.agent.output?.maxTokens ?? model.maxOutput ?? DEFAULT_OUTPUT;
    return Math.min(wanted, model.maxOutput ?? wanted);
  }

  pressure(view: View, model: ResolvedModel, reason: Compaction["reason"]): Pressure | undefined {
    const window = this.#gauge.windowOf(model);
    const { tokens } = this.#gauge.sizeOf(view, model);
    if (reason === "refused") return { cause: "budget", forced: true, tokens, window };
    if (reason === "rejected") return { cause: "window", forced: true, tokens, window };
    if (window !== undefined && !this.fits(tokens, model, window))
      return { cause: "window", forced: true, tokens, window };
    const frontier = this.#gauge.frontierOf(model);
    if (frontier !== undefined && tokens > frontier) return { cause: "window", forced: false, tokens, window };
    return this.#budgetShort(tokens, model) ? { cause: "budget", forced: false, tokens, window } : undefined;
  }

  /** Whether a call of this size leaves room for an answer, a tenth of the window at most. */
  fits(tokens: number, model: ResolvedModel, window: number): boolean {
    return tokens + Math.min(this.output(model), Math.floor(window / 10)) <= window;
  }

  /** The most so many tokens can cost, in the unit of the budget; undefined without one, or without a price. */
  cost(input: number, output: number, model: ResolvedModel, remaining: Remaining): bigint | undefined {
    if (remaining.denomination === "tokens") return BigInt(Math.ceil(input + output));
    const price = this.#run.find(Pricing)?.ceiling(model, Math.ceil(input), Math.ceil(output), this.#run.clock.now());
    return price && "pico" in price ? price.pico : undefined;
  }
  get remaining(): Remaining | undefined {
    return this.#purse.remaining;
  }

  #budgetShort(tokens: number, model: ResolvedModel): boolean {
    const { remaining } = this;
    if (!remaining || stopsAtOnce(this.#run)) return false;
    const next = this.cost(tokens, this.output(model), model, remaining);
    return next !== undefined && remaining.units < BigInt(COMPACTION_TRIGGER_MULTIPLIER) * next;
  }
}

/** A budget that says `onExhausted: "stop"` wants no compaction for its sake. */
function stopsAtOnce({ options }: Run): boolean {
  const { budget } = options as { readonly budget?: unknown };
  return typeof budget === "object" && budget !== null && "onExhausted" in budget && budget.onExhausted === "stop";
}
