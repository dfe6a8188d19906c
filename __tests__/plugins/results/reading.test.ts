import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { MAX_ENTRY_BYTES, MAX_STORE_BYTES, OutputStore } from "../../../plugins/results/output-store.ts";
import { PAGE_BYTES, readStored } from "../../../plugins/results/read-tool-output.ts";
import { seededClock } from "../../support/harness.ts";

const fresh = (text: string) => {
  const store = new OutputStore(seededClock());
  return { store, handle: store.keep(text, "bash") ?? "" };
};
const body = (answer: string): string => answer.slice(answer.indexOf("\n") + 1, answer.lastIndexOf("\n"));
/** Reads on until the end, as a model would. */
function readAll(store: OutputStore, handle: string): { pages: number; text: string } {
  let text = "";
  let at: { offset?: number; column?: number } = {};
  for (let pages = 1; ; pages++) {
    const answer = readStored(store, { handle, ...at });
    expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(PAGE_BYTES);
    const on = /\[goes on at offset (\d+)(?:, column (\d+))?\]$/.exec(answer);
    // The page adds a line end of its own where it stops within a line.
    text += on?.[2] || !on ? body(answer) : `${body(answer)}\n`;
    if (!on) return { pages, text };
    at = { offset: Number(on[1]), ...(on[2] ? { column: Number(on[2]) } : {}) };
  }
}

describe("a stored output", () => {
  test("is read back whole, page by page", () => {
    const line = fc.oneof(
      fc.string({ unit: "grapheme", maxLength: 80 }),
      fc.constant("x".repeat(30_000)),
      fc.constant("🙂".repeat(9_000)),
    );
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 40 }), (lines) => {
        const text = lines.map((part) => part.replaceAll(/[\r\n]/g, "")).join("\n");
        fc.pre(text !== "" && text.isWellFormed());
        const { store, handle } = fresh(text);
        // The last line end is not told from the frame.
        expect(readAll(store, handle).text).toBe(text.replace(/\n$/, ""));
      }),
      { numRuns: 60 },
    );
  });
  test("is read from a line, for so many lines", () => {
    const { store, handle } = fresh("a\nb\nc\nd\n");
    expect(readStored(store, { handle, offset: 2, limit: 2 })).toBe(
      "[bash: lines 2 to 3 of 4, 8 bytes in all]\nb\nc\n[goes on at offset 4]",
    );
    expect(readStored(store, { handle, offset: 4 })).toBe("[bash: lines 4 to 4 of 4, 8 bytes in all]\nd\n[end]");
    for (const bad of [{ offset: 5 }, { offset: 9_999 }, { offset: 4, column: 50 }])
      expect(() => readStored(store, { handle, ...bad })).toThrow(
        expect.objectContaining({ code: "cave_output_offset_invalid" }),
      );
  });
  test("is searched for a literal text; line numbers lead back to it", () => {
    const { store, handle } = fresh("one\ntwo.*\nthree\ntwo.* again\n");
    expect(readStored(store, { handle, query: "two.*" })).toBe(
      "[bash: 2 matches shown, 4 lines in all]\n2: two.*\n4: two.* again\n[no more]",
    );
    expect(readStored(store, { handle, query: "two.*", limit: 1 })).toContain("[more from offset 4]");
    expect(readStored(store, { handle, query: "two.*", offset: 3 })).toContain("1 matches shown");
    expect(readStored(store, { handle, query: "absent" })).toBe("[bash: 0 matches shown, 4 lines in all]\n[no more]");
  });
  test("of one long line shows each match with what stands around it", () => {
    const { store, handle } = fresh(`${"🙂".repeat(5_000)}needle${"y".repeat(9_000)}needle`);
    const answer = readStored(store, { handle, query: "needle" });
    expect(answer.match(/needle/g)).toHaveLength(2);
    expect(answer).toContain("1:10001: …🙂");
    expect(answer.isWellFormed()).toBe(true);
  });
  test("with more matches than a page has room for says where to go on, and every match is found", () => {
    const { store, handle } = fresh(
      Array.from({ length: 5_000 }, (_, index) => `hit ${index} ${"z".repeat(40)}`).join("\n"),
    );
    let found = 0;
    for (let offset = 1; ; ) {
      const answer = readStored(store, { handle, query: "hit", offset, limit: 1_000 });
      expect(Buffer.byteLength(answer)).toBeLessThanOrEqual(PAGE_BYTES);
      found += answer.match(/^\d+: hit/gm)?.length ?? 0;
      const on = /\[more from offset (\d+)\]$/.exec(answer);
      if (!on) break;
      offset = Number(on[1]);
    }
    expect(found).toBe(5_000);
  });
  test("empty reads as empty", () => {
    const { store, handle } = fresh("");
    expect(readStored(store, { handle })).toBe("[bash: lines 1 to 1 of 1, 0 bytes in all]\n[end]");
  });
});

describe("the store", () => {
  test("takes 8 MiB an entry and 16 MiB in all; the oldest go first", () => {
    const store = new OutputStore(seededClock());
    expect(store.keep("x".repeat(MAX_ENTRY_BYTES + 1), "t")).toBeUndefined();
    expect(store.keep("é".repeat(MAX_ENTRY_BYTES / 2 + 1), "t")).toBeUndefined();
    const handles = [1, 2, 3].map((size) => store.keep("x".repeat(size * 2 * 1024 * 1024), "t") ?? "");
    expect(store.bytes).toBe(12 * 1024 * 1024);
    const last = store.keep("x".repeat(MAX_ENTRY_BYTES), "t") ?? "";
    expect([...handles, last].map((handle) => store.read(handle) !== undefined)).toEqual([false, false, true, true]);
    expect(store.bytes).toBeLessThanOrEqual(MAX_STORE_BYTES);
    expect(() => readStored(store, { handle: handles[0] ?? "" })).toThrow(
      expect.objectContaining({ code: "cave_output_handle_unknown" }),
    );
  });
  test("never holds more than its limit, and always what was kept last", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: MAX_ENTRY_BYTES }), { maxLength: 12 }), (sizes) => {
        const store = new OutputStore(seededClock());
        for (const size of sizes) {
          const handle = store.keep("x".repeat(size), "t");
          expect(handle !== undefined && store.read(handle)?.length).toBe(size);
          expect(store.bytes).toBeLessThanOrEqual(MAX_STORE_BYTES);
        }
      }),
      { numRuns: 8 },
    );
  });
});
