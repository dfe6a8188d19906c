/** `caveman mcp`: which tool definitions of MCP servers are accepted, which wait, and accepting them. */
import { resolve } from "node:path";
import { CavemanError } from "../../kernel/index.ts";
import { cleanText } from "./definition.ts";
import { LockFile, type PendingTool } from "./lock.ts";

/** The part of a terminal that is used here. */
interface Terminal {
  readonly out: (text: string) => void;
}
type Args = Readonly<Record<string, unknown>>;

export const commands = {
  mcp: {
    usage: "mcp <action> [server] [tool]",
    describe: "List the accepted tools of MCP servers, and accept changed ones",
    positionals: {
      action: "list, or accept",
      server: "a server's name in the configuration",
      tool: "one tool of it, by the server's own name",
    },
    options: {
      lock: { type: "string", describe: "The file of accepted tools", default: ".caveman/mcp.lock.json" },
      json: { type: "boolean", describe: "Print JSON", default: false },
    },
    execute: async (args: Args, terminal: Terminal): Promise<number> => {
      const { action, server, tool, lock } = args;
      const file = new LockFile(resolve(typeof lock === "string" ? lock : ".caveman/mcp.lock.json"));
      const only = typeof server === "string" ? server : undefined;
      if (action === "list") return list(file, only, args.json === true, terminal);
      if (action === "accept") return accept(file, only, typeof tool === "string" ? tool : undefined, terminal);
      throw new CavemanError("cave_option_invalid", {
        place: "caveman mcp",
        expected: "list or accept",
        received: cleanText(String(action), 40),
      });
    },
  },
} as const;

function list(file: LockFile, only: string | undefined, json: boolean, { out }: Terminal): number {
  const servers = [...new Set([...Object.keys(file.accepted), ...Object.keys(file.pending)])].sort();
  const shown = servers.filter((name) => only === undefined || name === only);
  if (json) {
    const rows = shown.map((name) => ({
      server: name,
      accepted: { ...file.accepted[name] },
      pending: { ...file.pending[name] },
    }));
    out(`${JSON.stringify({ lock: file.path, servers: rows }, null, 2)}\n`);
    return 0;
  }
  if (shown.length === 0) out(`No MCP server is known in ${file.path}.\n`);
  for (const name of shown) {
    const accepted = Object.keys(file.accepted[name] ?? {});
    out(`${cleanText(name, 80)}: ${accepted.length} accepted\n`);
    for (const [tool, pending] of Object.entries(file.pending[name] ?? {})) out(waiting(name, tool, pending));
  }
  return 0;
}

/** Everything a model would read of the tool, so that what is accepted is what was seen. */
function waiting(server: string, tool: string, { digest, was, description, inputSchema }: PendingTool): string {
  const quoted = /^[\w.-]+$/.test(tool) ? tool : JSON.stringify(cleanText(tool, 256));
  return [
    `  ${was === undefined ? "new" : "changed"}: ${quoted}  ${was === undefined ? "" : `${was.slice(0, 12)} → `}${digest.slice(0, 12)}`,
    `    ${cleanText(description, 4_096).replaceAll("\n", "\n    ")}`,
    `    input: ${JSON.stringify(inputSchema)}`,
    `    caveman mcp accept ${cleanText(server, 80)} ${quoted}`,
    "",
  ].join("\n");
}

function accept(file: LockFile, server: string | undefined, tool: string | undefined, { out }: Terminal): number {
  const servers = server === undefined ? Object.keys(file.pending) : [server];
  const accepted = servers.flatMap((name) => file.accept(name, tool).map((found) => `${name} ${found}`));
  if (accepted.length === 0)
    throw new CavemanError("cave_mcp_nothing_pending", {
      place: file.pendingPath,
      ...(server === undefined ? {} : { received: cleanText([server, tool].filter(Boolean).join(" "), 160) }),
    });
  for (const line of accepted) out(`accepted ${cleanText(line, 300)}\n`);
  return 0;
}
