import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { begins, commandsOf, mayRun } from "../../../plugins/policy/command-words.ts";
import { Glob } from "../../../plugins/policy/glob.ts";
import { realPath } from "../../../plugins/policy/named-paths.ts";
import {
  describeRule,
  fallbackOf,
  judge,
  type PolicyRule,
  partsOf,
  Rule,
  type Subject,
  strictest,
} from "../../../plugins/policy/rules.ts";

let workspace = "";
let outside = "";
beforeAll(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), "policy-ws-")));
  outside = realpathSync(mkdtempSync(join(tmpdir(), "policy-out-")));
  for (const folder of ["src/deep", "secrets"]) mkdirSync(join(workspace, folder), { recursive: true });
  writeFileSync(join(workspace, "src/a.ts"), "");
  writeFileSync(join(workspace, "secrets/key"), "");
  symlinkSync(outside, join(workspace, "src/out"));
  symlinkSync(join(outside, "not-yet"), join(workspace, "src/dangling"));
  symlinkSync(join(workspace, "secrets"), join(workspace, "src/alias"));
  symlinkSync(join(workspace, "src/loop2"), join(workspace, "src/loop1"));
  symlinkSync(join(workspace, "src/loop1"), join(workspace, "src/loop2"));
});
afterAll(() => {
  for (const folder of [workspace, outside]) rmSync(folder, { recursive: true, force: true });
});

const subject = (args: unknown, more: Partial<Subject> = {}): Subject => ({
  tool: "bash",
  effect: "external",
  agentPath: [],
  parts: partsOf(args, workspace, new Set()),
  workspace,
  ...more,
});
const decisionOf = (specs: PolicyRule[], args: unknown, more: Partial<Subject> = {}): string => {
  const rules = specs.map((spec, index) => new Rule(spec, `rules[${index}]`));
  return strictest(judge(rules, subject(args, more), fallbackOf(rules, false)))?.decision ?? "none";
};
const allow = (rule: Omit<PolicyRule, "decision">): PolicyRule => ({ decision: "allow", ...rule });
const deny = (rule: Omit<PolicyRule, "decision">): PolicyRule => ({ decision: "deny", ...rule });
const ask = (rule: Omit<PolicyRule, "decision">): PolicyRule => ({ decision: "ask", ...rule });

describe("an allowed command prefix", () => {
  const allowed = (command: string): boolean => decisionOf([allow({ command: "git status" })], { command }) === "allow";
  test.each([
    "git status",
    "git status --short",
    "git  status\t-s",
    "'git' \"status\"",
    "git \\\n status",
    "git status; git status -s",
    "git status && git status | git status",
    "git status >/dev/null 2>&1",
    "git status 'a;b|c$(rm)`x`'",
  ])("takes %j", (command) => expect(allowed(command)).toBe(true));

  // Each of these runs, writes or becomes something else than `git status`.
  test.each([
    "git status; rm -rf /",
    "git status && rm -rf /",
    "git status || rm x",
    "git status | sh",
    "git status & rm x",
    "git status\nrm x",
    "git status $(rm -rf /)",
    "git status `rm -rf /`",
    'git status "$(rm -rf /)"',
    "git status <(rm x)",
    "git status > ~/.bashrc",
    "git status; > src/a.ts",
    "> src/a.ts git status",
    "git status >> file",
    "git status >| file",
    "git status &> file",
    "git status >& file",
    "git status 2> file",
    "git status < /etc/shadow",
    "git status << EOF\nEOF",
    "git status <<< x",
    "PATH=/tmp git status",
    "GIT_PAGER='sh -c evil' git status",
    "git statusx",
    "gitstatus",
    "git -c core.fsmonitor=evil status",
    "./git status",
    "/tmp/git status",
    "git $x status",
    "git status $IFS",
    ["git status ", "{x:-$(rm y)}"].join("$"),
    "git status $'\\x3b'",
    "git stat*",
    "g{i,o}t status",
    "(git status; rm x)",
    "{ git status; rm x; }",
    "if git status; then rm x; fi",
    "! git status",
    "time git status",
    "sudo git status",
    "env git status",
    "git() { rm x; }; git status",
    "alias git=rm; git status",
    "git status #\rrm x",
    "git status 'unclosed",
    'git status "unclosed',
    "git status \\",
    "git status $(unclosed",
    "",
  ])("does not take %j", (command) => expect(allowed(command)).toBe(false));

  test("covers an argument list as it is: no shell reads it", () => {
    expect(decisionOf([allow({ command: "git status" })], { command: ["git", "status", "; rm -rf /"] })).toBe("allow");
    expect(decisionOf([allow({ command: "git status" })], { command: ["rm", "git", "status"] })).toBe("ask");
  });
  test("may be exact", () => {
    const rules = [allow({ command: "npm test", exact: true })];
    expect(decisionOf(rules, { command: "npm test" })).toBe("allow");
    expect(decisionOf(rules, { command: "npm test -- --watch" })).toBe("ask");
  });
  test("is not got round by whatever is appended with an operator", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(";", "&&", "||", "|", "&", "\n", "|&"),
        fc.constantFrom("", " ", "\t"),
        fc.array(fc.constantFrom("rm", "-rf", "'", '"', "$(", ")", "`", "\\", "x", ">", "#"), { minLength: 1 }),
        (operator, space, words) => {
          const parts = commandsOf(`git status${space}${operator}${space}${words.join(" ")}`);
          // With nothing but closing brackets behind it there is no second command.
          const bare = words.every((word) => word === ")");
          return bare || !parts.every((part) => begins(part, ["git", "status"], false));
        },
      ),
    );
  });
});

