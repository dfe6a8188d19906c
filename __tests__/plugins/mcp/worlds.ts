/** What the tests of MCP share: a folder, the bad server in it, and a run of a scripted model over its tools. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "@jest/globals";
import { agent, createKernel, type Plugin, type Run, type RunOptions, textOf } from "../../../kernel/index.ts";
import { mcp } from "../../../plugins/mcp/index.ts";
import { type Script, type ScriptedModel, scripted } from "../../../plugins/providers/scripted/index.ts";
import { models } from "../../support/harness.ts";

const serverFile = fileURLToPath(new URL("./server.ts", import.meta.url));
export const everything = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);
/** What the servers' processes compile is kept between them: they are many, and all the same. */
const compiled = mkdtempSync(join(tmpdir(), "cave-mcp-compiled-"));
type McpConfig = NonNullable<Parameters<typeof mcp>[0]>;
type ServerConfig = NonNullable<McpConfig["servers"]>[string];

export const plain = (name: string, more: object = {}): object => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: "object", properties: {} },
  ...more,
});

/** A folder with the bad server's files. */
export class World {
  readonly root = mkdtempSync(join(tmpdir(), "cave-mcp-"));
  readonly tools = join(this.root, "tools.json");
  readonly log = join(this.root, "log.txt");
  constructor(tools: readonly object[] = []) {
    this.list(tools);
    writeFileSync(this.log, "");
    worlds.push(this);
  }
  list(tools: readonly object[]): void {
    writeFileSync(this.tools, JSON.stringify(tools));
  }
  get lines(): string[] {
    return readFileSync(this.log, "utf8").split("\n").filter(Boolean);
  }
  get pids(): number[] {
    return this.lines.flatMap((line) => (line.startsWith("start ") ? [Number(line.slice(6))] : []));
  }
  server(more: ServerConfig = {}): ServerConfig {
    const { env, ...rest } = more;
    return {
      command: process.execPath,
      args: [serverFile],
      env: { MCP_TOOLS: this.tools, MCP_LOG: this.log, NODE_COMPILE_CACHE: compiled, ...env },
      ...rest,
    };
  }
  kernel(config: McpConfig, ...plugins: Plugin[]) {
    return createKernel({ plugins: [models, mcp(config), ...plugins] });
  }
  /** Runs a script over one server called `s`, or over the servers of a config. */
  async run(
    script: Script,
    config: McpConfig = { servers: { s: this.server() } },
    options: RunOptions = {},
  ): Promise<Ran> {
    return this.runOn(this.kernel(config), script, options);
  }
  async runOn(kernel: ReturnType<World["kernel"]>, script: Script, options: RunOptions = {}): Promise<Ran> {
    const model = scripted(script);
    const { run, done } = kernel.start(agent({ id: "a", instructions: "i", model }), "go", {
      rootDir: this.root,
      ...options,
    });
    const outcome = await done;
    return {
      run,
      model,
      outcome,
      tools: [...run.tools.keys()],
      results: resultsOf(run),
      notices: run.ledger.of("notice").map(({ code, message }) => `${code}: ${message}`),
    };
  }
}
const worlds: World[] = [];
afterAll(() => {
  rmSync(compiled, { recursive: true, force: true });
  for (const { root } of worlds) rmSync(root, { recursive: true, force: true });
});

export interface Ran {
  readonly run: Run;
  readonly model: ScriptedModel;
  readonly outcome: Awaited<ReturnType<ReturnType<World["kernel"]>["start"]>["done"]>;
  readonly tools: string[];
  readonly results: string[];
  readonly notices: string[];
}

export const resultsOf = (run: Run): string[] =>
  run.transcript.history.flatMap(({ value }) =>
    value.role === "tool"
      ? value.content.flatMap((part) => (part.type === "tool-result" ? [textOf(part.output)] : []))
      : [],
  );

/** Calls these tools, one a turn, and ends. */
export const calls = (...list: readonly (string | readonly [name: string, input: object])[]): Script => [
  ...list.map((call) => ({
    toolCalls: [typeof call === "string" ? { name: call, input: {} } : { name: call[0], input: call[1] }],
  })),
  { text: "done" },
];

export async function gone(pid: number): Promise<boolean> {
  for (let wait = 0; wait < 100; wait++) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
