/** One live connection to a server: negotiated, asked, closed. It answers what the server asks with a refusal. */

import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import type { Client, StreamableHTTPClientTransport, Transport } from "@modelcontextprotocol/client";
import { CavemanError, describe } from "../../kernel/index.ts";
import { cleanText, type WireTool } from "./definition.ts";
import { boundedFetch } from "./http.ts";
import type { ServerSpec } from "./options.ts";
import { reveal, secretsIn } from "./secrets.ts";
import { environmentOf, StdioTransport } from "./stdio.ts";

export interface ConnectionEvents {
  /** The server says that its tools are not what they were. */
  readonly listChanged: () => void;
  /** The server asked for something a client may offer: sampling, roots, elicitation. */
  readonly refused: (method: string) => void;
}

/** Pages of a tool list, and tools of all pages, before the list counts as endless. */
const MAX_PAGES = 64;
const MAX_TOOLS = 2_000;
/** Milliseconds a server has to say that it does not know the newer handshake. */
const PROBE_MS = 3_000;
/** Characters of a server's stderr in the error of a start that failed. */
const SHOWN_TAIL = 600;

type Sdk = typeof import("@modelcontextprotocol/client");
type Mode = "auto" | "legacy";

export class Connection {
  readonly #sdk: Sdk;
  readonly #client: Client;
  readonly #transport: StdioTransport | StreamableHTTPClientTransport;
  readonly #spec: ServerSpec;
  #alive = true;

