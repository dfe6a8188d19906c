/** The usage objects of seven vendors, brought to the normal form and priced to the last unit. */
import { describe, expect, test } from "@jest/globals";
import { isPriced, lookup, type PricedUsage, priceUsage, toDollars } from "../../catalog/index.ts";

/** OpenAI Chat and those who speak it: the prompt is gross, the completion includes reasoning. */
interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number; readonly cache_write_tokens?: number };
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number };
}
const chat = (usage: ChatUsage): PricedUsage => ({
  input: usage.prompt_tokens,
  output: usage.completion_tokens,
  cacheRead: usage.prompt_tokens_details?.cached_tokens ?? 0,
  cacheWrite: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
  reasoning: usage.completion_tokens_details?.reasoning_tokens ?? 0,
});

/** Anthropic: input is net of the cache, cache writes are split by their time to live. */
const anthropic = (usage: {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cache_read_input_tokens: number;
  readonly cache_creation_input_tokens: number;
  readonly cache_creation: { readonly ephemeral_5m_input_tokens: number; readonly ephemeral_1h_input_tokens: number };
  readonly output_tokens_details?: { readonly thinking_tokens: number };
}): PricedUsage => ({
  input: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
  output: usage.output_tokens,
  cacheRead: usage.cache_read_input_tokens,
  cacheWrite: usage.cache_creation_input_tokens,
  cacheWrite1h: usage.cache_creation.ephemeral_1h_input_tokens,
  reasoning: usage.output_tokens_details?.thinking_tokens ?? 0,
});

/** OpenAI Responses: the same counts under other names. */
const responses = (usage: {
  readonly input_tokens: number;
  readonly input_tokens_details: { readonly cached_tokens: number; readonly cache_write_tokens?: number };
  readonly output_tokens: number;
  readonly output_tokens_details: { readonly reasoning_tokens: number };
}): PricedUsage => ({
  input: usage.input_tokens,
  output: usage.output_tokens,
  cacheRead: usage.input_tokens_details.cached_tokens,
  cacheWrite: usage.input_tokens_details.cache_write_tokens ?? 0,
  reasoning: usage.output_tokens_details.reasoning_tokens,
});

/** Gemini: the prompt is gross, thoughts stand beside the candidates. */
const gemini = (usage: {
  readonly promptTokenCount: number;
  readonly cachedContentTokenCount?: number;
  readonly candidatesTokenCount: number;
  readonly thoughtsTokenCount?: number;
}): PricedUsage => ({
  input: usage.promptTokenCount,
  output: usage.candidatesTokenCount + (usage.thoughtsTokenCount ?? 0),
  cacheRead: usage.cachedContentTokenCount ?? 0,
  cacheWrite: 0,
  reasoning: usage.thoughtsTokenCount ?? 0,
});

/** DeepSeek: hits and misses of the cache add up to the prompt. */
const deepseek = (
  usage: ChatUsage & { readonly prompt_cache_hit_tokens: number; readonly prompt_cache_miss_tokens: number },
): PricedUsage => ({
  ...chat(usage),
  input: usage.prompt_cache_hit_tokens + usage.prompt_cache_miss_tokens,
  cacheRead: usage.prompt_cache_hit_tokens,
});

const NOON = "2026-11-30T12:00:00Z";
const DEEPSEEK = {
  prompt_tokens: 3_000,
  completion_tokens: 500,
  prompt_cache_hit_tokens: 2_048,
  prompt_cache_miss_tokens: 952,
  completion_tokens_details: { reasoning_tokens: 200 },
};

