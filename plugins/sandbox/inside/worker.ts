/**
 * A worker: loads the staged entry and answers one call. Frames come on descriptor 0 and go out on descriptor 3, four
 * bytes of length and then the body. It holds nothing that the tool in it must not have: the host believes no frame
 * more than it would believe the tool's own result. The intrinsics it needs later are taken before the tool's code is loaded.
 */
import { CavemanError, describe, type InnerAgent, type InnerTool, isAgent, loaded } from "./definition.ts";

interface Start {
  readonly type: "start";
  readonly key: string;
  readonly entry: string;
  readonly agentId: string;
  readonly inspect: boolean;
  readonly maxBytes: number;
}
interface Call {
  readonly type: "run";
  /** Names of subagent tools from the root to the agent. */
  readonly path: readonly string[];
  readonly tool: string;
  readonly nestedIn: string | undefined;
  readonly toolCallId: string;
  readonly input: unknown;
}
type Message =
  | Start
  | Call
  | { readonly type: "abort" }
  | {
      readonly type: "reply";
      readonly id: number;
      readonly value?: unknown;
      readonly code?: string;
      readonly message?: string;
    };

// An import of either would read all that it exports, and with it load the streams: a quarter of the worker's start.
const { read, writeSync } = process.getBuiltinModule("node:fs");
const { deserialize } = process.getBuiltinModule("node:v8");
const { stringify } = JSON;
const { from: bytesOf, concat, byteLength } = Buffer;
const { exit } = process;

let start: Start | undefined;
let root: InnerAgent | undefined;
let opened: Promise<void> | undefined;
let answered = false;
const aborting = new AbortController();
const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();

/** Writes one frame, whole. */
function send(frame: Record<string, unknown>): void {
  const body = bytesOf(stringify({ ...frame, key: start?.key }), "utf8");
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  const whole = concat([head, body]);
  for (let at = 0; at < whole.length; ) at += writeSync(3, whole, at, whole.length - at);
}

const tooLarge = (text: string): boolean => byteLength(text, "utf8") > (start?.maxBytes ?? 0);

function fail(code: string, message: string): void {
  if (answered) return;
  answered = true;
  send({ type: "result", ok: false, code, message });
}

function failWith(error: unknown, fallback: string): void {
  const own =
    error instanceof CavemanError ||
    (typeof error === "object" &&
      error !== null &&
      /^cave_[a-z0-9_]{1,96}$/.test(String((error as { code?: unknown }).code)));
  fail(own ? String((error as { code: unknown }).code) : fallback, describe(error));
}

function succeed(value: unknown): void {
  if (answered) return;
  // Written as JSON it would only be longer, and might not fit into memory.
  if (typeof value === "string" && value.length > (start?.maxBytes ?? 0)) {
    fail("cave_sandbox_output_limit", "The result is more than 1 MiB.");
    return;
  }
  let text: string | undefined;
  try {
    text = value === undefined ? undefined : stringify(value);
    if (text === undefined && value !== undefined) throw new TypeError(`a ${typeof value} cannot be written as JSON`);
  } catch (error) {
    fail("cave_sandbox_result_not_serializable", describe(error));
    return;
  }
  if (text !== undefined && tooLarge(text)) {
    fail("cave_sandbox_output_limit", "The result is more than 1 MiB.");
    return;
  }
  answered = true;
  // The value goes as text within the frame: the host reads it once more, on its own terms.
  send({ type: "result", ok: true, ...(text === undefined ? {} : { json: text }) });
}

process.on("uncaughtException", (error) => fail("cave_sandbox_uncaught", describe(error)));
process.on("unhandledRejection", (error) => fail("cave_sandbox_unhandled_rejection", describe(error)));
process.once("SIGTERM", () => exit(143));
// The pending read of descriptor 0 keeps a process that exits from ending: the host hears of it and kills.
process.on("exit", () => fail("cave_sandbox_invalid_output", "The tool ended its process."));

