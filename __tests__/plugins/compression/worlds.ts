/** What the compression tests share: an engine with a store in memory, and inputs of every kind from a seed. */
import fc from "fast-check";
import { builtinRegistry } from "../../../plugins/compression/builtin.ts";
import { type CompressOptions, createEngine, type Result } from "../../../plugins/compression/engine.ts";
import { type PayloadName, payload } from "../../bench/payloads.ts";

/** Words and signs: what matters here is that more text is more tokens. */
export const countTokens = (text: string): number => text.match(/[\p{L}\p{N}]{1,6}|\s+|[^\p{L}\p{N}\s]/gu)?.length ?? 0;

export class MapStore {
  readonly originals = new Map<string, string>();
  readonly keep = (original: string): string => {
    let hash = 0x811c9dc5;
    for (let i = 0; i < original.length; i++) hash = Math.imul(hash ^ original.charCodeAt(i), 0x01000193);
    const handle = `ccr_${(hash >>> 0).toString(16).padStart(8, "0")}${original.length.toString(16).padStart(24, "0")}`;
    this.originals.set(handle, original);
    return handle;
  };
}

export interface Shrunk extends Result {
  readonly store: MapStore;
}

export const engine = createEngine(builtinRegistry(), countTokens);

export async function shrink(input: string, options: CompressOptions = {}): Promise<Shrunk> {
  const store = new MapStore();
  const result = await engine.compress(input, { keep: store.keep, point: true, ...options });
  return { ...result, store };
}

const names: readonly PayloadName[] = [
  "log",
  "json",
  "code",
  "prose",
  "yaml",
  "terminal",
  "search",
  "text",
  "diff",
  "markdown",
  "identifiers",
];

/** Text that looks like what tools give, at times cut anywhere, at times with anything in between. */
export const toolText: fc.Arbitrary<string> = fc
  .record({
    name: fc.constantFrom(...names),
    seed: fc.integer({ min: 1, max: 1_000_000 }),
    size: fc.integer({ min: 200, max: 12_000 }),
    cut: fc.double({ min: 0.3, max: 1, noNaN: true }),
    whole: fc.boolean(),
    noise: fc.string({ maxLength: 40, unit: "binary" }),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    noisy: fc.boolean(),
  })
  .map(({ name, seed, size, cut, whole, noise, at, noisy }) => {
    const full = payload(name, size, seed);
    const text = whole ? full : full.slice(0, Math.floor(full.length * cut));
    const place = Math.floor(text.length * at);
    return noisy ? text.slice(0, place) + noise + text.slice(place) : text;
  });

/** JSON of any shape, long arrays of like records among them. */
export const jsonText: fc.Arbitrary<string> = fc.oneof(
  fc.json({ maxDepth: 6 }),
  fc
    .record({
      rows: fc.array(
        fc.record({
          id: fc.integer(),
          kind: fc.constantFrom("a", "b", "c"),
          value: fc.double({ noNaN: true, noDefaultInfinity: true }),
          note: fc.string(),
        }),
        { minLength: 9, maxLength: 60 },
      ),
      indent: fc.constantFrom(0, 2),
      map: fc.boolean(),
    })
    .map(({ rows, indent, map }) =>
      JSON.stringify(map ? Object.fromEntries(rows.map((row, i) => [`k${i}`, row])) : { rows }, undefined, indent),
    ),
);

/** Lines out of a small pool, so that they repeat. */
export const repetitiveText: fc.Arbitrary<string> = fc
  .record({
    pool: fc.array(fc.string({ minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 6 }),
    picks: fc.array(fc.nat({ max: 5 }), { minLength: 10, maxLength: 200 }),
    separator: fc.constantFrom("\n", "\n\n", "\r\n", "\r"),
  })
  .map(({ pool, picks, separator }) => picks.map((pick, i) => `${pool[pick % pool.length]} ${i}`).join(separator));

export const anyText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: toolText },
  { weight: 2, arbitrary: jsonText },
  { weight: 2, arbitrary: repetitiveText },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 3_000 }) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 4_000 }).map((bytes) => Buffer.from(bytes).toString("latin1")) },
);
