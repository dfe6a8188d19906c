/** What every vendor's wire is made of: the request in a common form, and the frames of an answer. */
import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool, LanguageModelV4Message } from "@ai-sdk/provider";
import type { Fault, Turn } from "./script.ts";

export type Vendor = "anthropic" | "openai-chat" | "openai-responses" | "google";

/**
 * A request as a script function sees it: the part of the call options that can be read back from a vendor's body, so one
 * function serves `scripted` and the server. `prompt` is a best effort: text, reasoning, tool calls and tool results.
 * Images, files and vendor extras are found in `body` alone.
 */
export interface WireRequest extends Pick<LanguageModelV4CallOptions, "prompt" | "maxOutputTokens"> {
  readonly vendor: Vendor;
  readonly model: string;
  /** Whether the client asked for a stream. */
  readonly stream: boolean;
  readonly tools: LanguageModelV4FunctionTool[];
  readonly toolNames: readonly string[];
  /** The parsed body, untouched. */
  readonly body: JsonRecord;
}

export type JsonRecord = Readonly<Record<string, unknown>>;

/** One server-sent event. A frame that is a `chunk` is delayed, and counted by faults in the middle of a stream. */
export interface Frame {
  readonly event?: string;
  /** Sent as JSON, a string as it is. */
  readonly data: JsonRecord | string;
  readonly chunk?: true;
}

/** How one vendor speaks. Everything here is free of I/O. */
export interface Wire {
  readonly vendor: Vendor;
  /** Status of a request without a key. */
  readonly unauthorised: number;
  /** @throws WireRefusal for a body the vendor would refuse. */
  request(body: JsonRecord, model: string, stream: boolean): WireRequest;
  answer(turn: Turn, request: WireRequest): JsonRecord;
  frames(turn: Turn, request: WireRequest): Iterable<Frame>;
  /** The body of an HTTP error. */
  failure(fault: Pick<Fault, "status" | "code" | "message" | "retryAfterMs">): JsonRecord;
  /** An error in the middle of a stream. */
  failureFrame(fault: Fault): Frame;
}

/** A request the vendor answers with 400. */
export class WireRefusal extends Error {
  override readonly name = "WireRefusal";
}

export const record = (value: unknown): JsonRecord =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonRecord) : {};
export const list = (value: unknown): readonly JsonRecord[] => (Array.isArray(value) ? value.map(record) : []);
export const string = (value: unknown): string => (typeof value === "string" ? value : "");

/** The value of a JSON text, or the text itself when it is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** The object in a JSON text, or undefined when the text is malformed or holds something else. */
export function parsedObject(text: string): JsonRecord | undefined {
  const value = parsed(text);
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonRecord) : undefined;
}

/** The text in a content field: a string, or a list of parts with `text`. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return list(content)
    .map((part) => string(part.text))
    .join("");
}

/** Collects messages in the specification's form. It remembers tool names, which vendors leave out of tool results. */
export class PromptReader {
  readonly prompt: LanguageModelV4Message[] = [];
  readonly #names = new Map<string, string>();

  system(content: string): void {
    if (content) this.prompt.push({ role: "system", content });
  }

  user(text: string): void {
    this.prompt.push({ role: "user", content: [{ type: "text", text }] });
  }

  assistant(part: { readonly type: "text" | "reasoning"; readonly text: string }): void {
    this.#assistantContent().push(part);
  }

  toolCall(toolCallId: string, toolName: string, input: unknown): void {
    this.#names.set(toolCallId, toolName);
    this.#assistantContent().push({ type: "tool-call", toolCallId, toolName, input });
  }

  toolResult(toolCallId: string, value: string, failed = false, toolName?: string): void {
    this.#toolContent().push({
      type: "tool-result",
      toolCallId,
      toolName: toolName ?? this.#names.get(toolCallId) ?? "",
      output: { type: failed ? "error-text" : "text", value },
    });
  }

  #assistantContent(): AssistantMessage["content"] {
    const last = this.prompt.at(-1);
    if (last?.role === "assistant") return last.content;
    const message: AssistantMessage = { role: "assistant", content: [] };
    this.prompt.push(message);
    return message.content;
  }

  #toolContent(): ToolMessage["content"] {
    const last = this.prompt.at(-1);
    if (last?.role === "tool") return last.content;
    const message: ToolMessage = { role: "tool", content: [] };
    this.prompt.push(message);
    return message.content;
  }
}

type AssistantMessage = Extract<LanguageModelV4Message, { role: "assistant" }>;
type ToolMessage = Extract<LanguageModelV4Message, { role: "tool" }>;

export function tool(name: string, description: unknown, schema: unknown): LanguageModelV4FunctionTool {
  const base: LanguageModelV4FunctionTool = { type: "function", name, inputSchema: record(schema) };
  return typeof description === "string" ? { ...base, description } : base;
}

/** Completes a request: `limit` is the body's field for the most tokens of output, taken when it is a number. */
export function wireRequest(read: Omit<WireRequest, "toolNames" | "maxOutputTokens">, limit: unknown): WireRequest {
  const toolNames = read.tools.map(({ name }) => name);
  return typeof limit === "number" ? { ...read, toolNames, maxOutputTokens: limit } : { ...read, toolNames };
}

/** @throws WireRefusal when a field the vendor demands is absent. */
export function demand(body: JsonRecord, field: string, holds: (value: unknown) => boolean): void {
  if (!holds(body[field])) throw new WireRefusal(`${field}: Field required`);
}
export const isString = (value: unknown): boolean => typeof value === "string" && value !== "";
export const isList = (value: unknown): boolean => Array.isArray(value);
export const isCount = (value: unknown): boolean => typeof value === "number" && value >= 1;
