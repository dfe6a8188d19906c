/** What is said of a rewrite: one fact and one notice for each that was made or paid for, one for each reason not to. */
import type { CallId, Message, Rewrite } from "../../kernel/index.ts";
import type { CompactionSettled } from "../services.ts";
import type { Parts, Work } from "./work.ts";

export const OWNER = "compaction";

/** A rewrite before it is told; `dropped` counts what left the view. */
export type Made = Omit<CompactionSettled, "preTokens" | "postTokens" | "cacheState"> & { readonly dropped: number };

export class RewriteLog {
  readonly #parts: Parts;
  /** A view that stays too full is declined at every call; it is said once. */
  #declined = "";

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  made(work: Work, after: readonly Message[], made: Made): Rewrite {
    const { run, gauge } = this.#parts;
    const { dropped, ...fact } = made;
    const preTokens = work.pressure.tokens;
    // In proportion: what is counted here and what the provider reported are not the same measure.
    const share = work.tokensOf(after) / Math.max(1, work.tokensOf(work.messages));
    const postTokens = Math.min(preTokens, Math.round(preTokens * share));
    this.#declined = "";
    run.record("compaction.settled", { ...fact, preTokens, postTokens, cacheState: gauge.cacheState });
    const what = fact.tier === "evicted" ? "old tool result(s) were cited" : "earlier message(s) were summarised";
    run.notice(OWNER, "cave_context_compacted", `${dropped} ${what}: about ${preTokens} tokens are ${postTokens} now.`);
    return work.view.rewrite(after, { by: OWNER, dropped });
  }
  declined(reason: string): undefined {
    if (this.#declined === reason) return;
    this.#declined = reason;
    this.#parts.run.record("compaction.declined", { reason });
  }
  discarded(reason: string, paid: boolean, summaryCall: CallId | undefined): undefined {
    const { run } = this.#parts;
    const short = withoutQuotes(reason).slice(0, 300);
    run.record("compaction.discarded", { reason: short, paid, ...(summaryCall ? { summaryCall } : {}) });
    if (paid) run.notice(OWNER, "cave_compaction_discarded", `A summary was paid for and discarded: ${short}.`);
  }
}

/** What is quoted in a reason was written by a model, and facts hold no content. */
const withoutQuotes = (reason: string): string => reason.replace(/"(?:\\.|[^"\\])*"/g, "…");
