/**
 * An agent as a directory: instructions.md, agent.ts, tools/, skills/, subagents/. Loading one gives an ordinary
 * agent(), so whatever takes a definition takes a directory.
 */
import { stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import type { RunOptions } from "../../kernel/contract.ts";
import { type AgentDefinition, agent, isTool, subagent, type Tool } from "../../kernel/definition.ts";
import { type AgentFile, inFile, LIMITS, readAgentFile, runOptionsOf } from "./agent-file.ts";
import { refuse } from "./errors.ts";
import { defaultExport, foldersIn, modulesIn, textOf } from "./files.ts";
import { readSkills, skillIndex, skillTool } from "./skills.ts";

export type { AgentFile } from "./agent-file.ts";
export { agentDirErrors } from "./errors.ts";

/** Folders of subagents within subagents. The root is depth 0. */
export const MAX_DEPTH = 8;

/** An agent that was read from a directory. */
export interface LoadedAgent {
  readonly agent: AgentDefinition;
  /** The run options that its agent.ts declares: budget, breakers and those under `run`. */
  readonly run: Readonly<RunOptions>;
  /** The directory, absolute: the `rootDir` of its runs. */
  readonly dir: string;
}

/**
 * Loads a directory as an agent. Its id is the directory's name as a slug. Modules of the directory are imported;
 * nothing of it is written.
 * @throws CavemanError `cave_agent_dir_invalid`, `cave_agent_dir_config_invalid`, `cave_agent_dir_load_failed`,
 * `cave_skill_invalid`, and what `agent()`, `tool()` and `subagent()` refuse, each with the file.
 */
export async function loadAgentDir(dir: string): Promise<LoadedAgent> {
  const root = resolve(dir);
  const found = await stat(root).catch(() => undefined);
  if (!found?.isDirectory()) refuse("cave_agent_dir_invalid", root, "a directory", found ? "a file" : "nothing");
  const { definition, head } = await load(root, 0);
  return Object.freeze({ agent: definition, run: runOptionsOf(head), dir: root });
}

interface Loaded {
  readonly definition: AgentDefinition;
  readonly head: { readonly file: string; readonly spec: AgentFile };
}

async function load(dir: string, depth: number): Promise<Loaded> {
  const instructions = await textOf(join(dir, "instructions.md"));
  if (instructions === undefined || instructions.trim() === "")
    refuse(
      "cave_agent_dir_invalid",
      join(dir, "instructions.md"),
      "instructions for the model",
      instructions === undefined ? "no file" : "an empty file",
    );
  const head = await readAgentFile(dir, depth);
  const tools = await toolsOf(dir);
  const skills = await readSkills(dir);
  const children = await childrenOf(dir, depth, tools);
  const { model, reasoning, sandbox, context = [] } = head.spec;
  const definition = inFile(head.file, () =>
    agent({
      id: slugOf(dir),
      instructions: instructions.trim(),
      ...(model === undefined ? {} : { model }),
      ...(reasoning === undefined ? {} : { reasoning }),
      ...(sandbox === undefined ? {} : { sandbox }),
      tools: [...tools, ...children, ...(skills.length > 0 ? [skillTool(skills)] : [])],
      contexts: [...(skills.length > 0 ? [skillIndex(skills)] : []), ...context],
    }),
  );
  return { definition, head };
}

/** One tool a file, named as the file is. */
async function toolsOf(dir: string): Promise<Tool[]> {
  const tools: Tool[] = [];
  for (const { stem, path } of await modulesIn(join(dir, "tools"))) {
    const value = await defaultExport(path);
    if (!isTool(value)) refuse("cave_agent_dir_invalid", path, "a default export built by tool()", typeof value);
    if (value.name !== stem)
      refuse(
        "cave_agent_dir_invalid",
        path,
        `a tool named "${stem}"`,
        `"${value.name}"`,
        "Give the tool the name of its file.",
      );
    if (tools.some((other) => other.name === stem))
      refuse(
        "cave_agent_dir_invalid",
        path,
        "one file a tool",
        `a second file for "${stem}"`,
        "Remove one of the two files.",
      );
    tools.push(value);
  }
  return tools;
}

/** One subagent a folder; the tool that calls it bears the folder's slug. */
async function childrenOf(dir: string, depth: number, tools: readonly Tool[]): Promise<Tool[]> {
  const taken = new Map(tools.map((tool) => [tool.name, `tool "${tool.name}"`]));
  const children: Tool[] = [];
  for (const { path } of await foldersIn(join(dir, "subagents"))) {
    if (depth >= MAX_DEPTH)
      refuse(
        "cave_agent_dir_invalid",
        path,
        `at most ${MAX_DEPTH} levels of subagents`,
        `level ${depth + 1}`,
        "Flatten the tree; check it for a link that leads back up.",
      );
    const name = slugOf(path);
    const other = taken.get(name);
    if (other)
      refuse(
        "cave_agent_dir_invalid",
        path,
        "a name of its own",
        `"${name}", which ${other} bears too`,
        "Rename one of them.",
      );
    taken.set(name, path);
    const { definition, head } = await load(path, depth + 1);
    const { description } = head.spec;
    if (typeof description !== "string" || description.trim() === "")
      refuse(
        "cave_agent_dir_config_invalid",
        head.file,
        "description: text that tells the parent's model when to call it",
        typeof description,
        "Add a description to its agent.ts.",
      );
    const limits = Object.fromEntries(
      LIMITS.flatMap((key) => (head.spec[key] === undefined ? [] : [[key, head.spec[key]]])),
    );
    children.push(inFile(head.file, () => subagent({ name, description, agent: definition, ...limits })));
  }
  return children;
}

/** The id of a directory: lower case, with anything but letters, digits, `_` and `-` as `-`. */
function slugOf(dir: string): string {
  const slug = basename(dir)
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, "-")
    .replace(/^[^a-z0-9]+|-+$/g, "")
    .slice(0, 96);
  if (slug === "")
    refuse(
      "cave_agent_dir_invalid",
      dir,
      "a directory name with letters or digits",
      JSON.stringify(basename(dir)),
      "Rename the directory.",
    );
  return slug;
}
