/** OpenAI Responses. `input_tokens` and `output_tokens` are gross; reasoning is sent as a summary. */
import { openaiErrorBody, openaiFailure } from "./openai-error.ts";
import type { Block, Turn } from "./script.ts";
import {
  demand,
  type Frame,
  isString,
  type JsonRecord,
  list,
  PromptReader,
  parsed,
  string,
  textOf,
  tool,
  type Wire,
  WireRefusal,
  type WireRequest,
  wireRequest,
} from "./wire.ts";

const usageOf = ({ usage }: Turn): JsonRecord => ({
  input_tokens: usage.input,
  input_tokens_details: {
    cached_tokens: usage.cacheRead,
    ...(usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {}),
  },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning },
  total_tokens: usage.input + usage.output,
});

/** Why a response is incomplete. The vendor names the first two; the others have no name of its own. */
const incompleteReason = ({ finish }: Turn): string | undefined => {
  if (finish === "length") return "max_output_tokens";
  if (finish === "content-filter") return "content_filter";
  return finish === "error" || finish === "other" ? finish : undefined;
};

const itemId = (turn: Turn, at: number, block: Block): string =>
  `${block.type === "text" ? "msg" : block.type === "reasoning" ? "rs" : "fc"}_${turn.index}_${at}`;

function itemOf(block: Block, id: string): JsonRecord {
  if (block.type === "reasoning")
    return { id, type: "reasoning", summary: [{ type: "summary_text", text: block.text }], encrypted_content: null };
  if (block.type === "text") {
    return {
      id,
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: block.text, annotations: [], logprobs: [] }],
    };
  }
  return {
    id,
    type: "function_call",
    call_id: block.id,
    name: block.name,
    arguments: block.input,
    status: "completed",
  };
}

function openedItemOf(block: Block, id: string): JsonRecord {
  if (block.type === "reasoning") return { id, type: "reasoning", summary: [], encrypted_content: null };
  if (block.type === "text") return { id, type: "message", role: "assistant", status: "in_progress", content: [] };
  return { id, type: "function_call", call_id: block.id, name: block.name, arguments: "", status: "in_progress" };
}

const responseOf = (turn: Turn, request: WireRequest, rest: JsonRecord): JsonRecord => ({
  id: `resp_${turn.index}`,
  object: "response",
  created_at: 0,
  model: request.model,
  error: null,
  incomplete_details: null,
  ...rest,
});

function finished(turn: Turn, request: WireRequest): JsonRecord {
  const reason = incompleteReason(turn);
  return responseOf(turn, request, {
    status: reason ? "incomplete" : "completed",
    incomplete_details: reason ? { reason } : null,
    output: turn.blocks.map((block, at) => itemOf(block, itemId(turn, at, block))),
    usage: usageOf(turn),
  });
}

export const openaiResponses: Wire = {
  vendor: "openai-responses",
  unauthorised: 401,
  request(body, model, stream) {
    demand(body, "model", isString);
    if (typeof body.input !== "string" && !Array.isArray(body.input)) throw new WireRefusal("input: Field required");
    const reader = new PromptReader();
    reader.system(string(body.instructions));
    if (typeof body.input === "string") reader.user(body.input);
    for (const item of list(body.input)) readItem(reader, item);
    const tools = list(body.tools)
      .filter((each) => each.type === "function")
      .map((each) => tool(string(each.name), each.description, each.parameters));
    return wireRequest(
      { vendor: "openai-responses", model, stream, body, prompt: reader.prompt, tools },
      body.max_output_tokens,
    );
  },
  answer: finished,
  *frames(turn, request) {
    let sequence_number = 0;
    const event = (type: string, rest: JsonRecord): Frame => ({
      event: type,
      data: { type, sequence_number: sequence_number++, ...rest },
    });
    const open = { response: responseOf(turn, request, { status: "in_progress", output: [], usage: null }) };
    yield event("response.created", open);
    yield event("response.in_progress", open);
    for (const [output_index, block] of turn.blocks.entries()) {
      const item_id = itemId(turn, output_index, block);
      const at = { item_id, output_index };
      yield event("response.output_item.added", { output_index, item: openedItemOf(block, item_id) });
      if (block.type === "reasoning") {
        const part = { ...at, summary_index: 0 };
        yield event("response.reasoning_summary_part.added", { ...part, part: { type: "summary_text", text: "" } });
        for (const delta of block.pieces)
          yield { ...event("response.reasoning_summary_text.delta", { ...part, delta }), chunk: true };
        yield event("response.reasoning_summary_text.done", { ...part, text: block.text });
        yield event("response.reasoning_summary_part.done", {
          ...part,
          part: { type: "summary_text", text: block.text },
        });
      } else if (block.type === "text") {
        const part = { ...at, content_index: 0 };
        yield event("response.content_part.added", {
          ...part,
          part: { type: "output_text", text: "", annotations: [] },
        });
        for (const delta of block.pieces)
          yield { ...event("response.output_text.delta", { ...part, delta, logprobs: [] }), chunk: true };
        yield event("response.output_text.done", { ...part, text: block.text, logprobs: [] });
        yield event("response.content_part.done", {
          ...part,
          part: { type: "output_text", text: block.text, annotations: [] },
        });
      } else {
        for (const delta of block.pieces)
          yield { ...event("response.function_call_arguments.delta", { ...at, delta }), chunk: true };
        yield event("response.function_call_arguments.done", { ...at, name: block.name, arguments: block.input });
      }
      yield event("response.output_item.done", { output_index, item: itemOf(block, item_id) });
    }
    yield event(incompleteReason(turn) ? "response.incomplete" : "response.completed", {
      response: finished(turn, request),
    });
  },
  failure: openaiErrorBody,
  failureFrame(fault) {
    const { message, code, param } = openaiFailure(fault);
    return {
      event: "error",
      data: { type: "error", sequence_number: 0, code: code ?? "server_error", message, param },
    };
  },
};

function readItem(reader: PromptReader, item: JsonRecord): void {
  if (item.type === "function_call") {
    reader.toolCall(string(item.call_id), string(item.name), parsed(string(item.arguments)));
  } else if (item.type === "function_call_output") {
    reader.toolResult(string(item.call_id), textOf(item.output));
  } else if (item.type === "reasoning") {
    reader.assistant({ type: "reasoning", text: textOf(item.summary) });
  } else readMessage(reader, item.role, textOf(item.content));
}

function readMessage(reader: PromptReader, role: unknown, text: string): void {
  if (role === "system" || role === "developer") reader.system(text);
  else if (role === "assistant") reader.assistant({ type: "text", text });
  else if (role === "user") reader.user(text);
}
