/** The error table is whole: what the sources can say has a row, and every row is of something that they say. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { here, ROOT } from "./caveman.ts";

/** Framework tools, and the marker and prefixes that begin as codes do. */
const NAMES_OF_OTHERS: readonly string[] = [
  "cave_call_tool",
  "cave_config_",
  "cave_context",
  "cave_elided",
  "cave_memory_remember",
  "cave_memory_search",
  "cave_memory_search_sessions",
  "cave_retrieve",
  "cave_search_tools",
  "cave_skill",
];

const filesBelow = (folder: string, ending: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(ending) && !path.includes("node_modules"))
    .map((path) => `${folder}/${path}`);

const said = (files: readonly string[], pattern: RegExp): ReadonlyMap<string, string> =>
  new Map(
    files.flatMap((file) =>
      [...readFileSync(join(ROOT, file), "utf8").matchAll(pattern)].map(([, name = ""]) => [name, file] as const),
    ),
  );

/** Every quoted `cave_…`: rows stand under bare keys, so that a row alone is no use of its code. */
const inSources = said(
  ["index.ts", ...["kernel", "catalog", "plugins", "presets", "cli"].flatMap((folder) => filesBelow(folder, ".ts"))],
  /["`](cave_[a-z0-9_]+)["`:]/g,
);
const inDocuments = said(
  [
    "README.md",
    "SECURITY.md",
    "CHANGELOG.md",
    ...["plugins", "examples"].flatMap((folder) => filesBelow(folder, ".md")),
  ],
  /`(cave_[a-z0-9_]+)`/g,
);

describe("the error table", () => {
  const listed = async (): Promise<ReadonlySet<string>> => {
    const rows = JSON.parse((await here(["explain", "--json"])).out) as { code: string }[];
    return new Set(rows.map(({ code }) => code));
  };
  const without = (codes: ReadonlySet<string>, where: ReadonlyMap<string, string>) =>
    [...where].filter(([name]) => !codes.has(name) && !NAMES_OF_OTHERS.includes(name));

  test("every code of the sources and of the documents has a row", async () => {
    const codes = await listed();
    expect(inSources.size).toBeGreaterThan(200);
    expect(without(codes, inSources)).toEqual([]);
    expect(without(codes, inDocuments)).toEqual([]);
  });

  test("every row is of a code that the sources give", async () => {
    expect([...(await listed())].filter((code) => !inSources.has(code))).toEqual([]);
  });
});

describe("explain", () => {
  test("prints the row of a code, of kernel, plugins and command line alike", async () => {
    for (const code of ["cave_unknown_tool", "cave_config_invalid", "cave_skill_invalid"]) {
      const ran = await here(["explain", code]);
      expect(ran.code).toBe(0);
      expect(ran.out).toMatch(new RegExp(`^${code}\n  .+\n  → .+\n$`));
    }
  });

  test("without a code lists them all", async () => {
    const rows = JSON.parse((await here(["explain", "--json"])).out) as {
      code: string;
      meaning: string;
      remedy: string;
    }[];
    expect(rows.length).toBeGreaterThan(40);
    for (const row of rows)
      expect(row).toEqual({
        code: expect.stringMatching(/^cave_/),
        meaning: expect.any(String),
        remedy: expect.any(String),
      });
  });
});
