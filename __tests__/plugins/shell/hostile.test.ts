/** Every file tool over files that were made to break them. */
import { createHash } from "node:crypto";
import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, jest, test } from "@jest/globals";
import { FileWorkers } from "../../../plugins/shell/files/file-worker.ts";
import { copyHostile, makeHostile } from "./hostile/make.ts";
import { type World, world } from "./workspaces.ts";

// A generous safety limit: the machine may be busy.
jest.setTimeout(60_000);

let at: World;
beforeAll(async () => {
  at = await world({ ripgrep: false });
  copyHostile(at.workspace);
  await makeHostile(at.workspace);
});
afterAll(async () => at[Symbol.asyncDispose]());

const digest = (name: string): string =>
  createHash("sha256")
    .update(readFileSync(at.path(name)))
    .digest("hex");
const read = (path: string): Promise<string> => at.ok("read_file", { path });

describe("read_file", () => {
  test.each([
    ["bom.txt", "1\tneedle at the very start\n2\tsecond needle"],
    ["crlf.txt", "1\tfirst needle\n2\tsecond line\n3\tneedle$ third\n[CRLF line ends]"],
    ["utf16le.txt", "1\tneedle in sixteen\n2\tzwölf"],
    ["utf16be.txt", "1\tneedle in sixteen\n2\tother"],
    ["no-final-newline.txt", "1\tone\n2\tneedle"],
    ["empty.txt", "[the file is empty]"],
    ["only-newlines.txt", "1\t\n2\t\n3\t"],
    ["-", "1\tneedle"],
    ["--help", "1\tneedle"],
    ["quo\"te's $(id) `id`.txt", "1\tneedle"],
    ["line\nend.txt", "1\tneedle"],
    ["ünïcödé.txt", "1\tneedle"],
  ])("%j is read as its text", async (path, text) => expect(await read(path)).toBe(text));

  test("bytes that are no UTF-8 are shown as such, and said", async () => {
    expect(await read("latin1.txt")).toBe(
      "1\tcaf� needle na�ve\n2\tplain\n[not valid UTF-8: � stands for the bytes that are not]",
    );
  });
  test.each(["binary.bin", "sparse.bin"])("%s is binary, and says so without being read", async (path) => {
    expect(await at.call("read_file", { path })).toMatchObject({ isError: true, code: "cave_file_binary" });
  });
  test("a NUL far in ends the text there", async () => {
    const text = await read("late-nul.txt");
    expect(text).toMatch(
      /^1\tneedle early\n2\tx{2000}… \[7000 more bytes in this line\]\n\[.*binary from line 3 on, not shown\]$/,
    );
  });
  test("a sparse file of 10 GB shows its text and stops", async () => {
    const started = Date.now();
    expect(await read("sparse-text.txt")).toMatch(
      /^1\tneedle in the first line\n2\tand another\n.*binary from line 1002 on, not shown\]$/s,
    );
    // A safety limit; that it stopped is in the answer.
    expect(Date.now() - started).toBeLessThan(30_000);
  });
  test("a huge line is cut, its length said", async () => {
    expect(await read("huge-line.txt")).toBe(
      `1\t${"x".repeat(2_000)}… [${5 * 1_048_576 - 2_000} more bytes in this line]`,
    );
  });
  test("paging by offset gives every line once", async () => {
    const lines = Array.from({ length: 9_000 }, (_, index) => `line ${index} ${"é".repeat(index % 50)}`);
    at.file("many.txt", `${lines.join("\n")}\n`);
    const seen: string[] = [];
    for (let offset = 1; ; ) {
      const text = await at.ok("read_file", { path: "many.txt", offset });
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(24_000);
      const shown = text.split("\n").filter((line) => /^\d+\t/.test(line));
      seen.push(...shown.map((line) => line.slice(line.indexOf("\t") + 1)));
      const next = /continue with offset (\d+)/.exec(text)?.[1];
      if (next === undefined) break;
      offset = Number(next);
    }
    expect(seen).toEqual(lines);
  });
  test("offset and limit choose lines; past the end it says how many there are", async () => {
    expect(await at.ok("read_file", { path: "only-newlines.txt", offset: 2, limit: 1 })).toBe(
      "2\t\n[lines 2–2 of 3; continue with offset 3]",
    );
    expect(await at.ok("read_file", { path: "crlf.txt", offset: 9 })).toBe(
      "[the file has 3 lines; line 9 is past its end]",
    );
  });
  test("paths that are too long are refused, at the limit they are only missing", async () => {
    const long = `${"d/".repeat(2_100)}f`;
    expect((await at.call("read_file", { path: long })).code).toBe("cave_path_invalid");
    expect((await at.call("read_file", { path: "d".repeat(256) })).code).toBe("cave_path_invalid");
    expect((await at.call("read_file", { path: `${"d/".repeat(1_500)}f` })).code).toBe("cave_path_not_found");
    expect(await read(`${"d/".repeat(200)}bottom.txt`)).toBe("1\tneedle");
  });
});

