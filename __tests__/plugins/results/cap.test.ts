import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { capText, exceeds, type Gap } from "../../../plugins/results/cap.ts";
import { capContent } from "../../../plugins/results/content.ts";

const bytes = (text: string): number => Buffer.byteLength(text);
const note = (gap: Gap): string => `[[${gap.bytes} ${gap.lines} ${gap.line} ${gap.column}]]`;
const NOTE = /\n?\[\[(\d+) (\d+) (\d+) (\d+)\]\]\n/;
/** Head, tail and what the note says. */
function taken(text: string, cap: number) {
  const short = capText(text, cap, note);
  const found = NOTE.exec(short);
  if (!found) throw new Error("no note");
  const [whole, left, lines, line, column] = found;
  const head =
    short.slice(0, found.index) +
    (whole.startsWith("\n") && text.startsWith(`${short.slice(0, found.index)}\n`) ? "\n" : "");
  return {
    short,
    head,
    tail: short.slice(found.index + whole.length),
    bytes: Number(left),
    lines: Number(lines),
    line: Number(line),
    column: Number(column),
  };
}

const character = fc.constantFrom("a", "é", "ß", "漢", "🙂", "👩‍👩‍👧‍👦", "🇩🇪", "é", "\r\n", "\n", " ", "क्षि");
const texts = fc.array(character, { minLength: 600, maxLength: 1_500 }).map((parts) => parts.join(""));

describe("a capped text", () => {
  test("is never longer than its cap, in UTF-8 bytes", () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 200, max: 1_000 }), (text, cap) => {
        fc.pre(bytes(text) > cap);
        expect(bytes(capText(text, cap, note))).toBeLessThanOrEqual(cap);
      }),
    );
  });
  test("is head and tail of the whole, cut between characters, with the gap stated exactly", () => {
    const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
    fc.assert(
      fc.property(texts, fc.integer({ min: 200, max: 1_000 }), (text, cap) => {
        fc.pre(bytes(text) > cap);
        const { head, tail, ...said } = taken(text, cap);
        expect(text.startsWith(head)).toBe(true);
        expect(text.endsWith(tail)).toBe(true);
        expect(said.bytes).toBe(bytes(text) - bytes(head) - bytes(tail));
        const gap = text.slice(head.length, text.length - tail.length);
        expect(said.lines).toBe(gap.split("\n").length - (gap.endsWith("\n") ? 1 : 0));
        expect(said.line).toBe(head.split("\n").length);
        expect(said.column).toBe(head.length - (head.lastIndexOf("\n") + 1) + 1);
        const starts = new Set([...segmenter.segment(text)].map(({ index }) => index));
        expect(starts.has(head.length) && starts.has(text.length - tail.length)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
  test("whose head would end just before a line end takes it along", () => {
    const text = `${"a".repeat(86)}\n${"b".repeat(500)}\n${"c".repeat(40)}`;
    for (let cap = 200; cap < 400; cap++) {
      const { head, line, column } = taken(text, cap);
      if (head.length >= 86)
        expect({ line, column }).toEqual(
          head.endsWith("\n") ? { line: 2, column: 1 } : { line: 2, column: head.length - 86 },
        );
    }
  });
  test("of ordinary lines is cut at line ends", () => {
    const lines = Array.from({ length: 4_000 }, (_, index) => `line ${index}\n`).join("");
    const { head, tail, lines: left, line } = taken(lines, 24_000);
    expect(head.endsWith("\n")).toBe(true);
    expect(tail).toMatch(/^line \d+\n[\s\S]*line 3999\n$/);
    expect(head.split("\n").length - 1 + left + (tail.split("\n").length - 1)).toBe(4_000);
    expect(line).toBe(head.split("\n").length);
  });
  test("of one endless line, or one endless character, is still cut", () => {
    expect(bytes(capText("x".repeat(100_000), 2_000, note))).toBeGreaterThan(1_900);
    const zalgo = `a${"́".repeat(50_000)}`;
    expect(bytes(capText(zalgo, 2_000, note))).toBeLessThanOrEqual(2_000);
    expect(capText(zalgo, 2_000, note)).not.toContain("�");
  });
  test("with halves of characters in it stays readable text", () => {
    const broken = "\ud83d".repeat(5_000);
    expect(capText(broken, 2_000, note).isWellFormed()).toBe(true);
  });
  test("is its note alone when there is no room", () => {
    expect(capText("x".repeat(100), 4, note)).toBe(
      `${note({ bytes: 100, lines: 1, line: 1, column: 1, total: 100 })}\n`,
    );
  });
  test("does not hold on to the whole", () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    const whole = (index: number): string => `${index}${"x".repeat(99)}\n`.repeat(50_000);
    gc();
    const before = process.memoryUsage().heapUsed;
    // Twenty texts of 5 MB would be 100 MB if each kept what it was cut from.
    const kept = Array.from({ length: 20 }, (_, index) => capText(whole(index), 2_000, note));
    gc();
    expect(kept).toHaveLength(20);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40_000_000);
  });
});

test("whether a text is too long is told without looking into short ones", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.integer({ min: 0, max: 60 }),
      (text, cap) => exceeds(text, cap) === bytes(text) > cap,
    ),
  );
});

describe("an output of several parts", () => {
  const image = (size: number) => ({
    type: "file" as const,
    mediaType: "image/png",
    data: { type: "data" as const, data: new Uint8Array(size) },
  });
  test("passes as it is when nothing in it is too large", () => {
    const output = { type: "content" as const, value: [{ type: "text" as const, text: "x" }, image(1_000)] };
    expect(capContent(output, 1_024, 1_024)).toBe(output);
  });
  test("has its text capped in all, and loses a part that is too large, in words", () => {
    const url = {
      type: "file" as const,
      mediaType: "image/png",
      data: { type: "url" as const, url: new URL("https://example.com/x") },
    };
    const base64 = {
      type: "file" as const,
      mediaType: "image/png",
      data: { type: "data" as const, data: "A".repeat(4_000) },
    };
    const text = { type: "text" as const, text: "y\n".repeat(700) };
    const { value } = capContent({ type: "content", value: [text, image(1_025), url, base64, text] }, 1_500, 1_024);
    expect(value[0]).toBe(text);
    expect(value[1]).toEqual({ type: "text", text: "[image/png of 1025 bytes left out: one part may have 1024]" });
    expect(value[2]).toBe(url);
    expect(value[3]).toMatchObject({ text: expect.stringContaining("of 3000 bytes") });
    expect(value[4]).toMatchObject({ text: expect.stringContaining("of 1400 bytes left out here]") });
  });
});
