import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { bm25, type Counted } from "../../plugins/bm25.ts";

const text = (words: string): Counted<string> => {
  const counts = new Map<string, number>();
  const all = words.split(" ").filter((word) => word !== "");
  for (const word of all) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: all.length };
};

test("a text that holds more of the words, holds a rarer one, or says it in fewer words scores more", () => {
  const [both = 0, one = 0, none = 0] = bm25(["red fox", "red cat", "blue cat"].map(text), ["red", "fox"]);
  expect(both).toBeGreaterThan(one);
  expect(one).toBeGreaterThan(0);
  expect(none).toBe(0);
  const [rare = 0, common = 0] = bm25(["a x", "b x", "b y", "b z"].map(text), ["a", "b"]);
  expect(rare).toBeGreaterThan(common);
  const [short = 0, long = 0] = bm25(["fox", "fox and so on and on"].map(text), ["fox"]);
  expect(short).toBeGreaterThan(long);
});

test("one text of two, by hand", () => {
  // rarity ln(1 + (2 - 1 + 0.5) / (1 + 0.5)) = ln 2; length 2 of 1.5 on average: 1 - 0.75 + 0.75 * 2 / 1.5 = 1.25.
  const [score] = bm25(["fox fox", "cat"].map(text), ["fox"]);
  expect(score).toBeCloseTo((Math.LN2 * 2 * 2.5) / (2 + 1.5 * 1.25), 12);
});

test("a word that more texts hold than may is not counted", () => {
  const texts = ["the fox", "the cat", "the dog"].map(text);
  expect(bm25(texts, ["the"], { mostHolding: 2 })).toEqual([0, 0, 0]);
  expect(bm25(texts, ["the", "fox"], { mostHolding: 2 })).toEqual(bm25(texts, ["fox"]));
});

test("texts that hold none of the words may be left out when their number and length are told", () => {
  const word = fc.constantFrom("a", "b", "c", "d", "e");
  const texts = fc.array(fc.array(word, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(texts, fc.uniqueArray(word, { minLength: 1 }), (all, words) => {
      const whole = all.map((each) => text(each.join(" ")));
      const holding = whole.filter(({ counts }) => words.some((each) => counts.has(each)));
      const averageLength = whole.reduce((sum, { length }) => sum + length, 0) / whole.length;
      const scores = bm25(whole, words).filter((_, at) => holding.includes(whole[at] ?? text("")));
      expect(bm25(holding, words, { of: whole.length, averageLength })).toEqual(scores);
      expect(scores.every((score) => score > 0)).toBe(true);
    }),
  );
});
