/**
 * OpenAI Chat Completions. `prompt_tokens` and `completion_tokens` are gross. This wire has no reasoning text: the tokens
 * are counted, the words are not sent. A stream reports usage only to a client that asked with `include_usage`.
 */
import { openaiErrorBody } from "./openai-error.ts";
import type { Turn } from "./script.ts";
import type { ScriptFinish } from "./step.ts";
import {
  demand,
  type Frame,
  isList,
  isString,
  type JsonRecord,
  list,
  PromptReader,
  parsed,
  record,
  string,
  textOf,
  tool,
  type Wire,
  type WireRequest,
  wireRequest,
} from "./wire.ts";

const finishReason: Readonly<Record<ScriptFinish, string>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_calls",
  error: "error",
  other: "other",
};

const usageOf = ({ usage }: Turn): JsonRecord => ({
  prompt_tokens: usage.input,
  completion_tokens: usage.output,
  total_tokens: usage.input + usage.output,
  prompt_tokens_details: {
    cached_tokens: usage.cacheRead,
    ...(usage.cacheWrite > 0 ? { cache_write_tokens: usage.cacheWrite } : {}),
  },
  completion_tokens_details: { reasoning_tokens: usage.reasoning },
});

export const openaiChat: Wire = {
  vendor: "openai-chat",
  unauthorised: 401,
  request(body, model, stream) {
    demand(body, "model", isString);
    demand(body, "messages", isList);
    const reader = new PromptReader();
    for (const message of list(body.messages)) readMessage(reader, message);
    const tools = list(body.tools).map(({ function: each }) => {
      const { name, description, parameters } = record(each);
      return tool(string(name), description, parameters);
    });
    return wireRequest(
      { vendor: "openai-chat", model, stream, body, prompt: reader.prompt, tools },
      body.max_completion_tokens ?? body.max_tokens,
    );
  },
  answer(turn, request) {
    const calls = turn.blocks.flatMap((block) =>
      block.type === "tool-call"
        ? [{ id: block.id, type: "function", function: { name: block.name, arguments: block.input } }]
        : [],
    );
    const content = turn.blocks.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("");
    return {
      ...head(turn, request, "chat.completion"),
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: content || null,
            refusal: null,
            ...(calls.length ? { tool_calls: calls } : {}),
          },
          logprobs: null,
          finish_reason: finishReason[turn.finish],
        },
      ],
      usage: usageOf(turn),
    };
  },
  *frames(turn, request) {
    const usage = record(request.body.stream_options).include_usage === true;
    const chunk = (delta: JsonRecord, finish: string | null = null): Frame => ({
      data: {
        ...head(turn, request, "chat.completion.chunk"),
        choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
        ...(usage ? { usage: null } : {}),
      },
    });
    yield chunk({ role: "assistant", content: "", refusal: null });
    let index = 0;
    for (const block of turn.blocks) {
      if (block.type === "text") for (const content of block.pieces) yield { ...chunk({ content }), chunk: true };
      if (block.type === "reasoning") for (const _ of block.pieces) yield { ...chunk({}), chunk: true };
      if (block.type !== "tool-call") continue;
      yield chunk({
        tool_calls: [{ index, id: block.id, type: "function", function: { name: block.name, arguments: "" } }],
      });
      for (const piece of block.pieces)
        yield { ...chunk({ tool_calls: [{ index, function: { arguments: piece } }] }), chunk: true };
      index++;
    }
    yield chunk({}, finishReason[turn.finish]);
    if (usage) yield { data: { ...head(turn, request, "chat.completion.chunk"), choices: [], usage: usageOf(turn) } };
    yield { data: "[DONE]" };
  },
  failure: openaiErrorBody,
  failureFrame: (fault) => ({ data: openaiErrorBody(fault) }),
};

const head = (turn: Turn, request: WireRequest, object: string): JsonRecord => ({
  id: `chatcmpl-${turn.index}`,
  object,
  created: 0,
  model: request.model,
  service_tier: "default",
  system_fingerprint: null,
});

function readMessage(reader: PromptReader, message: JsonRecord): void {
  const text = textOf(message.content);
  if (message.role === "system" || message.role === "developer") reader.system(text);
  else if (message.role === "tool") reader.toolResult(string(message.tool_call_id), text);
  else if (message.role === "user") reader.user(text);
  else if (message.role === "assistant") {
    if (text) reader.assistant({ type: "text", text });
    for (const call of list(message.tool_calls)) {
      const { name, arguments: input } = record(call.function);
      reader.toolCall(string(call.id), string(name), parsed(string(input)));
    }
  }
}
