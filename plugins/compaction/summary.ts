/**
 * The second rung: one paid call writes a capsule that takes the place of everything old. It is tried only when it will
 * free enough, pays, and leaves money for the work; what it stands for is kept first; and it is used only when every
 * check of the transition holds.
 */
import { Message, type ResolvedModel, type Rewrite } from "../../kernel/index.ts";
import { callsLeft } from "./calls-left.ts";
import { carriedOver, parseContextSummary } from "./capsule.ts";
import { capsuleMessage, historyText } from "./capsule-message.ts";
import { CONTEXT_SUMMARY_SCHEMA_VERSION, type ContextSummary } from "./capsule-schema.ts";
import { citationOf, evict, evictableIn } from "./evict.ts";
import { summarizationInstruction } from "./instruction.ts";
import { DEFAULT_MAX_COMPACTIONS } from "./options.ts";
import { type Plan, rebuilt } from "./plan.ts";
import { OWNER, type RewriteLog } from "./rewrite-log.ts";
import { userSource } from "./sources.ts";
import type { Answer } from "./summarizer.ts";
import { validateContextSummaryTransition } from "./transition.ts";
import type { Parts, Work } from "./work.ts";

/** Summaries in a row that came to nothing before no more are paid for. */
const MOST_FAILURES = 2;
/** Removed segments that a summary may cite, the largest first. */
const CITABLE = 20;

/** What the new capsule must answer to. */
interface Claims {
  readonly prior: ContextSummary | undefined;
  readonly required: ReturnType<typeof userSource>[];
  readonly current: ReturnType<typeof userSource>[];
  readonly segments: { readonly id: string; readonly sha256: string; readonly what: string }[];
}

export class SummaryRung {
  readonly #parts: Parts;
  readonly #log: RewriteLog;
  #paid = 0;
  #failures = 0;

  constructor(parts: Parts, log: RewriteLog) {
    this.#parts = parts;
    this.#log = log;
  }

  async rewrite(work: Work): Promise<Rewrite | undefined> {
    const { summarizer, originals } = this.#parts;
    const { plan, model, settings } = work;
    const removedTokens = work.tokensOf(plan.removed);
    const freed = removedTokens - settings.summaryMaxTokens - work.tokensOf(reducedOf(plan));
    const unwilling = this.#unwilling(work, freed);
    if (unwilling) return this.#log.declined(unwilling);
    const history = historyFor(work);
    if (!history) return this.#log.declined("history_too_long");
    const historyTokens = work.tokensOf(history);
    const writer = await summarizer.modelFor(model, historyTokens + settings.summaryMaxTokens);
    const short = this.#unaffordable(work, writer, historyTokens, freed);
    if (short) return this.#log.declined(short);
    // Kept before it is asked for: what cannot be kept may not go, and then the call would be money for nothing.
    const kept = originals.keep(historyText(plan.removed), { toolName: "cave_context", by: OWNER, whole: true });
    if (kept === undefined && originals.available) return this.#log.declined("not_recoverable");

    const claims = this.#claims(plan);
    const answer = await summarizer.write(
      history,
      instructionFor(claims, settings.summaryMaxTokens),
      writer,
      settings.summaryMaxTokens,
    );
    if (answer.paid) this.#paid++;
    if (!("text" in answer)) return this.#discard(answer.failed, answer);
    return this.#accept(work, claims, answer.text, kept, removedTokens, answer);
  }

