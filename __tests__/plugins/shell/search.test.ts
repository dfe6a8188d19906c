/** grep gives the same with ripgrep and without, and the same as ripgrep itself. */
import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { parseGlob } from "../../../plugins/shell/search/glob.ts";
import { parsePattern } from "../../../plugins/shell/search/pattern.ts";
import { findRipgrep } from "../../../plugins/shell/search/ripgrep.ts";
import { byBytes } from "../../../plugins/shell/search/walk.ts";
import { copyHostile } from "./hostile/make.ts";
import { type World, world } from "./workspaces.ts";

// A generous safety limit: the machine may be busy.
jest.setTimeout(60_000);

const repository = fileURLToPath(new URL("../../../", import.meta.url));
const program = findRipgrep();
// Without ripgrep there is nothing to compare with; Debian's package is `ripgrep`.
const withRipgrep = program ? describe : describe.skip;

/** ripgrep's own answer, under the rules grep has: no file outside, hidden ones searched, no repository's innards. */
function ripgrepItself(root: string, pattern: string, rest: readonly string[] = []): string[] {
  const rules = ["--hidden", "--no-ignore-parent", "--no-ignore-global", "--glob", "!.git", "--sort", "path"];
  const shape = ["--no-config", "--color=never", "--no-heading", "--line-number", "--max-filesize", "16M"];
  const { stdout } = spawnSync(program ?? "", [...shape, ...rules, ...rest, "--regexp", pattern, "."], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => line.slice(2));
}
const placesOf = (lines: readonly string[]): string[] =>
  lines.map((line) => /^(.*?:\d+):/.exec(line)?.[1] ?? "").filter((place) => place !== "");

withRipgrep("over this repository", () => {
  test.each([
    ["\\bO_NOFOLLOW\\b", 1],
    ["cave_[a-z_]+_(timeout|failed)\\b", 50],
    ["^export (async )?(function|class) \\w+", 200],
    ["no such text stands anywhere, ever[!]", 0],
  ])("%s: ripgrep itself, grep with ripgrep and grep without agree, order included", async (pattern, atLeast) => {
    const options = { workspace: repository, hardLinks: "read", outputCaps: { grep: 1_000_000 } } as const;
    await using fast = await world(options);
    await using own = await world({ ...options, ripgrep: false });
    const expected = ripgrepItself(repository, pattern)
      .slice(0, 200)
      .map((line) => line.replace(/\r$/, ""));
    expect(expected.length).toBeGreaterThanOrEqual(atLeast);
    const all = await fast.ok("grep", { pattern });
    expect(await own.ok("grep", { pattern })).toBe(all);
    const found = all.split("\n").filter((line) => !line.startsWith("["));
    expect(placesOf(found)).toEqual(placesOf(expected));
    // A line of more than 500 bytes is shown cut.
    const short = (lines: readonly string[]): string[] => lines.filter((line) => line.length < 400);
    expect(short(found)).toEqual(short(expected));
  });
});