// Costs in millionths of a dollar are written out beside each row: tokens × dollars per million.
const fixtures: readonly (readonly [string, string, string, PricedUsage, string, string, string])[] = [
  // 1,000 × 1 + 2,000 × 0.1 + 500 × 1.25 + 100 × 5 = 1,000 + 200 + 625 + 500 = 2,325
  [
    "Anthropic",
    "anthropic",
    "claude-haiku-4-5-20251001",
    anthropic({
      input_tokens: 1_000,
      output_tokens: 100,
      cache_read_input_tokens: 2_000,
      cache_creation_input_tokens: 500,
      cache_creation: { ephemeral_5m_input_tokens: 500, ephemeral_1h_input_tokens: 0 },
      output_tokens_details: { thinking_tokens: 40 },
    }),
    NOON,
    "0.002325",
    "standard",
  ],
  // 1,000 × 1 + 2,000 × 0.1 + 300 × 1.25 + 200 × 2 + 100 × 5 = 1,000 + 200 + 375 + 400 + 500 = 2,475
  [
    "Anthropic, an hour in the cache",
    "anthropic",
    "claude-haiku-4-5",
    anthropic({
      input_tokens: 1_000,
      output_tokens: 100,
      cache_read_input_tokens: 2_000,
      cache_creation_input_tokens: 500,
      cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 200 },
    }),
    NOON,
    "0.002475",
    "standard",
  ],
  // 86 × 0.75 + 1,920 × 0.075 + 300 × 4.5 = 64.5 + 144 + 1,350 = 1,558.5
  [
    "OpenAI Chat",
    "openai",
    "gpt-5.4-mini",
    chat({
      prompt_tokens: 2_006,
      completion_tokens: 300,
      prompt_tokens_details: { cached_tokens: 1_920 },
      completion_tokens_details: { reasoning_tokens: 128 },
    }),
    NOON,
    "0.0015585",
    "standard",
  ],
  // 2,000 × 4 + 6,000 × 0.4 + 2,000 × 5 + 1,000 × 20 = 8,000 + 2,400 + 10,000 + 20,000 = 40,400
  [
    "OpenAI Responses",
    "openai",
    "gpt-5.6",
    responses({
      input_tokens: 10_000,
      input_tokens_details: { cached_tokens: 6_000, cache_write_tokens: 2_000 },
      output_tokens: 1_000,
      output_tokens_details: { reasoning_tokens: 700 },
    }),
    NOON,
    "0.0404",
    "standard",
  ],
  // The same in July, before the price fell: 2,000 × 5 + 6,000 × 0.5 + 2,000 × 6.25 + 1,000 × 30 = 10,000 + 3,000 + 12,500 + 30,000 = 55,500
  [
    "OpenAI Responses, before a price change",
    "openai",
    "gpt-5.6",
    responses({
      input_tokens: 10_000,
      input_tokens_details: { cached_tokens: 6_000, cache_write_tokens: 2_000 },
      output_tokens: 1_000,
      output_tokens_details: { reasoning_tokens: 700 },
    }),
    "2026-07-15T12:00:00Z",
    "0.0555",
    "standard",
  ],
  // At 272,000 the long tier begins: 72,000 × 5 + 200,000 × 0.5 + 1,000 × 22.5 = 360,000 + 100,000 + 22,500 = 482,500
  [
    "OpenAI Responses, long context",
    "openai",
    "gpt-5.4",
    responses({
      input_tokens: 272_000,
      input_tokens_details: { cached_tokens: 200_000 },
      output_tokens: 1_000,
      output_tokens_details: { reasoning_tokens: 0 },
    }),
    NOON,
    "0.4825",
    "over 271999",
  ],
  // 2,000 × 0.3 + 3,000 × 0.03 + 1,000 × 2.5 = 600 + 90 + 2,500 = 3,190
  [
    "Gemini",
    "google",
    "gemini-2.5-flash",
    gemini({
      promptTokenCount: 5_000,
      cachedContentTokenCount: 3_000,
      candidatesTokenCount: 200,
      thoughtsTokenCount: 800,
    }),
    NOON,
    "0.00319",
    "standard",
  ],
  // Over 200,000: 100,000 × 2.5 + 150,000 × 0.25 + 500 × 15 = 250,000 + 37,500 + 7,500 = 295,000
  [
    "Gemini, long context",
    "google",
    "gemini-2.5-pro",
    gemini({ promptTokenCount: 250_000, cachedContentTokenCount: 150_000, candidatesTokenCount: 500 }),
    NOON,
    "0.295",
    "over 200000",
  ],
  // 952 × 0.22 + 2,048 × 0.007 + 500 × 0.66 = 209.44 + 14.336 + 330 = 553.776
  ["DeepSeek", "deepseek", "deepseek-v4-flash", deepseek(DEEPSEEK), NOON, "0.000553776", "standard"],
  // Peak hours, twice the rates: 418.88 + 28.672 + 660 = 1,107.552
  [
    "DeepSeek, peak hours",
    "deepseek",
    "deepseek-v4-flash",
    deepseek(DEEPSEEK),
    "2026-11-30T02:30:00Z",
    "0.001107552",
    "standard 01:00-04:00 UTC",
  ],
  // 100 × 3 + 1,000 × 0.3 + 100 × 3.75 + 80 × 15 = 300 + 300 + 375 + 1,200 = 2,175
  [
    "OpenRouter",
    "openrouter",
    "anthropic/claude-sonnet-4.5",
    chat({
      prompt_tokens: 1_200,
      completion_tokens: 80,
      prompt_tokens_details: { cached_tokens: 1_000, cache_write_tokens: 100 },
      completion_tokens_details: { reasoning_tokens: 30 },
    }),
    NOON,
    "0.002175",
    "standard",
  ],
  // 476 × 0.15 + 1,024 × 0.075 + 250 × 0.6 = 71.4 + 76.8 + 150 = 298.2
  [
    "Groq",
    "groq",
    "openai/gpt-oss-120b",
    chat({
      prompt_tokens: 1_500,
      completion_tokens: 250,
      prompt_tokens_details: { cached_tokens: 1_024 },
      completion_tokens_details: { reasoning_tokens: 100 },
    }),
    NOON,
    "0.0002982",
    "standard",
  ],
];

describe("usage objects", () => {
  test.each(fixtures)("%s: %s/%s", (_vendor, provider, model, usage, at, cost, tier) => {
    const row = lookup(provider, model);
    if (row === undefined) throw new Error(`no row of ${provider}/${model}`);
    const pricing = priceUsage(row, usage, new Date(at));
    expect(isPriced(pricing) ? { cost: toDollars(pricing.cost), tier: pricing.tier } : pricing).toEqual({ cost, tier });
  });

  test("cached tokens of a model without a cache rate are unpriced, not free", () => {
    const row = lookup("groq", "llama-3.3-70b-versatile");
    if (row === undefined) throw new Error("no row");
    const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
    // 1,000 × 0.59 + 100 × 0.79 = 669
    expect(priceUsage(row, chat(usage), new Date(NOON))).toMatchObject({ cost: 669_000_000n });
    expect(priceUsage(row, chat({ ...usage, prompt_tokens_details: { cached_tokens: 10 } }), new Date(NOON))).toEqual({
      unpriced: "groq/llama-3.3-70b-versatile has no cacheRead rate",
    });
  });
});
