/** The vendors' own packages, pointed at the model server. */
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ModelServer, Vendor } from "../../plugins/providers/scripted/index.ts";

const apiKey = "any-key";

export const vendors: Readonly<Record<Vendor, (server: ModelServer) => LanguageModelV4>> = {
  anthropic: ({ baseURL }) => createAnthropic({ apiKey, baseURL: baseURL.anthropic })("claude-sonnet-4-5"),
  "openai-chat": ({ baseURL }) => createOpenAI({ apiKey, baseURL: baseURL.openai }).chat("gpt-5"),
  "openai-responses": ({ baseURL }) => createOpenAI({ apiKey, baseURL: baseURL.openai }).responses("gpt-5"),
  google: ({ baseURL }) => createGoogle({ apiKey, baseURL: baseURL.google })("gemini-2.5-flash"),
};

export const names = Object.keys(vendors) as Vendor[];

export const ask = (text: string, rest: Partial<LanguageModelV4CallOptions> = {}): LanguageModelV4CallOptions => ({
  prompt: [{ role: "user", content: [{ type: "text", text }] }],
  maxOutputTokens: 1000,
  ...rest,
});

/** Every part up to the end of the stream, and the failure that ended it, if one did. */
export async function read(
  stream: ReadableStream<LanguageModelV4StreamPart>,
): Promise<{ parts: LanguageModelV4StreamPart[]; failure: unknown }> {
  const parts: LanguageModelV4StreamPart[] = [];
  try {
    for await (const part of stream) parts.push(part);
    return { parts, failure: undefined };
  } catch (failure) {
    return { parts, failure };
  }
}

export const of = <T extends LanguageModelV4StreamPart["type"]>(
  parts: readonly LanguageModelV4StreamPart[],
  type: T,
): Extract<LanguageModelV4StreamPart, { type: T }>[] =>
  parts.filter((part): part is Extract<LanguageModelV4StreamPart, { type: T }> => part.type === type);

/** What a promise rejects with. */
export const rejection = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => {
      throw new Error("it did not reject");
    },
    (error: unknown) => error,
  );