  #accept(
    work: Work,
    claims: Claims,
    text: string,
    kept: string | undefined,
    removedTokens: number,
    answer: Answer,
  ): Rewrite | undefined {
    const { run, state } = this.#parts;
    const { plan, messages } = work;
    const parsed = parseContextSummary(text);
    if (!parsed.ok) return this.#discard(`unreadable: ${parsed.problem}`, answer);
    const candidate = carriedOver(parsed.value, claims.prior);
    const originals = state.originalsWith(kept);
    const capsule = capsuleMessage(candidate, { removed: plan.removed.length, tokens: removedTokens, originals });
    const after = rebuilt(plan, capsule);
    const verdict = validateContextSummaryTransition({
      ...claims,
      candidate,
      segments: new Map(claims.segments.map(({ id, sha256 }) => [id, sha256])),
      rewrite: {
        before: messages,
        after,
        verbatim: plan.kept.map(({ message }) => message),
        tail: messages.length - plan.tailFrom,
      },
    });
    if (!verdict.ok) return this.#discard(verdict.problems.slice(0, 3).join("; "), answer);
    if (work.tokensOf(messages) - work.tokensOf(after) < work.leastUrgent)
      return this.#discard("it frees too little", answer);
    if (kept === undefined)
      run.notice(OWNER, "cave_compaction_unrecoverable", "No store keeps what the summary stands for; load recovery.");
    this.#failures = 0;
    state.took(capsule.digest, candidate, originals);
    return this.#log.made(work, after, {
      tier: "summarized",
      pinnedSegmentIds: plan.kept.map(({ message }) => `runtime.${message.role}.${message.digest.slice(0, 16)}`),
      elidedSegmentDigests: plan.removed.map(({ digest }) => digest),
      ...(answer.callId ? { summaryCall: answer.callId } : {}),
      summarySchemaVersion: CONTEXT_SUMMARY_SCHEMA_VERSION,
      dropped: plan.removed.length,
    });
  }

  /** Why no summary is tried at all. */
  #unwilling(work: Work, freed: number): string | undefined {
    const { plan, pressure, settings } = work;
    // What the window forces is bounded by what it frees; what a budget asks for, by a number.
    const unstated = pressure.cause === "window" ? Number.POSITIVE_INFINITY : DEFAULT_MAX_COMPACTIONS;
    if (plan.removed.length === 0) return "nothing_to_summarise";
    if (this.#paid >= (settings.maxCompactions ?? unstated)) return "max_compactions";
    if (this.#failures >= MOST_FAILURES) return "summaries_fail";
    if (freed < settings.minYieldTokens) return "yield_too_small";
    if (callsLeft(this.#parts) < 2) return "no_call_left_after";
    const first = plan.removed[0];
    return work.pays(first ? work.messages.indexOf(first) : 0, freed) ? undefined : "does_not_pay";
  }

  /** Whether the budget pays for the summary, priced cold, and for the calls that are to follow it. */
  #unaffordable(work: Work, writer: ResolvedModel, historyTokens: number, freed: number): string | undefined {
    const { scales } = this.#parts;
    const { remaining } = scales;
    if (!remaining) return undefined;
    const { pressure, model, settings } = work;
    const summary = scales.cost(historyTokens, settings.summaryMaxTokens, writer, remaining);
    const next = scales.cost(pressure.tokens - freed, scales.output(model), model, remaining);
    if (summary === undefined || next === undefined) return "unpriced";
    const calls = pressure.cause === "budget" ? settings.headroomCalls : 1;
    return remaining.units >= summary + next * BigInt(calls) ? undefined : "not_affordable";
  }

  #claims(plan: Plan): Claims {
    return {
      prior: plan.capsule === undefined ? undefined : this.#parts.state.capsule?.summary,
      required: plan.usersGone.map(userSource),
      current: plan.usersShown.map(userSource),
      segments: citable(plan),
    };
  }
  #discard(reason: string, { paid, callId }: Answer): undefined {
    this.#failures++;
    return this.#log.discarded(reason, paid, callId);
  }
}

const instructionFor = ({ prior, required, current, segments }: Claims, maxTokens: number): Message =>
  new Message({
    role: "user",
    content: [
      {
        type: "text",
        text: summarizationInstruction({
          generation: (prior?.generation ?? 0) + 1,
          required,
          current,
          segments,
          anchors: prior?.critical_anchors ?? [],
          maxTokens,
        }),
      },
    ],
  });

/**
 * What the summariser reads: the part before the tail, byte for byte what the provider has cached. If that is too much
 * for the window, with its results left out; if that is too, undefined.
 */
function historyFor(work: Work): readonly Message[] | undefined {
  const { plan, messages, settings, pressure } = work;
  const { window } = pressure;
  const head = messages.slice(0, plan.tailFrom);
  const room = window === undefined ? Number.POSITIVE_INFINITY : window * 0.95 - settings.summaryMaxTokens;
  if (work.tokensOf(head) <= room) return head;
  const results = evictableIn(head, { before: head.length, keepFreshest: false });
  const shorter = evict(
    head,
    results.map((evictable) => ({ evictable, citation: citationOf(evictable, "It was left out of this request.") })),
  );
  return work.tokensOf(shorter) <= room ? shorter : undefined;
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
