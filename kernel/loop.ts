/** The agent loop over a run: model, tools, model. */
import type { CallOutcome, InputPart, Outcome, RunInput, ToolOutcome, ToolRequest } from "./contract.ts";
import { CavemanError, describe } from "./errors.ts";
import type { ModelContent, ModelMessage, ModelPrompt } from "./model.ts";
import type { RunImpl } from "./run.ts";
import { check, modelJson } from "./schema.ts";
import { admit, called, carriedOut } from "./tool.ts";
import { Message } from "./transcript.ts";

type UserContent = Extract<ModelMessage, { role: "user" }>["content"];
type AssistantContent = Extract<ModelPrompt[number], { role: "assistant" }>["content"];
type Call = Extract<ModelContent, { type: "tool-call" }>;

/** Drives a run to its end. Never rejects: the outcome carries the failure. */
export async function drive(run: RunImpl, input: RunInput): Promise<Outcome> {
  let text = "";
  try {
    const content = userContent(input);
    run.standing();
    await run.prepare();
    run.transcript.append(new Message({ role: "user", content: [...run.live.map((segment) => ({ type: "text" as const, text: segment })), ...content] }));
    let repaired = false;
    while (!run.standing()) {
      const answer = await run.call({ purpose: repaired ? "repair" : "turn" });
      if (answer.stopped) break;
      const calls = answer.content.every(isCall) ? answer.content : answer.content.filter(isCall);
      if (answer.text !== "") text = answer.text;
      const said = assistant(answer);
      if (calls.length === 0) {
        run.transcript.append(said);
        run.turn++;
        const { output: spec } = run.agent;
        if (!spec?.schema) return run.settle({ text });
        const shaped = await shapedBy(answer.text, spec.schema);
        if (shaped.ok) return run.settle({ text, output: shaped.value });
        if (repaired) throw new CavemanError("cave_output_schema_mismatch", { place: `agent ${run.agent.id}`, received: shaped.problem });
        repaired = true;
        run.transcript.append(new Message({ role: "user", content: [{ type: "text", text: `Your answer does not fit the required schema: ${shaped.problem}. Answer again with one JSON value that fits, and nothing else.` }] }));
        continue;
      }
      const [only] = calls;
      const working = only && calls.length === 1 ? called(run, requestOf(only)) : work(run, calls);
      const worked = working instanceof Promise ? await working : working;
      const results = Array.isArray(worked) ? worked : [worked];
      // The two go in together, so that the transcript is legal whenever it is looked at.
      run.transcript.append(said);
      run.transcript.append(new Message({ role: "tool", content: results.map(({ toolCallId, name, output }) => ({ type: "tool-result" as const, toolCallId, toolName: name, output })) }));
      run.turn++;
    }
    return await run.settle({ text });
  } catch (error) {
    return run.settle({ text, error });
  }
}

const isCall = (part: ModelContent): part is Call => part.type === "tool-call" && !part.providerExecuted;
const requestOf = ({ toolCallId, toolName, input }: Call): ToolRequest => ({ toolCallId, name: toolName, input });

/** Runs the calls of one turn: side by side when every one only reads, else one after the other, in order. */
async function work(run: RunImpl, calls: readonly Call[]): Promise<ToolOutcome[]> {
  const parallel = calls.every((call) => (run.tools.get(call.toolName)?.effect ?? "read") === "read");
  const running: (ToolOutcome | Promise<ToolOutcome>)[] = [];
  for (const call of calls) {
    const admitted = admit(run, requestOf(call));
    const carried = carriedOut(admitted instanceof Promise ? await admitted : admitted);
    running.push(carried);
    if (!parallel) await carried;
    else if (carried instanceof Promise) carried.catch(() => undefined); // looked at below, or not at all once another has failed the run
  }
  return Promise.all(running);
}

function assistant(answer: CallOutcome): Message {
  const parts = answer.content.map(saidIn);
  const content = parts.includes(undefined) ? parts.filter((part) => part !== undefined) : (parts as AssistantContent);
  return new Message({ role: "assistant", content }, answer.usage.output);
}

/** What goes back to the model of a part it sent. */
function saidIn(part: ModelContent): AssistantContent[number] | undefined {
  if (part.type === "text" || part.type === "reasoning") {
    if (part.providerMetadata) return { type: part.type, text: part.text, providerOptions: part.providerMetadata };
    return part.text === "" ? undefined : { type: part.type, text: part.text };
  }
  if (part.type === "tool-result") return { type: "tool-result", toolCallId: part.toolCallId, toolName: part.toolName, output: { type: "json", value: part.result } };
  if (part.type !== "tool-call") return undefined;
  const call: AssistantContent[number] = { type: "tool-call", toolCallId: part.toolCallId, toolName: part.toolName, input: argumentsOf(part.input) };
  if (part.providerExecuted) call.providerExecuted = true;
  if (part.providerMetadata) call.providerOptions = part.providerMetadata;
  return call;
}

// Malformed arguments would poison every later request, so history keeps them as a string inside an object.
function argumentsOf(input: string): unknown {
  const read = modelJson(input, true);
  if (!read) return { malformed: input.slice(0, 2_000) };
  return typeof read.value === "object" && read.value !== null && !Array.isArray(read.value) ? read.value : { value: read.value };
}

type Fit = { ok: true; value: unknown } | { ok: false; problem: string };
async function shapedBy(text: string, schema: Parameters<typeof check>[0]): Promise<Fit> {
  const bare = text.trim().replace(/^```(?:json)?\s*\n([\s\S]*?)\n?```$/, "$1");
  let value: unknown;
  try {
    value = JSON.parse(bare);
  } catch (error) {
    return { ok: false, problem: `not valid JSON (${describe(error)})` };
  }
  return check(schema, value);
}

function userContent(input: RunInput): UserContent {
  const bad = (place: string, received: string): never => {
    throw new CavemanError("cave_input_invalid", { place, expected: "text, or parts of { type: text | image | file }", received });
  };
  if (typeof input === "string") return [{ type: "text", text: input.trim() === "" ? bad("input", "empty text") : input }];
  if (!Array.isArray(input) || input.length === 0) return bad("input", Array.isArray(input) ? "no parts" : typeof input);
  return (input as readonly InputPart[]).map((part, index) => {
    const place = `input[${index}]`;
    if (part?.type === "text" && typeof part.text === "string") return { type: "text", text: part.text };
    if (part?.type !== "image" && part?.type !== "file") return bad(place, JSON.stringify(part?.type) ?? typeof part);
    const { data } = part;
    if (!(data instanceof Uint8Array || data instanceof URL || typeof data === "string")) return bad(`${place}.data`, typeof data);
    const mediaType = part.mediaType ?? (part.type === "image" ? "image/*" : bad(`${place}.mediaType`, "nothing"));
    const filename = part.type === "file" ? part.filename : undefined;
    return { type: "file", mediaType, data: data instanceof URL ? { type: "url", url: data } : { type: "data", data }, ...(filename ? { filename } : {}) };
  });
}
