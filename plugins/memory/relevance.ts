/** Whether a record answers a query, and how well: the share of what the query asks for that the record speaks of. */
import { likeness, type Term, termsOf } from "./terms.ts";

/**
 * A record below this share is not an answer, and an off-topic query then has none. Tuned on one half of the checked-in
 * set of queries (`__tests__/plugins/memory/recall-set.ts`), held against the other.
 */
export const RELEVANCE_FLOOR = 0.45;

/** A term of a query, with how much it tells. */
export interface Weighted extends Term {
  readonly weight: number;
}

/** How much a term tells that so many of all records hold. One that no record holds tells no more than the rarest. */
export const weightOf = (holding: number, records: number): number => {
  const count = Math.max(1, Math.min(holding, records));
  return Math.log(1 + (Math.max(records, 1) - count + 0.5) / (count + 0.5));
};

/** The terms of a query, each once. */
export function distinct(terms: readonly Term[]): Term[] {
  return [...new Map(terms.map((term) => [term.text, term])).values()];
}

/** From 0 to 1: the weight of the query's terms that the record holds, over the weight of all. */
export function relevance(query: readonly Weighted[], record: string): number {
  const exact = new Set<string>();
  const forms = new Map<string, Term[]>();
  for (const term of termsOf(record)) {
    if (exact.has(term.text)) continue;
    exact.add(term.text);
    if (term.stem !== undefined) forms.set(term.stem, [...(forms.get(term.stem) ?? []), term]);
  }
  let held = 0;
  let all = 0;
  for (const term of query) {
    all += term.weight;
    if (exact.has(term.text)) held += term.weight;
    else if (term.stem !== undefined)
      held += term.weight * Math.max(0, ...(forms.get(term.stem) ?? []).map((form) => likeness(term, form)));
  }
  return all === 0 ? 0 : held / all;
}
