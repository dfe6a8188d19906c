/**
 * An MCP server for the tests, as bad as it is told to be. It lists the tools of the JSON file `MCP_TOOLS`, read at each
 * listing, and what a tool does is its name's affair.
 */
import { spawn } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { inputRequired, Server } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";

const { MCP_TOOLS = "", MCP_LOG = "", MCP_START = "" } = process.env;
const log = (line: string): void => {
  if (MCP_LOG !== "") appendFileSync(MCP_LOG, `${line}\n`);
};
log(`start ${process.pid}`);
if (MCP_START === "hang") await new Promise((resolve) => setTimeout(resolve, 600_000));
if (MCP_START === "exit") {
  process.stderr.write(`cannot start: the token is ${process.env.TOKEN}\n`);
  process.exit(3);
}
if (MCP_START === "garbage") {
  for (let i = 0; i < 50; i++) process.stdout.write(`banner line ${i}\n{"half": \n`);
}
if (MCP_START === "flood")
  for (;;)
    if (!process.stdout.write("not json\n".repeat(200)))
      await new Promise((resolve) => process.stdout.once("drain", resolve));

const server = new Server({ name: "test", version: "1" }, { capabilities: { tools: { listChanged: true } } });
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

// Written by hand: the package itself asks nothing that the client did not offer.
const requests = [
  ["sampling/createMessage", { messages: [{ role: "user", content: { type: "text", text: "hi" } }], maxTokens: 10 }],
  ["roots/list", {}],
  ["elicitation/create", { message: "your password?", requestedSchema: { type: "object", properties: {} } }],
] as const;
const waiting = new Map<string, (code: string) => void>();
process.stdin.on("data", (chunk) => {
  for (const line of String(chunk).split("\n").filter(Boolean)) {
    const { id, error } = JSON.parse(line);
    waiting.get(id)?.(String(error?.code));
  }
});
const answered = ([method, params]: (typeof requests)[number]): Promise<string> =>
  new Promise((resolve) => {
    waiting.set(method, resolve);
    process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: method, method, params })}\n`);
  });

let pages = 0;
server.setRequestHandler("tools/list", () => ({
  tools: JSON.parse(readFileSync(MCP_TOOLS, "utf8")),
  ...(MCP_START === "endless" ? { nextCursor: String(++pages) } : {}),
}));
server.setRequestHandler("tools/call", async ({ params }) => {
  log(`call ${params.name}`);
  const { name, arguments: input = {} } = params;
  switch (name) {
    case "crash":
      process.exit(9);
      break;
    case "hang":
      // Nothing but the open input keeps the process alive.
      await new Promise(() => undefined);
      break;
    case "garbage":
      process.stdout.write('{"jsonrpc": "2.0", "id": 99999, "result": {}}\nnonsense\n\u0000\u0001\n');
      return text("after garbage");
    case "nonsense":
      return { content: "no list" } as never;
    case "huge":
      return text(`${"a line of output\n".repeat(Number(input.lines ?? 1))}the end`);
    case "fail":
      return { ...text("the disk is full"), isError: true };
    case "env":
      return text(JSON.stringify(process.env));
    case "ask":
      return text((await Promise.all(requests.map(answered))).join());
    case "want":
      return inputRequired({ inputRequests: { roots: inputRequired.listRoots() } });
    case "announce":
      await server.sendToolListChanged();
      return text("announced");
    case "fork":
      return text(String(spawn(process.execPath, ["-e", "setTimeout(() => {}, 600000)"], { stdio: "ignore" }).pid));
  }
  return text(`${name}: ${JSON.stringify(input)}`);
});
if (MCP_START === "stubborn") {
  process.on("SIGTERM", () => log("SIGTERM"));
  setInterval(() => undefined, 1_000);
}
// The newer handshake alone: an `initialize` is refused.
if (MCP_START === "modern") serveStdio(() => server, { legacy: "reject" });
else await server.connect(new StdioServerTransport());
