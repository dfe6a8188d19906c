import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type AgentDefinition, AUTO, isAgent, type Tool } from "../../../kernel/definition.ts";
import { CavemanError } from "../../../kernel/errors.ts";
import { loadAgentDir, MAX_DEPTH } from "../../../plugins/agent-dir/index.ts";

const DEFINITION = fileURLToPath(new URL("../../../kernel/definition.ts", import.meta.url));
const TYPEBOX = fileURLToPath(new URL("../../../node_modules/@sinclair/typebox/build/esm/index.mjs", import.meta.url));
const toolFile = (name: string): string => `
import { Type } from ${JSON.stringify(TYPEBOX)};
import { tool } from ${JSON.stringify(DEFINITION)};
export default tool({ name: ${JSON.stringify(name)}, description: "Does ${name}.", input: Type.Object({}), effect: "read", execute: (): string => "${name}" });
`;
const skillFile = (name: string, body = "The body."): string =>
  `---\nname: ${name}\ndescription: About ${name}.\n---\n# ${name}\n\n${body}\n`;
const child = { "instructions.md": "Help.", "agent.ts": `export default { description: "Helps." };` };

const made: string[] = [];
afterEach(async () => {
  for (const dir of made.splice(0)) await rm(dir, { recursive: true, force: true });
});

/** Writes files into a fresh directory named `bot`. */
async function dirOf(files: Record<string, string>): Promise<string> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "agent-dir-")));
  made.push(root);
  const dir = join(root, "bot");
  for (const [path, text] of Object.entries({ "instructions.md": "Answer.", ...files })) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
  return dir;
}
const under = (folder: string, files: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).map(([path, text]) => [`${folder}/${path}`, text]));

