/**
 * The model port. The kernel speaks the AI SDK provider specification; its types are named here once, so that a later
 * version of the specification is this file's change. Below it: usage in the normal form.
 */
import type {
  LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Content, LanguageModelV4FilePart, LanguageModelV4FunctionTool,
  LanguageModelV4Message, LanguageModelV4Prompt, LanguageModelV4StreamPart, LanguageModelV4ToolResultOutput, LanguageModelV4Usage,
} from "@ai-sdk/provider";

export type LanguageModel = LanguageModelV4;
export type CallOptions = LanguageModelV4CallOptions;
export type ModelContent = LanguageModelV4Content;
export type ModelMessage = LanguageModelV4Message;
export type ModelPrompt = LanguageModelV4Prompt;
export type ModelStreamPart = LanguageModelV4StreamPart;
export type ModelTool = LanguageModelV4FunctionTool;
export type ModelFilePart = LanguageModelV4FilePart;
export type ToolOutput = LanguageModelV4ToolResultOutput;
export type ModelUsage = LanguageModelV4Usage;

/** A count of tokens. */
export type Tokens = number & { readonly __brand: "Tokens" };
/** A count of UTF-8 bytes. */
export type Bytes = number & { readonly __brand: "Bytes" };

export const tokens = (n: number): Tokens => n as Tokens;
export const bytes = (n: number): Bytes => n as Bytes;

export type CallPurpose = "turn" | "repair" | "summary";
export type Reasoning = "off" | "minimal" | "low" | "medium" | "high";

/** Where a figure comes from. `bound` means the provider gave none, so the most it can have been is booked. */
export type CallBasis = "provider_reported" | "partial" | "bound" | "simulated";

/**
 * Usage in the normal form. `input` is gross: cache reads and writes are parts of it. `output` includes reasoning.
 * No vendor convention survives past this point, so nothing is billed twice.
 */
export interface Usage { readonly input: Tokens; readonly output: Tokens; readonly cacheRead: Tokens; readonly cacheWrite: Tokens; readonly reasoning: Tokens }

export const noUsage: Usage = Object.freeze({ input: tokens(0), output: tokens(0), cacheRead: tokens(0), cacheWrite: tokens(0), reasoning: tokens(0) });

/** What is known of a model before it is called. An unknown limit is left out and resolves to the stricter choice. */
export interface ResolvedModel {
  readonly provider: string; readonly id: string; readonly model: LanguageModel;
  /** Tokens of context the model takes. */
  readonly contextWindow?: Tokens;
  /** Most tokens it writes in one answer. */
  readonly maxOutput?: Tokens;
  /** True when the figures come from a script and not from a vendor. */
  readonly simulated: boolean;
  /** Whether the provider takes a JSON schema for the answer. */
  readonly structuredOutput: boolean;
  /** How the request leaves: `direct`, or the name of a gateway. */
  readonly route: string;
}

export const isModel = (value: unknown): value is LanguageModel =>
  typeof value === "object" && value !== null && (value as { specificationVersion?: unknown }).specificationVersion === "v4" &&
  typeof (value as { doStream?: unknown }).doStream === "function";

const whole = (n: number | undefined): number | undefined =>
  n !== undefined && Number.isSafeInteger(n) && n >= 0 ? n : undefined;

/**
 * Brings a provider's usage to the normal form, or gives undefined when it cannot be believed: a missing, negative,
 * fractional or infinite total, or parts that exceed their whole. What cannot be believed is booked at its bound.
 */
export function normalUsage(usage: ModelUsage | undefined): Usage | undefined {
  if (typeof usage !== "object" || usage === null || !usage.inputTokens || !usage.outputTokens) return undefined;
  const { inputTokens: i, outputTokens: o } = usage;
  const cacheRead = i.cacheRead === undefined ? 0 : whole(i.cacheRead);
  const cacheWrite = i.cacheWrite === undefined ? 0 : whole(i.cacheWrite);
  const reasoning = o.reasoning === undefined ? 0 : whole(o.reasoning);
  const input = whole(i.total);
  const output = whole(o.total);
  if (input === undefined || output === undefined || cacheRead === undefined || cacheWrite === undefined || reasoning === undefined) return undefined;
  if (cacheRead + cacheWrite > input || reasoning > output) return undefined;
  return { input: tokens(input), output: tokens(output), cacheRead: tokens(cacheRead), cacheWrite: tokens(cacheWrite), reasoning: tokens(reasoning) };
}
