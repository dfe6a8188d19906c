/** The first rung, which costs no call: stale tool output is kept aside and cited. */
import type { Rewrite } from "../../kernel/index.ts";
import { citationOf, type Evictable, evict, evictableIn } from "./evict.ts";
import { OWNER, type RewriteLog } from "./rewrite-log.ts";
import type { Parts, Work } from "./work.ts";

type Cited = { readonly evictable: Evictable; readonly citation: string };

export class Eviction {
  readonly #parts: Parts;
  readonly #log: RewriteLog;

  constructor(parts: Parts, log: RewriteLog) {
    this.#parts = parts;
    this.#log = log;
  }

  /** Stale results before the tail; undefined when that frees too little, does not pay, or cannot be kept. */
  stale(work: Work, evictable: readonly Evictable[]): Rewrite | undefined {
    const first = evictable[0];
    if (!first) return undefined;
    const saved = work.savedBy(evictable);
    if (saved < work.leastYield) return this.#log.declined("yield_too_small");
    if (!work.pays(first.index, saved)) return this.#log.declined("does_not_pay");
    const { tools } = this.#parts.run;
    const cited = evictable.flatMap((one) => this.#cite(one, tools.get(one.toolName)?.effect === "read"));
    // What could not be kept may have been what made it worth while.
    if (cited.length === 0 || work.savedBy(cited.map(({ evictable: one }) => one)) < work.leastYield)
      return this.#log.declined("not_recoverable");
    return this.#made(work, cited);
  }

  /** Last of all, when the newest results alone are too much for the window: kept whole, and read back in pieces. */
  newest(work: Work): Rewrite | undefined {
    const { originals, scales } = this.#parts;
    const { pressure, messages, model } = work;
    const { window } = pressure;
    if (window === undefined || !originals.available || scales.fits(pressure.tokens, model, window)) return undefined;
    const largest = evictableIn(messages, { before: messages.length, keepFreshest: false })
      .map((one) => ({ one, tokens: work.savedBy([one]) }))
      .sort((a, b) => b.tokens - a.tokens);
    const cited: Cited[] = [];
    let { tokens } = pressure;
    for (const { one, tokens: freed } of largest) {
      if (scales.fits(tokens, model, window)) break;
      // Called again it would come back as large as it was.
      const added = this.#cite(one, false);
      cited.push(...added);
      if (added.length > 0) tokens -= freed;
    }
    if (cited.length === 0 || !scales.fits(tokens, model, window)) return this.#log.declined("cannot_fit");
    return this.#made(work, cited);
  }

  #cite(evictable: Evictable, again: boolean): Cited[] {
    const { toolName, text } = evictable;
    const { originals } = this.#parts;
    const { words, complete } = originals.carriedBy(text);
    const cited = (way: string): Cited[] => [{ evictable, citation: citationOf(evictable, `${way}${words}`) }];
    const call = originals.keep(text, { toolName, by: OWNER });
    if (call !== undefined) return cited(`Read it back whole with ${call}.`);
    // Called again it gives none of the handles it carried: the citation must name them all.
    return again && complete ? cited(`Call ${toolName} again if you need it.`) : [];
  }
  #made(work: Work, cited: readonly Cited[]): Rewrite {
    const digests = cited.map(({ evictable: { index } }) => work.messages[index]?.digest ?? "");
    return this.#log.made(work, evict(work.messages, cited), {
      tier: "evicted",
      pinnedSegmentIds: [],
      elidedSegmentDigests: [...new Set(digests)],
      dropped: cited.length,
    });
  }
}
