/** What one measured run does, the same for every runtime: a scripted model in process, one tool call a turn. */
import type {
  LanguageModelV4,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

export interface Shape {
  /** Model calls of a run: a tool call each, and the answer at the end. */
  readonly calls: number;
  /** Characters of every tool result. */
  readonly resultBytes: number;
}

/** Runs a shape once. @throws Error when the run did not make the calls of the shape. */
export type Drive = (shape: Shape) => Promise<void>;

export const INSTRUCTIONS = "Call the tool until you know enough, then answer.";
export const QUESTION = "What does it say?";
export const TOOL = { name: "look", description: "Looks at one page." } as const;
export const TOOL_SCHEMA = {
  type: "object",
  properties: { page: { type: "integer" } },
  required: ["page"],
  additionalProperties: false,
} as const;

const page = "The quick brown fox jumps over the lazy dog, and the log says so at 12:00:00.123 INFO.\n";
const pages = new Map<number, string>();

/** The text of a tool's result: `size` characters, no two pages alike. */
export function resultOf(number: number, size: number): string {
  let body = pages.get(size);
  if (body === undefined) {
    body = page.repeat(Math.ceil(size / page.length)).slice(0, size);
    pages.set(size, body);
  }
  const head = `page ${number}: `;
  return size > head.length ? head + body.slice(head.length) : head;
}

const usage: LanguageModelV4Usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 20, text: 20, reasoning: 0 },
};
const called = { unified: "tool-calls", raw: "tool_use" } as const;
const stopped = { unified: "stop", raw: "end_turn" } as const;

type CountedModel = LanguageModelV4 & { readonly made: () => number };

/** A model of the provider specification. It costs as little as it can: no estimate, no copy of the prompt. */
export function scriptedModel({ calls }: Pick<Shape, "calls">): CountedModel {
  let made = 0;
  return {
    specificationVersion: "v4",
    provider: "anthropic",
    modelId: "claude-sonnet-4-5",
    supportedUrls: {},
    made: () => made,
    doStream() {
      const turn = ++made;
      const parts: LanguageModelV4StreamPart[] = [{ type: "stream-start", warnings: [] }];
      if (turn < calls) {
        const id = `call_${turn}`;
        const input = `{"page":${turn}}`;
        parts.push({ type: "tool-input-start", id, toolName: TOOL.name });
        parts.push({ type: "tool-input-delta", id, delta: input });
        parts.push({ type: "tool-input-end", id });
        parts.push({ type: "tool-call", toolCallId: id, toolName: TOOL.name, input });
      } else {
        parts.push({ type: "text-start", id: "0" });
        parts.push({ type: "text-delta", id: "0", delta: "It says so." });
        parts.push({ type: "text-end", id: "0" });
      }
      parts.push({ type: "finish", usage, finishReason: turn < calls ? called : stopped });
      const stream = new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          for (const part of parts) controller.enqueue(part);
          controller.close();
        },
      });
      return Promise.resolve({ stream });
    },
    doGenerate() {
      const turn = ++made;
      const content: LanguageModelV4Content[] =
        turn < calls
          ? [{ type: "tool-call", toolCallId: `call_${turn}`, toolName: TOOL.name, input: `{"page":${turn}}` }]
          : [{ type: "text", text: "It says so." }];
      return Promise.resolve({ content, usage, finishReason: turn < calls ? called : stopped, warnings: [] });
    },
  };
}

/** @throws Error when a run made another number of calls than its shape says. */
export function expectCalls(who: string, made: number, { calls }: Shape): void {
  if (made !== calls) throw new Error(`${who}: expected ${calls} model calls, and the run made ${made}`);
}
