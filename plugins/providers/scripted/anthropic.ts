/** Anthropic Messages. `input_tokens` is net of cache reads and writes; `output_tokens` includes thinking. */
import type { Turn } from "./script.ts";
import type { ScriptFinish } from "./step.ts";
import {
  demand,
  type Frame,
  isCount,
  isList,
  isString,
  type JsonRecord,
  list,
  PromptReader,
  parsedObject,
  record,
  string,
  textOf,
  tool,
  type Wire,
  wireRequest,
} from "./wire.ts";

const stopReason: Readonly<Record<ScriptFinish, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  "tool-calls": "tool_use",
  error: "error",
  other: "other",
};

const errorType: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  500: "api_error",
  504: "timeout_error",
  529: "overloaded_error",
};

/** Thinking must carry a signature to be sent back; the scripted one says what it is. */
const signature = "c2NyaXB0ZWQ=";

const errorOf = ({
  status,
  code,
  message,
}: {
  readonly status: number;
  readonly code: string | undefined;
  readonly message: string;
}): JsonRecord => ({
  type: "error",
  error: { type: code ?? errorType[status] ?? (status >= 500 ? "api_error" : "invalid_request_error"), message },
});

const inputUsage = ({ usage }: Turn): JsonRecord => ({
  input_tokens: usage.input - usage.cacheRead - usage.cacheWrite,
  cache_creation_input_tokens: usage.cacheWrite,
  cache_read_input_tokens: usage.cacheRead,
});

const outputUsage = ({ usage }: Turn): JsonRecord => ({
  output_tokens: usage.output,
  ...(usage.reasoning > 0 ? { output_tokens_details: { thinking_tokens: usage.reasoning } } : {}),
});

export const anthropic: Wire = {
  vendor: "anthropic",
  unauthorised: 401,
  request(body, model, stream) {
    demand(body, "model", isString);
    demand(body, "max_tokens", isCount);
    demand(body, "messages", isList);
    const reader = new PromptReader();
    reader.system(textOf(body.system));
    for (const { role, content } of list(body.messages)) {
      if (typeof content === "string") {
        if (role === "assistant") reader.assistant({ type: "text", text: content });
        else reader.user(content);
      } else for (const part of list(content)) readPart(reader, role, part);
    }
    const tools = list(body.tools).map((each) => tool(string(each.name), each.description, each.input_schema));
    return wireRequest({ vendor: "anthropic", model, stream, body, prompt: reader.prompt, tools }, body.max_tokens);
  },
  answer(turn, request) {
    return {
      id: `msg_${turn.index}`,
      type: "message",
      role: "assistant",
      model: request.model,
      content: turn.blocks.map((block) => {
        if (block.type === "reasoning") return { type: "thinking", thinking: block.text, signature };
        if (block.type === "text") return { type: "text", text: block.text };
        return { type: "tool_use", id: block.id, name: block.name, input: parsedObject(block.input) ?? block.input };
      }),
      stop_reason: stopReason[turn.finish],
      stop_sequence: null,
      usage: { ...inputUsage(turn), ...outputUsage(turn) },
    };
  },
  *frames(turn, request) {
    yield frame({
      type: "message_start",
      message: {
        id: `msg_${turn.index}`,
        type: "message",
        role: "assistant",
        model: request.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...inputUsage(turn), output_tokens: 1 },
      },
    });
    yield frame({ type: "ping" });
    for (const [index, block] of turn.blocks.entries()) {
      yield frame({
        type: "content_block_start",
        index,
        content_block:
          block.type === "tool-call"
            ? { type: "tool_use", id: block.id, name: block.name, input: {} }
            : block.type === "text"
              ? { type: "text", text: "" }
              : { type: "thinking", thinking: "", signature: "" },
      });
      for (const piece of block.pieces) {
        const delta =
          block.type === "tool-call"
            ? { type: "input_json_delta", partial_json: piece }
            : block.type === "text"
              ? { type: "text_delta", text: piece }
              : { type: "thinking_delta", thinking: piece };
        yield { ...frame({ type: "content_block_delta", index, delta }), chunk: true };
      }
      if (block.type === "reasoning")
        yield frame({ type: "content_block_delta", index, delta: { type: "signature_delta", signature } });
      yield frame({ type: "content_block_stop", index });
    }
    yield frame({
      type: "message_delta",
      delta: { stop_reason: stopReason[turn.finish], stop_sequence: null },
      usage: { ...inputUsage(turn), ...outputUsage(turn) },
    });
    yield frame({ type: "message_stop" });
  },
  failure: errorOf,
  failureFrame: (fault) => frame(errorOf(fault)),
};

const frame = (data: JsonRecord): Frame => ({ event: string(data.type), data });

function readPart(reader: PromptReader, role: unknown, part: JsonRecord): void {
  if (part.type === "tool_result") {
    reader.toolResult(string(part.tool_use_id), textOf(part.content), part.is_error === true);
  } else if (part.type === "tool_use") {
    reader.toolCall(string(part.id), string(part.name), record(part.input));
  } else if (part.type === "thinking") {
    reader.assistant({ type: "reasoning", text: string(part.thinking) });
  } else if (part.type === "text") {
    if (role === "assistant") reader.assistant({ type: "text", text: string(part.text) });
    else reader.user(string(part.text));
  }
}
