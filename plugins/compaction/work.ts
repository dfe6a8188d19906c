/** One rewrite being considered: the view, why, and what it would have to free to be worth it. */
import type { Message, Plugin, ResolvedModel, Run, View } from "../../kernel/index.ts";
import type { ContextGauge, Originals } from "../services.ts";
import type { Evictable } from "./evict.ts";
import type { Settings } from "./options.ts";
import { type Plan, planOf } from "./plan.ts";
import type { Due, Pressure, Scales } from "./pressure.ts";
import type { CompactionState } from "./state.ts";
import type { Summarizer } from "./summarizer.ts";

/** Calls within which a rewrite has to pay for the prefix it breaks, while the next call still fits. */
const MOST_CALLS_TO_PAY = 20;
/** Share of the view that even an urgent rewrite must free; with less the next call fits no better. */
const LEAST_SHARE = 0.05;
/** Tokens of a citation. */
const CITATION = 100;
/** Share of a small window that stands in for each figure stated in tokens. */
const SHARES = { yield: 0.2, recent: 0.25, pinned: 0.25, summary: 0.125 } as const;

/** What a run's compaction works with. */
export interface Parts {
  readonly run: Run;
  readonly gauge: ContextGauge;
  readonly originals: Originals;
  readonly scales: Scales;
  readonly summarizer: Summarizer;
  readonly state: CompactionState;
  readonly settings: Settings;
  /** Every plugin of the kernel: what limits the calls of a run says how many are left. */
  readonly plugins: readonly Plugin[];
}

export class Work {
  readonly view: View;
  readonly messages: readonly Message[];
  readonly model: ResolvedModel;
  readonly pressure: Pressure;
  /** As far as this window can give them. */
  readonly settings: Settings;
  readonly plan: Plan;
  readonly #gauge: ContextGauge;

  constructor({ gauge, settings, state }: Parts, view: View, { model, pressure }: Due) {
    this.view = view;
    this.messages = view.messages;
    this.model = model;
    this.pressure = pressure;
    this.#gauge = gauge;
    this.settings = fitted(settings, pressure.window);
    this.plan = planOf(this.messages, {
      ...this.settings,
      tokensOf: (message) => gauge.messageTokens(message, model),
      capsuleDigest: state.capsule?.digest,
    });
  }

  /** Tokens that an urgent rewrite must free at least. */
  get leastUrgent(): number {
    return Math.ceil(this.pressure.tokens * LEAST_SHARE);
  }
  /** Tokens an eviction must free. */
  get leastYield(): number {
    return this.pressure.forced ? this.leastUrgent : this.settings.minYieldTokens;
  }
  tokensOf(messages: readonly Message[]): number {
    return messages.reduce((sum, message) => sum + this.#gauge.messageTokens(message, this.model), 0);
  }
  tokensOfText(text: string): number {
    return this.#gauge.textTokens(text, this.model);
  }
  savedBy(evictable: readonly Evictable[]): number {
    return evictable.reduce((sum, { text }) => sum + Math.max(0, this.tokensOfText(text) - CITATION), 0);
  }

  /** Whether a rewrite earns back the prefix it breaks. When the next call does not fit there is nothing to weigh. */
  pays(firstChanged: number, saved: number): boolean {
    if (this.pressure.forced) return true;
    const after = this.tokensOf(this.messages.slice(firstChanged)) - saved;
    const calls = this.#gauge.callsToPay(this.model, { again: Math.max(0, after), saved });
    return calls === undefined || calls <= MOST_CALLS_TO_PAY;
  }
}

/** The settings as far as a window of this size can give them. */
function fitted(settings: Settings, window: number | undefined): Settings {
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
