/**
 * The ladder of one run: evict what is stale, summarise what is old, clamp what the model may still write (at the
 * reserve), and let the call stop. A rung is taken only when it frees enough and pays for the cached prefix it breaks;
 * what leaves the view is kept first, and a rewrite that fails any check leaves the view as it was.
 */
import {
  type CallId,
  type Compaction,
  illegality,
  Message,
  type ResolvedModel,
  type Rewrite,
  type Run,
  type SettledCall,
  type View,
} from "../../kernel/index.ts";
import { type CompactionSettled, type ContextGauge, Models, type Originals, ProviderFaults } from "../services.ts";
import { CONTEXT_SUMMARY_SCHEMA_VERSION, carriedOver, parseContextSummary } from "./capsule.ts";
import { capsuleMessage, historyText } from "./capsule-message.ts";
import { citationOf, type Evictable, evict, evictableIn } from "./evict.ts";
import { summarizationInstruction } from "./instruction.ts";
import { DEFAULT_MAX_COMPACTIONS, type Settings } from "./options.ts";
import { type Plan, planOf, rebuilt } from "./plan.ts";
import { fitted, type Pressure, type Scales } from "./pressure.ts";
import { userSource } from "./sources.ts";
import type { CompactionState } from "./state.ts";
import type { Summarizer } from "./summarizer.ts";
import { validateContextSummaryTransition } from "./transition.ts";

const OWNER = "compaction";
/** Calls within which a rewrite has to pay for the prefix it breaks, while the next call still fits. */
const MOST_CALLS_TO_PAY = 20;
/** Share of the view that even an urgent rewrite must free; with less the next call fits no better. */
const LEAST_SHARE = 0.05;
/** Summaries in a row that came to nothing before no more are paid for. */
const MOST_FAILURES = 2;
/** Removed segments that a summary may cite, the largest first. */
const CITABLE = 20;

/** What a run's compactor works with. */
export interface Parts {
  readonly run: Run;
  readonly gauge: ContextGauge;
  readonly originals: Originals;
  readonly scales: Scales;
  readonly summarizer: Summarizer;
  readonly state: CompactionState;
  readonly settings: Settings;
  /** Model calls this run may still make; infinite when nothing counts them. */
  readonly callsLeft: () => number;
}

interface Work {
  readonly view: View;
  readonly messages: readonly Message[];
  readonly model: ResolvedModel;
  readonly pressure: Pressure;
  readonly settings: Settings;
  readonly plan: Plan;
}

export class Compactor {
  readonly #parts: Parts;
  #summaries = 0;
  #failures = 0;
  /** Size at which nothing could be done last; another look waits until the view has grown. */
  #quietUntil = 0;
  #declined = "";
  readonly #rejected = new Set<CallId>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async rewrite({ view, reason, model: last, rewrites }: Compaction): Promise<Rewrite | undefined> {
    const { run, scales } = this.#parts;
    const model = last ?? run.find(Models)?.resolved;
    if (!model || run.stopping || run.signal.aborted) return undefined;
    const pressure = scales.pressure(view, model, reason);
    if (!pressure || this.#quiet(pressure)) return undefined;
    // A call that did not fit and was made smaller by another plugin is tried before more is taken out.
    if (reason !== "pressure" && rewrites.length > 0 && this.#fits(pressure, model)) return undefined;
    const work = this.#work(view, model, pressure);
    if (illegality(work.messages)) return undefined;
    const evictable = evictableIn(work.messages, { before: work.plan.tailFrom, keepFreshest: true });
    if (this.#enough(work, this.#savedBy(evictable, model))) {
      const evicted = this.#evict(work, evictable);
      if (evicted) return evicted;
    }
    const summarised = await this.#summarise(work);
    if (summarised || run.stopping || run.signal.aborted) return summarised;
    const fallback = this.#evict(work, evictable) ?? this.#evictNewest(work);
    if (!fallback) this.#quietUntil = pressure.tokens * (1 + LEAST_SHARE);
    return fallback;
  }

  /** A rejection for size is answered once a call, when there is anything left to take out. */
  rejected(settled: SettledCall): void {
    const { run } = this.#parts;
    const { callId, error, purpose, frozen, sent } = settled;
    if (!error || purpose === "summary" || settled.replayed || run.stopping || run.signal.aborted) return;
    if (this.#rejected.has(callId)) return;
    const fault = run.find(ProviderFaults)?.classify(settled.cause ?? error);
    if (!fault?.tooLarge || (sent && fault.billed !== "no")) return;
    this.#rejected.add(callId);
    const { messages } = frozen.view;
    const { plan } = this.#work(frozen.view, frozen.model, {
      cause: "window",
      forced: true,
      tokens: 0,
      window: undefined,
    });
    if (plan.removed.length > 0 || evictableIn(messages, { before: messages.length, keepFreshest: false }).length > 0)
      settled.again({ compact: "rejected" });
  }

