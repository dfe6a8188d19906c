/** The catalog as it ships: how much it holds, that it is what generating writes, and that its prices are the source's. */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { calcPrice } from "@pydantic/genai-prices";
import { checkFresh } from "../../catalog/generate.ts";
import {
  CATALOG_DATE,
  CATALOG_SHA256,
  catalog,
  isPriced,
  lookup,
  type PriceEntry,
  priceUsage,
  type Row,
  toNumber,
  withRows,
} from "../../catalog/index.ts";
import { sha256 } from "../../catalog/render.ts";
import { rowOf } from "./rows.ts";

const { rows } = catalog();
const CATALOG = join(import.meta.dirname, "../../catalog");

function row(provider: string, model: string): Row {
  const found = lookup(provider, model);
  if (found === undefined) throw new Error(`no row of ${provider}/${model}`);
  return found;
}

describe("what ships", () => {
  test("is at least 30 providers and 800 models with a price in and out", () => {
    const usable = rows.filter(({ prices }) =>
      prices.every(({ rates }) => rates.input !== undefined && rates.output !== undefined),
    );
    const providers = new Set(usable.map(({ provider }) => provider));
    expect(providers.size).toBeGreaterThanOrEqual(30);
    expect(usable.length).toBeGreaterThanOrEqual(800);
    expect(usable.length).toBe(rows.length);
  });

  test("is what generating writes", async () => {
    expect(await checkFresh()).toEqual([]);
  });

  test("carries the digest and the day of current.yaml, and has a snapshot of that day", async () => {
    const current = await readFile(join(CATALOG, "current.yaml"), "utf8");
    expect(CATALOG_SHA256).toBe(sha256(current));
    expect(await readFile(join(CATALOG, `snapshots/${CATALOG_DATE}.yaml`), "utf8")).toBe(current);
  });

  test("says of every row where it comes from and when it was checked", () => {
    for (const { provenance, verified_at, sources } of rows) {
      expect(provenance.source).toMatch(/^(@pydantic\/genai-prices@\d+\.\d+\.\d+|overlay)$/);
      expect(provenance.entry).toContain("/");
      expect(verified_at).toBe(CATALOG_DATE);
      expect(Array.isArray(sources)).toBe(true);
    }
  });

  test("does not load a YAML parser or the price data at run time", async () => {
    const reached = new Set<string>();
    const visit = async (file: string): Promise<void> => {
      if (reached.has(file)) return;
      reached.add(file);
      const text = await readFile(join(CATALOG, file), "utf8");
      for (const [, specifier = ""] of text.matchAll(/^(?:import|export|\}) .*from "([^"]+)";$/gm)) {
        expect(specifier).toMatch(/^\.\/[a-z]+\.ts$/);
        await visit(specifier.slice(2));
      }
    };
    await visit("index.ts");
    expect([...reached].sort()).toEqual([
      "generated.ts",
      "index.ts",
      "lookup.ts",
      "money.ts",
      "pack.ts",
      "pricing.ts",
      "row.ts",
    ]);
  });

  test("imports nothing of ours but itself", async () => {
    for (const file of (await readdir(CATALOG)).filter((name) => name.endsWith(".ts") && name !== "generated.ts")) {
      const text = await readFile(join(CATALOG, file), "utf8");
      for (const [, specifier = ""] of text.matchAll(/^(?:import|export|\}) .*from "([^"]+)";$/gm))
        expect(specifier).toMatch(/^(\.\/[a-z]+\.ts|node:[a-z/]+|yaml|@pydantic\/genai-prices)$/);
    }
  });
});

/**
 * Ten prices read by eye in `@pydantic/genai-prices` 0.1.8, `dist/index.js`. The comment quotes the entry there.
 */
