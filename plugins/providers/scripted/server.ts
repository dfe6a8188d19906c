/** The model server: a script behind the vendors' own wires, over real HTTP on this machine. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { anthropic } from "./anthropic.ts";
import { gemini } from "./gemini.ts";
import { openaiChat } from "./openai-chat.ts";
import { openaiResponses } from "./openai-responses.ts";
import { pause } from "./pause.ts";
import { chunkCount, chunksBeforeFault, type Fault, play, type Script, type Turn } from "./script.ts";
import { type Frame, type JsonRecord, parsedObject, string, type Wire, WireRefusal, type WireRequest } from "./wire.ts";

export interface ModelServerOptions {
  /** Played in the order requests arrive, whatever their vendor. Refused requests take no step. */
  readonly script: Script<WireRequest>;
  /** Default `127.0.0.1`: reached from this machine only. */
  readonly host?: string;
  /** Default 0: a free one. */
  readonly port?: number;
}

export interface ModelServer {
  /** Origin, without a path. */
  readonly url: string;
  /** What a vendor's client takes as its base URL. */
  readonly baseURL: { readonly anthropic: string; readonly openai: string; readonly google: string };
  /** Every request that reached the script, in order. Headers are not kept, so neither are keys. */
  readonly requests: readonly WireRequest[];
  /** Ends every connection. Safe to call twice. */
  close(): Promise<void>;
}

/** Most bytes of a request body: 32 MiB. */
const bodyLimit = 32 * 1024 * 1024;

/**
 * Starts the server. It speaks Anthropic Messages, OpenAI Chat Completions and Responses, and Gemini generateContent, streamed
 * and whole, with each vendor's own counting of tokens and its own errors. Any key is accepted; a request without one is refused.
 * @throws ScriptError `cave_script_invalid`.
 */
