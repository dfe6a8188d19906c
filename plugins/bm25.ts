/**
 * BM25: how well each of many texts answers a few words (Robertson and Zaragoza, "The Probabilistic Relevance Framework",
 * 2009). How a text is cut into words is its caller's own.
 */

/** A text as it is scored: how often it holds the words that matter, and how many words it has in all. */
export interface Counted<Word> {
  readonly counts: ReadonlyMap<Word, number>;
  readonly length: number;
}

interface Options {
  /** How much the second and third time a word stands in a text still says. Default 1.5. */
  readonly k1?: number;
  /** How much the length of a text counts against it, 0 to 1. Default 0.75. */
  readonly b?: number;
  /** Texts there are, when those that hold none of the words are left out. Default: as many as are given. */
  readonly of?: number;
  /** Words of a text on average. Default: of those that are given. */
  readonly averageLength?: number;
  /** A word that more texts than this hold says nothing about any. Default: every word counts. */
  readonly mostHolding?: number;
}

/** A score for each text, in their order; 0 for one that holds none of the words. */
export function bm25<Word>(
  texts: readonly Counted<Word>[],
  words: Iterable<Word>,
  { k1 = 1.5, b = 0.75, of = texts.length, mostHolding = of, ...given }: Options = {},
): number[] {
  const averageLength = (given.averageLength ?? texts.reduce((sum, { length }) => sum + length, 0) / texts.length) || 1;
  const scores = texts.map(() => 0);
  for (const word of words) {
    const holding = texts.reduce((sum, { counts }) => sum + (counts.has(word) ? 1 : 0), 0);
    if (holding > mostHolding) continue;
    const rarity = Math.log(1 + (of - holding + 0.5) / (holding + 0.5));
    texts.forEach(({ counts, length }, at) => {
      const times = counts.get(word) ?? 0;
      const score = (rarity * times * (k1 + 1)) / (times + k1 * (1 - b + (b * length) / averageLength));
      scores[at] = (scores[at] ?? 0) + score;
    });
  }
  return scores;
}
