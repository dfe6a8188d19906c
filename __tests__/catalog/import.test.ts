/** Private rates: a LiteLLM price file, or YAML of one's own. */
import { describe, expect, test } from "@jest/globals";
import { CatalogImportError, importLiteLlm, importYaml } from "../../catalog/import.ts";
import { priceUsage } from "../../catalog/index.ts";

const OPTIONS = { file: "rates", date: "2026-11-30" };
const NOON = new Date("2026-11-30T12:00:00Z");

describe("a LiteLLM price file", () => {
  const FILE = {
    sample_spec: { litellm_provider: "one of the providers", mode: "chat", input_cost_per_token: 0 },
    "azure/gpt-house": {
      litellm_provider: "azure",
      mode: "chat",
      input_cost_per_token: 2.5e-6,
      output_cost_per_token: 0.00001,
      cache_read_input_token_cost: 1.25e-6,
      max_input_tokens: 128_000,
      max_output_tokens: 16_384,
      supports_function_calling: true,
      supports_vision: false,
      source: "https://example.com/prices",
    },
    "claude-house": {
      litellm_provider: "anthropic",
      mode: "chat",
      input_cost_per_token: "3e-06",
      output_cost_per_token: 1.5e-5,
      cache_read_input_token_cost: 3e-7,
      cache_creation_input_token_cost: 3.75e-6,
      cache_creation_input_token_cost_above_1hr: 6e-6,
      input_cost_per_token_above_200k_tokens: 6e-6,
      output_cost_per_token_above_200k_tokens: 2.25e-5,
      deprecation_date: "2026-01-01",
    },
    "embed-house": { litellm_provider: "openai", mode: "embedding", input_cost_per_token: 1e-7 },
    "no-price": { litellm_provider: "openai", mode: "chat" },
  };

  test("becomes rows in dollars per million, exactly", () => {
    const { rows } = importLiteLlm(JSON.stringify(FILE), OPTIONS);
    expect(rows).toMatchObject([
      {
        provider: "azure",
        model: "gpt-house",
        limits: { context: 128_000, output: 16_384 },
        cache: { mode: "implicit" },
        lifecycle: "active",
        verified_at: "2026-11-30",
        capabilities: { tools: "supported", vision: "unsupported", reasoning: "unknown", structuredOutput: "unknown" },
        sources: ["https://example.com/prices"],
        prices: [{ rates: { input: "2.5", output: "10", cacheRead: "1.25" } }],
        provenance: { source: "litellm", entry: "rates#azure/gpt-house" },
      },
      {
        provider: "anthropic",
        model: "claude-house",
        cache: { mode: "explicit" },
        lifecycle: "retired",
        // A tier says what changes; the rest stays as it is below.
        prices: [
          {
            rates: { input: "3", output: "15", cacheRead: "0.3", cacheWrite: "3.75", cacheWrite1h: "6" },
            tiers: [
              {
                above: 200_000,
                rates: { input: "6", output: "22.5", cacheRead: "0.3", cacheWrite: "3.75", cacheWrite1h: "6" },
              },
            ],
          },
        ],
      },
    ]);
  });

  test("says what it left out and why", () => {
    expect(importLiteLlm(JSON.stringify(FILE), OPTIONS).skipped).toEqual([
      { model: "embed-house", reason: "its mode is embedding" },
      { model: "no-price", reason: "it has no input_cost_per_token and output_cost_per_token" },
    ]);
  });

  test("rounds away what binary fractions added, and nothing else", () => {
    const of = (price: number): string | undefined =>
      importLiteLlm(
        JSON.stringify({ m: { litellm_provider: "p", input_cost_per_token: price, output_cost_per_token: 0 } }),
        OPTIONS,
      ).rows[0]?.prices[0]?.rates.input;
    expect(of(2.4999999999999998e-6)).toBe("2.5");
    expect(of(8.05e-8)).toBe("0.0805");
    expect(of(3.625e-9)).toBe("0.003625");
    expect(of(0)).toBe("0");
  });

  test("is refused with every price that is none", () => {
    const wrong = { a: { litellm_provider: "p", input_cost_per_token: -1, output_cost_per_token: "cheap" }, b: 5 };
    expect(() => importLiteLlm(JSON.stringify(wrong), OPTIONS)).toThrow(
      [
        "rates cannot be imported:",
        "  a.input_cost_per_token: expected dollars per token, 0 or more, got -1",
        '  a.output_cost_per_token: expected dollars per token, 0 or more, got "cheap"',
        "  b: expected an object of prices",
      ].join("\n"),
    );
  });

  test.each(["", "[]", "{", "5", "{}", '{"sample_spec": {}}'])("is refused when it is %j", (text) => {
    expect(() => importLiteLlm(text, OPTIONS)).toThrow(CatalogImportError);
  });
});