export async function startModelServer({
  script,
  host = "127.0.0.1",
  port = 0,
}: ModelServerOptions): Promise<ModelServer> {
  const next = play(script);
  const requests: WireRequest[] = [];
  // Imported here, so that who only wants a scripted model does not load an HTTP server.
  const { createServer } = await import("node:http");
  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing, next, requests).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const address = server.address();
  const bound = typeof address === "object" && address !== null ? address.port : port;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${bound}`;
  return {
    url,
    baseURL: { anthropic: `${url}/v1`, openai: `${url}/v1`, google: `${url}/v1beta` },
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Route {
  readonly wire: Wire;
  /** Known from the path for Gemini, from the body for the others. */
  readonly model?: string;
  readonly stream?: boolean;
}

function routeOf(url: URL): Route | undefined {
  if (url.pathname === "/v1/messages") return { wire: anthropic };
  if (url.pathname === "/v1/chat/completions") return { wire: openaiChat };
  if (url.pathname === "/v1/responses") return { wire: openaiResponses };
  const match = /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)$/.exec(url.pathname);
  return match
    ? { wire: gemini, model: decodeURIComponent(match[1] ?? ""), stream: match[2] === "streamGenerateContent" }
    : undefined;
}

const hasKey = ({ headers }: IncomingMessage, url: URL): boolean =>
  [
    headers["x-api-key"],
    headers["x-goog-api-key"],
    headers.authorization?.replace(/^bearer\s*/i, ""),
    url.searchParams.get("key"),
  ].some((key) => typeof key === "string" && key.trim() !== "");

async function serve(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  next: (request: WireRequest) => Turn | Promise<Turn>,
  requests: WireRequest[],
): Promise<void> {
  const url = new URL(incoming.url ?? "/", "http://localhost");
  const route = routeOf(url);
  if (!route || incoming.method !== "POST") {
    return send(outgoing, route ? 405 : 404, {
      error: { message: `No route for ${incoming.method} ${url.pathname}`, type: "not_found_error", code: "not_found" },
    });
  }
  const { wire } = route;
  const refuse = (status: number, message: string): void => {
    send(outgoing, status, wire.failure({ status, code: undefined, message, retryAfterMs: undefined }));
  };
  if (!hasKey(incoming, url)) return refuse(wire.unauthorised, "An API key is required.");
  const text = await bodyOf(incoming);
  if (text === undefined) {
    outgoing.setHeader("connection", "close");
    return refuse(413, "Request exceeds the maximum size.");
  }
  const body = parsedObject(text);
  if (!body) return refuse(400, "The body is not a JSON object.");
  if (route.stream && url.searchParams.get("alt") !== "sse") return refuse(400, "Only alt=sse is served for streams.");

  let request: WireRequest;
  let turn: Turn;
  try {
    request = wire.request(body, route.model ?? string(body.model), route.stream ?? body.stream === true);
    requests.push(request);
    turn = await next(request);
  } catch (error) {
    // A script that ran out, threw or gave a wrong step is the test's fault: 400, which no client retries.
    const message = error instanceof Error ? error.message : String(error);
    return refuse(400, error instanceof WireRefusal ? message : `script: ${message}`);
  }

  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  try {
    await perform(turn, wire, request, outgoing, gone.signal);
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}

async function perform(
  turn: Turn,
  wire: Wire,
  request: WireRequest,
  outgoing: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const { fault } = turn;
  if (fault?.when === "before" || (fault?.when === "mid-stream" && !request.stream)) {
    if (turn.delayMs > 0) await pause(turn.delayMs, gone);
    return fail(outgoing, wire, fault);
  }
  if (request.stream) return stream(turn, wire, request, outgoing, gone);
  const chunks = Math.min(chunkCount(turn), chunksBeforeFault(turn));
  if (turn.delayMs > 0 && chunks > 0) await pause(turn.delayMs * chunks, gone);
  const answer = wire.answer(turn, request);
  if (!fault) return send(outgoing, 200, answer);
  const text = Buffer.from(JSON.stringify(answer));
  outgoing.writeHead(200, { "content-type": "application/json", "content-length": text.byteLength });
  await written(outgoing, text.subarray(0, text.byteLength >> 1));
  outgoing.destroy();
}

async function stream(
  turn: Turn,
  wire: Wire,
  request: WireRequest,
  outgoing: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  outgoing.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  const last = chunksBeforeFault(turn);
  let sent = 0;
  if (last > 0) {
    for (const frame of wire.frames(turn, request)) {
      if (frame.chunk && turn.delayMs > 0) {
        outgoing.flushHeaders();
        await pause(turn.delayMs, gone);
      }
      if (gone.aborted) return;
      await written(outgoing, sse(frame));
      if (frame.chunk && ++sent >= last) break;
    }
  }
  if (turn.fault?.when === "cut") {
    // What was written must arrive before the connection goes, or the cut would strike at a place the script did not say.
    await written(outgoing, ": cut\n\n");
    outgoing.socket?.destroySoon();
    return;
  }
  if (turn.fault) await written(outgoing, sse(wire.failureFrame(turn.fault)));
  outgoing.end();
}

function fail(outgoing: ServerResponse, wire: Wire, fault: Fault): void {
  if (fault.retryAfterMs !== undefined) {
    outgoing.setHeader("retry-after", `${Math.ceil(fault.retryAfterMs / 1000)}`);
    if (wire.vendor.startsWith("openai")) outgoing.setHeader("retry-after-ms", `${fault.retryAfterMs}`);
  }
  send(outgoing, fault.status, wire.failure(fault));
}

function send(outgoing: ServerResponse, status: number, body: JsonRecord): void {
  outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

const sse = ({ event, data }: Frame): string =>
  `${event ? `event: ${event}\n` : ""}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;

const written = (outgoing: ServerResponse, chunk: string | Uint8Array): Promise<void> =>
  new Promise((resolve, reject) => outgoing.write(chunk, (error) => (error ? reject(error) : resolve())));

/** The body as text, or undefined when it is larger than the limit. */
async function bodyOf(incoming: IncomingMessage): Promise<string | undefined> {
  if (Number(incoming.headers["content-length"] ?? 0) > bodyLimit) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > bodyLimit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
