import { execFile } from "node:child_process";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "@jest/globals";
import { caveman, here } from "./caveman.ts";
import { alive, puppet, running, writing } from "./puppet.ts";

const run = promisify(execFile);
// biome-ignore lint/suspicious/noControlCharactersInRegex: what a pipe must not get
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/;
const copyIn = (err: string): string => /example project in (\S+);/.exec(err.replace(/\n\s+/g, " "))?.[1] ?? "";

describe("caveman code in a pipe", () => {
  test("without a key: a real edit of a real copy makes its failing test pass", async () => {
    const { code, out, err } = await caveman(["code", "fix the failing test"]);
    const copy = copyIn(err);
    try {
      expect(code).toBe(0);
      expect(out).toMatch(/^Fixed: `src\/cart\.js` .* 3 tests pass\.\n$/);
      expect(err).toMatch(
        /✗ bash node --test .*exit code 1[\s\S]*✓ edit_file src\/cart\.js[\s\S]*\+ {2}return cents >= 5000[\s\S]*✓ bash node --test/,
      );
      expect(err).toMatch(/tokens in \(.*from cache\).*simulated, estimated list price, inferred/);
      expect(out + err).not.toMatch(CONTROLS);
      expect((await run(process.execPath, ["--test"], { cwd: copy, env: {} })).stdout).toMatch(/fail 0/);
      // The example itself is as it was: its test still fails.
      expect(await readFile(new URL("../../examples/coding/project/src/cart.js", import.meta.url), "utf8")).toContain(
        "cents > 5000",
      );
    } finally {
      if (copy) await rm(copy, { recursive: true });
    }
  });

  test("asks nothing: what needs a yes is refused, said, and counted", async () => {
    await using folder = await puppet();
    const { code, out, err } = await here([
      ...folder.args,
      JSON.stringify([writing("a.txt"), { text: "I could not" }]),
    ]);
    expect([code, out]).toEqual([0, "I could not\n"]);
    expect(err).toMatch(/⊘ write_file a\.txt +refused: it needs a person's yes/);
    await expect(stat(join(folder.path, "a.txt"))).rejects.toThrow();
  });

  test("--allow permits what it names and nothing else", async () => {
    await using folder = await puppet();
    const steps = [
      writing("a.txt"),
      writing(".git/hooks/pre-commit"),
      writing("deep/.env"),
      running("echo one > b.txt"),
      running("echo two"),
      running("echo two; touch c.txt"),
      { text: "done" },
    ];
    const { out, err } = await here([...folder.args, "--json", "--allow", "edits; echo", JSON.stringify(steps)]);
    const result = JSON.parse(out);
    expect(await readFile(join(folder.path, "a.txt"), "utf8")).toBe("x");
    for (const name of ["b.txt", "c.txt", ".git", "deep"])
      await expect(stat(join(folder.path, name))).rejects.toThrow();
    expect(result.denied).toEqual([
      { name: "write_file", reason: "approval_unavailable" },
      { name: "write_file", reason: "approval_unavailable" },
      { name: "bash", reason: "approval_unavailable" },
      { name: "bash", reason: "approval_unavailable" },
    ]);
    expect(result).toMatchObject({
      text: "done",
      stopReason: "complete",
      bill: { calls: 7, simulated: true, claimBasis: "inferred" },
    });
    expect(result.receipt.tools).toContainEqual(expect.objectContaining({ name: "bash", denied: 2 }));
    expect(err).toContain("✓ bash echo two");
  });

  test("reads the prompt from stdin, and goes on with a saved session", async () => {
    await using folder = await puppet();
    expect(await caveman(["code"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("The prompt on stdin is empty"),
    });
    const one = await caveman(folder.args, { stdin: '[{"text":"first answer"}]\n' });
    expect([one.code, one.out]).toEqual([0, "first answer\n"]);
    const two = await here([...folder.args, "--continue", "echo"]);
    expect(two.out).toContain("first answer");
    const three = await here([...folder.args, "--resume", "last", "--json", "echo"]);
    expect(JSON.parse(JSON.parse(three.out).text).filter(({ role }: { role: string }) => role === "user")).toHaveLength(
      3,
    );
  });

  test("--observe-only gives the model tools that read, and no others", async () => {
    await using folder = await puppet();
    const { out } = await here([
      ...folder.args,
      "--observe-only",
      "--allow",
      "edits; touch",
      JSON.stringify([writing("a.txt"), running("touch b.txt"), { text: "looked" }]),
    ]);
    expect(out).toBe("looked\n");
    for (const name of ["a.txt", "b.txt"]) await expect(stat(join(folder.path, name))).rejects.toThrow();
  });

  test("--instructions reads AGENTS.md, and only then", async () => {
    await using folder = await puppet();
    await writeFile(join(folder.path, "AGENTS.md"), "Prefer tabs.");
    expect((await here([...folder.args, "echo"])).out).not.toContain("Prefer tabs.");
    expect((await here([...folder.args, "--instructions", "echo"])).out).toContain("Prefer tabs.");
  });

  test("a model's answer reaches a pipe without control sequences", async () => {
    await using folder = await puppet();
    const { out } = await caveman([...folder.args, JSON.stringify([{ text: "\u001b]52;c;eA==\u0007hi\u202e" }])]);
    expect(out).toBe("␛]52;c;eA==␇hi<U+202E>\n");
  });

  test("Ctrl-C ends the running command and the process: 130, with the bill", async () => {
    await using folder = await puppet();
    const { code, err } = await caveman([...folder.args, "--allow", "sleep", JSON.stringify([running("sleep 871")])], {
      interruptAt: "▸ bash",
    });
    expect(code).toBe(130);
    expect(err).toMatch(/stopped; the next turn is told[\s\S]*1 call/);
    expect(await alive("871")).toBe(false);
  });

  test("exit codes: 1 failed, 2 usage, 3 stopped by a guard", async () => {
    await using folder = await puppet();
    const failing = await here([
      ...folder.args,
      JSON.stringify([{ error: { status: 400, message: "no \u001b[31msuch" } }]),
    ]);
    expect(failing.code).toBe(1);
    expect(failing.err).toMatch(/cave_/);
    expect(failing.err).not.toMatch(CONTROLS);
    const stopped = await here([...folder.args, "--max-usd", "0.0000001", "echo"]);
    expect([stopped.code, stopped.err]).toEqual([
      3,
      expect.stringMatching(/stopped: budget exhausted[\s\S]*left of --max-usd/),
    ]);
  });

  test.each([
    [["--max-usd", "0", "hi"], /--max-usd must be a positive/],
    [["--workspace", "/nowhere/here", "hi"], /cave_coding_workspace_invalid/],
    [["--workspace", ".", "hi"], /No provider credential is set/],
    [["--resume", "x", "--continue", "hi"], /exclude each other/],
    [["--model", "sim/none", "--resume", "20200101", "hi"], /cave_coding_session_unknown/],
    [[" "], /The prompt is empty/],
  ])("wrong use is said before anything starts: %j", async (args, message) => {
    const { code, err } = await here(["code", ...args]);
    expect([code, err]).toEqual([2, expect.stringMatching(message)]);
    expect(err).not.toMatch(/\n\s+at /);
  });
});
