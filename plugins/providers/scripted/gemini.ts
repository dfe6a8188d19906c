/**
 * Gemini generateContent. `promptTokenCount` includes cached content, `candidatesTokenCount` leaves thoughts out, and cache
 * writes have no field. Arguments are an object on this wire: malformed ones become the vendor's MALFORMED_FUNCTION_CALL.
 */
import type { Block, Fault, Turn } from "./script.ts";
import type { ScriptFinish } from "./step.ts";
import {
  demand,
  type Frame,
  isList,
  type JsonRecord,
  list,
  PromptReader,
  parsedObject,
  record,
  string,
  textOf,
  tool,
  type Wire,
  type WireRequest,
  wireRequest,
} from "./wire.ts";

const finishReason: Readonly<Record<ScriptFinish, string>> = {
  stop: "STOP",
  length: "MAX_TOKENS",
  "content-filter": "SAFETY",
  "tool-calls": "STOP",
  error: "MALFORMED_FUNCTION_CALL",
  other: "OTHER",
};

const statusName: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  500: "INTERNAL",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

const usageOf = ({ usage }: Turn): JsonRecord => ({
  promptTokenCount: usage.input,
  candidatesTokenCount: usage.output - usage.reasoning,
  totalTokenCount: usage.input + usage.output,
  ...(usage.cacheRead > 0 ? { cachedContentTokenCount: usage.cacheRead } : {}),
  ...(usage.reasoning > 0 ? { thoughtsTokenCount: usage.reasoning } : {}),
});

const malformed = (block: Block): boolean => block.type === "tool-call" && parsedObject(block.input) === undefined;

function ending(turn: Turn): JsonRecord {
  const broken = turn.blocks.find(malformed);
  if (broken?.type !== "tool-call") return { finishReason: finishReason[turn.finish] };
  return {
    finishReason: "MALFORMED_FUNCTION_CALL",
    finishMessage: `Malformed function call: ${broken.name}(${broken.input})`,
  };
}

const response = (turn: Turn, request: WireRequest, candidate: JsonRecord, usageMetadata: JsonRecord): JsonRecord => ({
  candidates: [{ index: 0, ...candidate }],
  usageMetadata,
  modelVersion: request.model,
  responseId: `gemini-${turn.index}`,
});

const content = (parts: readonly JsonRecord[]): JsonRecord => ({ content: { role: "model", parts } });
const textPart = (block: Block, text: string): JsonRecord =>
  block.type === "reasoning" ? { text, thought: true } : { text };
const callPart = (block: Extract<Block, { type: "tool-call" }>): JsonRecord => ({
  functionCall: { id: block.id, name: block.name, args: parsedObject(block.input) ?? {} },
});

function errorOf({
  status,
  code,
  message,
  retryAfterMs,
}: Pick<Fault, "status" | "code" | "message" | "retryAfterMs">): JsonRecord {
  return {
    error: {
      code: status,
      message,
      status: code ?? statusName[status] ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT"),
      ...(retryAfterMs === undefined
        ? {}
        : {
            details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${retryAfterMs / 1000}s` }],
          }),
    },
  };
}

export const gemini: Wire = {
  vendor: "google",
  unauthorised: 403,
  request(body, model, stream) {
    demand(body, "contents", isList);
    const reader = new PromptReader();
    reader.system(textOf(record(body.systemInstruction).parts));
    let calls = 0;
    for (const { role, parts } of list(body.contents)) {
      for (const part of list(parts)) {
        if (part.functionCall) {
          const { id, name, args } = record(part.functionCall);
          reader.toolCall(string(id) || `gemini_${calls++}`, string(name), record(args));
        } else if (part.functionResponse) {
          const { id, name, response: result } = record(part.functionResponse);
          const said = record(result).content ?? record(result).output ?? result;
          reader.toolResult(
            string(id),
            typeof said === "string" ? said : JSON.stringify(said ?? null),
            record(result).error !== undefined,
            string(name),
          );
        } else if (typeof part.text !== "string") {
        } else if (role === "model") {
          reader.assistant({ type: part.thought === true ? "reasoning" : "text", text: part.text });
        } else reader.user(part.text);
      }
    }
    const tools = list(body.tools)
      .flatMap(({ functionDeclarations }) => list(functionDeclarations))
      .map((each) => tool(string(each.name), each.description, each.parameters ?? each.parametersJsonSchema));
    return wireRequest(
      { vendor: "google", model, stream, body, prompt: reader.prompt, tools },
      record(body.generationConfig).maxOutputTokens,
    );
  },
  answer(turn, request) {
    const parts = turn.blocks.flatMap((block) =>
      malformed(block) ? [] : [block.type === "tool-call" ? callPart(block) : textPart(block, block.text)],
    );
    return response(turn, request, { ...content(parts), ...ending(turn) }, usageOf(turn));
  },
  *frames(turn, request): Iterable<Frame> {
    const early = { promptTokenCount: turn.usage.input, totalTokenCount: turn.usage.input };
    for (const block of turn.blocks) {
      if (block.type === "tool-call") {
        // A call is one part, whole. The chunks it was cut into still count, so that a fault strikes where it does elsewhere.
        const parts = malformed(block) ? [] : [callPart(block)];
        for (const at of block.pieces.keys()) {
          yield {
            data: response(turn, request, content(at === block.pieces.length - 1 ? parts : []), early),
            chunk: true,
          };
        }
      } else {
        for (const piece of block.pieces)
          yield { data: response(turn, request, content([textPart(block, piece)]), early), chunk: true };
      }
    }
    yield { data: response(turn, request, { ...content([{ text: "" }]), ...ending(turn) }, usageOf(turn)) };
  },
  failure: errorOf,
  failureFrame: (fault) => ({ data: errorOf(fault) }),
};
