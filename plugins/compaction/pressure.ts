/** When a view is to be rewritten: for the budget's sake or the window's, whichever is nearer, and how urgently. */
import type { Compaction, ResolvedModel, Run, View } from "../../kernel/index.ts";
import { type ContextGauge, Models, Pricing } from "../services.ts";
import type { Purse, Remaining } from "./purse.ts";

/** Compaction is looked for when the budget holds fewer than this many calls, each priced as if nothing were cached. */
const COMPACTION_TRIGGER_MULTIPLIER = 4;
/** Output tokens a call wants when nothing says how many. */
const DEFAULT_OUTPUT = 8_192;

export interface Pressure {
  readonly cause: "budget" | "window";
  /** The next call does not fit, or was refused or rejected: there is nothing to weigh. */
  readonly forced: boolean;
  readonly tokens: number;
  readonly window: number | undefined;
}

/** A rewrite that is called for. */
export interface Due {
  readonly model: ResolvedModel;
  readonly pressure: Pressure;
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

  /**
   * What a view is to be made smaller for; undefined while there is no need, and for a run that ends. Pressure that is
   * not forced counts beyond `quietUntil` tokens.
   */
  due({ view, reason, model: last, rewrites }: Compaction, quietUntil: number): Due | undefined {
    const run = this.#run;
    const model = last ?? run.find(Models)?.resolved;
    if (!model || run.stopping || run.signal.aborted) return undefined;
    const pressure = this.#pressure(view, model, reason);
    if (!pressure || (!pressure.forced && pressure.tokens <= quietUntil)) return undefined;
    const { tokens, window } = pressure;
    // What another plugin made smaller for this very reason is tried before more is taken out.
    if (reason !== "pressure" && rewrites.length > 0 && (window === undefined || this.fits(tokens, model, window)))
      return undefined;
    return { model, pressure };
  }

  #pressure(view: View, model: ResolvedModel, reason: Compaction["reason"]): Pressure | undefined {
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