const byHand: readonly (readonly [string, string, readonly PriceEntry[]])[] = [
  // anthropic, id "claude-opus-4-1": input_mtok 15, cache_write_mtok 18.75, cache_read_mtok 1.5, output_mtok 75, cache_write_1h_mtok 30
  [
    "anthropic",
    "claude-opus-4-1",
    [{ rates: { input: "15", output: "75", cacheRead: "1.5", cacheWrite: "18.75", cacheWrite1h: "30" } }],
  ],
  // openai, id "gpt-5.4-mini": input_mtok 0.75, cache_read_mtok 0.075, output_mtok 4.5
  ["openai", "gpt-5.4-mini", [{ rates: { input: "0.75", output: "4.5", cacheRead: "0.075" } }]],
  // google, id "gemini-2.5-pro": input base 1.25 then 2.5, cache read 0.125 then 0.25, output 10 then 15, each with start 2e5
  [
    "gemini",
    "gemini-2.5-pro",
    [
      {
        rates: { input: "1.25", output: "10", cacheRead: "0.125" },
        tiers: [{ above: 200_000, rates: { input: "2.5", output: "15", cacheRead: "0.25" } }],
      },
    ],
  ],
  // x-ai, id "grok-4.3": input base 1.25 then 2.5, cache read 0.2 then 0.4, output 2.5 then 5, each with start 199999
  [
    "xai",
    "grok-4.3",
    [
      {
        rates: { input: "1.25", output: "2.5", cacheRead: "0.2" },
        tiers: [{ above: 199_999, rates: { input: "2.5", output: "5", cacheRead: "0.4" } }],
      },
    ],
  ],
  // cohere, id "command-a": input_mtok 2.5, output_mtok 10
  ["cohere", "command-a", [{ rates: { input: "2.5", output: "10" } }]],
  // perplexity, id "sonar-pro": input_mtok 3, output_mtok 15, requests_kcount 14
  ["perplexity", "sonar-pro", [{ rates: { input: "3", output: "15", requests: "14" } }]],
  // cerebras, id "llama-3.3-70b": input_mtok 0.85, output_mtok 1.2
  ["cerebras", "llama-3.3-70b", [{ rates: { input: "0.85", output: "1.2" } }]],
  // groq, id "openai/gpt-oss-120b": input_mtok 0.15, cache_read_mtok 0.075, output_mtok 0.6
  ["groq", "openai/gpt-oss-120b", [{ rates: { input: "0.15", output: "0.6", cacheRead: "0.075" } }]],
  // aws, id "amazon.nova-pro-v1:0": input_mtok 0.8, cache_read_mtok 0.2, output_mtok 3.2
  ["bedrock", "amazon.nova-pro-v1:0", [{ rates: { input: "0.8", output: "3.2", cacheRead: "0.2" } }]],
  // deepseek, id "deepseek-v4-pro": 0.435 / 3625e-6 cache read / 0.87; from 2026-08-17 0.66 / 0.022 / 1.98;
  // 01:00-04:00 and 06:00-10:00 UTC 1.32 / 0.044 / 3.96. Its comment dates the hours from 2026-08-17 too.
  [
    "deepseek",
    "deepseek-v4-pro",
    [
      { rates: { input: "0.435", output: "0.87", cacheRead: "0.003625" } },
      { from: "2026-08-17", rates: { input: "0.66", output: "1.98", cacheRead: "0.022" } },
      {
        from: "2026-08-17",
        hours: { start: "01:00", end: "04:00" },
        rates: { input: "1.32", output: "3.96", cacheRead: "0.044" },
      },
      {
        from: "2026-08-17",
        hours: { start: "06:00", end: "10:00" },
        rates: { input: "1.32", output: "3.96", cacheRead: "0.044" },
      },
    ],
  ],
];