  #work(view: View, model: ResolvedModel, pressure: Pressure): Work {
    const { gauge, state, settings } = this.#parts;
    const own = fitted(settings, pressure.window);
    const { messages } = view;
    const plan = planOf(messages, {
      ...own,
      tokensOf: (message) => gauge.messageTokens(message, model),
      capsuleDigest: state.capsule?.digest,
    });
    return { view, messages, model, pressure, settings: own, plan };
  }

  #quiet({ forced, tokens }: Pressure): boolean {
    return !forced && tokens <= this.#quietUntil;
  }
  #fits({ tokens, window }: Pressure, model: ResolvedModel): boolean {
    return window === undefined || this.#parts.scales.fits(tokens, model, window);
  }
  #tokensOf(messages: readonly Message[], model: ResolvedModel): number {
    return messages.reduce((sum, message) => sum + this.#parts.gauge.messageTokens(message, model), 0);
  }
  #savedBy(evictable: readonly Evictable[], model: ResolvedModel): number {
    const { gauge } = this.#parts;
    return evictable.reduce((sum, { text }) => sum + Math.max(0, gauge.textTokens(text, model) - 100), 0);
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
    const next = remaining && scales.cost(after, scales.output(model), model, remaining);
    return (
      next !== undefined && remaining !== undefined && remaining.units >= next * BigInt(1 + settings.headroomCalls)
    );
  }

  #leastYield({ pressure, settings }: Work): number {
    return pressure.forced ? Math.ceil(pressure.tokens * LEAST_SHARE) : settings.minYieldTokens;
  }

  /** Whether a rewrite earns back the prefix it breaks. When the next call does not fit there is nothing to weigh. */
  #pays({ pressure, messages, model }: Work, firstChanged: number, saved: number): boolean {
    if (pressure.forced) return true;
    const after = this.#tokensOf(messages.slice(firstChanged), model) - saved;
    const calls = this.#parts.gauge.callsToPay(model, { again: Math.max(0, after), saved });
    return calls === undefined || calls <= MOST_CALLS_TO_PAY;
  }

  #evict(work: Work, evictable: readonly Evictable[]): Rewrite | undefined {
    const { run } = this.#parts;
    const { model, messages, pressure } = work;
    const first = evictable[0];
    const saved = this.#savedBy(evictable, model);
    if (!first) return undefined;
    if (saved < this.#leastYield(work)) return this.#decline("yield_too_small");
    if (!this.#pays(work, first.index, saved)) return this.#decline("does_not_pay");
    const cited = evictable.flatMap((one) => {
      const way = this.#wayBack(one.toolName, one.text, run.tools.get(one.toolName)?.effect === "read");
      return way === undefined ? [] : [{ evictable: one, citation: citationOf(one, way) }];
    });
    const real = this.#savedBy(
      cited.map(({ evictable: one }) => one),
      model,
    );
    if (cited.length === 0 || real < this.#leastYield(work)) return this.#decline("not_recoverable");
    return this.#take(work, evict(messages, cited), {
      tier: "evicted",
      preTokens: pressure.tokens,
      pinnedSegmentIds: [],
      elidedSegmentDigests: [...new Set(cited.map(({ evictable: { index } }) => messages[index]?.digest ?? ""))],
      dropped: cited.length,
    });
  }

  /** Last of all, when the newest results alone are too much for the window: they are stored and read in pieces. */
  #evictNewest(work: Work): Rewrite | undefined {
    const { pressure, messages, model } = work;
    const { window, forced } = pressure;
    if (!forced || window === undefined || this.#fits(pressure, model) || !this.#parts.originals.available)
      return undefined;
    const { gauge } = this.#parts;
    const largest = evictableIn(messages, { before: messages.length, keepFreshest: false })
      .map((one) => ({ one, tokens: gauge.textTokens(one.text, model) }))
      .sort((a, b) => b.tokens - a.tokens);
    const cited: { evictable: Evictable; citation: string }[] = [];
    let tokens = pressure.tokens;
    for (const { one, tokens: freed } of largest) {
      if (this.#parts.scales.fits(tokens, model, window)) break;
      const way = this.#wayBack(one.toolName, one.text, false);
      if (way === undefined) continue;
      cited.push({ evictable: one, citation: citationOf(one, way) });
      tokens -= freed;
    }
    if (cited.length === 0 || !this.#parts.scales.fits(tokens, model, window)) return this.#decline("cannot_fit");
    return this.#take(work, evict(messages, cited), {
      tier: "evicted",
      preTokens: pressure.tokens,
      pinnedSegmentIds: [],
      elidedSegmentDigests: [...new Set(cited.map(({ evictable: { index } }) => messages[index]?.digest ?? ""))],
      dropped: cited.length,
    });
  }

  #wayBack(toolName: string, text: string, again: boolean): string | undefined {
    const call = this.#parts.originals.keep(text, { toolName, by: OWNER });
    if (call !== undefined) return `Read it back whole with ${call}.`;
    return again ? `Call ${toolName} again if you need it.` : undefined;
  }

  async #summarise(work: Work): Promise<Rewrite | undefined> {
    const { run, originals, state, summarizer } = this.#parts;
    const { plan, model, messages, settings, pressure } = work;
    const removedTokens = this.#tokensOf(plan.removed, model);
    const projected = removedTokens - settings.summaryMaxTokens - this.#tokensOf(reducedOf(plan), model);
    const why = this.#unwilling(work, projected);
    if (why) return this.#decline(why);
    const head = await this.#history(work);
    if (!head) return this.#decline("history_too_long");
    const writer = await summarizer.modelFor(model, this.#tokensOf(head, model) + settings.summaryMaxTokens);
    const short = this.#unaffordable(work, writer, this.#tokensOf(head, model), projected);
    if (short) return this.#decline(short);
    const call = originals.keep(historyText(plan.removed), { toolName: "cave_context", by: OWNER, whole: true });
    if (call === undefined && originals.available) return this.#decline("not_recoverable");

    const prior = plan.capsule === undefined ? undefined : state.capsule?.summary;
    const required = plan.usersGone.map(userSource);
    const current = plan.usersShown.map(userSource);
    const segments = citable(plan);
    const instruction = new Message({
      role: "user",
      content: [
        {
          type: "text",
          text: summarizationInstruction({
            generation: (prior?.generation ?? 0) + 1,
            required,
            current,
            anchors: prior?.critical_anchors ?? [],
            segments,
            maxTokens: settings.summaryMaxTokens,
          }),
        },
      ],
    });
    const answer = await summarizer.write(head, instruction, writer, settings.summaryMaxTokens);
    if (answer.paid) this.#summaries++;
    const discard = (reason: string): undefined => this.#discard(reason, answer.paid, answer.callId);
    if (!("text" in answer)) return discard(answer.failed);
    const parsed = parseContextSummary(answer.text);
    if (!parsed.ok) return discard(`unreadable: ${parsed.problem}`);
    const summary = carriedOver(parsed.value, prior);
    const ways = state.originalsWith(call);
    const capsule = capsuleMessage(summary, { removed: plan.removed.length, tokens: removedTokens, originals: ways });
    const after = rebuilt(plan, capsule);
    const tail = messages.length - plan.tailFrom;
    const verdict = validateContextSummaryTransition({
      prior,
      candidate: summary,
      required,
      current,
      segments: new Map(segments.map(({ id, sha256 }) => [id, sha256])),
      rewrite: { before: messages, after, verbatim: plan.kept.map(({ message }) => message), tail },
    });
    if (!verdict.ok) return discard(verdict.problems.slice(0, 3).join("; "));
    const freed = this.#tokensOf(messages, model) - this.#tokensOf(after, model);
    if (freed < Math.ceil(pressure.tokens * LEAST_SHARE)) return discard("it frees too little");
    if (call === undefined)
      run.notice(OWNER, "cave_compaction_unrecoverable", "No store keeps what the summary stands for; load recovery.");
    this.#failures = 0;
    state.took(capsule.digest, summary, ways);
    return this.#take(work, after, {
      tier: "summarized",
      preTokens: pressure.tokens,
      pinnedSegmentIds: plan.kept.map(({ message }) => `runtime.${message.role}.${message.digest.slice(0, 16)}`),
      elidedSegmentDigests: plan.removed.map(({ digest }) => digest),
      ...(answer.callId ? { summaryCall: answer.callId } : {}),
      summarySchemaVersion: CONTEXT_SUMMARY_SCHEMA_VERSION,
      dropped: plan.removed.length,
    });
  }

  /** Why no summary is tried at all. */
  #unwilling(work: Work, projected: number): string | undefined {
    const { callsLeft } = this.#parts;
    const { plan, pressure, settings } = work;
    // What the window forces is bounded by what it frees; what a budget asks for, by a number.
    const most =
      settings.maxCompactions ?? (pressure.cause === "window" ? Number.POSITIVE_INFINITY : DEFAULT_MAX_COMPACTIONS);
    if (plan.removed.length === 0) return "nothing_to_summarise";
    if (this.#summaries >= most) return "max_compactions";
    if (this.#failures >= MOST_FAILURES) return "summaries_fail";
    if (projected < settings.minYieldTokens) return "yield_too_small";
    if (callsLeft() < 2) return "no_call_left_after";
    const first = work.messages.findIndex((message) => plan.removed.includes(message));
    return this.#pays(work, Math.max(0, first), projected) ? undefined : "does_not_pay";
  }

  /** Whether the budget pays for the summary, priced cold, and for the calls that are to follow it. */
  #unaffordable(
    { pressure, model, settings }: Work,
    writer: ResolvedModel,
    head: number,
    projected: number,
  ): string | undefined {
    const { scales } = this.#parts;
    const { remaining } = scales;
    if (!remaining) return undefined;
    const summary = scales.cost(head, settings.summaryMaxTokens, writer, remaining);
    const next = scales.cost(pressure.tokens - projected, scales.output(model), model, remaining);
    if (summary === undefined || next === undefined) return "unpriced";
    const calls = pressure.cause === "budget" ? settings.headroomCalls : 1;
    return remaining.units >= summary + next * BigInt(calls) ? undefined : "not_affordable";
  }

  /**
   * What the summariser reads: the part before the tail, byte for byte what the provider has cached. If that is too much
   * for the window, with its old results cited.
   */
  async #history({
    plan,
    messages,
    model,
    settings,
    pressure: { window },
  }: Work): Promise<readonly Message[] | undefined> {
    const head = messages.slice(0, plan.tailFrom);
    const room = window === undefined ? Number.POSITIVE_INFINITY : window * 0.95 - settings.summaryMaxTokens;
    if (this.#tokensOf(head, model) <= room) return head;
    const shorter = evict(
      head,
      evictableIn(head, { before: head.length, keepFreshest: false }).map((evictable) => ({
        evictable,
        citation: citationOf(evictable, "Left out of this request."),
      })),
    );
    return this.#tokensOf(shorter, model) <= room ? shorter : undefined;
  }

  #take(
    { view, model, pressure }: Work,
    after: readonly Message[],
    fact: Omit<CompactionSettled, "postTokens" | "cacheState"> & { readonly dropped: number },
  ): Rewrite {
    const { run, gauge } = this.#parts;
    const { dropped, ...settled } = fact;
    const rewrite = view.rewrite(after, { by: OWNER, dropped });
    const before = this.#tokensOf(view.messages, model);
    const postTokens = Math.max(0, pressure.tokens - (before - this.#tokensOf(after, model)));
    this.#quietUntil = 0;
    this.#declined = "";
    run.record("compaction.settled", { ...settled, postTokens, cacheState: gauge.cacheState });
    run.notice(
      OWNER,
      "cave_context_compacted",
      `${dropped} ${fact.tier === "evicted" ? "old tool result(s) were cited" : "earlier message(s) were summarised"}: about ${pressure.tokens} tokens are ${postTokens} now.`,
    );
    return rewrite;
  }

  #discard(reason: string, paid: boolean, summaryCall: CallId | undefined): undefined {
    const { run } = this.#parts;
    this.#failures++;
    run.record("compaction.discarded", { reason: reason.slice(0, 300), paid, ...(summaryCall ? { summaryCall } : {}) });
    if (paid) run.notice(OWNER, "cave_compaction_discarded", `A summary was discarded: ${reason.slice(0, 300)}.`);
  }
  /** A view that stays too full is declined at every call; it is said once. */
  #decline(reason: string): undefined {
    if (this.#declined === reason) return;
    this.#declined = reason;
    this.#parts.run.record("compaction.declined", { reason });
  }
}

/** What stays of messages that do not stay whole: a skill's call and result. */
const reducedOf = ({ kept, messages }: Plan): Message[] =>
  kept.flatMap(({ index, message }) => (messages[index] === message ? [] : [message]));

/** The largest removed tool messages, as segments a citation may name. */
function citable({ removed }: Plan): { id: string; sha256: string; what: string }[] {
  return removed
    .flatMap((message) => (message.value.role === "tool" ? [{ message, value: message.value }] : []))
    .sort((a, b) => b.message.bytes - a.message.bytes)
    .slice(0, CITABLE)
    .map(({ message, value }) => {
      const tools = value.content.flatMap((part) => (part.type === "tool-result" ? [part.toolName] : []));
      const sha256 = message.digest;
      return { id: `runtime.tool.${sha256.slice(0, 16)}`, sha256, what: [...new Set(tools)].join(", ").slice(0, 80) };
    });
}
