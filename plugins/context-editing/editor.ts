/**
 * The context of one run being edited: repaint what a rebuilt view lost, leave out what says nothing, clear what is old.
 * Nothing is cleared that cannot be read again, and a clear must be worth the cached prefix it breaks.
 */
import {
  type CallId,
  type Compaction,
  type Message,
  type ResolvedModel,
  type Rewrite,
  type Run,
  type SettledCall,
  View,
} from "../../kernel/index.ts";
import type { Originals } from "../services.ts";
import {
  againOf,
  type Cleared,
  COMPACTABLE_TOOLS,
  clearable,
  clearStaleToolResults,
  paint,
  planRejectionClears,
  type RejectionClearPlan,
  savingsOf,
} from "./clear.ts";
import type { ClearedProjectionLedger } from "./cleared.ts";
import type { Gauge } from "./gauge.ts";
import { resolveTriggerWindow } from "./geometry.ts";
import { dropEmptyFailureAssistants } from "./heal.ts";
import type { PageBack } from "./marker.ts";
import { indexOccurrences, type OccurrenceIndex, type ToolResult } from "./occurrences.ts";
import type { ContextEditingOptions } from "./options.ts";
import { replayClearedProjection } from "./projection-ledger.ts";
import type { Trigger, Watch } from "./watch.ts";

const OWNER = "context-editing";
/** Calls within which a clear has to pay for the prefix it breaks, while the context still fits. */
const MOST_CALLS_TO_PAY = 20;

export class Editor {
  readonly #run: Run;
  readonly #options: ContextEditingOptions;
  readonly #gauge: Gauge;
  readonly #ledger: ClearedProjectionLedger;
  readonly #watch: Watch;
  readonly #originals: Originals;
  /** Calls whose rejection was already answered with a smaller view. */
  readonly #rejected = new Set<CallId>();
  /** What a rejection's plan stored and composed, until the view it was made for is rewritten. */
  #planned: { readonly view: View; readonly plan: RejectionClearPlan } | undefined;
  #declined = "";
  /** Size at which a pass last found nothing worth its while; another look waits until the context has grown. */
  #declinedAt = 0;
  #announced = false;

  constructor(watch: Watch, originals: Originals) {
    this.#run = watch.run;
    this.#options = watch.options;
    this.#gauge = watch.gauge;
    this.#ledger = watch.ledger;
    this.#watch = watch;
    this.#originals = originals;
  }

