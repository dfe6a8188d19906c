/**
 * The ladder of one run: evict what is stale, summarise what is old, clamp what the model may still write (at the
 * reserve), and let the call stop. A rung is taken only when it frees enough and pays for the cached prefix it breaks;
 * what leaves the view is kept first, and a rewrite that fails any check leaves the view as it was.
 */
import { type CallId, type Compaction, illegality, type Rewrite, type SettledCall } from "../../kernel/index.ts";
import { Models, ProviderFaults } from "../services.ts";
import { evictableIn } from "./evict.ts";
import { Eviction } from "./eviction.ts";
import { RewriteLog } from "./rewrite-log.ts";
import { SummaryRung } from "./summary.ts";
import { type Parts, Work } from "./work.ts";

/** A view that could not be made smaller is looked at again when it has grown by this much. */
const GROWTH = 1.05;

export class Compactor {
  readonly #parts: Parts;
  readonly #eviction: Eviction;
  readonly #summary: SummaryRung;
  readonly #rejected = new Set<CallId>();
  #quietUntil = 0;

  constructor(parts: Parts) {
    const log = new RewriteLog(parts);
    this.#parts = parts;
    this.#eviction = new Eviction(parts, log);
    this.#summary = new SummaryRung(parts, log);
  }

  /** A smaller view, or undefined. Answers at once while there is no pressure. */
  rewrite({ view, reason, model: last, rewrites }: Compaction): Promise<Rewrite | undefined> | undefined {
    const { run, scales } = this.#parts;
    const model = last ?? run.find(Models)?.resolved;
    if (!model || run.stopping || run.signal.aborted) return undefined;
    const pressure = scales.pressure(view, model, reason);
    if (!pressure || (!pressure.forced && pressure.tokens <= this.#quietUntil)) return undefined;
    const { tokens, window } = pressure;
    // What another plugin made smaller for this very reason is tried before more is taken out.
    if (reason !== "pressure" && rewrites.length > 0 && (window === undefined || scales.fits(tokens, model, window)))
      return undefined;
    const work = new Work(this.#parts, view, model, pressure);
    return illegality(work.messages) ? undefined : this.#climb(work);
  }

  async #climb(work: Work): Promise<Rewrite | undefined> {
    const { run } = this.#parts;
    const { plan, messages, pressure } = work;
    const stale = evictableIn(messages, { before: plan.tailFrom, keepFreshest: true });
    const evicted = this.#enough(work, work.savedBy(stale)) ? this.#eviction.stale(work, stale) : undefined;
    if (evicted) return evicted;
    const summarised = await this.#summary.rewrite(work);
    if (summarised) {
      this.#quietUntil = 0;
      return summarised;
    }
    if (run.stopping || run.signal.aborted) return undefined;
    const fallback = this.#eviction.stale(work, stale) ?? (pressure.forced ? this.#eviction.newest(work) : undefined);
    this.#quietUntil = fallback ? 0 : pressure.tokens * GROWTH;
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
    const { run, gauge } = this.#parts;
    const { callId, error, purpose, frozen, sent } = settled;
    if (!error || purpose === "summary" || settled.replayed || run.stopping || run.signal.aborted) return;
    if (this.#rejected.has(callId)) return;
    const fault = run.find(ProviderFaults)?.classify(settled.cause ?? error);
    if (!fault?.tooLarge || (sent && fault.billed !== "no")) return;
    this.#rejected.add(callId);
    const { view, model } = frozen;
    const window = gauge.windowOf(model);
    const { plan, messages } = new Work(this.#parts, view, model, { cause: "window", forced: true, tokens: 0, window });
    const all = { before: messages.length, keepFreshest: false };
    if (plan.removed.length > 0 || evictableIn(messages, all).length > 0) settled.again({ compact: "rejected" });
  }
}
