import type { PriceEntry, Row } from "../../catalog/index.ts";

/** A row of known prices: $1 in, $5 out, $0.1 cache read, $1.25 cache write. */
export function rowOf(changes: Partial<Row> = {}): Row {
  return {
    provider: "acme",
    model: "one",
    region: "global",
    currency: "USD",
    prices: [{ rates: { input: "1", output: "5", cacheRead: "0.1", cacheWrite: "1.25" } }],
    limits: { context: 200_000, output: 8_000 },
    cache: { mode: "explicit" },
    capabilities: { reasoning: "unknown", tools: "unknown", structuredOutput: "unknown", vision: "unknown" },
    lifecycle: "active",
    aliases: [],
    dated: false,
    unmetered: [],
    sources: [],
    verified_at: "2026-11-30",
    provenance: { source: "overlay", entry: "acme/one" },
    ...changes,
  };
}

export const priced = (...prices: readonly PriceEntry[]): Row => rowOf({ prices });
