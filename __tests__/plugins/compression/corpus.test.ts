/**
 * The corpus: inputs of every kind, with what must stay visible and what must be recoverable. Every count is exact in
 * o200k, with the pointer to the original counted in.
 */
import { afterAll, describe, expect, test } from "@jest/globals";
import { builtinRegistry } from "../../../plugins/compression/builtin.ts";
import { DETECTED } from "../../../plugins/compression/content-type.ts";
import { createEngine, type Result } from "../../../plugins/compression/engine.ts";
import { o200kTokenizer } from "../../../plugins/tokens/index.ts";
import { type CorpusInput, holds } from "./corpus/input.ts";
import { corpus } from "./corpus/manifest.ts";
import { MapStore } from "./worlds.ts";

const tokenizer = o200kTokenizer();
const engine = createEngine(builtinRegistry(), (text) => tokenizer.count(text));
const inputs = corpus();

interface Outcome {
  readonly input: CorpusInput;
  readonly before: number;
  readonly after: number;
}
const outcomes: Outcome[] = [];
const saved = ({ before, after }: Outcome): number => 1 - after / before;
const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? (sorted[half] ?? 0) : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
};

/** What the model would read, and what it could fetch back. */
async function shown({ text, query }: CorpusInput): Promise<Result & { readonly fetched: string }> {
  const store = new MapStore();
  const result = await engine.compress(text, {
    keep: store.keep,
    point: true,
    ...(query === undefined ? {} : { query }),
  });
  const handle = result.report.recoveryHandle;
  return { ...result, fetched: handle === undefined ? result.text : (store.originals.get(handle) ?? "") };
}

describe("what the corpus holds", () => {
  test("at least 60 inputs, all different, several of every type that is detected", () => {
    expect(inputs.length).toBeGreaterThanOrEqual(60);
    expect(new Set(inputs.map(({ name }) => name)).size).toBe(inputs.length);
    expect(new Set(inputs.map(({ text }) => text)).size).toBe(inputs.length);
    for (const type of DETECTED) expect(inputs.filter((input) => input.type === type).length).toBeGreaterThanOrEqual(2);
  });

  test("facts of it that are facts of the inputs", () => {
    for (const { name, text, recoverable } of inputs)
      for (const fact of recoverable)
        expect({ name, fact, there: holds(text, fact) }).toEqual({ name, fact, there: true });
  });

  test("inputs that are written the same every time", () => {
    expect(corpus().map(({ text }) => text)).toEqual(inputs.map(({ text }) => text));
  });

  test("a reason for every input that has nothing to leave out", () => {
    for (const { compressible, why } of inputs) expect(compressible).toBe(why === undefined);
  });
});

describe("every input", () => {
  test.each(inputs.map((input) => [input.name, input] as const))("%s", async (_name, input) => {
    const { text, report, fetched } = await shown(input);
    const before = tokenizer.count(input.text);
    const after = tokenizer.count(text);
    outcomes.push({ input, before, after });
    expect(report.contentType).toBe(input.type);

    // No fact is lost, and the original comes back to the byte.
    for (const fact of input.visible) expect({ fact, visible: holds(text, fact) }).toEqual({ fact, visible: true });
    expect(fetched).toBe(input.text);

    // Smaller, or the input itself.
    if (report.reason !== undefined) expect(text).toBe(input.text);
    else {
      expect(after).toBe(report.tokensAfter);
      expect(before).toBe(report.tokensBefore);
      expect(after).toBeLessThan(before);
    }

    // Once compressed it stays as it is.
    const again = await engine.compress(text, { keep: new MapStore().keep, point: true });
    expect(again.text).toBe(text);
  });
});

describe("all of them together", () => {
  test("the median of what can be compressed loses at least 75 % of its tokens", () => {
    const compressible = outcomes.filter(({ input }) => input.compressible);
    expect(compressible.length).toBe(inputs.filter((input) => input.compressible).length);
    expect(median(compressible.map(saved))).toBeGreaterThanOrEqual(0.75);
  });

  test("of every type that can be compressed the median loses at least half", () => {
    for (const type of new Set(outcomes.filter(({ input }) => input.compressible).map(({ input }) => input.type))) {
      const ofType = outcomes.filter(({ input }) => input.compressible && input.type === type);
      expect({ type, half: median(ofType.map(saved)) >= 0.5 }).toEqual({ type, half: true });
    }
  });

  test("what cannot be compressed is not made worse", () => {
    for (const { before, after } of outcomes) expect(after).toBeLessThanOrEqual(before);
  });
});

afterAll(() => {
  const row = (name: string, list: readonly Outcome[]): string => {
    const before = list.reduce((sum, outcome) => sum + outcome.before, 0);
    const after = list.reduce((sum, outcome) => sum + outcome.after, 0);
    const share = before > 0 ? `${(100 * (1 - after / before)).toFixed(1)} %` : "";
    return `${name.padEnd(34)}${String(list.length).padStart(4)}${String(before).padStart(10)}${String(after).padStart(10)}${share.padStart(9)}`;
  };
  const types = DETECTED.filter((type) => outcomes.some(({ input }) => input.type === type));
  const compressible = outcomes.filter(({ input }) => input.compressible);
  process.stdout.write(
    `${[
      `${"type".padEnd(34)}${"n".padStart(4)}${"before".padStart(10)}${"after".padStart(10)}${"saved".padStart(9)}`,
      ...types.map((type) =>
        row(
          type,
          outcomes.filter(({ input }) => input.type === type),
        ),
      ),
      row("all", outcomes),
      row("compressible", compressible),
      row(
        "not compressible",
        outcomes.filter(({ input }) => !input.compressible),
      ),
      `median of the compressible: ${(100 * median(compressible.map(saved))).toFixed(1)} % (tokens: o200k, inferred)`,
    ].join("\n")}\n`,
  );
});