describe("a denied command prefix", () => {
  const denied = (command: string, prefix = "rm"): boolean =>
    decisionOf([allow({}), deny({ command: prefix })], { command }) === "deny";
  test.each([
    "rm x",
    "/bin/rm x",
    "RM x",
    'r""m x',
    "\\rm x",
    "'rm' x",
    "echo a; rm x",
    "echo $(rm x)",
    "echo `rm x`",
    'echo "$(rm x)"',
    ["echo ", "{x:-$(rm x)}"].join("$"),
    "cat <(rm x)",
    "(rm x)",
    "{ rm x; }",
    "if true; then rm x; fi",
    "for f in *; do rm $f; done",
    "while :; do rm x; done",
    "A=1 rm x",
    "A=$(rm x)",
    "sudo rm x",
    "sudo -u root env A=b nohup rm x",
    "timeout 5 rm x",
    "xargs -n1 rm",
    "find . -exec rm {} ;",
    "sh -c 'echo a && rm x'",
    'bash -lc "rm x"',
    "eval 'rm x'",
    "sh -c 'sh -c \"rm x\"'",
    "2>/dev/null rm x",
    "! rm x",
    "time rm x",
    "f() { rm x; }",
    "cat <<EOF | sh\nrm x\nEOF",
    // Which program these run cannot be told, so they count as the denied one.
    "$X -rf /",
    "$(echo rm) x",
    "`echo rm` x",
    "/bin/r? x",
    "{rm,-rf,x}",
    "$'\\x72m' x",
    'eval "$X"',
    "sh -c $X",
    "echo 'unclosed",
  ])("takes %j", (command) => expect(denied(command)).toBe(true));
  test.each(["echo rm", "git rm x", "grep 'rm -rf' log", "ls # rm", "echo 'a; rm x'", "npm run build"])(
    "leaves %j",
    (command) => expect(denied(command)).toBe(false),
  );
  test("reads through options between its words", () => {
    for (const command of ["git push", "git -C dir push", "git --no-pager push -f"])
      expect(denied(command, "git push")).toBe(true);
    for (const command of ["git commit -m push", "git pull"]) expect(denied(command, "git push")).toBe(false);
  });
  test.each([
    "git $(echo push)",
    "git $'push'",
    "x=push; git $x",
    'git "$x" origin',
    "git pus?",
    "git {push,}",
    "git --no-pager $x",
    "echo push | xargs git",
    "parallel git ::: push",
    "printf 'git push' | sh",
    "bash -s <<< 'git push'",
    "source /dev/stdin <<< 'git push'",
    "function f { git push; }; f",
    "alias p='git push'; p",
    "trap 'git push' EXIT",
    "env -S'git push'",
    "env --split-string='git push' x",
    "taskset 1 git push",
    "runuser -u x git push",
  ])("does not lose sight of words that the shell makes: %j", (command) =>
    expect(denied(command, "git push")).toBe(true),
  );
  test.each([
    "git log $file",
    "git commit -m push *",
    "xargs npm",
    "bash build.sh",
    "bash -c 'git log'",
    "trap - EXIT",
  ])("and leaves %j, where none of them can be its own", (command) => expect(denied(command, "git push")).toBe(false));
  test("is read in time whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."ab $`(){}'\"\\;|&<>#\n~*=rm"), maxLength: 300 }), (script) => {
        for (const command of commandsOf(script)) mayRun(command, ["rm", "x"], false);
        return true;
      }),
      { numRuns: 500 },
    );
    expect(commandsOf("$(".repeat(100_000)).some(({ unreadable }) => unreadable)).toBe(true);
    expect(commandsOf("a;".repeat(50_000))).toHaveLength(50_000);
  });
});

describe("a path rule", () => {
  const at = (rules: PolicyRule[], path: unknown, key = "path"): string =>
    decisionOf(rules, { [key]: path }, { tool: "write_file", effect: "write" });
  const inSrc = [allow({ path: "src/**" })];
  test.each(["src/a.ts", "src/new/file.ts", "./src/a.ts", "src", "src/deep/../a.ts"])("covers %s", (path) =>
    expect(at(inSrc, path)).toBe("allow"),
  );
  test.each([
    "a.ts",
    "../src/a.ts",
    "src/../secrets/key",
    "src/out/x",
    "src/dangling",
    "src/dangling/x",
    "src/alias/key",
    "src/out/../x",
    "src/loop1",
    "/etc/passwd",
    "file:///etc/passwd",
    "https://example.com/src/a.ts",
    "~/src/a.ts",
    "src/a\0.ts",
    `src/${"x/".repeat(3_000)}y`,
    `src/${"x".repeat(4_096)}`,
    "SRC/a.ts",
  ])("does not cover %j", (path) => expect(at(inSrc, path)).toBe("ask"));
  test("needs every path the call names", () => {
    expect(decisionOf(inSrc, { from: "src/a.ts", to: "src/b.ts" })).toBe("allow");
    expect(decisionOf(inSrc, { from: "src/a.ts", to: "/tmp/b" })).toBe("ask");
    const both = [...inSrc, ask({})];
    expect(decisionOf(both, { from: "src/a.ts", to: "/tmp/b" })).toBe("ask");
    expect(decisionOf(both, { edits: [{ file_path: "src/a.ts" }, { file_path: "b" }] })).toBe("ask");
    expect(decisionOf(both, { edits: [{ file_path: "src/a.ts" }] })).toBe("allow");
  });
  test("that denies looks at every reading of a path, and takes an unknown one for a match", () => {
    const rules = [allow({}), deny({ path: "secrets/**" })];
    for (const path of ["secrets/key", "src/alias/key", "SECRETS/key", "src/loop1", "secrets"])
      expect(at(rules, path)).toBe("deny");
    for (const path of ["src/a.ts", "/etc/passwd"]) expect(at(rules, path)).toBe("allow");
    expect(at([allow({}), deny({ path: "src/alias/**" })], "src/alias/key")).toBe("deny");
  });
  test("may be absolute, or from the home folder", () => {
    expect(at([deny({ path: "/etc/**" })], "/etc/passwd")).toBe("deny");
    expect(at([deny({ path: `${outside}/**` })], "src/out/x")).toBe("deny");
  });
  test("reads a path that does not exist yet through a link that points at nothing", () => {
    expect(realPath(join(workspace, "src/dangling"))).toBe(join(outside, "not-yet"));
    expect(realPath(join(workspace, "src/dangling/x/y"))).toBe(join(outside, "not-yet/x/y"));
    expect(realPath(join(workspace, "src/a.ts/below"))).toBe(join(workspace, "src/a.ts/below"));
    expect(realPath(join(workspace, "src/loop1"))).toBeUndefined();
    expect(realPath(join(workspace, "src/loop1/x"))).toBeUndefined();
  });
  test("counts too many paths as unknown", () => {
    const paths = Array.from({ length: 300 }, () => "src/a.ts");
    expect(at(inSrc, paths, "paths")).toBe("ask");
    expect(at([deny({ path: "secrets/**" })], paths, "paths")).toBe("deny");
  });
});

describe("the most specific rule", () => {
  test("is the one that covers part of what the others cover", () => {
    const rules = [allow({ command: "git" }), deny({ command: "git push" }), ask({ tool: "bash" })];
    expect(decisionOf(rules, { command: "git status" })).toBe("allow");
    expect(decisionOf(rules, { command: "git push" })).toBe("deny");
    expect(decisionOf(rules, { command: "ls" })).toBe("ask");
    expect(decisionOf(rules, { command: "git status && git push" })).toBe("deny");
    expect(decisionOf(rules, { command: "git status && ls" })).toBe("ask");
  });
  test("names the tool before its effect, and the command before both", () => {
    expect(decisionOf([deny({ effect: "external" }), allow({ tool: "bash" })], {})).toBe("allow");
    expect(decisionOf([deny({ tool: "bash" }), allow({ command: "ls" })], { command: "ls" })).toBe("allow");
    expect(decisionOf([deny({ effect: "external" }), allow({ tool: "b*" })], {})).toBe("deny");
  });
  test("is not a matter of order; of two that stand side by side the strictest decides", () => {
    const sides = [deny({ tool: "deploy" }), allow({ agent: "/builder" })];
    for (const rules of [sides, sides.toReversed()])
      expect(decisionOf(rules, {}, { tool: "deploy", agentPath: ["builder"] })).toBe("deny");
    const paths = [allow({ path: "src/**" }), deny({ path: "**/*.env" })];
    for (const rules of [paths, paths.toReversed()]) {
      expect(decisionOf(rules, { path: "src/x.env" })).toBe("deny");
      expect(decisionOf(rules, { path: "src/x.ts" })).toBe("allow");
    }
  });
  test("of equal rules: deny, then ask, then allow", () => {
    expect(decisionOf([allow({ tool: "bash" }), ask({ tool: "bash" })], {})).toBe("ask");
    expect(decisionOf([ask({ tool: "bash" }), deny({ tool: "bash" }), allow({ tool: "bash" })], {})).toBe("deny");
  });
  test("may name agents: / is the root, ** any", () => {
    const rules = [deny({ agent: "/research/**" }), allow({})];
    expect(decisionOf(rules, {})).toBe("allow");
    expect(decisionOf(rules, {}, { agentPath: ["research", "fetch"] })).toBe("deny");
    expect(decisionOf([deny({ agent: "/" })], {}, { agentPath: ["x"] })).toBe("none");
  });
  test("a command's folder answers to path rules only", () => {
    const rules = [ask({}), allow({ command: "npm test" }), deny({ path: "/etc/**" })];
    expect(decisionOf(rules, { command: "npm test", cwd: "src" })).toBe("allow");
    expect(decisionOf(rules, { command: "npm test", cwd: "/etc" })).toBe("deny");
    expect(decisionOf([allow({ path: "**" })], { command: "rm x", cwd: "src" })).toBe("ask");
  });
  test("where there is none, only a rule that allows makes a call that acts wait for a person", () => {
    expect(decisionOf([deny({ tool: "x" }), ask({ tool: "y" })], {})).toBe("none");
    expect(decisionOf([allow({ tool: "x" })], {})).toBe("ask");
    expect(decisionOf([allow({ tool: "x" })], {}, { effect: "read" })).toBe("none");
  });
  test("does not depend on the order of the rules", () => {
    const rule = fc.record(
      {
        decision: fc.constantFrom("allow" as const, "deny" as const, "ask" as const),
        tool: fc.constantFrom("bash", "b*", "*"),
        effect: fc.constantFrom("external" as const, "read" as const),
        command: fc.constantFrom("git", "git push", "ls"),
        agent: fc.constantFrom("/", "/**", "/a"),
      },
      { requiredKeys: ["decision"] },
    );
    const command = fc.constantFrom("git status", "git push; ls", "ls", "$X", "");
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 6 }), command, fc.constantFrom([], ["a"]), (rules, text, agentPath) => {
        const forwards = decisionOf(rules, { command: text }, { agentPath });
        expect(decisionOf(rules.toReversed(), { command: text }, { agentPath })).toBe(forwards);
        // A denial more never loosens a call: it may only be added to what was refused.
        expect(["deny", forwards]).toContain(decisionOf([...rules, deny({})], { command: text }, { agentPath }));
      }),
    );
  });
});

