/**
 * Reasoning inside the allowance. An agent says off, minimal, low, medium or high; here that becomes what each vendor's
 * package reads, when the request leaves and its allowance is final. Thinking is billed as output, so whatever the
 * package adds, the maximum on the wire stays at or below the allowance.
 */
import type { CallOptions, Reasoning } from "../../kernel/index.ts";

export type ReasoningLevel = NonNullable<CallOptions["reasoning"]>;
/** What the agent says, in the words of the provider specification. */
export const levelOf = (reasoning: Reasoning): ReasoningLevel => (reasoning === "off" ? "none" : reasoning);

/** Anthropic's least thinking budget, in tokens. */
export const LEAST_BUDGET = 1_024;
/** Tokens kept for the answer beside the thinking. */
export const ANSWER_ROOM = 256;
/** An allowance at or below this has no room for thinking. */
export const NO_ROOM = LEAST_BUDGET + ANSWER_ROOM;
/** Share of the allowance that a level may think: the effort ratios that routers of several vendors publish. */
const SHARES: Readonly<Partial<Record<ReasoningLevel, number>>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.9,
  max: 0.95,
};

/** The thinking budget of a level within an allowance, in tokens; 0 when there is no room. `most` is the model's own limit. */
export function thinkingBudget(level: ReasoningLevel, allowance: number, most = Number.POSITIVE_INFINITY): number {
  const share = SHARES[level];
  if (share === undefined || allowance <= NO_ROOM) return 0;
  return Math.min(Math.max(LEAST_BUDGET, Math.floor(allowance * share)), allowance - ANSWER_ROOM, most);
}

/** What Anthropic's package knows of a model. */
export interface AnthropicCapabilities {
  readonly maxOutputTokens: number;
  readonly supportsAdaptiveThinking: boolean;
  readonly supportsStructuredOutput: boolean;
  readonly isKnownModel: boolean;
}

const without = (options: CallOptions): CallOptions => {
  const { reasoning: _, ...rest } = options;
  return rest;
};
const withProviderOption = (
  options: CallOptions,
  vendor: string,
  key: string,
  value: Record<string, string | number>,
): CallOptions => ({
  ...without(options),
  providerOptions: { ...options.providerOptions, [vendor]: { ...options.providerOptions?.[vendor], [key]: value } },
});
const decided = (options: CallOptions): options is CallOptions & { reasoning: ReasoningLevel } =>
  options.reasoning !== undefined && options.reasoning !== "provider-default";

/** Claude models before 3.7 do not think; other names behind this protocol are unknown. */
const claudeThinks = (id: string): boolean => id.includes("claude-") && !/claude-(?:instant|v?2|3(?![-.]7))/.test(id);

/**
 * Anthropic. Models that think adaptively take an effort and count thinking inside `max_tokens`. The older ones take a
 * budget, and the package sends `max_tokens = maxOutputTokens + budget`: so the budget is taken out of the allowance first.
 */
export function anthropicRequest(options: CallOptions, id: string, of: AnthropicCapabilities): CallOptions {
  const allowance = Math.min(
    options.maxOutputTokens ?? of.maxOutputTokens,
    of.isKnownModel ? of.maxOutputTokens : Number.POSITIVE_INFINITY,
  );
  const given = options.providerOptions?.anthropic?.thinking;
  if (
    given !== undefined &&
    typeof given === "object" &&
    given !== null &&
    "budgetTokens" in given &&
    typeof given.budgetTokens === "number" &&
    !of.supportsAdaptiveThinking
  ) {
    // A budget somebody else chose is kept when it fits, and cut when it does not.
    const budget = allowance <= NO_ROOM ? 0 : Math.min(given.budgetTokens, allowance - ANSWER_ROOM);
    return budget < LEAST_BUDGET
      ? withProviderOption({ ...options, maxOutputTokens: allowance }, "anthropic", "thinking", { type: "disabled" })
      : withProviderOption({ ...options, maxOutputTokens: allowance - budget }, "anthropic", "thinking", {
          type: "enabled",
          budgetTokens: budget,
        });
  }
  if (!decided(options) || !claudeThinks(id)) return { ...without(options), maxOutputTokens: allowance };
  const none = options.reasoning === "none" || allowance <= NO_ROOM || forcesTool(options, of);
  if (of.supportsAdaptiveThinking)
    return { ...options, maxOutputTokens: allowance, reasoning: none ? "none" : options.reasoning };
  // Here thinking is off unless asked for, so "off" is said by saying nothing.
  const budget = none || continuesWithoutThinking(options) ? 0 : thinkingBudget(options.reasoning, allowance);
  return budget === 0
    ? { ...without(options), maxOutputTokens: allowance }
    : withProviderOption({ ...options, maxOutputTokens: allowance - budget }, "anthropic", "thinking", {
        type: "enabled",
        budgetTokens: budget,
      });
}

