import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { DETECTED, FORCED } from "../../../plugins/compression/content-type.ts";
import { detect } from "../../../plugins/compression/detect.ts";
import { isMarked } from "../../../plugins/compression/markers.ts";
import { anyText, countTokens, engine, jsonText, MapStore, shrink, toolText } from "./worlds.ts";

describe("for any text", () => {
  test("the original of a handle is the input, and the pointer to it stands in the view", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (input) => {
        const { text, report, store } = await shrink(input);
        if (report.reason !== undefined) {
          expect(text).toBe(input);
          expect(report.recoveryHandle).toBeUndefined();
        } else {
          expect(store.originals.get(report.recoveryHandle ?? "")).toBe(input);
          expect(text.endsWith(`<<ccr:${report.recoveryHandle}>>`)).toBe(true);
        }
      }),
      { numRuns: 250 },
    );
  });

  test("the view is smaller in bytes and in tokens, pointer included, or it is the input", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (input) => {
        const { text, report } = await shrink(input);
        if (text === input) return;
        expect(countTokens(text)).toBe(report.tokensAfter);
        expect(countTokens(input)).toBe(report.tokensBefore);
        expect(report.tokensAfter).toBeLessThan(report.tokensBefore);
        expect(Buffer.byteLength(text)).toBeLessThan(Buffer.byteLength(input));
      }),
      { numRuns: 150 },
    );
  });

  test("compressing a view changes nothing, with a pointer or without", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, fc.boolean(), async (input, point) => {
        const once = await shrink(input, { point });
        const twice = await shrink(once.text, { point });
        expect(twice.text).toBe(once.text);
      }),
      { numRuns: 250 },
    );
  });

  test("what is left out is counted by a marker", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (input) => {
        const { text, report } = await shrink(input, { point: false });
        if ((report.dropped ?? 0) === 0) return;
        expect(isMarked(text)).toBe(true);
      }),
      { numRuns: 150 },
    );
  });

  test("without a store nothing is left out", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (input) => {
        const { report } = await engine.compress(input);
        expect(report.dropped ?? 0).toBe(0);
        expect(report.losslessToModel).toBe(true);
      }),
      { numRuns: 100 },
    );
  });

  test("detection names a type, and neither it nor any forced route throws", async () => {
    await fc.assert(
      fc.asyncProperty(anyText, fc.constantFrom(...DETECTED, ...FORCED, "no-such-type"), async (input, type) => {
        expect(DETECTED).toContain(detect(input));
        const { text, report } = await shrink(input, { type });
        expect(report.reason).not.toBe("compressor_failed");
        if (type === "no-such-type" && report.reason !== undefined) expect(text).toBe(input);
      }),
      { numRuns: 300 },
    );
  });
});

test("a fact in an error line stays visible, wherever the line stands", async () => {
  await fc.assert(
    fc.asyncProperty(
      toolText,
      fc.integer({ min: 0, max: 99_999 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (input, fact, at) => {
        const lines = input.split("\n");
        const place = Math.floor(at * lines.length);
        const line = `2026-11-30T08:00:00.000Z ERROR payment ${fact} failed: card declined by issuer ${fact + 7}`;
        lines.splice(place, 0, line);
        const { text } = await shrink(lines.join("\n"));
        expect(text).toContain(`payment ${fact} failed`);
        expect(text).toContain(`issuer ${fact + 7}`);
      },
    ),
    { numRuns: 150 },
  );
});

test("JSON stays JSON, and what stays of it is as it was written", async () => {
  await fc.assert(
    fc.asyncProperty(jsonText, async (input) => {
      const { text, report } = await shrink(input, { type: "json", point: false });
      expect(() => JSON.parse(text)).not.toThrow();
      if (report.losslessToModel) expect(JSON.parse(text)).toEqual(JSON.parse(input));
    }),
    { numRuns: 200 },
  );
});

test("a store that fails or refuses means the input", async () => {
  const input = Array.from(
    { length: 300 },
    (_, i) => `2026-11-30 08:00:00 INFO worker finished job ${i} in ${i % 9} ms`,
  ).join("\n");
  for (const keep of [
    () => undefined,
    () => {
      throw new Error("disk full");
    },
  ]) {
    const { text, report } = await shrink(input, { keep });
    expect(text).toBe(input);
    expect(report).toMatchObject({ ratio: 0, tokensBefore: report.tokensAfter });
    expect(report.reason).toBeDefined();
  }
  const { text } = await shrink(input, { keep: new MapStore().keep });
  expect(text.length).toBeLessThan(input.length / 4);
});

test("what a tool that must be added costs is part of the bargain", async () => {
  const input = Array.from(
    { length: 40 },
    (_, i) => `2026-11-30 08:00:00 INFO worker finished job ${i} in ${i % 9} ms`,
  ).join("\n");
  const free = await shrink(input);
  expect(free.report.reason).toBeUndefined();
  const saved = free.report.tokensBefore - free.report.tokensAfter;
  expect((await shrink(input, { overheadTokens: saved - 48 })).text).not.toBe(input);
  expect((await shrink(input, { overheadTokens: saved })).report.reason).toBe("not_smaller");
});