describe("prices", () => {
  test.each(byHand)("%s/%s, compared with its source by hand", (provider, model, prices) => {
    expect(row(provider, model).prices).toEqual(prices);
  });

  test("of every row are what the source's own calculator says", () => {
    const at = new Date("2026-11-30T12:00:00Z");
    let compared = 0;
    for (const entry of rows) {
      if (entry.provenance.source === "overlay") continue;
      const slash = entry.provenance.entry.indexOf("/");
      const providerId = entry.provenance.entry.slice(0, slash);
      for (const input of [1_000, 900_000]) {
        const theirs = calcPrice({ input_tokens: input, output_tokens: 500 }, entry.provenance.entry.slice(slash + 1), {
          providerId,
          timestamp: at,
        });
        // A few names of the source answer to an earlier pattern of its own; those say nothing about this row.
        if (theirs?.model.id !== entry.model) continue;
        const ours = priceUsage(entry, { input, output: 500, cacheRead: 0, cacheWrite: 0, reasoning: 0 }, at);
        if (!isPriced(ours)) throw new Error(`${entry.provider}/${entry.model}: ${ours.unpriced}`);
        expect(toNumber(ours.cost)).toBeCloseTo(theirs.total_price, 9);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(2 * 1_300);
  });

  test.each([
    ["claude-haiku-4-5", 4_096, 64_000],
    ["claude-sonnet-5", 1_024, 128_000],
    ["claude-opus-5", 512, 128_000],
    ["claude-opus-4-1", 1_024, 32_000],
  ])("%s caches from %i tokens for five minutes and writes at most %i", (model, minPrefix, output) => {
    expect(row("anthropic", model)).toMatchObject({
      cache: { mode: "explicit", minPrefix, ttl: 300 },
      limits: { output },
      capabilities: { tools: "supported" },
    });
  });

  test("what nobody has checked is unknown", () => {
    expect(row("cohere", "command-a").capabilities).toEqual({
      reasoning: "unknown",
      tools: "unknown",
      structuredOutput: "unknown",
      vision: "unknown",
    });
    expect(row("cohere", "command-a").cache).toEqual({ mode: "unknown" });
  });
});

describe("looking up", () => {
  test.each([
    ["google", "gemini-2.5-flash", "gemini", "gemini-2.5-flash"],
    ["google-vertex", "gemini-2.5-flash", "vertex", "gemini-2.5-flash"],
    ["google-vertex", "claude-opus-4-8", "vertex", "claude-opus-4-8"],
    ["x-ai", "grok-4.5-latest", "xai", "grok-4.5"],
    ["amazon-bedrock", "us.anthropic.claude-sonnet-5-v1:0", "bedrock", "regional.anthropic.claude-sonnet-5-v1:0"],
    ["openai", "gpt-5.6", "openai", "gpt-5.6-sol"],
    ["openai", "gpt-5.4-mini-2026-03-17", "openai", "gpt-5.4-mini"],
    ["openai", "gpt-6-sol-2026-10-01", "openai", "gpt-6-sol"],
    ["anthropic", "claude-haiku-4-5-20251001", "anthropic", "claude-haiku-4-5"],
    ["Anthropic", "Claude-Haiku-4-5", "anthropic", "claude-haiku-4-5"],
  ])("%s/%s finds %s/%s", (provider, model, canonical, name) => {
    expect(lookup(provider, model)).toMatchObject({ provider: canonical, model: name });
  });

  test.each([
    ["anthropic", "claude-unheard-of"],
    ["nobody", "claude-haiku-4-5"],
    ["openai", "gpt-5.4-mini-2027-01-01"],
    ["zhipuai", "GLM-5.3"],
    ["", ""],
    ["__proto__", "x"],
    ["constructor", "name"],
  ])("%s/%s has no row", (provider, model) => {
    expect(lookup(provider, model)).toBeUndefined();
  });

  test("every row answers to its own name and to every alias", () => {
    for (const entry of rows)
      for (const name of [entry.model, ...entry.aliases]) expect(lookup(entry.provider, name)?.model).toBe(entry.model);
  });

  test("gives the same row again, a hundred thousand times in a moment", () => {
    const first = row("openai", "gpt-5.4-mini");
    const start = performance.now();
    for (let n = 0; n < 100_000; n += 1) if (lookup("openai", "gpt-5.4-mini") !== first) throw new Error("another row");
    expect(performance.now() - start).toBeLessThan(10_000); // 30 ms; a search through all rows each time takes minutes
  });

  test("a user's own rates win over the catalog's, and the rest stays", () => {
    const own = rowOf({
      provider: "google",
      model: "gemini-2.5-flash",
      provenance: { source: "user", entry: "rates.yaml#rows[0]" },
    });
    const mine = withRows(catalog(), [own, rowOf()], { corp: "acme" });
    expect(mine.lookup("google", "gemini-2.5-flash")?.provenance.source).toBe("user");
    expect(mine.lookup("gemini", "gemini-2.5-flash")?.provenance.source).toBe("user");
    expect(mine.lookup("corp", "one")?.model).toBe("one");
    const named = withRows(catalog(), [], { corp: "anthropic" });
    expect(named.lookup("Corp", "claude-haiku-4-5")).toBe(lookup("anthropic", "claude-haiku-4-5"));
    expect(mine.lookup("anthropic", "claude-haiku-4-5")).toBe(lookup("anthropic", "claude-haiku-4-5"));
    expect(mine.rows.length).toBe(rows.length + 2);
    expect(
      priceUsage(own, { input: 1, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 }, new Date()),
    ).toMatchObject({ basis: "private_rates" });
  });
});
