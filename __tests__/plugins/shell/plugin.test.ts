/** The shell plugin in runs: whose tools they are, what a model may send them, and what outlives a run. */
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, jest, test } from "@jest/globals";
import fc from "fast-check";
import { createCaveman } from "../../../index.ts";
import { agent, subagent } from "../../../kernel/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";
import { results } from "../../../plugins/results/index.ts";
import { shell, shellTools } from "../../../plugins/shell/index.ts";
import { OUTPUT_CAPS, TOOL_NAMES } from "../../../plugins/shell/options.ts";
import { bare } from "../../../presets/index.ts";
import { world } from "./workspaces.ts";

// A generous safety limit: the machine may be busy.
jest.setTimeout(60_000);
const folders: string[] = [];
function folder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), "caveman-shell-")));
  folders.push(made);
  return made;
}
afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});
const calls = (...list: [string, object | string][]): ScriptStep => ({
  toolCalls: list.map(([name, input]) => ({ name, input })),
});
/** The tool results of the last request, as text. */
const seen = (model: ReturnType<typeof scripted>): string => JSON.stringify(model.calls.at(-1)?.prompt);

describe("in a run", () => {
  test("a model reads, edits and tests; a path outside is an error it reads, and the run goes on", async () => {
    const workspace = folder();
    writeFileSync(join(workspace, "sum.mjs"), "export const sum = (a, b) => a - b;\n");
    writeFileSync(
      join(workspace, "test.mjs"),
      'import { sum } from "./sum.mjs";\nif (sum(1, 2) !== 3) process.exit(1);\n',
    );
    const model = scripted([
      calls(["bash", { command: `${process.execPath} test.mjs` }], ["grep", { pattern: "a - b" }]),
      calls(
        ["read_file", { path: "../../etc/passwd" }],
        ["edit_file", { path: "sum.mjs", old_string: "a - b", new_string: "a + b" }],
      ),
      calls(["bash", { command: `${process.execPath} test.mjs && echo passed` }]),
      { text: "fixed" },
    ]);
    const caveman = createCaveman({ preset: bare(), plugins: [shell({ workspace })] });
    const { text, receipt } = await caveman.run(agent({ id: "a", instructions: "i", model, sandbox: "host" }), "go");
    expect(text).toBe("fixed");
    expect(readFileSync(join(workspace, "sum.mjs"), "utf8")).toBe("export const sum = (a, b) => a + b;\n");
    for (const part of [
      "[exit code 1]",
      "sum.mjs:1:export const sum",
      "cave_path_outside_workspace",
      "replaced once in sum.mjs",
      "passed",
    ])
      expect(seen(model)).toContain(part);
    expect(receipt.tools.map(({ name, calls: count, errors }) => [name, count, errors ?? 0])).toEqual(
      expect.arrayContaining([
        ["bash", 2, 0],
        ["read_file", 1, 1],
        ["edit_file", 1, 0],
        ["grep", 1, 0],
      ]),
    );
  });

  test("tools of a definition page through the results plugin when the shell plugin is there", async () => {
    const workspace = folder();
    const model = scripted((request, index) => {
      if (index === 0) return calls(["bash", { command: "seq -f row-%g 1 20000" }]);
      const handle = /handle (tool_\w+)/.exec(JSON.stringify(request.prompt))?.[1] ?? "none";
      return index === 1 ? calls(["read_tool_output", { handle, offset: 10_000, limit: 1 }]) : { text: "done" };
    });
    const caveman = createCaveman({ preset: bare(), plugins: [shell(), results()] });
    const tools = shellTools({ workspace });
    await caveman.run(agent({ id: "a", instructions: "i", model, tools, sandbox: "host" }), "go");
    expect(seen(model)).toContain("row-10000");
    expect(seen(model)).not.toContain("cave_");

    const told = scripted([calls(["bash", { command: "seq 1 20000" }]), { text: "done" }]);
    const plain = shellTools({ workspace, tools: ["bash"] });
    await caveman.run(agent({ id: "a", instructions: "i", model: told, tools: plain, sandbox: "host" }), "go");
    expect(seen(told)).toMatch(/output capped: \d+ of 108894 bytes left out here\]/);
  });

  test("what was read is remembered through a conversation, and a change in between is seen", async () => {
    const workspace = folder();
    writeFileSync(join(workspace, "a.txt"), "one\n");
    const caveman = createCaveman({ preset: bare(), plugins: [shell({ workspace })] });
    const conversation = createConversation();
    const turn = async (step: ScriptStep): Promise<string> => {
      const model = scripted([step, { text: "done" }]);
      await caveman.run(agent({ id: "a", instructions: "i", model, sandbox: "host" }), "go", { conversation });
      return seen(model);
    };
    await turn(calls(["read_file", { path: "a.txt" }]));
    writeFileSync(join(workspace, "a.txt"), "one\ntwo\n");
    expect(await turn(calls(["edit_file", { path: "a.txt", old_string: "one", new_string: "1" }]))).toContain(
      "cave_file_stale",
    );
    await turn(calls(["read_file", { path: "a.txt" }]));
    expect(await turn(calls(["edit_file", { path: "a.txt", old_string: "one", new_string: "1" }]))).toContain(
      "replaced once",
    );
  });

  test("a contained agent is refused: the plugin's tools at the start, a definition's at the call", async () => {
    const workspace = folder();
    const contained = (tools: ReturnType<typeof shellTools> | []) =>
      agent({
        id: "a",
        instructions: "i",
        model: scripted([calls(["bash", { command: "touch made" }]), { text: "done" }]),
        tools,
      });
    const own = createCaveman({ preset: bare(), plugins: [shell({ workspace })] });
    await expect(own.run(contained([]), "go")).rejects.toMatchObject({ code: "cave_shell_host_required" });
    const served = createCaveman({ preset: bare(), plugins: [shell()] });
    const { receipt } = await served.run(contained(shellTools({ workspace })), "go");
    expect(receipt.tools).toMatchObject([{ name: "bash", denied: 1 }]);
    expect(readdirSync(workspace)).toEqual([]);
  });

  test("a subagent gets the plugin's tools only when told so", async () => {
    const workspace = folder();
    const run = async (subagents: boolean): Promise<string> => {
      const inner = scripted([calls(["list_files", {}]), { text: "done" }]);
      const child = agent({ id: "child", instructions: "i", model: inner, sandbox: "host" });
      const model = scripted([calls(["ask", { task: "look" }]), { text: "done" }]);
      const tools = [subagent({ name: "ask", description: "d", agent: child })];
      await createCaveman({ preset: bare(), plugins: [shell({ workspace, subagents })] }).run(
        agent({ id: "a", instructions: "i", model, tools, sandbox: "host" }),
        "go",
      );
      return seen(inner);
    };
    expect(await run(false)).toContain("cave_unknown_tool");
    expect(await run(true)).toContain("[no files]");
  });
});

