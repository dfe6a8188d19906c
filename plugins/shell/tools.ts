/** shellTools(): the workspace tools any agent can hold. */
import type { Tool } from "../../kernel/index.ts";
import { bashTool } from "./commands/bash-tool.ts";
import { commandTools } from "./commands/session-tools.ts";
import { fileTools } from "./files/tools.ts";
import { LazyShell } from "./lazy-shell.ts";
import { type ShellToolName, type ShellToolsOptions, settled } from "./options.ts";
import { grepTool } from "./search/grep-tool.ts";

/** Tools for an agent's definition. Commands they started are ended by `close()`, or with the process. */
export type ShellTools = readonly Tool[] & { close(): Promise<void> };

/**
 * The workspace tools: `bash`, `read_file`, `grep`, `write_file`, `edit_file`, `list_files` and the command sessions.
 * Making them touches no file and starts nothing. The agent that holds them needs `sandbox: "host"`.
 * @throws CavemanError `cave_option_invalid`.
 */
export function shellTools(options: ShellToolsOptions): ShellTools {
  const shell = new LazyShell(settled(options));
  const all: Readonly<Record<ShellToolName, Tool>> = {
    bash: bashTool(shell),
    grep: grepTool(shell),
    ...fileTools(shell),
    ...commandTools(shell),
  };
  const tools = shell.options.tools.map((name) => all[name]);
  for (const tool of tools) made.add(tool);
  return Object.freeze(Object.assign(tools, { close: () => shell.close() }));
}

const made = new WeakSet<object>();
export const isShellTool = (tool: Tool | undefined): boolean => tool !== undefined && made.has(tool);
