/** How fast tokens are counted, exactly, a megabyte a second, on text of each kind; the best of several passes. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Counter } from "../../plugins/tokens/counter.ts";
import { o200kRanks } from "../../plugins/tokens/ranks.ts";

interface TokenSpeed {
  readonly kind: "log" | "json" | "code" | "prose" | "identifiers";
  readonly megabytes: number;
  readonly tokens: number;
  readonly megabytesPerSecond: number;
}

/** A seeded source of chance, so that every run counts the same text. */
function chance(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_103_515_245 + 12_345) & 0x7fffffff) / 0x7fffffff;
}

function texts(root: string): Record<TokenSpeed["kind"], string> {
  const random = chance(7);
  const hex = (): string => Math.floor(random() * 2 ** 32).toString(16);
  const log = Array.from(
    { length: 20_000 },
    (_, i) =>
      `2026-11-30T07:${String(i % 60).padStart(2, "0")}:12.${i % 1000}Z INFO [worker-${i % 16}] request id=${hex()} path=/api/v1/items/${i} status=${i % 50 === 0 ? 503 : 200} took=${Math.floor(random() * 900)}ms\n`,
  ).join("");
  const json = JSON.stringify(
    Array.from({ length: 20_000 }, (_, id) => ({
      id,
      name: `user${id}`,
      email: `u${id}@example.com`,
      score: random(),
      active: id % 3 === 0,
      tags: ["billing", "eu-west-1"],
    })),
  );
  const read = (folder: string, end: string): string =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(end) && !name.includes("node_modules"))
      .sort()
      .map((name) => readFileSync(join(root, folder, name), "utf8"))
      .join("\n");
  const upTo = (text: string): string => text.repeat(Math.max(1, Math.ceil(1_500_000 / text.length)));
  const identifiers = Array.from({ length: 60_000 }, () => hex() + hex()).join(" ");
  return { log, json, code: upTo(read("kernel", ".ts")), prose: upTo(read("plugins", ".md")), identifiers };
}

/** Counts each text `passes` times and keeps the fastest pass. */
export function tokenSpeeds(root: string, passes = 5): TokenSpeed[] {
  const counter = new Counter(o200kRanks());
  return Object.entries(texts(root)).map(([kind, text]) => {
    const megabytes = Buffer.byteLength(text) / 1e6;
    let best = Number.POSITIVE_INFINITY;
    let tokens = 0;
    for (let pass = 0; pass < passes; pass++) {
      const started = performance.now();
      tokens = counter.count(text);
      best = Math.min(best, performance.now() - started);
    }
    return {
      kind: kind as TokenSpeed["kind"],
      megabytes,
      tokens,
      megabytesPerSecond: (megabytes / best) * 1_000,
    };
  });
}

if (process.argv[1] === import.meta.filename)
  for (const { kind, megabytes, tokens, megabytesPerSecond } of tokenSpeeds(join(import.meta.dirname, "..", "..")))
    console.log(
      `${kind.padEnd(12)} ${megabytes.toFixed(1).padStart(5)} MB ${String(tokens).padStart(8)} tokens ${megabytesPerSecond.toFixed(1).padStart(7)} MB/s`,
    );
