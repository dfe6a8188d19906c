/** A part of an original that answers a query: its best units by BM25, whole, in their order, with every gap marked. */
import { bm25 } from "../bm25.ts";
import { unitsOf } from "./units.ts";

const MOST_UNITS = 20;
export const GAP = "… [caveman: non-adjacent] …";

const STOP_WORDS = new Set(
  "a an and are as at be by for from has have in is it its of on or that the this to was were what which with".split(
    " ",
  ),
);

export interface Selection {
  readonly text: string;
  readonly shown: number;
  readonly of: number;
}

/** Undefined when nothing matches or the selection would not be smaller: then the whole original is the answer. */
export function select(original: string, query: string): Selection | undefined {
  const wanted = queryTerms(query);
  if (wanted.length === 0) return undefined;
  const { header, units, joint } = unitsOf(original);
  const best = ranked(units, wanted)
    .slice(0, MOST_UNITS)
    .sort((a, b) => a - b);
  if (best.length === 0) return undefined;
  const parts: string[] = header === undefined ? [] : [header];
  let last = -1;
  for (const index of best) {
    if (index !== last + 1) parts.push(GAP);
    parts.push(units[index] ?? "");
    last = index;
  }
  if (last !== units.length - 1) parts.push(GAP);
  const text = parts.join(joint);
  return Buffer.byteLength(text) < Buffer.byteLength(original)
    ? { text, shown: best.length, of: units.length }
    : undefined;
}

/** Indexes of units that hold a wanted term, the best first, earlier units before later ones of the same score. */
function ranked(units: readonly string[], wanted: readonly string[]): number[] {
  const texts = units.map((unit) => {
    const terms = termsOf(unit);
    const counts = new Map<string, number>();
    for (const term of terms) if (wanted.includes(term)) counts.set(term, (counts.get(term) ?? 0) + 1);
    return { counts, length: terms.length };
  });
  const scores = bm25(texts, wanted);
  return [...scores.keys()]
    .filter((index) => (scores[index] ?? 0) > 0)
    .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
}

function queryTerms(query: string): string[] {
  const terms = [...new Set(termsOf(query))];
  const telling = terms.filter((term) => !STOP_WORDS.has(term));
  return telling.length > 0 ? telling : terms;
}

/** Scripts that are written without spaces: their terms are pairs of neighbours. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/** Words of at least two letters, and numbers, in any script, without accents and case. */
function termsOf(text: string): string[] {
  return [...wordsOf(text.normalize("NFKD").replace(/\p{Mn}/gu, ""))].flatMap((word) => {
    if (!UNSPACED.test(word)) return word.length >= 2 || /\p{N}/u.test(word) ? [word] : [];
    const signs = [...word];
    return signs.length === 1 ? signs : signs.slice(1).map((sign, index) => `${signs[index]}${sign}`);
  });
}

/** Words, and where a name is joined of several (`rate_limit`, `rateLimit`), its parts beside the whole of it. */
function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(WORD)) {
    yield word.toLowerCase();
    if (!JOINED.test(word)) continue;
    const parts = word.split(JOINT).filter((part) => part !== "");
    if (parts.length > 1 || parts[0] !== word) for (const part of parts) yield part.toLowerCase();
  }
}
/** Bounded, because a run of millions of letters would exhaust the stack of the matcher; a longer word is taken in pieces. */
const WORD = /[\p{L}\p{N}\p{M}_]{1,256}/gu;
/** What may hold a joint at all: most words do not. */
const JOINED = /_|\p{Ll}\p{Lu}|\p{Lu}\p{Lu}\p{Ll}|\p{N}\p{Lu}\p{Ll}/u;
const JOINT = /_+|(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