describe("grep", () => {
  const found = async (input: object): Promise<string[]> => (await at.ok("grep", input)).split("\n");
  test("finds text in whatever encoding it can be told, and in no binary", async () => {
    const lines = await found({ pattern: "needle" });
    const files = new Set(lines.map((line) => /^(.*?):\d+:/.exec(line)?.[1]));
    for (const name of [
      "bom.txt",
      "crlf.txt",
      "latin1.txt",
      "utf16le.txt",
      "utf16be.txt",
      "lone-cr.txt",
      "-",
      "--help",
      "ünïcödé.txt",
      '"line\\nend.txt"',
    ])
      expect(files).toContain(name);
    for (const name of [
      "binary.bin",
      "sparse.bin",
      "sparse-text.txt",
      "linked-a.txt",
      "pipe.txt",
      "socket.txt",
      "here/bom.txt",
    ])
      expect(files).not.toContain(name);
    expect(lines.filter((line) => line.startsWith("late-nul.txt"))).toEqual(["late-nul.txt:1:needle early"]);
    expect(lines.at(-1)).toBe(
      "[2 over 16777216 bytes not searched; 2 with other names (hard links) not searched; 1 whose names are not UTF-8 left out; 1 folders deeper than 128 not entered]",
    );
  });
  test.each([
    ["a mark in front is no text", { pattern: "^needle", path: "bom.txt" }, ["bom.txt:1:needle at the very start"]],
    ["$ stands before CRLF", { pattern: "line$", path: "crlf.txt" }, ["crlf.txt:2:second line"]],
    [
      "a literal pattern means itself",
      { pattern: "needle$", path: "crlf.txt", literal: true },
      ["crlf.txt:3:needle$ third"],
    ],
    [
      "a brace that counts nothing is a brace",
      { pattern: "\\(bar\\) {", path: "regex-chars.txt" },
      ["regex-chars.txt:1:foo(bar) {"],
    ],
    [
      "case folds as Unicode does",
      { pattern: "ärger$", path: "unicode.txt", ignoreCase: true },
      ["unicode.txt:2:Ωμέγα ärger ÄRGER"],
    ],
    [
      "\\w knows every alphabet",
      { pattern: "^\\w+ ", path: "unicode.txt" },
      ["unicode.txt:1:нeedle needle 針", "unicode.txt:2:Ωμέγα ärger ÄRGER", "unicode.txt:4:I İ ı i ſ K"],
    ],
    ["a byte that is no character matches no dot", { pattern: "caf. needle", path: "latin1.txt" }, ["[no matches]"]],
  ])("%s", async (_rule, input, lines) => expect(await found(input)).toEqual(lines));

  test("a pattern that would backtrack for ever ends with an error, and the process goes on", async () => {
    let ticks = 0;
    const clock = setInterval(() => ticks++, 20);
    const input = { pattern: "(a|a)*(a|a)*(a|a)*b$", path: "backtrack.txt" };
    const abort = new AbortController();
    await using other = await world({ workspace: at.workspace, ripgrep: false, signal: abort.signal });
    setTimeout(() => abort.abort(), 400);
    const answer = await other.call("grep", input);
    clearInterval(clock);
    expect(answer.isError).toBe(true);
    expect(ticks).toBeGreaterThan(5);
    expect(await found({ pattern: "first", path: "crlf.txt" })).toEqual(["crlf.txt:1:first needle"]);
  });
  test("a search that takes too long is ended, and the next one has a new thread", async () => {
    const workers = new FileWorkers(at.workspace, "refuse");
    const request = { kind: "grep", path: "backtrack.txt", flags: "v", limit: 10 } as const;
    const { signal } = new AbortController();
    await expect(workers.ask({ ...request, source: "(a|a)*(a|a)*(a|a)*b$" }, signal, 300)).rejects.toMatchObject({
      code: "cave_search_timeout",
    });
    expect((await workers.ask({ ...request, source: "a!$" }, signal)).matches).toHaveLength(3);
  });
  test("no more than 200 matches, each line cut", async () => {
    at.file("long/a.txt", `${"needle ".repeat(400)}\n`.repeat(300));
    const text = await at.ok("grep", { pattern: "needle", path: "long" });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16_000);
    expect(text).toContain("only the first 200 matches");
    expect(text).toContain("… [2300 more bytes]");
  });
});

