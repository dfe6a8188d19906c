/**
 * The ladder of one run: evict what is stale, summarise what is old, clamp what the model may still write (at the
 * reserve), and let the call stop. A rung is taken only when it frees enough and pays for the cached prefix it breaks;
 * what leaves the view is kept first, and a rewrite that fails any check leaves the view as it was.
 */
import {
  type CallId,
  illegality,
  type ModelCall,
  type Rewrite,
  type SettledCall,
  type View,
} from "../../kernel/index.ts";
import { evictableIn } from "./evict.ts";
import { Eviction } from "./eviction.ts";
import type { Due } from "./pressure.ts";
import { RewriteLog } from "./rewrite-log.ts";
import { Summarizer } from "./summarizer.ts";
import { SummaryRung } from "./summary.ts";
import { type Parts, Work } from "./work.ts";

/** A view that could not be made smaller is looked at again when it has grown by this much. */
const GROWTH = 1.05;

export class Compactor {
  readonly #parts: Parts;
  readonly #eviction: Eviction;
  readonly #summary: SummaryRung;
  readonly #rejected = new Set<CallId>();
  /** Tokens up to which a view is left alone that could not be made smaller. */
  quietUntil = 0;

  constructor(own: Omit<Parts, "summarizer">) {
    const parts: Parts = { ...own, summarizer: new Summarizer(own.run, own.gauge, own.settings) };
    const log = new RewriteLog(parts);
    this.#parts = parts;
    this.#eviction = new Eviction(parts, log);
    this.#summary = new SummaryRung(parts, log);
  }

  /** A smaller view, or undefined when none is worth it. */
  rewrite(view: View, due: Due): Promise<Rewrite | undefined> | undefined {
    const work = new Work(this.#parts, view, due);
    return illegality(work.messages) ? undefined : this.#climb(work);
  }
  /** A summary has its own time limit. */
  shape(call: ModelCall): void {
    this.#parts.summarizer.shape(call);
  }

  async #climb(work: Work): Promise<Rewrite | undefined> {
    const { run } = this.#parts;
    const { plan, messages, pressure } = work;
    const stale = evictableIn(messages, { before: plan.tailFrom, keepFreshest: true });
    const evicted = this.#enough(work, work.savedBy(stale)) ? this.#eviction.stale(work, stale) : undefined;
    if (evicted) return evicted;
    const summarised = await this.#summary.rewrite(work);
    if (summarised) {
      this.quietUntil = 0;
      return summarised;
    }
    if (run.stopping || run.signal.aborted) return undefined;
    const fallback = this.#eviction.stale(work, stale) ?? (pressure.forced ? this.#eviction.newest(work) : undefined);
    this.quietUntil = fallback ? 0 : pressure.tokens * GROWTH;
    return fallback;
  }

  /** Whether eviction alone takes the pressure off. */
  #enough({ pressure, model, settings }: Work, saved: number): boolean {
    const { gauge, scales } = this.#parts;
    const after = pressure.tokens - saved;
    if (pressure.cause === "window") {
      const frontier = gauge.frontierOf(model);
      return frontier !== undefined && after <= frontier;
    }
    const { remaining } = scales;
    if (!remaining) return false;
    const next = scales.cost(after, scales.output(model), model, remaining);
    return next !== undefined && remaining.units >= next * BigInt(1 + settings.headroomCalls);
  }

  /** A rejection for size is answered once a call, when there is anything left to take out. */
  rejected(settled: SettledCall): void {
    const { callId, frozen } = settled;
    if (this.#rejected.has(callId)) return;
    this.#rejected.add(callId);
    const { view, model } = frozen;
    const pressure = { cause: "window", forced: true, tokens: 0, window: this.#parts.gauge.windowOf(model) } as const;
    const { plan, messages } = new Work(this.#parts, view, { model, pressure });
    const all = { before: messages.length, keepFreshest: false };
    if (plan.removed.length > 0 || evictableIn(messages, all).length > 0) settled.again({ compact: "rejected" });
  }
}