/** A forced tool excludes thinking; models without native structured output get the answer's schema as a forced tool. */
const forcesTool = (options: CallOptions, of: AnthropicCapabilities): boolean =>
  options.toolChoice?.type === "required" ||
  options.toolChoice?.type === "tool" ||
  (options.responseFormat?.type === "json" &&
    options.responseFormat.schema !== undefined &&
    !of.supportsStructuredOutput);

/** A tool loop that began without thinking goes on without it: the vendor refuses a turn whose thinking is missing. */
function continuesWithoutThinking(options: CallOptions): boolean {
  if (options.prompt.at(-1)?.role !== "tool") return false;
  const last = options.prompt.findLast((message) => message.role === "assistant");
  return (
    last?.role === "assistant" &&
    last.content.some((part) => part.type === "tool-call") &&
    last.content[0]?.type !== "reasoning"
  );
}

/** OpenAI counts reasoning inside its maximum. The efforts of families the package has no list for are narrowed here. */
export function openaiRequest(options: CallOptions, id: string): CallOptions {
  if (!decided(options) || !openaiThinks(id)) return without(options);
  const level: ReasoningLevel =
    options.maxOutputTokens !== undefined && options.maxOutputTokens <= NO_ROOM ? "none" : options.reasoning;
  // The o series and the codex variants know low, medium and high alone.
  const reasoning = /^o\d|codex/.test(id) && (level === "none" || level === "minimal") ? "low" : level;
  return { ...options, reasoning };
}
/** The pro and chat variants think at one fixed effort or not at all, so nothing is asked of them. */
const openaiThinks = (id: string): boolean => /^(?:o\d|gpt-(?:[5-9]|\d\d))/.test(id) && !/-chat|-pro(?:-|$)/.test(id);

/** Google counts thinking inside its maximum: 2.5 models take a budget in tokens, later ones a level. */
export function googleRequest(options: CallOptions, id: string): CallOptions {
  if (!decided(options) || /image|tts|audio|gemma/.test(id)) return without(options);
  const allowance = options.maxOutputTokens ?? GEMINI_25_OUTPUT;
  if (/gemini-2\.5-/.test(id)) {
    const pro = id.includes("2.5-pro");
    const budget = thinkingBudget(options.reasoning, allowance, pro ? 32_768 : 24_576);
    // The pro model cannot stop thinking; 128 tokens is its least.
    return withProviderOption(options, "google", "thinkingConfig", {
      ...(options.providerOptions?.google?.thinkingConfig as object),
      thinkingBudget: budget === 0 && pro ? 128 : budget,
    });
  }
  if (!/gemini-(?:[3-9]|\d\d|flash|pro)/.test(id) || /gemini-pro(?:-vision)?$/.test(id)) return without(options);
  return { ...options, reasoning: allowance <= NO_ROOM ? "none" : options.reasoning };
}
/** Most output tokens of the 2.5 models. */
const GEMINI_25_OUTPUT = 65_536;

/** An OpenAI-compatible server is sent an effort only when its configuration says that it reasons. */
export const endpointRequest = (options: CallOptions, reasons: boolean): CallOptions =>
  reasons && decided(options) ? options : without(options);

/**
 * Whether a model object that somebody else built may be told a level. Only where the vendor counts thinking inside
 * the maximum, since the object is used as it is and the request cannot be corrected on its way out.
 */
export function foreignTakesLevel(provider: string, id: string): boolean {
  if (provider.startsWith("openai.")) return openaiThinks(id);
  if (provider.startsWith("google.")) return /gemini-(?:2\.5|[3-9])/.test(id) && !/image|tts|audio/.test(id);
  return (
    provider.startsWith("anthropic.") &&
    /claude-(?:opus-(?:4-[6-9]|[5-9])|sonnet-(?:4-[6-9]|[5-9])|haiku-[5-9]|fable-)/.test(id)
  );
}