describe("globs", () => {
  const segment = fc.constantFrom("a", "b", "ab", "*", "a*", "?", "**");
  const name = fc.constantFrom("a", "b", "ab", "abc");
  test("one that covers another matches all that it matches", () => {
    fc.assert(
      fc.property(
        fc.array(segment, { maxLength: 5 }),
        fc.array(segment, { maxLength: 5 }),
        fc.array(name, { maxLength: 5 }),
        (a, b, path) => {
          const [wide, narrow] = [new Glob(a), new Glob(b)];
          if (wide.covers(narrow) && narrow.matches(path)) expect(wide.matches(path)).toBe(true);
          expect(wide.covers(wide)).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });
  test("of many stars are matched in time", () => {
    expect(new Glob(Array(200).fill("**")).matches(Array(2_000).fill("a"))).toBe(true);
    expect(new Glob([`${"a*".repeat(200)}b`]).matches(["a".repeat(5_000)])).toBe(false);
  });
});

test("a rule reads as one line", () => {
  expect(describeRule(deny({ command: "git push", reason: "no_push" }))).toBe(
    'deny command begins "git push" (no_push)',
  );
  expect(describeRule(ask({ tool: "write_*", effect: ["write", "external"], path: "src/**" }))).toBe(
    "ask path src/**, tool write_*, effect write or external",
  );
  expect(describeRule(ask({}))).toBe("ask everything");
});

test.each<[PolicyRule, string]>([
  [deny({ path: "a", command: "b" }), "both in one rule"],
  [deny({ tool: "a", exact: true }), "exact alone"],
  [deny({ command: "git status; ls" }), "git status; ls"],
  [deny({ command: "git $x" }), "git $x"],
  [deny({ path: "../x" }), "../x"],
])("%j is refused", (rule, said) => {
  expect(() => new Rule(rule, "rules[0]")).toThrow(expect.objectContaining({ code: "cave_policy_rule_invalid" }));
  expect(() => new Rule(rule, "rules[0]")).toThrow(said);
});
