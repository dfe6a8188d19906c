/** The validator is green on what ships, and red for each kind of damage. */

import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { readCatalogFile } from "../../catalog/files.ts";
import { renderManifest, renderModule, renderYaml, sha256 } from "../../catalog/render.ts";
import type { CatalogFile, Row } from "../../catalog/row.ts";
import { type Problem, validateCatalog } from "../../catalog/validate.ts";
import { rowOf } from "./rows.ts";

const SHIPPED = join(import.meta.dirname, "../../catalog");
const NOW = new Date("2026-12-01T00:00:00Z");
let scratch: string;
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), "catalog-"));
});
afterAll(async () => {
  await rm(scratch, { recursive: true });
});

const SMALL: CatalogFile = {
  schema: 1,
  date: "2026-11-30",
  providers: { corp: "acme" },
  rows: [rowOf({ aliases: ["uno"] }), rowOf({ model: "two", aliases: ["due"] })],
};

/** A sound catalog of two rows in a folder of its own, as generating would write it. */
async function folder(file: CatalogFile = SMALL, snapshot: CatalogFile = file): Promise<string> {
  const directory = await mkdtemp(join(scratch, "case-"));
  const yaml = renderYaml(file);
  const name = `${snapshot.date}.yaml`;
  await cp(join(SHIPPED, "snapshots"), join(directory, "snapshots"), {
    recursive: true,
    filter: (path) => !path.endsWith(".yaml"),
  });
  await writeFile(join(directory, "current.yaml"), yaml);
  await writeFile(join(directory, "generated.ts"), renderModule(file, yaml));
  await writeFile(join(directory, `snapshots/${name}`), renderYaml(snapshot));
  await writeFile(join(directory, "snapshots/manifest.json"), renderManifest({ [name]: sha256(renderYaml(snapshot)) }));
  return directory;
}

const withRow = (row: Row): CatalogFile => ({ ...SMALL, rows: [...SMALL.rows, row] });
const check = async (directory: string, now: Date = NOW): Promise<readonly Problem[]> =>
  validateCatalog({ directory, now });
const codes = (problems: readonly Problem[]): readonly string[] =>
  [...new Set(problems.map(({ code }) => code))].sort();

async function edit(directory: string, file: string, change: (text: string) => string): Promise<void> {
  const path = join(directory, file);
  const before = await readFile(path, "utf8");
  const after = change(before);
  expect(after).not.toBe(before);
  await writeFile(path, after);
}

test("what ships is sound", async () => {
  expect(await validateCatalog({ now: NOW })).toEqual([]);
});

test("a small catalog is sound, written by the generator or by hand in another YAML style", async () => {
  expect(await check(await folder())).toEqual([]);
  const flow = readCatalogFile(renderYaml(SMALL), "current.yaml").file;
  const block = readCatalogFile(renderYaml(SMALL).replaceAll(/^ {2}- (.*)$/gm, "  -\n    $1"), "current.yaml").file;
  expect(flow).toEqual(SMALL);
  expect(block).toEqual(SMALL);
});