describe("arguments a model may write", () => {
  const names = TOOL_NAMES.filter((name) => name !== "bash" && name !== "command_start");
  const value = fc.oneof(
    fc.jsonValue(),
    fc.string({ unit: "binary" }),
    fc.constantFrom("", ".", "..", "/", "\0", "\ud800", "a.txt", "~", "-", "NaN", `${"x".repeat(5_000)}`),
    fc.constantFrom(-1, 0, 1, 1e300, 2 ** 53, 0.5),
  );
  const keys = fc.constantFrom(
    "path",
    "pattern",
    "glob",
    "content",
    "old_string",
    "new_string",
    "id",
    "cursor",
    "waitMs",
    "offset",
    "limit",
    "text",
    "literal",
    "replace_all",
    "__proto__",
    "other",
  );
  const input = fc.oneof(fc.dictionary(keys, value, { maxKeys: 5 }), fc.jsonValue(), fc.string());

  test("of any shape at all give a result with a code, and change nothing outside", async () => {
    await using at = await world({ ripgrep: false });
    at.file("a.txt", "one\n");
    const before = readdirSync(at.base);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...names), input, async (name, raw) => {
        const { text, isError, code } = await at.call(name, raw);
        expect(typeof text).toBe("string");
        if (isError) expect(code).toMatch(/^cave_(?!plugin_failed|tool_failed|tool_timeout|search_timeout)/);
        expect(text).not.toMatch(/\n {4}at /);
        expect(readdirSync(at.base)).toEqual(before);
      }),
      { numRuns: 400 },
    );
  });
});

describe("options", () => {
  test.each([
    ["no workspace", {}],
    ["an empty workspace", { workspace: "" }],
    ["a workspace that is no text", { workspace: 1 }],
    ["a NUL in the workspace", { workspace: "a\0b" }],
    ["a tool nobody knows", { workspace: ".", tools: ["bsh"] }],
    ["a tool twice", { workspace: ".", tools: ["bash", "bash"] }],
    ["no tools", { workspace: ".", tools: [] }],
    ["a cap without room", { workspace: ".", outputCaps: { bash: 10 } }],
    ["a cap of an unknown tool", { workspace: ".", outputCaps: { bsh: 1_000 } }],
    ["a backend that cannot run", { workspace: ".", executionBackend: {} }],
    [
      "sessions on another backend",
      { workspace: ".", executionBackend: { exec: async () => ({}) }, tools: ["command_start"] },
    ],
    ["a watcher that is no function", { workspace: ".", onOutput: "log" }],
    ["a variable that is no name", { workspace: ".", env: { "A=B": "c" } }],
    ["an unknown key", { workspace: ".", workspce: "." }],
    ["nothing", undefined],
  ])("%s is one clear error", (_what, options) => {
    expect(() => shellTools(options as never)).toThrow(expect.objectContaining({ code: "cave_option_invalid" }));
  });
  test("a workspace that is not there is said when a tool is called", async () => {
    await using at = await world({ workspace: "/nowhere/at/all" });
    for (const [name, input] of [
      ["bash", { command: "ls" }],
      ["read_file", { path: "a" }],
      ["grep", { pattern: "a" }],
    ] as const)
      expect(await at.call(name, input)).toMatchObject({ code: "cave_workspace_invalid" });
  });
  test("the tools, their effects and their caps are the documented ones", () => {
    const tools = shellTools({ workspace: "." });
    expect(Object.fromEntries(tools.map(({ name, effect }) => [name, effect]))).toEqual({
      bash: "external",
      read_file: "read",
      grep: "read",
      write_file: "write",
      edit_file: "write",
      list_files: "read",
      command_start: "external",
      command_read: "read",
      command_write: "external",
      command_kill: "external",
    });
    expect(OUTPUT_CAPS).toMatchObject({
      bash: 24_000,
      read_file: 24_000,
      grep: 16_000,
      write_file: 2_000,
      edit_file: 2_000,
    });
    expect(
      shellTools({ workspace: ".", tools: ["bash", "read_file", "read_tool_output"] }).map(({ name }) => name),
    ).toEqual(["bash", "read_file"]);
  });
});
