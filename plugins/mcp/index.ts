/**
 * MCP: tools of Model Context Protocol servers, over stdio or streamable HTTP. Starts the servers when a run starts,
 * offers the tools whose definitions were accepted, and keeps large catalogs out of the prompt until they are searched.
 * Taps `settle` (gives connections back). Owns the run option `mcp`, the facts `mcp.server`, the lock file, the tools
 * `cave_search_tools` and `cave_call_tool`, and the command `caveman mcp`.
 */
import { type Static, Type } from "@sinclair/typebox";
import { definePlugin, defineService, type Run } from "../../kernel/index.ts";
import { errors } from "./errors.ts";
import { Options, serverSpec } from "./options.ts";
import type { Pool } from "./pool.ts";
import type { Session } from "./session.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** `false` starts no MCP server for this run. */
    mcp?: false;
  }
}
declare module "../../kernel/ledger.ts" {
  interface Facts {
    /** A server of a run: its tools, and what their definitions would cost in every prompt. */
    "mcp.server": Static<typeof Server>;
  }
}

const Count = Type.Integer({ minimum: 0 });
const Server = Type.Object(
  {
    server: Type.String(),
    tools: Count,
    refused: Count,
    loading: Type.Union([Type.Literal("prompt"), Type.Literal("on_demand")]),
    schemaBytes: Count,
    schemaTokens: Count,
    tokenBasis: Type.Union([Type.Literal("exact"), Type.Literal("modelled"), Type.Literal("estimated")]),
  },
  { additionalProperties: false },
);

/** A run that was invited to servers; its session begins with its preparation. */
interface Start {
  session: Session | undefined;
  prepare(): Promise<void>;
}
/** The start of a run, for what is asked outside of `apply`. */
const Started = defineService<Start | undefined>("mcp.start");

export const mcp = definePlugin({
  name: "mcp",
  description: "Offers the tools of MCP servers, pinned by their definitions and loaded on demand.",
  options: Options,
  runOptions: Type.Object({ mcp: Type.Optional(Type.Literal(false, { description: "starts no MCP server" })) }),
  facts: { "mcp.server": Server },
  errors,
  controls: (run) => ({ mcp: run.find(Started) ? "active" : "absent" }),
  prepare: (run) => run.find(Started)?.prepare(),
  tools: (run) => run.find(Started)?.session?.tools ?? [],
  commands: () => import("./commands.ts"),
  apply(kernel, options) {
    const specs = Object.entries(options.servers).map(([name, server]) => serverSpec(name, server));
    let pool: Pool | undefined;
    const invited = ({ agent, depth, options: { mcp: own } }: Run): boolean =>
      own !== false && specs.length > 0 && (options.agents?.includes(agent.id) ?? depth === 0);
    const startOf = kernel.perRun((run): Start | undefined => {
      if (!invited(run)) return undefined;
      const start: Start = {
        session: undefined,
        async prepare() {
          // Loaded for runs that have servers.
          const [{ Pool }, { Session }] = await Promise.all([import("./pool.ts"), import("./session.ts")]);
          pool ??= new Pool(options.keepAliveMs);
          start.session = new Session(run, options, pool);
          await start.session.prepare(specs);
        },
      };
      return start;
    });
    kernel.provide(Started, startOf);
    kernel.hooks.settle.tap({ name: "mcp:close", stage: "work" }, ({ run }) => startOf(run)?.session?.close());
  },
});
