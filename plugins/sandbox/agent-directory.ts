/** An entry for an agent directory, whose definition stands in no module: its tools and those of its subagents. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { type AgentDefinition, CavemanError } from "../../kernel/index.ts";
import type { VirtualEntry } from "./graph.ts";
import { isPlaceable } from "./modes.ts";

/** The directory that an entry path stands for: itself, or that of its `agent.ts` beside an `instructions.md`. */
export function agentDirectory(path: string): string | undefined {
  const dir = statSync(path, { throwIfNoEntry: false })?.isDirectory()
    ? path
    : /^agent\.m?[jt]s$/.test(basename(path))
      ? dirname(path)
      : undefined;
  return dir !== undefined && existsSync(join(dir, "instructions.md")) ? dir : undefined;
}

/** Writes the module that the directory is, as far as a worker needs it. */
export function directoryEntry(agent: AgentDefinition, dir: string): VirtualEntry {
  const imports: string[] = [`import { agent, subagent } from "caveman-agent";`];
  const written = (definition: AgentDefinition, folder: string): string => {
    const tools = definition.tools.flatMap((tool) => {
      if (tool.subagent) {
        const { name, subagent } = tool;
        return [
          `subagent({ name: ${JSON.stringify(name)}, description: "", agent: ${written(subagent.agent, childOf(folder, name))} })`,
        ];
      }
      if (!isPlaceable(tool)) return [];
      const local = `tool${imports.length}`;
      imports.push(`import ${local} from ${JSON.stringify(pathToFileURL(moduleOf(folder, tool.name)).href)};`);
      return [local];
    });
    return `agent({ id: ${JSON.stringify(definition.id)}, tools: [${tools.join(", ")}] })`;
  };
  const source = `export default ${written(agent, dir)};`;
  return { path: join(dir, "agent-directory.mjs"), source: [...imports, source, ""].join("\n") };
}

function moduleOf(folder: string, name: string): string {
  const path = [".ts", ".mts", ".js", ".mjs"]
    .map((ending) => join(folder, "tools", name + ending))
    .find((each) => existsSync(each));
  return path ?? missing(join(folder, "tools"), `a module of the tool ${name}`);
}

/** The subagent folder whose name gives this tool name: in lower case, other characters as `-`. */
function childOf(folder: string, name: string): string {
  const at = join(folder, "subagents");
  const child = (existsSync(at) ? readdirSync(at) : []).find(
    (entry) =>
      entry
        .toLowerCase()
        .replace(/[^a-z0-9_-]+/g, "-")
        .replace(/^[^a-z0-9]+|-+$/g, "")
        .slice(0, 96) === name,
  );
  return child === undefined ? missing(at, `a folder of the subagent ${name}`) : join(at, child);
}

function missing(place: string, expected: string): never {
  throw new CavemanError("cave_sandbox_definition_mismatch", { place, expected, received: "none" });
}
