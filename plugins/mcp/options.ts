/** What a configuration says about MCP servers, and the checks that a schema cannot make. */
import { type Static, Type } from "@sinclair/typebox";
import { CavemanError } from "../../kernel/index.ts";

const closed = { additionalProperties: false } as const;

const Secret = Type.Union([
  Type.String(),
  Type.Object(
    { env: Type.String({ minLength: 1 }), prefix: Type.Optional(Type.String()) },
    { ...closed, description: "the value of an environment variable, with a text before it" },
  ),
]);
/** A plain text, or the value of an environment variable. */
export type Secret = Static<typeof Secret>;

const EffectName = Type.Union([
  Type.Literal("read"),
  Type.Literal("write"),
  Type.Literal("idempotent"),
  Type.Literal("external"),
]);

const Server = Type.Object(
  {
    command: Type.Optional(Type.String({ minLength: 1, description: "the program of a stdio server" })),
    args: Type.Optional(Type.Array(Type.String(), { description: "its arguments" })),
    cwd: Type.Optional(Type.String({ minLength: 1, description: "its working folder, from the run's root" })),
    env: Type.Optional(
      Type.Record(Type.String(), Secret, { description: "variables it gets beside HOME, LANG, PATH and the like" }),
    ),
    url: Type.Optional(Type.String({ minLength: 1, description: "the address of a streamable HTTP server" })),
    headers: Type.Optional(Type.Record(Type.String(), Secret, { description: "headers of every request to the url" })),
    tools: Type.Optional(Type.Array(Type.String(), { description: "take only these tools, by the server's names" })),
    effects: Type.Optional(
      Type.Record(Type.String(), EffectName, { description: "effect by the server's tool name; `*` for the others" }),
    ),
    trustAnnotations: Type.Optional(
      Type.Boolean({ description: "let the server's own hints decide an effect that is not configured" }),
    ),
    load: Type.Optional(
      Type.Union([Type.Literal("auto"), Type.Literal("always"), Type.Literal("on_demand")], {
        description: "whether definitions stand in the prompt or are found by search",
      }),
    ),
    optional: Type.Optional(Type.Boolean({ description: "a run goes on without it when it cannot be reached" })),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 1, description: "milliseconds a call may take" })),
    startTimeoutMs: Type.Optional(Type.Integer({ minimum: 1, description: "milliseconds it may take to start" })),
    maxOutputBytes: Type.Optional(Type.Integer({ minimum: 1_024, description: "bytes of one result that are kept" })),
  },
  closed,
);
/** One server as it is configured. */
export type ServerOptions = Static<typeof Server>;

export const Options = Type.Object({
  servers: Type.Record(Type.String(), Server, { default: {}, description: "MCP servers by name" }),
  deferAboveTokens: Type.Integer({
    default: 10_000,
    minimum: 0,
    description: "tokens of tool definitions above which they are loaded on demand",
  }),
  lockFile: Type.String({
    default: ".caveman/mcp.lock.json",
    minLength: 1,
    description: "accepted tool definitions, from the run's root",
  }),
  firstUse: Type.Union([Type.Literal("pin"), Type.Literal("refuse")], {
    default: "pin",
    description: "what happens with the tools of a server that the lock file does not know",
  }),
  keepAliveMs: Type.Integer({
    default: 0,
    minimum: 0,
    description: "milliseconds a connection outlives the last run that used it",
  }),
  agents: Type.Optional(
    Type.Array(Type.String(), { description: "agent ids that get the tools; default: the agent of the root run" }),
  ),
});
export type McpOptions = Static<typeof Options>;

/** One server, checked, with its defaults. */
export interface ServerSpec {
  readonly name: string;
  readonly options: ServerOptions;
  readonly timeoutMs: number;
  readonly startTimeoutMs: number;
  readonly maxOutputBytes: number;
}

/** No underscore, so that the first `__` of an exposed name parts server and tool; short, because 64 is all some vendors take. */
const SERVER_NAME = /^[A-Za-z][A-Za-z0-9-]{0,23}$/;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** @throws CavemanError `cave_mcp_server_invalid`. */
export function serverSpec(name: string, options: ServerOptions): ServerSpec {
  const refuse = (field: string, expected: string, received: string): never => {
    throw new CavemanError("cave_mcp_server_invalid", { place: `mcp.servers.${name}${field}`, expected, received });
  };
  // `cave__…` would be a name of the framework's own.
  if (!SERVER_NAME.test(name) || name.toLowerCase() === "cave") {
    throw new CavemanError("cave_mcp_server_invalid", {
      place: "mcp.servers",
      expected: `names like ${SERVER_NAME.source} other than "cave"`,
      received: JSON.stringify(name.slice(0, 80)),
    });
  }
  const { command, url } = options;
  if ((command === undefined) === (url === undefined)) {
    refuse("", "a command or a url", command === undefined ? "neither" : "both");
  }
  const foreign = command === undefined ? (["args", "cwd", "env"] as const) : (["headers"] as const);
  for (const field of foreign) {
    if (options[field] !== undefined) refuse(`.${field}`, command === undefined ? "a command" : "a url", "the other");
  }
  if (url !== undefined) checkAddress(url, Object.values(options.headers ?? {}), refuse);
  return {
    name,
    options,
    timeoutMs: options.timeoutMs ?? 60_000,
    startTimeoutMs: options.startTimeoutMs ?? 30_000,
    maxOutputBytes: options.maxOutputBytes ?? 1_048_576,
  };
}

function checkAddress(
  url: string,
  headers: readonly Secret[],
  refuse: (field: string, expected: string, received: string) => never,
): void {
  const address = URL.canParse(url) ? new URL(url) : refuse(".url", "an http or https address", "something else");
  if (address.protocol !== "https:" && address.protocol !== "http:")
    refuse(".url", "http or https", address.protocol.slice(0, 20));
  if (address.username !== "" || address.password !== "")
    refuse(".url", "an address without credentials; headers carry them", "one with credentials");
  const secret = headers.some((header) => typeof header === "object");
  if (address.protocol === "http:" && secret && !LOOPBACK.test(address.hostname))
    refuse(".url", "https where headers come from the environment", "http to another machine");
}