describe("YAML of one's own", () => {
  test("needs a provider, a model and prices; the rest is unknown", async () => {
    const { rows, providers } = await importYaml(
      "providers: {corp: acme}\nrows:\n  - {provider: Acme, model: house-1, prices: {input: 1.5, output: 6}}\n",
      OPTIONS,
    );
    expect(providers).toEqual({ corp: "acme" });
    expect(rows).toEqual([
      {
        provider: "acme",
        model: "house-1",
        region: "global",
        currency: "USD",
        prices: [{ rates: { input: "1.5", output: "6" } }],
        limits: {},
        cache: { mode: "unknown" },
        capabilities: { reasoning: "unknown", tools: "unknown", structuredOutput: "unknown", vision: "unknown" },
        lifecycle: "active",
        aliases: [],
        dated: false,
        unmetered: [],
        sources: [],
        verified_at: "2026-11-30",
        provenance: { source: "user", entry: "rates#rows[0]" },
      },
    ]);
    const [row] = rows;
    if (row === undefined) throw new Error("no row");
    // 1,000 × 1.5 + 100 × 6 = 2,100 millionths.
    expect(priceUsage(row, { input: 1_000, output: 100, cacheRead: 0, cacheWrite: 0, reasoning: 0 }, NOON)).toEqual({
      cost: 2_100_000_000n,
      basis: "private_rates",
      tier: "standard",
    });
  });

  test("takes everything a row of the catalog has", async () => {
    const { rows } = await importYaml(
      [
        "rows:",
        "  - provider: acme",
        "    model: house-2",
        "    prices:",
        "      - rates: {input: '1', output: '2'}",
        "        tiers: [{above: 100000, rates: {input: '2', output: '4'}}]",
        "      - {from: '2027-01-01', hours: {start: '01:00', end: '02:00'}, rates: {input: '3', output: '4'}}",
        "    limits: {context: 128000, output: 8000}",
        "    cache: {mode: explicit, minPrefix: 1024, ttl: 300}",
        "    capabilities: {tools: supported}",
        "    aliases: [house]",
        "    sources: [contract of 2026]",
        "    verified_at: '2026-11-01'",
      ].join("\n"),
      OPTIONS,
    );
    expect(rows).toMatchObject([
      {
        model: "house-2",
        limits: { context: 128_000 },
        cache: { mode: "explicit", minPrefix: 1_024, ttl: 300 },
        aliases: ["house"],
        verified_at: "2026-11-01",
        sources: ["contract of 2026"],
      },
    ]);
  });

  test("is refused with everything that is wrong, and where", async () => {
    const text = [
      "extra: 1",
      "rows:",
      "  - {provider: acme, prices: {input: -1, out: 2}}",
      "  - {provider: acme, model: a, prices: {input: 1}, capabilities: {tools: maybe}}",
      "  - {provider: acme, model: b, prices: {input: 1}, verified_at: soon}",
    ].join("\n");
    await expect(importYaml(text, OPTIONS)).rejects.toThrow(
      [
        "rates cannot be imported:",
        "  extra: expected only providers and rows",
        '  acme/b.verified_at: expected a day as YYYY-MM-DD, got "soon"',
        "  rows[0].model: expected a text, got nothing",
        '  rows[0].prices.out: expected one of input, output, cacheRead, cacheWrite, cacheWrite1h, reasoning, requests, got "out"',
        "  rows[0].prices.input: expected dollars per million tokens, 0 or more, got -1",
        '  rows[1].capabilities.tools: expected one of supported, unsupported, unknown, got "maybe"',
      ].join("\n"),
    );
  });

  test.each([
    "",
    "rows: []",
    "rows: 5",
    "- 1",
    "rows: [",
    "rows: [5]",
    "rows: [{provider: a, model: b}]",
    "rows: [{provider: a, model: b, prices: {input: 1}}, {provider: a, model: B, prices: {input: 1}}]",
  ])("is refused when it is %j", async (text) => {
    await expect(importYaml(text, OPTIONS)).rejects.toThrow(CatalogImportError);
  });
});
