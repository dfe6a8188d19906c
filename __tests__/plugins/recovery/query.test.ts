import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { GAP, select } from "../../../plugins/recovery/query.ts";
import { unitsOf } from "../../../plugins/recovery/units.ts";

const people = Array.from({ length: 60 }, (_, id) => ({
  id,
  name: `person${id}`,
  city: id % 10 === 3 ? "Köln" : "Rome",
}));

describe("a query", () => {
  test("gives whole JSON records, as they are written, in their order, with gaps marked", () => {
    const json = JSON.stringify({ total: 60, people }, null, 2);
    const selection = select(json, "koln");
    // Records 3, 13, 23, 33, 43 and 53 are of that city.
    expect(selection).toMatchObject({ shown: 6, of: 60 });
    const shown =
      selection?.text
        .split(GAP)
        .map((part) => part.trim())
        .filter(Boolean) ?? [];
    expect(shown.map((part) => (JSON.parse(part) as { id: number }).id)).toEqual([3, 13, 23, 33, 43, 53]);
    for (const part of shown) expect(json).toContain(part);
  });

  test("marks no gap between neighbours", () => {
    const lines = Array.from({ length: 100 }, (_, i) => (i === 40 || i === 41 ? `needle ${i}` : `hay number ${i}`));
    expect(select(lines.join("\n"), "needle")?.text).toBe(`${GAP}\nneedle 40\nneedle 41\n${GAP}`);
  });

  test("keeps the header above rows of a table, and a quoted line break inside its row", () => {
    const rows = Array.from({ length: 40 }, (_, i) => `${i},"note ${i}\nsecond line",${i === 7 ? "overdue" : "paid"}`);
    const selection = select(["id,note,state", ...rows].join("\n"), "overdue");
    expect(selection?.text).toBe(`id,note,state\n${GAP}\n7,"note 7\nsecond line",overdue\n${GAP}`);
  });

  test("gives whole lines of JSON Lines, and whole paragraphs of prose", () => {
    const jsonl = people.map((person) => JSON.stringify(person)).join("\n");
    expect(select(jsonl, "person17")?.text).toBe(`${GAP}\n${JSON.stringify(people[17])}\n${GAP}`);
    const prose = Array.from(
      { length: 12 },
      (_, i) => `Part ${i} begins here.\nIt ends with ${i === 5 ? "treasure" : "dust"}.`,
    );
    expect(select(prose.join("\n\n"), "treasure")?.text).toBe(`${GAP}\n\n${prose[5]}\n\n${GAP}`);
  });

  test("gives at most the twenty best units", () => {
    const lines = Array.from(
      { length: 500 },
      (_, i) => `entry ${i} ${i % 2 ? "error" : "ok"} ${i === 333 ? "disk" : ""}`,
    );
    const selection = select(lines.join("\n"), "disk error");
    expect(selection).toMatchObject({ shown: 20, of: 500 });
    expect(selection?.text).toContain("entry 333 ");
  });

  test.each([
    ["LIMIT 12", "const x = load(LIMIT_12_48211);"],
    ["limit_12", "const x = load(LIMIT_12_48211);"],
    ["LIMIT_12_48211", "const x = load(LIMIT_12_48211);"],
    ["user name", "function getUserName() {}"],
    ["get_user_name", "function getUserName() {}"],
    ["http request", "new XMLHttpRequest()"],
    ["rate limiter", "see rate-limiter.config"],
    ["beta", "channel v2Beta"],
    ["shelf 7", "shelf_7"],
  ])("%s finds a joined name by its parts and whole", (query, line) => {
    const lines = Array.from({ length: 200 }, (_, i) => (i === 77 ? line : `hay number ${i + 100}`));
    expect(select(lines.join("\n"), query)?.text).toBe(`${GAP}\n${line}\n${GAP}`);
  });

  test("finds words of any script", () => {
    const lines = Array.from({ length: 50 }, (_, i) => `строка ${i}`);
    lines[9] = "ошибка соединения с базой";
    lines[19] = "数据库连接失败";
    lines[29] = "데이터베이스 연결 실패";
    const text = lines.join("\n");
    expect(select(text, "Ошибка")?.text).toContain(lines[9] ?? "");
    expect(select(text, "连接")?.text).toContain(lines[19] ?? "");
    expect(select(text, "연결")?.text).toContain(lines[29] ?? "");
  });

  test("that matches nothing, or nearly everything, gives nothing smaller to show", () => {
    expect(select("a\nb\nc", "zebra")).toBeUndefined();
    expect(select("one word\ntwo word", "word")).toBeUndefined();
    expect(select("anything", "   ")).toBeUndefined();
    expect(select("", "x")).toBeUndefined();
  });

  test("of deeply nested JSON, or of one long line, comes to an end", () => {
    const deep = `${"[".repeat(5_000)}{"a":1}${"]".repeat(5_000)}`;
    expect(select(deep, "zebra")).toBeUndefined();
    expect(select("x".repeat(5_000_000), "zebra")).toBeUndefined();
  });

  test("is smaller than the original, made of its units, and always the same", () => {
    // Without digits and most letters, so that no hay answers a query.
    const hay = fc.string({ unit: fc.constantFrom(..."xyz ж,;|\"'{}[]:-_"), minLength: 30, maxLength: 60 });
    const asked = fc.constantFrom(
      ["alpha", "alpha beta"] as const,
      ["delta gamma", "gamma, delta"] as const,
      ["数据", "naïve 数据"] as const,
      ["a 1", '{"a": 1}'] as const,
    );
    const needle = asked.map(([, line]) => line);
    const shapes: ((lines: readonly string[]) => string)[] = [
      (lines) => lines.join("\n"),
      (lines) => lines.join("\n\n"),
      (lines) => JSON.stringify(lines.map((note) => ({ note }))),
      (lines) => JSON.stringify({ rows: lines.map((note) => ({ note })) }, null, 2),
      (lines) => lines.map((note) => JSON.stringify({ note })).join("\n"),
      (lines) => ["note;kind", ...lines.map((note) => `"${note.replaceAll('"', "\n")}";x`)].join("\n"),
    ];
    const text = fc
      .record({
        lines: fc.array(hay, { minLength: 16, maxLength: 40 }),
        asked,
        more: fc.array(needle, { maxLength: 3 }),
        at: fc.nat(16),
        shape: fc.constantFrom(...shapes),
      })
      .map(({ lines, asked: [query, line], more, at, shape }) => ({
        query,
        original: shape(lines.toSpliced(at, 0, line, ...more)),
      }));
    let selected = 0;
    const runs = 200;
    fc.assert(
      fc.property(text, ({ original, query }) => {
        const selection = select(original, query);
        expect(select(original, query)).toEqual(selection);
        if (!selection) return;
        selected++;
        expect(Buffer.byteLength(selection.text)).toBeLessThan(Buffer.byteLength(original));
        const { units, header, joint } = unitsOf(original);
        let rest = `${selection.text}${joint}`;
        const takes = (part: string): boolean => {
          const begins = rest.startsWith(`${part}${joint}`);
          if (begins) rest = rest.slice(part.length + joint.length);
          return begins;
        };
        if (header !== undefined) expect(takes(header)).toBe(true);
        const shown = units.filter((unit) => {
          takes(GAP);
          return takes(unit);
        });
        takes(GAP);
        expect(rest).toBe("");
        expect(shown).toHaveLength(selection.shown);
      }),
      { numRuns: runs },
    );
    expect(selected).toBeGreaterThan(runs * 0.9);
  });
});
