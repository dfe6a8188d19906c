/** Tables: every row shown is a row of the input, what stands out stays, and the markers count the rest. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { alignedTable } from "../../../plugins/compression/tables/aligned.ts";
import { quantity } from "../../../plugins/compression/tables/rows.ts";
import { sqlResult } from "../../../plugins/compression/tables/sql.ts";
import { tabular } from "../../../plugins/compression/tables/tabular.ts";
import { tables } from "./corpus/tables.ts";
import { counted, shorter, view } from "./parts.ts";

const compressorOf = { tabular, "aligned-table": alignedTable, "sql-result": sqlResult } as const;
const all = tables().filter(({ compressible }) => compressible);
const marker = (line: string): boolean => line.includes("elided (caveman)");

describe.each(all.map((input) => [input.name, input] as const))("%s", (_name, input) => {
  const compressor = compressorOf[input.type as keyof typeof compressorOf];

  test("shows rows of the input in their order, to the letter", async () => {
    const { text } = await shorter(compressor, input.text);
    const rows = input.text.split("\n");
    let at = 0;
    for (const line of text.split("\n")) {
      if (marker(line)) continue;
      const found = rows.indexOf(line, at);
      expect({ line, found: found >= at }).toEqual({ line, found: true });
      at = found + 1;
    }
  });

  test("counts every row that is gone", async () => {
    const { text, kept, dropped } = await shorter(compressor, input.text);
    expect(counted(text)).toBe(dropped);
    const shown = text.split("\n").filter((line) => !marker(line)).length;
    expect(shown + dropped).toBe(input.text.split("\n").length);
    expect(kept).toBeLessThanOrEqual(shown);
  });
});

const cell = fc.record({
  id: fc.integer({ min: 1000, max: 9999 }),
  city: fc.constantFrom("Porto", "Graz", "Ghent"),
  amount: fc.integer({ min: -5000, max: 5000 }),
  note: fc.constantFrom("", "on time", 'said "wait, please"', "two, or three"),
  // A failure stays and parts what could go, so it is rare enough to leave runs that are longer than their marker.
  state: fc.oneof({ weight: 30, arbitrary: fc.constant("ok") }, { weight: 1, arbitrary: fc.constant("failed") }),
});
const quote = (value: string): string => (/[",]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
const csv = fc.array(cell, { minLength: 80, maxLength: 200 }).map((records) => ({
  records,
  rows: records.map(({ id, city, amount, note, state }) => [id, city, amount, quote(note), state].join(",")),
}));

describe("for any table", () => {
  test("errors, and the least and the greatest of each column of numbers stay", async () => {
    let views = 0;
    await fc.assert(
      fc.asyncProperty(csv, async ({ records, rows }) => {
        const input = `id,city,amount,note,state\n${rows.join("\n")}\n`;
        const found = await view(tabular, input);
        if (!found) return;
        views++;
        const shown = new Set(found.text.split("\n"));
        for (const [row, { state }] of records.entries())
          if (state === "failed") expect(shown.has(rows[row] ?? "")).toBe(true);
        const amounts = records.map(({ amount }) => amount);
        for (const end of [Math.min(...amounts), Math.max(...amounts)])
          expect(rows.some((row, index) => records[index]?.amount === end && shown.has(row))).toBe(true);
        expect(counted(found.text)).toBe(found.dropped);
        expect(found.text.startsWith("id,city,amount,note,state\n")).toBe(true);
      }),
      { numRuns: 60 },
    );
    expect(views).toBeGreaterThan(30); // else the rules above were hardly asked
  });

  test("of what is stated about the rows that are gone every number is right", async () => {
    let statements = 0;
    await fc.assert(
      fc.asyncProperty(csv, async ({ records, rows }) => {
        const found = await view(tabular, `id,city,amount,note,state\n${rows.join("\n")}\n`);
        if (!found) return;
        const stated = /city: ([^;…]+)/.exec(found.text)?.[1];
        if (!stated?.includes("×")) return;
        statements++;
        const left = new Map<string, number>();
        const shown = found.text.split("\n");
        for (const { city } of records) left.set(city, (left.get(city) ?? 0) + 1);
        for (const line of shown) {
          const city = /^\d+,(\w+),/.exec(line)?.[1];
          if (city) left.set(city, (left.get(city) ?? 0) - 1);
        }
        for (const [, city, count] of stated.matchAll(/(\w+)×(\d+)/g)) expect(left.get(city ?? "")).toBe(Number(count));
      }),
      { numRuns: 60 },
    );
    expect(statements).toBeGreaterThan(30);
  });
});

describe("what is no table", () => {
  test("search results with one comma a line are not read as one", async () => {
    const hits = Array.from({ length: 40 }, (_, i) => `src/cart.ts:${i}:  total(items, rates);`).join("\n");
    expect(await view(tabular, hits)).toBeUndefined();
  });

  test("rows of different widths, a quote that never ends, a header of numbers", async () => {
    expect(await view(tabular, `a,b,c\n${"1,2,3\n1,2\n1,2,3,4\n".repeat(10)}`)).toBeUndefined();
    expect(await view(tabular, `a,b,c\n${"1,2,3\n".repeat(20)}1,"2,3\n`)).toBeUndefined();
    expect(await view(tabular, "1,2,3\n".repeat(30))).toBeUndefined();
  });

  test("a table whose every row says something else stays", async () => {
    const words =
      "harbour tariff ledger clerk lighthouse breakwater bishop cellar receipt felt copyist blank wreck tin diver keel tower dues".split(
        " ",
      );
    const rows = Array.from(
      { length: 200 },
      (_, i) =>
        `${i},"${Array.from({ length: 9 }, (_unused, k) => words[(i * 7 + k * (i + 3)) % words.length] + (k % 3 === 0 ? String.fromCharCode(97 + (i % 26), 97 + ((i * k) % 26)) : "")).join(" ")}"`,
    );
    expect(await view(tabular, `number,remark\n${rows.join("\n")}\n`)).toBeUndefined();
  });
});

describe("the notations", () => {
  test("several aligned tables after each other are read one by one", async () => {
    const table = (kind: string): string =>
      `NAME         READY   AGE\n${Array.from({ length: 90 }, (_, i) => `${`${kind}-${i}`.padEnd(13)}1/1     ${i % 9}d\n`).join("")}`;
    const { text, dropped } = await shorter(alignedTable, `${table("pod")}\n${table("svc")}`);
    expect(text.match(/NAME {9}READY {3}AGE/g)).toHaveLength(2);
    expect(text.match(/rows elided \(caveman\):/g)).toHaveLength(2);
    expect(counted(text)).toBe(dropped);
  });

  test("psql's records, one field a line", async () => {
    const record = (i: number): string =>
      `-[ RECORD ${i} ]--------\nid    | ${i}\ncity  | ${i % 2 ? "Porto" : "Graz"}\nstate | ${i === 33 ? "failed: no such quay" : "ok"}\n`;
    const { text } = await shorter(sqlResult, Array.from({ length: 60 }, (_, i) => record(i + 1)).join(""));
    expect(text).toContain("failed: no such quay");
    expect(text).toMatch(/records elided \(caveman\)/);
    expect(text).toContain("-[ RECORD 60 ]");
  });

  test("numbers with units are numbers", () => {
    expect(quantity("12.5%")).toBe(12.5);
    expect(quantity("512Mi")).toBe(512 * 1024 * 1024);
    expect(quantity("1,024")).toBe(1024);
    expect(quantity("85ms")).toBeCloseTo(0.085);
    expect(quantity("$-3.50")).toBe(-3.5);
    expect(quantity("0x1f")).toBeNaN();
    expect(quantity("v12")).toBeNaN();
  });

  test("a row that the query is about stays", async () => {
    const input = `id,name\n${Array.from({ length: 300 }, (_, i) => `${i},user${i}`).join("\n")}\n`;
    expect((await shorter(tabular, input)).text).not.toContain("user177");
    expect((await shorter(tabular, input, "user177")).text).toContain("177,user177");
  });
});

test("a wide and a long table take no more than a moment", async () => {
  const header = Array.from({ length: 60 }, (_, i) => `c${i}`).join(",");
  const row = (i: number): string => Array.from({ length: 60 }, (_, k) => (i * 31 + k * 7) % 997).join(",");
  const { dropped } = await shorter(
    tabular,
    `${header}\n${Array.from({ length: 2_000 }, (_, i) => row(i)).join("\n")}\n`,
  );
  expect(dropped).toBeGreaterThan(1_800);
}, 15_000);