const inventory = (agent: InnerAgent): object => ({
  id: agent.id,
  tools: agent.tools.map(({ kind, name, description, effect, nestedTools, subagent, ...rest }) =>
    kind === "subagent" && subagent
      ? { name, agent: inventory(subagent.agent) }
      : { name, description, effect, input: schemaOf(rest), nested: nestedTools.map((each) => each.name) },
  ),
});

function schemaOf({ input, inputJSONSchema }: Pick<InnerTool, "input" | "inputJSONSchema">): unknown {
  if (inputJSONSchema) return inputJSONSchema;
  const standard = (input as { "~standard"?: { jsonSchema?: { input: (options: object) => object } } } | null)?.[
    "~standard"
  ];
  return standard ? standard.jsonSchema?.input({ target: "draft-07" }) : input;
}

async function load(message: Start): Promise<void> {
  start = message;
  try {
    const module = (await import(message.entry)) as Readonly<Record<string, unknown>>;
    loaded();
    const agents = Object.values(module).filter((value) => isAgent(value)) as InnerAgent[];
    root = agents.find((each) => each.id === message.agentId);
    if (root) send({ type: "ready", ...(message.inspect ? { inventory: inventory(root) } : {}) });
    else
      fail(
        "cave_sandbox_agent_export_missing",
        `It exports ${agents.map((each) => each.id).join(", ") || "no agent"}, not ${message.agentId}.`,
      );
  } catch (error) {
    loaded();
    failWith(error, "cave_sandbox_source_failed");
  }
}

function find({ path, tool, nestedIn }: Call): InnerTool {
  let agent = root;
  for (const name of path) agent = agent?.tools.find((each) => each.name === name)?.subagent?.agent;
  if (!agent) throw new CavemanError("cave_sandbox_unknown_subagent", { message: path.join(" → ") });
  const list =
    nestedIn === undefined ? agent.tools : (agent.tools.find((each) => each.name === nestedIn)?.nestedTools ?? []);
  const found = list.find((each) => each.name === tool);
  if (!found) throw new CavemanError("cave_sandbox_unknown_tool", { message: tool });
  return found;
}

async function run(call: Call): Promise<void> {
  let ids = 0;
  const context = Object.freeze({
    signal: aborting.signal,
    toolCallId: call.toolCallId,
    call: (name: string, input: unknown) =>
      new Promise<unknown>((resolve, reject) => {
        const json = stringify(input) ?? "null";
        if (tooLarge(json))
          throw new CavemanError("cave_sandbox_input_limit", {
            message: "The arguments of a nested call are more than 1 MiB.",
          });
        const id = ++ids;
        waiting.set(id, { resolve, reject });
        send({ type: "call", id, name: String(name), json });
      }),
  });
  try {
    succeed(await find(call).execute(call.input, context));
  } catch (error) {
    failWith(error, "cave_sandbox_tool_failed");
  }
}

function receive(message: Message): void {
  if (message.type === "start") opened = load(message);
  else if (message.type === "run") void opened?.then(() => (root ? run(message) : undefined));
  else if (message.type === "abort")
    aborting.abort(new CavemanError("cave_run_aborted", { message: "The call was aborted." }));
  else {
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.code === undefined) asked?.resolve(message.value);
    else asked?.reject(new CavemanError(message.code, { message: message.message ?? "" }));
  }
}

let buffered = Buffer.alloc(0);
const chunk = Buffer.alloc(65_536);
function listen(): void {
  read(0, chunk, 0, chunk.length, null, (error, count) => {
    // The host is gone: nobody waits for an answer any more.
    if (error || count === 0) exit(1);
    buffered = concat([buffered, chunk.subarray(0, count)]);
    while (buffered.length >= 4 && buffered.length >= 4 + buffered.readUInt32BE(0)) {
      const end = 4 + buffered.readUInt32BE(0);
      const message = deserialize(buffered.subarray(4, end)) as Message;
      buffered = buffered.subarray(end);
      receive(message);
    }
    listen();
  });
}
listen();
