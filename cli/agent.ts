/** Reads the agent that a command names: a directory by convention, or a module that exports one. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { RunOptions } from "../kernel/contract.ts";
import { type AgentDefinition, isAgent } from "../kernel/definition.ts";
import { CavemanError, describe } from "../kernel/errors.ts";
import type { Plugin } from "../kernel/plugin.ts";
import { loadAgentDir } from "../plugins/agent-dir/index.ts";
import "./errors.ts";

export interface FoundAgent {
  readonly agent: AgentDefinition;
  /** Run options the agent itself declares. */
  readonly run: RunOptions;
  /** What was named: the directory, or the module that exports it. */
  readonly entry: string;
  /** The agent's directory: where its config, script and files are. */
  readonly dir: string;
  /** The name of the model script beside it, without its ending. */
  readonly script: string | undefined;
}

/** @throws CavemanError `cave_cli_agent_missing`, and what the definition itself refuses. */
export async function findAgent(path: string, cwd: string = process.cwd()): Promise<FoundAgent> {
  const target = resolve(cwd, path);
  const found = await stat(target).catch(() => undefined);
  if (!found)
    throw new CavemanError("cave_cli_agent_missing", {
      place: target,
      expected: "an agent directory or file",
      received: "nothing",
    });
  const dir = found.isDirectory() ? target : dirname(target);
  // The agent.ts of an agent directory stands for the directory.
  if (found.isDirectory() || (/^agent\.m?[jt]s$/.test(basename(target)) && existsSync(join(dir, "instructions.md")))) {
    const { agent, run } = await loadAgentDir(dir);
    return { agent, run, dir, entry: dir, script: scriptIn(dir) };
  }
  return { agent: await agentIn(target), run: {}, dir, entry: target, script: scriptIn(dir) };
}

/** Where the sources of an agent are, in the run options that the loaded plugins know. */
export function placeOf(found: FoundAgent, plugins: readonly Plugin[]): RunOptions {
  const contained = plugins.some(({ spec }) => spec.runOptions && "entryPath" in spec.runOptions.properties);
  return { rootDir: found.dir, ...(contained ? { entryPath: found.entry } : {}) };
}

async function agentIn(file: string): Promise<AgentDefinition> {
  let module: Readonly<Record<string, unknown>>;
  try {
    module = (await import(pathToFileURL(file).href)) as Readonly<Record<string, unknown>>;
  } catch (cause) {
    if (cause instanceof CavemanError) throw cause;
    throw new CavemanError("cave_cli_agent_missing", {
      place: file,
      expected: "a module that loads",
      received: describe(cause).split("\n")[0],
      cause,
    });
  }
  const agent = module.default ?? module.agent;
  if (isAgent(agent)) return agent;
  // A definition made by a second copy of the package looks right and is not known to this one.
  const foreign = typeof agent === "object" && agent !== null && "kind" in agent && agent.kind === "agent";
  throw new CavemanError("cave_cli_agent_missing", {
    place: file,
    expected: "an agent() exported as default or as agent",
    received: foreign
      ? "an agent made by another copy of caveman-agent"
      : Object.keys(module).join(", ") || "no export",
    ...(foreign ? { remedy: "Run the caveman command that is installed beside the agent: npx caveman." } : {}),
  });
}

const SCRIPT = "model.script";
const scriptIn = (dir: string): string | undefined =>
  [".ts", ".mts", ".js", ".mjs", ".json"].some((ending) => existsSync(join(dir, SCRIPT + ending))) ? SCRIPT : undefined;