describe("edit_file", () => {
  const edit = (path: string, old_string: string, new_string: string, rest: object = {}) =>
    at.call("edit_file", { path, old_string, new_string, ...rest });

  test("keeps CRLF, also where the new text has none", async () => {
    await edit("crlf.txt", "first needle\nsecond", "first\nnew\nsecond");
    expect(readFileSync(at.path("crlf.txt"), "utf8")).toBe("first\r\nnew\r\nsecond line\r\nneedle$ third\r\n");
    await edit("crlf.txt", "new", "a\nb");
    expect(readFileSync(at.path("crlf.txt"), "utf8")).toContain("a\r\nb\r\n");
  });
  test("keeps each line end of a file that mixes them", async () => {
    await edit("mixed-ends.txt", "windows needle\nunix again", "windows\nunix");
    expect(readFileSync(at.path("mixed-ends.txt"), "utf8")).toContain("unix needle\n");
  });
  test("keeps the byte order mark and the mode bits", async () => {
    chmodSync(at.path("bom.txt"), 0o751);
    expect(await edit("bom.txt", "needle at the very start", "changed")).toMatchObject({ isError: false });
    expect(readFileSync(at.path("bom.txt")).subarray(0, 10).toString("latin1")).toBe("\xef\xbb\xbfchanged");
    expect(statSync(at.path("bom.txt")).mode & 0o777).toBe(0o751);
  });
  test("keeps bytes that are no UTF-8, and adds no UTF-8 beside them", async () => {
    await edit("latin1.txt", "plain", "edited");
    expect(readFileSync(at.path("latin1.txt"), "latin1")).toBe("café needle naïve\nedited\n");
    expect((await edit("latin1.txt", "edited", "é")).code).toBe("cave_file_binary");
  });
  test.each(["binary.bin", "utf16le.txt", "sparse.bin", "sparse-text.txt", "linked-a.txt", "pipe.txt"])(
    "%s is not edited",
    async (path) => {
      const before = path === "pipe.txt" || path.startsWith("sparse") ? "" : digest(path);
      const answer = await edit(path, "needle", "x");
      expect(answer.code).toMatch(/^cave_(file_(binary|too_large|hard_linked)|path_not_file)$/);
      if (before) expect(digest(path)).toBe(before);
    },
  );
  test("an absent text is answered with the nearest lines", async () => {
    const answer = await edit("regex-chars.txt", "foo(bar){\n  a[0]", "x");
    expect(answer.code).toBe("cave_edit_text_absent");
    expect(answer.text).toContain("nearest");
    expect(answer.text).toContain("1\tfoo(bar) {");
    const spaced = await edit("regex-chars.txt", '    a[0]  =  "x"; // needle', "x");
    expect(spaced.text).toContain("it differs in white space alone");
    const numbered = await edit("regex-chars.txt", "1\tfoo(bar) {", "x");
    expect(numbered.text).toContain("leave them out");
  });
  test("an ambiguous text is answered with its lines, and replaced everywhere when asked", async () => {
    at.file("twice.txt", "a\nb\na\n");
    const answer = await edit("twice.txt", "a", "c");
    expect([answer.code, answer.text]).toEqual([
      "cave_edit_text_ambiguous",
      expect.stringContaining("It is at lines 1, 3."),
    ]);
    await edit("twice.txt", "a", "c", { replace_all: true });
    expect(readFileSync(at.path("twice.txt"), "utf8")).toBe("c\nb\nc\n");
  });
  test("a file that changed since it was read is not edited, and not replaced", async () => {
    at.file("stale.txt", "one\ntwo\n");
    await read("stale.txt");
    const { atime, mtime } = statSync(at.path("stale.txt"));
    writeFileSync(at.path("stale.txt"), "one\nTWO\n");
    const { utimesSync } = await import("node:fs");
    // Not its time and not its size, but its content counts.
    utimesSync(at.path("stale.txt"), atime, mtime);
    const answer = await edit("stale.txt", "one", "1");
    expect([answer.code, answer.text]).toEqual(["cave_file_stale", expect.stringContaining("It is at line 1.")]);
    expect((await at.call("write_file", { path: "stale.txt", content: "x" })).code).toBe("cave_file_stale");
    await read("stale.txt");
    expect((await edit("stale.txt", "one", "1")).isError).toBe(false);
    // What it wrote itself is no surprise.
    expect((await edit("stale.txt", "TWO", "2")).isError).toBe(false);
  });
  test("a read-only file stays as it is", async () => {
    at.file("fixed.txt", "one\n");
    chmodSync(at.path("fixed.txt"), 0o444);
    expect((await edit("fixed.txt", "one", "two")).code).toBe("cave_path_denied");
  });
  test("the answer is a unified diff", async () => {
    at.file("diff.txt", "a\nb\nc\n");
    const { text } = await edit("diff.txt", "b", "B");
    expect(text).toBe("replaced once in diff.txt\n--- a/diff.txt\n+++ b/diff.txt\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n");
  });
});

