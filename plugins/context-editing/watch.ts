/**
 * Tells whether a view needs an editor at all: whether something of it must be repainted or left out, and whether it is
 * full enough to be cleared. One a run; small, because it looks at every call.
 */
import type { Compaction, ResolvedModel, Run, View } from "../../kernel/index.ts";
import { Models } from "../services.ts";
import type { ClearedProjectionLedger } from "./cleared.ts";
import type { Gauge } from "./gauge.ts";
import { isEmptyAssistant } from "./heal.ts";
import type { ContextEditingOptions } from "./options.ts";

/** Why a view is cleared. */
export type Trigger = "frontier" | "blocking" | "refused" | "rejected";

export class Watch {
  readonly run: Run;
  readonly options: ContextEditingOptions;
  readonly gauge: Gauge;
  readonly ledger: ClearedProjectionLedger;
  /** The view whose beginning is known to be painted and healed. */
  #seen: { readonly epoch: number; readonly length: number } | undefined;

  constructor(run: Run, options: ContextEditingOptions, gauge: Gauge, ledger: ClearedProjectionLedger) {
    this.run = run;
    this.options = options;
    this.gauge = gauge;
    this.ledger = ledger;
  }

  /** Whether an editor would find nothing to do, nor to announce: such a view counts as seen. */
  idle({ view, reason, model: last }: Compaction): boolean {
    const model = this.modelOf(last);
    const { autoCompactTokens = 0 } = this.options;
    if (model && autoCompactTokens > (this.gauge.windowOf(model) ?? autoCompactTokens)) return false;
    if (this.isSilent(view) || (this.ledger.entries.size > 0 && this.isNew(view))) return false;
    if (this.trigger(view, model, reason, 0)) return false;
    this.saw(view);
    return true;
  }

  modelOf(last: ResolvedModel | undefined): ResolvedModel | undefined {
    return last ?? this.run.find(Models)?.resolved;
  }
  /** Takes a view for painted and healed; without one every view is new. */
  saw(view: View | undefined): void {
    this.#seen = view && { epoch: view.epoch, length: view.length };
  }
  isNew(view: View): boolean {
    return this.#knownOf(view) === 0;
  }
  /** Whether one of the messages that came since says nothing. */
  isSilent(view: View): boolean {
    for (let at = this.#knownOf(view); at < view.length; at++) {
      const message = view.at(at);
      if (message && isEmptyAssistant(message)) return true;
    }
    return false;
  }
  #knownOf(view: View): number {
    return this.#seen?.epoch === view.epoch ? this.#seen.length : 0;
  }

  /** `declinedAt`: tokens at which a pass last found nothing worth its while. */
  trigger(
    view: View,
    model: ResolvedModel | undefined,
    reason: Compaction["reason"],
    declinedAt: number,
  ): Trigger | undefined {
    if (reason !== "pressure") return reason;
    if (!model) return undefined;
    const frontier = this.gauge.frontierOf(model);
    const window = this.gauge.windowOf(model);
    if (frontier === undefined || window === undefined) return undefined;
    const { tokens } = this.gauge.sizeOf(view, model);
    // Output tokens the next call will want, as far as a window can give them.
    const wanted = this.run.agent.output?.maxTokens ?? model.maxOutput ?? 8_192;
    if (tokens + Math.min(wanted, Math.floor(window * 0.1)) > window) return "blocking";
    if (this.options.machine === "off" || tokens <= frontier) return undefined;
    return tokens > declinedAt * 1.05 ? "frontier" : undefined;
  }
}