withRipgrep("over hostile files", () => {
  let fast: World;
  let own: World;
  beforeAll(async () => {
    fast = await world();
    copyHostile(fast.workspace);
    own = await world({ workspace: fast.workspace, ripgrep: false });
  });
  afterAll(async () => {
    await own[Symbol.asyncDispose]();
    await fast[Symbol.asyncDispose]();
  });
  test.each([
    ["needle"],
    ["needle$"],
    ["^needle"],
    [".+"],
    ["\\w+$"],
    ["[^a]needle"],
    ["\\bneedle\\b"],
    ["caf."],
    ["\\W"],
    ["[[:punct:]]+$"],
    ["(?i)ÄRGER|k"],
    ["\\p{Greek}+"],
    ["[а-я]"],
    ["\\s$"],
    ["x{3}"],
    ["a{199,}!"],
    ["{"],
    ["[]x]"],
    ["\\x{9d}|\\u91dd"],
    ["(foo|needle)\\b.*\\d?"],
    ["\\S+\\s\\S+"],
    ["\\D\\d"],
  ])("%s: with ripgrep and without", async (pattern) => {
    for (const rest of [{}, { ignoreCase: true }]) {
      expect(await own.ok("grep", { pattern, ...rest })).toBe(await fast.ok("grep", { pattern, ...rest }));
    }
  });

  test("ignore files are read as ripgrep reads them", async () => {
    await using at = await world();
    execFileSync("git", ["init", "-q", at.workspace]);
    at.file(".git/info/exclude", "excluded.txt\n");
    at.file(".gitignore", "*.log\n/top.txt\nbuild/\n!keep.log\nsub/*.tmp\n\\#odd\ntrail \n**/gen/**\nno[0-9]\n");
    at.file(".ignore", "!loud.log\nquiet.txt\n");
    at.file("sub/.gitignore", "!*.log\nonly-here\n/anchored.txt\n");
    at.file("sub/.rgignore", "!quiet.txt\nrg.txt\n");
    for (const name of [
      "a.log",
      "keep.log",
      "loud.log",
      "top.txt",
      "quiet.txt",
      "excluded.txt",
      "#odd",
      "trail",
      "no1",
      "nox",
      "build/x.txt",
      "x/gen/y/z.txt",
    ])
      for (const folder of ["", "sub/", "sub/deep/"]) at.file(`${folder}${name}`, "needle\n");
    for (const name of [
      "sub/b.tmp",
      "sub/deep/c.tmp",
      "sub/only-here/d.txt",
      "sub/anchored.txt",
      "sub/deep/anchored.txt",
      "sub/rg.txt",
      ".hidden/e.txt",
      "top.txt.d/f",
    ])
      at.file(name, "needle\n");
    const expected = placesOf(ripgrepItself(at.workspace, "needle"));
    expect(placesOf((await at.ok("grep", { pattern: "needle" })).split("\n"))).toEqual(expected);
    await using own = await world({ workspace: at.workspace, ripgrep: false });
    expect(placesOf((await own.ok("grep", { pattern: "needle" })).split("\n"))).toEqual(expected);
    const sub = (await own.ok("grep", { pattern: "needle", path: "sub" })).split("\n");
    expect(placesOf(sub)).toEqual(expected.filter((place) => place.startsWith("sub/")));
  });

  test("any pattern of the dialect selects the same lines in both engines", () => {
    const atom = fc.constantFrom(
      "a",
      "b",
      "é",
      "ß",
      "K",
      "0",
      " ",
      ".",
      "\\w",
      "\\W",
      "\\d",
      "\\s",
      "\\S",
      "\\b",
      "[ab]",
      "[^a]",
      "[\\w-]",
      "[^\\W_]",
      "[[:alpha:]]",
      "\\.",
      "{",
      "}",
      "]",
      "-",
      "^",
      "$",
      "\\p{L}",
      "\\t",
    );
    const count = fc.constantFrom("", "", "", "*", "+", "?", "{2}", "{1,3}?");
    const pattern = fc.letrec<{ all: string; piece: string }>((tie) => ({
      piece: fc.oneof(
        { maxDepth: 3 },
        atom,
        tie("all").map((inside) => `(${inside})`),
      ),
      all: fc
        .array(fc.tuple(tie("piece"), count), { minLength: 1, maxLength: 4 })
        .chain((pieces) =>
          fc.constantFrom(
            pieces.map((piece) => piece.join("")).join(""),
            pieces.map((piece) => piece.join("")).join("|"),
          ),
        ),
    })).all;
    const bytes = fc.array(
      fc
        .constantFrom("a", "b", "A", "é", "ß", "k", "K", "0", "_", " ", ".", "-", "{", "\t", "\xff", "\r", "Ω", "٣")
        .map((char) => (char === "\xff" ? Buffer.from([0xff]) : Buffer.from(char))),
      { maxLength: 12 },
    );
    const decode = (line: Buffer): string =>
      Array.from(line.toString("utf8"), (char) => (char === "�" ? "\udcff" : char)).join("");
    fc.assert(
      fc.property(
        pattern,
        fc.array(bytes, { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        (text, lines, ignoreCase) => {
          const { rust, source, flags } = parsePattern(text, { literal: false, ignoreCase });
          const input = lines.map((line) => Buffer.concat(line));
          const joined = Buffer.concat(input.flatMap((line) => [line, Buffer.from("\n")]));
          const { stdout, status } = spawnSync(
            program ?? "",
            ["--no-config", "--text", "--encoding=none", "-n", "--max-columns=1", "--regexp", rust, "-"],
            { input: joined },
          );
          expect([text, status === 0 || status === 1]).toEqual([text, true]);
          const found = stdout
            .toString("latin1")
            .split("\n")
            .filter((line) => /^\d+:/.test(line))
            .map((line) => Number.parseInt(line, 10));
          const matcher = new RegExp(source, flags);
          const mine = input.flatMap((line, index) => (matcher.test(decode(line)) ? [index + 1] : []));
          expect([text, mine]).toEqual([text, found]);
        },
      ),
      { numRuns: 100 },
    );
  });

  test("globs select what ripgrep's do", async () => {
    const names = [
      "a.ts",
      "b.js",
      "src/a.ts",
      "src/b.tsx",
      "src/deep/c.ts",
      "src/deep/[x].ts",
      "lib/{y}.ts",
      "a b.ts",
      "src/.dot.ts",
    ];
    await using at = await world();
    for (const name of names) at.file(name, "x\n");
    for (const glob of [
      "*.ts",
      "**/*.ts",
      "src/*.ts",
      "src/**",
      "/a.ts",
      "*.{ts,js}",
      "?.ts",
      "[ab].*",
      "[!a].ts",
      "src/**/c.ts",
      "**/deep/*",
      "\\[x\\].ts",
      "*",
      "src/*/*.ts",
      "!*.ts",
      "!src/**",
      "{a,b}*",
      "[a-c]*.ts",
    ]) {
      const { stdout } = spawnSync(
        program ?? "",
        ["--files", "--no-config", "--hidden", "--sort", "path", "--glob", glob, "."],
        { cwd: at.workspace, encoding: "utf8" },
      );
      const expected = stdout
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.slice(2));
      const { negated, matches } = parseGlob(glob);
      const mine = [...names]
        .sort((a, b) => byBytes(a.replaceAll("/", "\0"), b.replaceAll("/", "\0")))
        .filter((name) => matches(name) !== negated);
      expect([glob, mine]).toEqual([glob, expected]);
    }
  });
});

describe("patterns", () => {
  test.each([
    "(?=a)",
    "(?<!a)b",
    "(a)\\1",
    "a\\nb",
    "(",
    "a)",
    "[a",
    "*a",
    "a{2,1}",
    "\\q",
    "(?i:a)",
    "a\nb",
    "\\p{Nonsense}",
    "[z-a]",
    "a".repeat(1_001),
    `${"(".repeat(60)}${")".repeat(60)}`,
    "[a&&b]",
    "\\x{110000}",
  ])("%j is refused with what is wrong", async (pattern) => {
    await using at = await world();
    const answer = await at.call("grep", { pattern });
    expect([answer.code, answer.text]).toEqual([
      "cave_pattern_invalid",
      expect.stringMatching(/^cave_pattern_invalid: ".*: .+/s),
    ]);
  });
  test("no text at all makes the parser throw anything else", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(..."ab(){}[]\\|*+?.^$-:,pPwdsbx01&~<=!>".split("")), maxLength: 30 }),
        (text) => {
          try {
            const { source, flags } = parsePattern(text, { literal: false, ignoreCase: false });
            new RegExp(source, flags);
          } catch (error) {
            expect(error).toMatchObject({ code: "cave_pattern_invalid" });
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
  test("a literal pattern finds exactly itself", () => {
    fc.assert(
      fc.property(
        fc
          .string({ unit: "grapheme", minLength: 1, maxLength: 20 })
          .filter((text) => !/[\0\n]/.test(text) && text.isWellFormed()),
        (text) => {
          const { source, flags } = parsePattern(text, { literal: true, ignoreCase: false });
          expect(new RegExp(`^${source}$`, flags).test(text)).toBe(true);
          expect(new RegExp(`^${source}$`, flags).test(`${text}x`)).toBe(false);
        },
      ),
    );
  });
});

test("? in a glob is one character, whatever its bytes", () => {
  expect(parseGlob("?.ts").matches("é.ts")).toBe(true);
  expect(parseGlob("?.ts").matches("éé.ts")).toBe(false);
});

test("names sort as their bytes do", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (a, b) => {
      expect(Math.sign(byBytes(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});
