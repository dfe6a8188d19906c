/** Which units of one text a query is about. Deterministic, no model call. */
import { bm25 } from "../bm25.ts";

/** Share of the best score that a unit needs. */
const RELEVANT = 0.3;
/** Units from which a word that most of them have says nothing about any, such as the name of a field. */
const MANY = 16;
const STOP = new Set(
  "a an and are as at be by for from has have in is it its of on or that the this to was what where which with".split(
    " ",
  ),
);
const TERM = /[\p{L}\p{N}_]{2,}/gu;
/** Where a name is joined of several: `rate_limit`, `rateLimit`, `LIMIT_12`. */
const JOINT = /_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;

/** Whether a text may hold a joined name: most lines do not, and are split at once. */
const MAY_JOIN = /_|[a-z][A-Z]|[A-Z]{2}[a-z]/;

/** Words in lower case; of a joined name its parts, and then the whole of it. */
function wordsOf(text: string): readonly string[] {
  if (!MAY_JOIN.test(text)) return text.toLowerCase().match(TERM) ?? [];
  const words: string[] = [];
  for (const word of text.match(TERM) ?? []) {
    if (MAY_JOIN.test(word))
      for (const part of word.split(JOINT)) if (part.length >= 2 && part !== word) words.push(part.toLowerCase());
    words.push(word.toLowerCase());
  }
  return words;
}

/** The words of a query that say something. */
export const terms = (query: string): string[] => [...new Set(wordsOf(query).filter((term) => !STOP.has(term)))];

/** Marks the units that a query is about, at most `limit` of them. Without a query that says something it marks none. */
export function keepRelevant(
  count: number,
  at: (index: number) => string | undefined,
  query: string,
  kept: Uint8Array,
  limit: number,
): void {
  for (const index of relevant(count, at, query, limit)) kept[index] = 1;
}

/** The units that a query is about, the best first. */
export function relevant(
  count: number,
  at: (index: number) => string | undefined,
  query: string,
  limit: number,
): number[] {
  const wanted = terms(query);
  if (wanted.length === 0 || count === 0) return [];
  const asked = new Set(wanted);
  const hits: { readonly index: number; readonly counts: Map<string, number>; readonly length: number }[] = [];
  let total = 0;
  for (let index = 0; index < count; index++) {
    const words = wordsOf(at(index) ?? "");
    total += words.length;
    let counts: Map<string, number> | undefined;
    for (const word of words) {
      if (!asked.has(word)) continue;
      counts ??= new Map();
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    if (counts) hits.push({ index, counts, length: words.length });
  }
  const mostHolding = count >= MANY ? Math.floor(count / 2) : count;
  const scores = bm25(hits, wanted, { of: count, averageLength: total / count, mostHolding });
  const scored = hits.map(({ index }, at) => ({ index, score: scores[at] ?? 0 }));
  scored.sort((a, b) => b.score - a.score || a.index - b.index);
  const floor = (scored[0]?.score ?? 0) * RELEVANT;
  return scored
    .slice(0, limit)
    .filter(({ score }) => score > 0 && score >= floor)
    .map(({ index }) => index);
}