  rewrite({ view, reason, model: last }: Compaction): Rewrite | undefined {
    const watch = this.#watch;
    const model = watch.modelOf(last);
    if (model) this.#announce(model);
    const mended = this.#mend(view);
    const trigger = watch.trigger(mended.view, model, reason, this.#declinedAt);
    const cleared = trigger ? this.#clear(mended.view, model, trigger) : undefined;
    const now = cleared?.view ?? mended.view;
    watch.saw(now === view ? view : undefined);
    if (now === view) return undefined;
    return view.rewrite(now.messages, { by: OWNER, dropped: mended.dropped + (cleared?.count ?? 0) });
  }

  /** A rejection for size is answered with a smaller view, when there is one to give. */
  rejected(settled: SettledCall): void {
    const { callId, run, frozen } = settled;
    if (this.#rejected.has(callId)) return;
    this.#rejected.add(callId);
    if (clearable(frozen.view.messages, this.#rules()).length === 0) return;
    const plan = this.#plan(frozen.view.messages, indexOccurrences(frozen.view.messages));
    this.#planned = { view: frozen.view, plan };
    if ("cleared" in plan) settled.again({ compact: "rejected" });
    else run.record("context.clear_declined", { trigger: "rejected", reason: plan.declined });
  }

  /** Repaints a view that was built anew and leaves out messages that say nothing. */
  #mend(view: View): { readonly view: View; readonly dropped: number } {
    const silent = this.#watch.isSilent(view);
    if (!silent && !this.#watch.isNew(view)) return { view, dropped: 0 };
    const { messages } = view;
    const healed = silent ? dropEmptyFailureAssistants(messages) : messages;
    const repainted = replayClearedProjection(healed, this.#ledger).messages;
    if (repainted === messages) return { view, dropped: 0 };
    return { view: View.of(repainted), dropped: messages.length - healed.length };
  }

  #clear(
    view: View,
    model: ResolvedModel | undefined,
    trigger: Trigger,
  ): { readonly view: View; readonly count: number } | undefined {
    const { messages } = view;
    const index = indexOccurrences(messages);
    const tokens = this.#gauge.sizeOf(view, model).tokens;
    const decline = (reason: string): undefined => {
      // A view that stays too full is declined at every call; it is said once.
      if (this.#declined !== `${trigger} ${reason}`) this.#run.record("context.clear_declined", { trigger, reason });
      this.#declined = `${trigger} ${reason}`;
      this.#declinedAt = tokens;
      return undefined;
    };
    if (trigger === "frontier" && model && !this.#pays(messages, model)) return decline("does_not_pay");
    if (trigger === "refused" || trigger === "rejected") {
      const planned = this.#planned;
      this.#planned = undefined;
      const same = planned?.view.epoch === view.epoch && planned.view.length === view.length;
      const plan = same ? planned.plan : this.#plan(messages, index);
      if ("declined" in plan) return decline(plan.declined);
      return this.#apply(messages, index, plan, trigger);
    }
    let saved = 0;
    const clears: Pick<Cleared, "index" | "part" | "marker">[] = [];
    clearStaleToolResults(messages, {
      ...this.#rules(),
      budgetTokens: 0,
      anchoredTotalTokens: tokens,
      offload: { persist: (result, text) => this.#persist(result, text) },
      onCleared: (pass) => {
        saved = pass.tokensSavedEstimate;
        clears.push(...pass.clears);
      },
    });
    if (clears.length === 0) return decline("nothing_worth_clearing");
    const cleared = clears.flatMap(({ index: at, part, marker }) => {
      const named = index.keyAt(at, part);
      return named ? [{ key: named.key, groupCount: named.groupCount, marker, fp: named.fp }] : [];
    });
    return this.#apply(messages, index, { cleared, tokensSavedEstimate: saved }, trigger);
  }

  #apply(
    messages: readonly Message[],
    index: OccurrenceIndex,
    plan: Extract<RejectionClearPlan, { cleared: unknown }>,
    trigger: Trigger,
  ): { readonly view: View; readonly count: number } {
    const clears: Pick<Cleared, "index" | "part" | "marker">[] = [];
    for (const { key, marker, groupCount, fp } of plan.cleared) {
      const found = index.find(key);
      if (!found) continue;
      clears.push({ index: found.index, part: found.part, marker });
      this.#ledger.entries.set(key, { marker, groupCount, fp });
    }
    const saved = Math.round(plan.tokensSavedEstimate);
    this.#declinedAt = 0;
    this.#declined = "";
    this.#run.record("context.cleared", {
      trigger,
      results: clears.length,
      tokensSaved: saved,
      basis: "estimate",
      digests: plan.cleared.map(({ fp }) => fp),
    });
    this.#run.notice(
      OWNER,
      "cave_context_cleared",
      `${clears.length} old tool result(s), about ${saved} tokens, left the model's view; each can be read back.`,
    );
    return { view: View.of(paint(messages, clears)), count: clears.length };
  }

  #plan(messages: readonly Message[], index: OccurrenceIndex): RejectionClearPlan {
    return planRejectionClears(messages, {
      ...this.#rules(),
      keyOf: index.keyOf,
      offload: { persist: (result, text) => this.#persist(result, text) },
    });
  }

  /** While everything still fits, a clear has to earn back what it breaks of the cached prefix. */
  #pays(messages: readonly Message[], model: ResolvedModel): boolean {
    const clears = clearable(messages, this.#rules());
    const first = clears[0];
    if (!first) return true; // the machine itself says why nothing is cleared
    const saved = savingsOf(clears);
    let after = 0;
    for (let at = first.index; at < messages.length; at++) {
      const message = messages[at];
      if (message) after += this.#gauge.messageTokens(message, model);
    }
    const calls = this.#gauge.callsToPay(model, { again: Math.max(0, after - saved), saved });
    return calls === undefined || calls <= MOST_CALLS_TO_PAY;
  }

  #rules() {
    const { keepRecentToolResults, tools } = this.#options;
    return {
      ...(keepRecentToolResults === undefined ? {} : { keepRecentToolResults }),
      compactableTools: tools ? new Set(tools) : COMPACTABLE_TOOLS,
      exempt: (result: ToolResult) => !this.#canRead(result),
    };
  }

  /** Asked before anything is stored: whether some way back exists for this result at all. */
  #canRead({ toolName }: ToolResult): boolean {
    return this.#originals.available || this.#run.tools.get(toolName)?.effect === "read";
  }

  /** Keeps a result's exact text and says how the model reads it back. */
  #persist(result: ToolResult, text: string): PageBack | undefined {
    const { toolName } = result;
    const call = this.#originals.keep(text, { toolName, by: OWNER });
    if (call !== undefined) return { call };
    return this.#run.tools.get(toolName)?.effect === "read" ? againOf(result, text) : undefined;
  }

  #announce(model: ResolvedModel): void {
    if (this.#announced) return;
    this.#announced = true;
    const contextTokens = this.#gauge.windowOf(model);
    const { clamped, declaredAutoCompactTokens, physicalWindow } = resolveTriggerWindow(model, {
      ...this.#options,
      ...(contextTokens === undefined ? {} : { contextTokens }),
    });
    if (clamped)
      this.#run.notice(
        OWNER,
        "cave_context_window_clamped",
        `autoCompactTokens is ${declaredAutoCompactTokens}, the context window ${physicalWindow}; the window is used.`,
      );
  }
}
