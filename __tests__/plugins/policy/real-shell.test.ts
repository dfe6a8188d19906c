/**
 * The reading of commands against shells themselves: whatever a rule for `git status` takes runs nothing else and
 * writes nothing, and whatever runs `rm` was seen by a rule against it. The shells find two programs, both stand-ins
 * that write down how they were called.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import fc from "fast-check";
import { begins, commandsOf, mayRun } from "../../../plugins/policy/command-words.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "policy-sh-"));
  mkdirSync(join(folder, "bin"));
  for (const name of ["git", "rm"])
    writeFileSync(join(folder, "bin", name), `#!/bin/sh\nprintf '%s\\0' "${name} $*" >>${join(folder, "log")}\n`, {
      mode: 0o755,
    });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function play(shell: string, script: string): { ran: string[]; made: string[] } {
  const cwd = mkdtempSync(join(folder, "cwd-"));
  writeFileSync(join(folder, "log"), "");
  spawnSync(shell, ["-c", script], { cwd, env: { PATH: join(folder, "bin"), HOME: cwd }, input: "", timeout: 5_000 });
  const ran = readFileSync(join(folder, "log"), "utf8")
    .split("\0") // an argument may hold a line end
    .filter((call) => call !== "");
  return { ran, made: readdirSync(cwd) };
}

const PIECES =
  "git status|git|rm x|rm| | |-s|'|\"|\\|\\\n|$(|)|(|`|}|{ |>|>>|<|2>&1|>/dev/null|> f|#|!|$'|A=|\t|if | then | fi|<(|>(|&>|>&|*|~|=|eval |sh -c |env |time |\r|<<<|$x|exec |command |\n|;|&|&&|<<EOF\n|\nEOF\n"
    .split("|")
    .concat("|", "||", "|&", "$".concat("{x:-"));
const scripts = fc
  .tuple(
    fc.constantFrom("git status", "git status", ""),
    fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 7 }),
  )
  .map(([start, pieces]) => start + pieces.join(""));
const shells = ["/bin/bash", "/bin/sh"].filter((shell) => existsSync(shell));

test("the stand-ins are found, and what they do is seen", () => {
  for (const shell of shells)
    expect(play(shell, "git status -s; rm x > f")).toEqual({ ran: ["git status -s", "rm x"], made: ["f"] });
});
test("what a rule that allows takes, runs only what it names", () => {
  fc.assert(
    fc.property(scripts, fc.constantFrom(...shells), (script, shell) => {
      const parts = commandsOf(script);
      fc.pre(parts.length > 0 && parts.every((part) => begins(part, ["git", "status"], false)));
      const { ran, made } = play(shell, script);
      expect(ran.filter((line) => !/^git status( |$)/.test(line))).toEqual([]);
      expect(made).toEqual([]);
    }),
    { numRuns: 60, maxSkipsPerRun: 200 },
  );
});
test("what a rule that denies leaves, does not run what it names", () => {
  fc.assert(
    fc.property(scripts, fc.constantFrom(...shells), (script, shell) => {
      fc.pre(script.includes("rm") && !commandsOf(script).some((part) => mayRun(part, ["rm"], false)));
      expect(play(shell, script).ran.filter((line) => /^rm( |$)/.test(line))).toEqual([]);
    }),
    { numRuns: 60, maxSkipsPerRun: 200 },
  );
});