async function refusal(dir: Promise<string> | string): Promise<CavemanError> {
  try {
    await loadAgentDir(await dir);
  } catch (error) {
    if (error instanceof CavemanError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
const toolOf = (agent: AgentDefinition, name: string): Tool => {
  const found = agent.tools.find((tool) => tool.name === name);
  if (!found) throw new Error(`no tool ${name}`);
  return found;
};
const readSkill = (agent: AgentDefinition, name: string): unknown =>
  toolOf(agent, "cave_skill").execute(
    { name },
    { signal: new AbortController().signal, toolCallId: "1", call: async () => undefined },
  );

describe("a directory is an ordinary agent", () => {
  test("instructions alone are enough", async () => {
    const dir = await dirOf({ "instructions.md": "\nAnswer.\n" });
    const loaded = await loadAgentDir(dir);
    expect(isAgent(loaded.agent)).toBe(true);
    expect(loaded.agent).toMatchObject({
      id: "bot",
      instructions: "Answer.",
      model: AUTO,
      reasoning: "low",
      sandbox: "required",
      tools: [],
      contexts: [],
    });
    expect(loaded).toMatchObject({ run: {}, dir });
    expect(Object.isFrozen(loaded)).toBe(true);
  });

  test("agent.ts sets the definition, and its run options come back beside the agent", async () => {
    const dir = await dirOf({
      "agent.ts": `
        import { context } from ${JSON.stringify(DEFINITION)};
        interface Budget { maxUsd: number }
        const budget: Budget = { maxUsd: 1 };
        export default { model: "sim/model", reasoning: "high", sandbox: "host", description: "A bot.", budget, breakers: { window: 9 }, run: { maxModelCalls: 3 },
          context: [context({ id: "house", kind: "text", source: "House rules.", stability: "build" })] };`,
    });
    const { agent, run } = await loadAgentDir(dir);
    expect(agent).toMatchObject({
      model: "sim/model",
      reasoning: "high",
      sandbox: "host",
      contexts: [{ id: "house" }],
    });
    expect(run).toEqual({ budget: { maxUsd: 1 }, breakers: { window: 9 }, maxModelCalls: 3 });
  });

  test("tools come in the order of their names; declarations, tests, data and hidden files are none", async () => {
    const dir = await dirOf(
      under("tools", {
        "zoom.ts": toolFile("zoom"),
        "add.mjs": toolFile("add").replace("(): string", "()"),
        "add.d.ts": "",
        "add.test.ts": "throw new Error()",
        "data.json": "{}",
        ".old.ts": "throw new Error()",
        "parts/deep.ts": "throw new Error()",
      }),
    );
    expect((await loadAgentDir(dir)).agent.tools.map(({ name }) => name)).toEqual(["add", "zoom"]);
  });

  test("subagents are tools that carry an agent, with their limits", async () => {
    const dir = await dirOf({
      ...under("subagents/researcher", {
        ...child,
        "agent.ts": `export default { description: "Finds out.", maxCalls: 2, maxCostUsd: 0.5 };`,
        "tools/search.ts": toolFile("search"),
        ...under("subagents/reader", child),
      }),
    });
    const { agent } = await loadAgentDir(dir);
    const researcher = toolOf(agent, "researcher");
    expect(researcher).toMatchObject({
      kind: "subagent",
      description: "Finds out.",
      subagent: { maxCalls: 2, maxCostUsd: 0.5, maxContextTokens: 128_000 },
    });
    expect(researcher.subagent?.agent).toMatchObject({
      id: "researcher",
      tools: [{ name: "search" }, { name: "reader", kind: "subagent" }],
    });
  });

  test("the id is a slug of the directory's name", async () => {
    const dir = await dirOf(under("subagents/Deep Research", child));
    expect((await loadAgentDir(dir)).agent.tools[0]).toMatchObject({
      name: "deep-research",
      subagent: { agent: { id: "deep-research" } },
    });
  });

  test("nothing is written", async () => {
    const dir = await dirOf({ "tools/add.ts": toolFile("add"), "skills/a.md": skillFile("a") });
    const before = await readdir(dir, { recursive: true });
    await loadAgentDir(dir);
    expect(await readdir(dir, { recursive: true })).toEqual(before);
  });
});

describe("skills", () => {
  test("the index is one build-stable segment, sorted by name", async () => {
    const { agent } = await loadAgentDir(
      await dirOf(
        under("skills", {
          "b.md": skillFile("b"),
          "a-2.md": skillFile("a-2"),
          "a.md": skillFile("a"),
          "notes.txt": "x",
        }),
      ),
    );
    expect(agent.contexts).toHaveLength(1);
    expect(agent.contexts[0]).toMatchObject({ id: "agent.skills", stability: "build", cacheRegion: "frozen_prefix" });
    expect(String(agent.contexts[0]?.source).split("\n").slice(1)).toEqual([
      "- a: About a.",
      "- a-2: About a-2.",
      "- b: About b.",
    ]);
  });

  test("a body is read when it is asked for, without its front matter", async () => {
    const dir = await dirOf({ "skills/a.md": skillFile("a", "Old.") });
    const { agent } = await loadAgentDir(dir);
    await writeFile(join(dir, "skills/a.md"), skillFile("a", "New.\n\n---\n\nAfter a rule."));
    expect(await readSkill(agent, "a")).toBe("# a\n\nNew.\n\n---\n\nAfter a rule.");
    expect(String(agent.contexts[0]?.source)).not.toContain("Old.");
  });

  test("a name that does not exist is answered with those that do", async () => {
    const { agent } = await loadAgentDir(
      await dirOf(under("skills", { "a.md": skillFile("a"), "b.md": skillFile("b") })),
    );
    for (const name of ["c", "../a", "a.md", "__proto__"])
      expect(await readSkill(agent, name)).toContain("Skills: a, b.");
  });

  test("a link that leads out of skills/ is refused when the agent is loaded, and when the body is read", async () => {
    const dir = await dirOf({ "skills/a.md": skillFile("a"), "secret.md": skillFile("b") });
    const { agent } = await loadAgentDir(dir);
    await symlink(join(dir, "secret.md"), join(dir, "skills/b.md"));
    expect(await refusal(dir)).toMatchObject({
      code: "cave_agent_dir_invalid",
      detail: { place: join(dir, "skills/b.md") },
    });
    await rm(join(dir, "skills/a.md"));
    await symlink(join(dir, "secret.md"), join(dir, "skills/a.md"));
    await expect(readSkill(agent, "a")).rejects.toMatchObject({ code: "cave_agent_dir_invalid" });
  });

  test("front matter is YAML: quotes, folded text, Windows line ends", async () => {
    const { agent } = await loadAgentDir(
      await dirOf(
        under("skills", {
          "a.md": `---\r\nname: "a"\r\ndescription: >-\r\n  Two\r\n  lines.\r\nlicense: MIT\r\n---\r\nBody.\r\n`,
        }),
      ),
    );
    expect(String(agent.contexts[0]?.source)).toContain("- a: Two lines.");
    expect(await readSkill(agent, "a")).toBe("Body.");
  });

  test.each<[string, string]>([
    ["no front matter", "# a"],
    ["front matter that never ends", "---\nname: a\n"],
    ["empty front matter", "---\n---\nx"],
    ["another name", skillFile("b")],
    ["no description", "---\nname: a\n---\n"],
    ["an empty description", `---\nname: a\ndescription: ""\n---\n`],
    ["a description that is a number", "---\nname: a\ndescription: 5\n---\n"],
    ["a description that is a list", "---\nname: a\ndescription: [x]\n---\n"],
    ["a list", "---\n- a\n---\n"],
    ["broken YAML", "---\nname: [a\n---\n"],
  ])("a file with %s is refused by its path", async (_name, text) => {
    const dir = await dirOf({ "skills/a.md": text });
    const error = await refusal(dir);
    expect(error.code).toBe("cave_skill_invalid");
    expect(error.message).toContain(join(dir, "skills/a.md"));
    expect(error.remedy).toBeTruthy();
  });
});

describe("what is wrong is refused, with its file and a remedy", () => {
  const cases: [name: string, files: Record<string, string>, code: string, file: string, says: string][] = [
    ["empty instructions", { "instructions.md": " \n" }, "cave_agent_dir_invalid", "instructions.md", "an empty file"],
    [
      "an unknown key",
      { "agent.ts": "export default { modle: 'sim/x' }" },
      "cave_agent_dir_config_invalid",
      "agent.ts",
      `expected "model"; received "modle"`,
    ],
    [
      "a key far from any",
      { "agent.ts": "export default { temperature: 1 }" },
      "cave_agent_dir_config_invalid",
      "agent.ts",
      "breakers",
    ],
    [
      "an agent() as agent.ts",
      { "agent.ts": "export default [1]" },
      "cave_agent_dir_config_invalid",
      "agent.ts",
      "an array",
    ],
    [
      "no default export",
      { "agent.ts": "export const model = 'sim/x'" },
      "cave_agent_dir_load_failed",
      "agent.ts",
      "a default export",
    ],
    [
      "a module that throws",
      { "agent.ts": "throw new Error('boom')" },
      "cave_agent_dir_load_failed",
      "agent.ts",
      "boom",
    ],
    [
      "a wrong model",
      { "agent.ts": "export default { model: 'haiku' }" },
      "cave_agent_definition_invalid",
      "agent.ts",
      "haiku",
    ],
    [
      "run options of the wrong shape",
      { "agent.ts": "export default { run: 5 }" },
      "cave_agent_dir_config_invalid",
      "agent.ts",
      "run",
    ],
    [
      "a run option in two places",
      { "agent.ts": "export default { budget: {}, run: { budget: {} } }" },
      "cave_agent_dir_config_invalid",
      "agent.ts",
      "run.budget",
    ],
    [
      "a context that is none",
      { "agent.ts": "export default { context: 'x' }" },
      "cave_agent_dir_config_invalid",
      "agent.ts",
      "context()",
    ],
    [
      "two agent files",
      { "agent.ts": "export default {}", "agent.mjs": "export default {}" },
      "cave_agent_dir_invalid",
      "",
      "one agent.ts",
    ],
    [
      "a tool of another name",
      { "tools/add.ts": toolFile("sum") },
      "cave_agent_dir_invalid",
      "tools/add.ts",
      `a tool named "add"; received "sum"`,
    ],
    [
      "a tool that is none",
      { "tools/add.ts": "export default { name: 'add' }" },
      "cave_agent_dir_invalid",
      "tools/add.ts",
      "tool()",
    ],
    [
      "two files for a tool",
      { "tools/add.ts": toolFile("add"), "tools/add.mjs": toolFile("add").replace("(): string", "()") },
      "cave_agent_dir_invalid",
      "tools/add.ts",
      "second file",
    ],
    [
      "a subagent without instructions",
      { "subagents/helper/agent.ts": child["agent.ts"] },
      "cave_agent_dir_invalid",
      "subagents/helper/instructions.md",
      "no file",
    ],
    [
      "a subagent without a description",
      { "subagents/helper/instructions.md": "Help." },
      "cave_agent_dir_config_invalid",
      "subagents/helper/agent.ts",
      "description",
    ],
    [
      "a subagent with a budget of its own",
      under("subagents/helper", { ...child, "agent.ts": "export default { description: 'x', budget: {} }" }),
      "cave_agent_dir_config_invalid",
      "subagents/helper/agent.ts",
      "maxCostUsd",
    ],
    [
      "a subagent with a wrong limit",
      under("subagents/helper", { ...child, "agent.ts": "export default { description: 'x', maxCalls: 0 }" }),
      "cave_tool_definition_invalid",
      "subagents/helper/agent.ts",
      "maxCalls",
    ],
    [
      "two subagents of one slug",
      { ...under("subagents/my helper", child), ...under("subagents/my-helper", child) },
      "cave_agent_dir_invalid",
      "subagents/my-helper",
      `"my-helper"`,
    ],
    [
      "a subagent named as a tool",
      { ...under("subagents/add", child), "tools/add.ts": toolFile("add") },
      "cave_agent_dir_invalid",
      "subagents/add",
      `tool "add"`,
    ],
    [
      "a directory without a name",
      under("subagents/日本", child),
      "cave_agent_dir_invalid",
      "subagents/日本",
      "letters or digits",
    ],
  ];
  test.each(cases)("%s", async (_name, files, code, file, says) => {
    const dir = await dirOf(files);
    const error = await refusal(dir);
    expect(error.code).toBe(code);
    expect(error.detail.place).toContain(join(dir, file));
    expect(error.message).toContain(says);
    expect(error.remedy).toBeTruthy();
  });

  test("no directory, and a file in its place", async () => {
    const dir = await dirOf({});
    expect(await refusal(join(dir, "nowhere"))).toMatchObject({
      code: "cave_agent_dir_invalid",
      detail: { received: "nothing" },
    });
    expect(await refusal(join(dir, "instructions.md"))).toMatchObject({
      code: "cave_agent_dir_invalid",
      detail: { received: "a file" },
    });
  });

  test("a link that leads nowhere", async () => {
    const dir = await dirOf({ "tools/add.ts": toolFile("add") });
    await symlink(join(dir, "gone.ts"), join(dir, "tools/gone.ts"));
    expect(await refusal(dir)).toMatchObject({
      code: "cave_agent_dir_load_failed",
      detail: { place: join(dir, "tools/gone.ts") },
    });
  });

  test(`subagents go ${MAX_DEPTH} levels deep, and no deeper`, async () => {
    const nested = (levels: number): Record<string, string> =>
      levels === 0 ? {} : under(`subagents/l${levels}`, { ...child, ...nested(levels - 1) });
    expect((await loadAgentDir(await dirOf(nested(MAX_DEPTH)))).agent.tools).toHaveLength(1);
    expect((await refusal(dirOf(nested(MAX_DEPTH + 1)))).message).toContain(`at most ${MAX_DEPTH} levels`);
  });

  test("a link back up the tree ends at the depth limit", async () => {
    const dir = await dirOf({ "agent.ts": child["agent.ts"], ...under("subagents/helper", child) });
    await symlink(dir, join(dir, "subagents/helper/subagents"));
    expect((await refusal(dir)).code).toMatch(/^cave_agent_dir_/);
  });
});

test("the support-bot example loads", async () => {
  const { agent } = await loadAgentDir(fileURLToPath(new URL("../../../examples/support-bot", import.meta.url)));
  expect(agent.tools.map(({ name, kind, effect }) => [name, kind, effect])).toEqual([
    ["issue_refund", "tool", "write"],
    ["lookup_order", "tool", "read"],
    ["researcher", "subagent", "read"],
    ["cave_skill", "tool", "read"],
  ]);
  expect(await readSkill(agent, "refund-policy")).toContain("# Refund policy");
});