describe("damage", () => {
  test("a row twice", async () => {
    expect(await check(await folder(withRow(rowOf())))).toMatchObject([
      { code: "duplicate_row", where: "current.yaml acme/one" },
    ]);
  });

  test("the same model in two regions is no duplicate", async () => {
    expect(await check(await folder(withRow(rowOf({ region: "eu" }))))).toEqual([]);
  });

  test("a date to come", async () => {
    expect(await check(await folder(withRow(rowOf({ model: "three", verified_at: "2026-12-02" }))))).toMatchObject([
      { code: "future_date", where: "current.yaml acme/three" },
    ]);
  });

  test("a date too long ago", async () => {
    // 2026-06-03 is 181 days before 2026-12-01, 2026-06-04 is 180.
    expect(await check(await folder(withRow(rowOf({ model: "three", verified_at: "2026-06-03" }))))).toMatchObject([
      { code: "stale_date" },
    ]);
    expect(await check(await folder(withRow(rowOf({ model: "three", verified_at: "2026-06-04" }))))).toEqual([]);
    expect(codes(await validateCatalog({ now: new Date("2028-01-01T00:00:00Z") }))).toEqual(["stale_date"]);
  });

  test.each(["yesterday", "2026-02-30", "2026-1-1", "30.11.2026"])("the date %s", async (verified_at) => {
    expect(codes(await check(await folder(withRow(rowOf({ model: "three", verified_at })))))).toEqual(["bad_date"]);
  });

  test.each([
    ["that is another row's name", { ...SMALL, rows: [rowOf({ aliases: ["two"] }), rowOf({ model: "two" })] }],
    ["of two rows", { ...SMALL, rows: [rowOf({ aliases: ["x"] }), rowOf({ model: "two", aliases: ["x"] })] }],
    ["of a provider that leads nowhere", { ...SMALL, providers: { corp: "nobody" } }],
    [
      "of a provider that hides a provider",
      { ...SMALL, providers: { acme: "other" }, rows: [...SMALL.rows, rowOf({ provider: "other" })] },
    ],
  ])("an alias %s", async (_what, file) => {
    expect(codes(await check(await folder(file)))).toEqual(["broken_alias"]);
  });

  test.each([
    ['"1"', '"-1"'],
    ['"1"', '"free"'],
    ['"1"', '"1,5"'],
    ['"1"', "null"],
    ['"1"', '"1e-20"'],
    ['"1"', "true"],
  ])("a price %s that becomes %s", async (was, is) => {
    const directory = await folder();
    await edit(directory, "current.yaml", (text) => text.replace(`"input": ${was}`, `"input": ${is}`));
    const problems = await check(directory);
    expect(problems[0]).toMatchObject({ code: "bad_price", where: "current.yaml rows[0].prices[0].rates.input" });
    expect(problems[0]?.message).toMatch(/^expected dollars per million tokens, 0 or more, got /);
  });

  test.each([
    ["no prices", []],
    ["a day that is none", [{ from: "soon", rates: { input: "1" } }]],
    ["an hour that is none", [{ hours: { start: "25:00", end: "01:00" }, rates: { input: "1" } }]],
    [
      "tiers that fall",
      [
        {
          rates: { input: "1" },
          tiers: [
            { above: 5, rates: { input: "1" } },
            { above: 4, rates: { input: "1" } },
          ],
        },
      ],
    ],
    ["no rates", [{ rates: {} }]],
  ])("a row with %s", async (_what, prices) => {
    expect(codes(await check(await folder(withRow(rowOf({ model: "three", prices })))))).toContain("bad_price");
  });

  test.each([
    ['"lifecycle": "active"', '"lifecycle": "asleep"'],
    ['"model": "one", ', ""],
    ['"mode": "explicit"', '"mode": "magic"'],
    ['"context": 200000', '"context": 0.5'],
    ['"region"', '"regoin"'],
  ])("a field %s that becomes %s", async (was, is) => {
    const directory = await folder();
    await edit(directory, "current.yaml", (text) => text.replace(was, is));
    expect(codes(await check(directory))).toContain("malformed_row");
  });

  test("a price that changed, a row that came and a row that went, without a snapshot", async () => {
    const dearer = rowOf({ prices: [{ rates: { input: "1.01", output: "5", cacheRead: "0.1", cacheWrite: "1.25" } }] });
    const problems = await check(await folder({ ...SMALL, rows: [dearer, rowOf({ model: "three" })] }, SMALL));
    expect(problems.map(({ code, where }) => [code, where])).toEqual([
      ["price_changed", "current.yaml acme/one"],
      ["price_changed", "current.yaml acme/three"],
      ["price_changed", "current.yaml acme/two global"],
    ]);
  });

  test("a new date without its snapshot", async () => {
    expect(codes(await check(await folder({ ...SMALL, date: "2026-12-01" }, SMALL)))).toEqual(["snapshot_missing"]);
  });

  test("an edited snapshot", async () => {
    const directory = await folder();
    await edit(directory, "snapshots/2026-11-30.yaml", (text) => text.replace("# Prices", "# The prices"));
    expect(codes(await check(directory))).toEqual(["snapshot_edited"]);
  });

  test("a lost snapshot, and one nobody lists", async () => {
    const directory = await folder();
    const text = await readFile(join(directory, "snapshots/2026-11-30.yaml"), "utf8");
    await writeFile(join(directory, "snapshots/2026-01-01.yaml"), text);
    expect(await check(directory)).toMatchObject([{ code: "snapshot_unlisted", where: "snapshots/2026-01-01.yaml" }]);
    await rm(join(directory, "snapshots"), { recursive: true });
    expect(codes(await check(directory))).toEqual(["snapshot_missing"]);
  });

  test("a generated module of another current.yaml, with other rows, or gone", async () => {
    const stale = await folder();
    await edit(stale, "generated.ts", (text) => text.replace(/SHA256 = "[0-9a-f]+"/, `SHA256 = "${sha256("")}"`));
    expect(codes(await check(stale))).toEqual(["module_mismatch"]);
    const forged = await folder();
    await edit(forged, "generated.ts", (text) => text.replace('"input":"1"', '"input":"0"'));
    expect(await check(forged)).toMatchObject([{ code: "module_mismatch", message: expect.stringContaining("acme") }]);
    const gone = await folder();
    await rm(join(gone, "generated.ts"));
    expect(codes(await check(gone))).toEqual(["module_mismatch"]);
  });

  test("a catalog that is missing, no YAML, or no catalog", async () => {
    expect(codes(await check(join(scratch, "nowhere")))).toEqual(["unreadable"]);
    for (const text of ["rows: [", "rows: 5", "", "schema: 2\ndate: '2026-11-30'\nproviders: {}\nrows: []"]) {
      const directory = await folder();
      await writeFile(join(directory, "current.yaml"), text);
      expect(codes(await check(directory))).toEqual(["unreadable"]);
    }
  });
});
