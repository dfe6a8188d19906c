import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { Counter } from "../../../plugins/tokens/counter.ts";
import { pieceEnd } from "../../../plugins/tokens/pieces.ts";
import { DIGEST, o200kRanks } from "../../../plugins/tokens/ranks.ts";
import { plainCount } from "./encoding.ts";
import { digestOfRanks, FILE, packRanks } from "./pack-ranks.ts";

const counter = new Counter(o200kRanks());
const peer = (text: string): number => countTokens(text, { disallowedSpecial: new Set() });
/** The peer reads White_Space as JavaScript's `\s` does, which differs in these two. */
const peerReads = (text: string): boolean => !/[\ufeff\u0085]/.test(text);

/** Text of every kind, dense in what the split pattern treats apart. */
const sign = fc.constantFrom(
  ..." \t\n\r\u00a0\u2003\u2028/'\"(){}[]<>=+-_.,:;!?#@$%^&*~`|\\",
  ..."aZéßÀΩяЯñ中文あ한ไทยहिعא",
  "\u0301",
  "ʰ",
  "ǅ",
  "0",
  "९",
  "Ⅷ",
  "👩‍👩‍👧",
  "𝒜",
  "𠮷",
  "\ud800",
  "\udfff",
  "\u0000",
  "\u0000\u0000",
  "\ufffd",
);
const chunk = fc.oneof(
  sign,
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)), maxLength: 6 }),
  fc.constantFrom("'s", "'LL", "'Ve", "'re", "'t", "'", "I'm", "<|endoftext|>", "<|im_start|>", "<|fim_prefix|>"),
  fc.constantFrom("function", "  return", "HTTPServer", "getUserById", "\n\n  ", " \r\n", "12345", "https://a.b/c?d=e"),
);
const text = fc.array(chunk, { maxLength: 30 }).map((parts) => parts.join(""));
const run = fc
  .tuple(fc.oneof(sign, fc.constantFrom("ab", "A", "中A", " \n", "é", "!?")), fc.integer({ min: 1, max: 120 }), text)
  .map(([part, times, after]) => part.repeat(times) + after);

describe("an exact count", () => {
  test("is the plain algorithm's over the published vocabulary, for any text", () => {
    fc.assert(
      fc.property(fc.oneof({ weight: 4, arbitrary: text }, run), (any) => {
        expect(counter.count(any)).toBe(plainCount(any));
      }),
      { numRuns: 600 },
    );
  });

  test("is gpt-tokenizer's, wherever the two read white space alike", () => {
    fc.assert(
      fc.property(fc.oneof(text, run).filter(peerReads), (any) => {
        expect(counter.count(any)).toBe(peer(any));
      }),
      { numRuns: 600 },
    );
  });

  test("is the same when asked again, and with nothing remembered", () => {
    fc.assert(
      fc.property(text, (any) => {
        const fresh = new Counter(o200kRanks());
        expect(fresh.count(any)).toBe(counter.count(any));
        expect(fresh.count(any)).toBe(counter.count(any));
      }),
      { numRuns: 20 },
    );
  });

  test("stays exact while what is remembered is forgotten over and over", () => {
    const small = new Counter(o200kRanks(), { remembered: 16 });
    fc.assert(fc.property(text, (any) => expect(small.count(any)).toBe(counter.count(any))));
  });

  test.each([
    ["", 0],
    ["hello world", 2],
    // The name of a special token is text: seven tokens, not the one it names.
    ["<|endoftext|>", 7],
    // A byte order mark is a sign of three bytes, not white space that a word takes along.
    ["\ufeff", plainCount("\ufeff")],
    ["a\u0000\u0000\u0000\u0001\u0000b", plainCount("a\u0000\u0000\u0000\u0001\u0000b")],
    ["a\u0085b", plainCount("a\u0085b")],
    ["it'ſ", plainCount("it'ſ")],
  ])("of %j is %i", (any, count) => expect(counter.count(any)).toBe(count));

  test("covers our own sources, a log and JSON", () => {
    const source = readFileSync(new URL("../../../plugins/tokens/pieces.ts", import.meta.url), "utf8");
    const log = Array.from(
      { length: 300 },
      (_, i) => `2026-11-30T07:${i % 60}:12.${i}Z WARN [w-${i % 7}] retry=${i}\n`,
    );
    const json = JSON.stringify(Array.from({ length: 100 }, (_, id) => ({ id, name: `Ü${id}`, at: id / 7, ok: null })));
    for (const any of [source, log.join(""), json]) expect(counter.count(any)).toBe(peer(any));
  });

  test("of an unbroken run is found without looking at every pair over and over", () => {
    // A token is at most 128 of these; a hundred thousand would keep a quadratic merge busy for hours.
    for (const unit of ["a", "!", " ", "é", "中A"]) expect(counter.count(unit.repeat(50_000))).toBeGreaterThan(300);
  });

  test("of a run longer than a slice is the sum of its slices, a few tokens over at each cut", () => {
    const sliced = new Counter(o200kRanks(), { longestPiece: 1_000 });
    const whole = "ab".repeat(5_000);
    const exact = counter.count(whole);
    expect(sliced.count(whole)).toBe(10 * counter.count(whole.slice(0, 1_000)));
    expect(sliced.count(whole)).toBeGreaterThanOrEqual(exact);
    expect(sliced.count(whole) - exact).toBeLessThanOrEqual(9 * 4);
  });
});

test("pieces cover a text without a gap", () => {
  fc.assert(
    fc.property(fc.oneof(text, run), (any) => {
      let at = 0;
      while (at < any.length) {
        const end = pieceEnd(any, at);
        expect(end).toBeGreaterThan(at);
        at = end;
      }
      expect(at).toBe(any.length);
    }),
  );
});

describe("the packed ranks", () => {
  test("are the package's", () => {
    expect(readFileSync(FILE).equals(packRanks())).toBe(true);
  });
  test("have the digest that every count names", () => {
    expect(digestOfRanks()).toBe(DIGEST);
  });
});