  constructor(sdk: Sdk, client: Client, transport: StdioTransport | StreamableHTTPClientTransport, spec: ServerSpec) {
    this.#sdk = sdk;
    this.#client = client;
    this.#transport = transport;
    this.#spec = spec;
    client.onclose = () => (this.#alive = false);
  }

  get alive(): boolean {
    return this.#alive;
  }
  /** The process of a stdio server. */
  get pid(): number | undefined {
    return this.#transport instanceof StdioTransport ? (this.#transport.pid ?? undefined) : undefined;
  }

  /** Every tool the server has. @throws CavemanError `cave_mcp_server_unavailable`. */
  async list(): Promise<readonly WireTool[]> {
    if (!this.#client.getServerCapabilities()?.tools) return [];
    const { tools } = await this.#client
      .listTools(undefined, { cacheMode: "refresh", timeout: this.#spec.startTimeoutMs })
      .catch((error: unknown) => {
        throw this.#unavailable(error);
      });
    if (tools.length > MAX_TOOLS) throw this.#unavailable(new Error(`it lists more than ${MAX_TOOLS} tools`));
    return tools;
  }

  /** Calls a tool once; a call that fails is never sent again. */
  async call(tool: string, input: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    const { timeoutMs } = this.#spec;
    try {
      // The run's own time limit speaks first, and its abort tells the server to stop; this one is for a lost answer.
      return await this.#client.callTool({ name: tool, arguments: input }, { signal, timeout: timeoutMs + 5_000 });
    } catch (error) {
      throw this.#failure(error, tool);
    }
  }

  #failure(error: unknown, tool: string): CavemanError {
    const { ProtocolError, SdkError, SdkErrorCode } = this.#sdk;
    const place = `${this.#spec.name}, tool ${cleanText(tool, 80)}`;
    const said = this.#struck(describe(error));
    if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
      return new CavemanError("cave_tool_timeout", { place, received: "no answer" });
    if (error instanceof SdkError && error.code === SdkErrorCode.UnsupportedResultType)
      return new CavemanError("cave_mcp_tool_failed", {
        place,
        message: "The server asked for input in the middle of the call, and was refused",
      });
    if (error instanceof ProtocolError) return new CavemanError("cave_mcp_tool_failed", { place, message: said });
    this.#alive = false;
    return new CavemanError("cave_mcp_server_lost", { place, received: said });
  }
  #unavailable(error: unknown): CavemanError {
    return unavailable(this.#spec, error, this.#transport);
  }
  #struck(text: string): string {
    return struck(this.#spec, text);
  }

  async close(): Promise<void> {
    this.#alive = false;
    if (!(this.#transport instanceof StdioTransport)) await within(1_000, this.#transport.terminateSession());
    await within(4_000, this.#client.close());
    // A client whose handshake failed may have let go of its transport already.
    await within(4_000, this.#transport.close());
  }
}

const within = (ms: number, work: Promise<unknown>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  const settled = work.then(
    () => undefined,
    () => undefined,
  );
  return Promise.race([settled, late]).finally(() => clearTimeout(timer));
};

/**
 * Starts or reaches a server.
 * @throws CavemanError `cave_mcp_server_unavailable`, `cave_mcp_env_missing`.
 */
export async function connect(
  spec: ServerSpec,
  cwd: string,
  signal: AbortSignal,
  events: ConnectionEvents,
): Promise<Connection> {
  try {
    return await attempt(spec, cwd, signal, events, "auto");
  } catch (error) {
    // Some servers end when anything but the older handshake comes first.
    if (signal.aborted || !(error instanceof EndedByProbe)) throw error instanceof EndedByProbe ? error.coded : error;
    return attempt(spec, cwd, signal, events, "legacy").catch((again: unknown) => {
      throw again instanceof EndedByProbe ? again.coded : again;
    });
  }
}

class EndedByProbe extends Error {
  readonly coded: CavemanError;
  constructor(coded: CavemanError) {
    super(coded.message);
    this.coded = coded;
  }
}

async function attempt(
  spec: ServerSpec,
  cwd: string,
  signal: AbortSignal,
  events: ConnectionEvents,
  mode: Mode,
): Promise<Connection> {
  const sdk = await import("@modelcontextprotocol/client");
  const transport = transportOf(sdk, spec, cwd);
  const client = new sdk.Client(
    { name: "caveman-agent", version: ownVersion() },
    {
      capabilities: {},
      listMaxPages: MAX_PAGES,
      versionNegotiation: { mode, probe: { timeoutMs: Math.min(PROBE_MS, spec.startTimeoutMs) } },
      inputRequired: { autoFulfill: false },
      // A server's schema is not compiled: it would become code of this process.
      jsonSchemaValidator: {
        getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
      },
      listChanged: { tools: { autoRefresh: false, debounceMs: 50, onChanged: () => events.listChanged() } },
    },
  );
  client.onerror = () => undefined;
  client.fallbackRequestHandler = async ({ method }) => {
    events.refused(cleanText(method, 80));
    throw new sdk.ProtocolError(sdk.ProtocolErrorCode.MethodNotFound, "Refused: this client offers nothing to servers");
  };
  const connection = new Connection(sdk, client, transport, spec);
  let timer: NodeJS.Timeout | undefined;
  let giveUp: (() => void) | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${spec.startTimeoutMs} ms`)), spec.startTimeoutMs);
    giveUp = () => reject(signal.reason);
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
  });
  const connecting = client.connect(transport as Transport, { timeout: spec.startTimeoutMs });
  try {
    await Promise.race([connecting, limit]);
    return connection;
  } catch (error) {
    void connecting.catch(() => undefined);
    const ended = transport instanceof StdioTransport && transport.pid === null;
    await connection.close();
    const coded = unavailable(spec, error, transport);
    const spawned = !(typeof error === "object" && error !== null && "syscall" in error);
    throw ended && spawned && mode === "auto" ? new EndedByProbe(coded) : coded;
  } finally {
    clearTimeout(timer);
    if (giveUp) signal.removeEventListener("abort", giveUp);
  }
}

function transportOf(sdk: Sdk, spec: ServerSpec, cwd: string): StdioTransport | StreamableHTTPClientTransport {
  const { command, args = [], env = {}, url, headers = {} } = spec.options;
  const place = `mcp.servers.${spec.name}`;
  if (command !== undefined) {
    const program = { command, args, cwd, env: environmentOf(reveal(env, `${place}.env`)) };
    return new StdioTransport(program, sdk.deserializeMessage);
  }
  return new sdk.StreamableHTTPClientTransport(new URL(url ?? ""), {
    requestInit: { headers: reveal(headers, `${place}.headers`) },
    fetch: boundedFetch,
    redirectPolicy: "same-origin",
    reconnectionOptions: {
      initialReconnectionDelay: 500,
      maxReconnectionDelay: 5_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 2,
    },
  });
}

function unavailable(spec: ServerSpec, error: unknown, transport: unknown): CavemanError {
  if (error instanceof CavemanError) return error;
  // Secrets are struck out of much more than is shown, so that none is cut in two at its beginning.
  const tail =
    transport instanceof StdioTransport ? cleanText(struck(spec, transport.tail).slice(-SHOWN_TAIL), SHOWN_TAIL) : "";
  const received = `${struck(spec, describe(error))}${tail === "" ? "" : `; it said: ${tail}`}`;
  return new CavemanError("cave_mcp_server_unavailable", { place: `mcp.servers.${spec.name}`, received });
}

/** Text without the values that the configuration took from the environment. */
function struck(spec: ServerSpec, text: string): string {
  let out = text;
  for (const secret of [...secretsIn(spec.options.env), ...secretsIn(spec.options.headers)])
    out = out.replaceAll(secret, "•••");
  return out;
}

let version: string | undefined;
function ownVersion(): string {
  if (version === undefined) {
    const path = findPackageJSON("..", import.meta.url);
    const found: unknown = path === undefined ? undefined : JSON.parse(readFileSync(path, "utf8"));
    version = typeof found === "object" && found !== null && "version" in found ? String(found.version) : "0";
  }
  return version;
}