describe("list_files", () => {
  test("follows no link, and says what it leaves out", async () => {
    const text = await at.ok("list_files", { path: "ignored" });
    expect(text.split("\n")).toEqual([
      "ignored/.gitignore",
      "ignored/.hidden/h.txt",
      "ignored/.ignore",
      "ignored/a.log",
      "ignored/keep.log",
    ]);
    expect(await at.ok("list_files", { glob: "*.bin" })).toContain("binary.bin\nsparse.bin");
  });
  test.each([
    ["*.log", ["ignored/a.log", "ignored/keep.log"]],
    ["ignored/*", ["ignored/.gitignore", "ignored/.ignore", "ignored/a.log", "ignored/keep.log"]],
    ["**/{keep,a}.log", ["ignored/a.log", "ignored/keep.log"]],
    ["[!a-j]*.log", ["ignored/keep.log"]],
  ])("glob %s", async (glob, files) => {
    const lines = (await at.ok("list_files", { glob })).split("\n").filter((line) => !line.startsWith("["));
    expect(lines).toEqual(files);
  });
  test("a glob that cannot be read is an error, a slow one no danger", async () => {
    expect((await at.call("list_files", { glob: "{a" })).code).toBe("cave_glob_invalid");
    expect((await at.call("list_files", { glob: "[a" })).code).toBe("cave_glob_invalid");
  });
});
