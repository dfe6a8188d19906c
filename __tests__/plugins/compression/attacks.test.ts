import { randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import { builtinRegistry } from "../../../plugins/compression/builtin.ts";
import { createEngine, type Engine, MAX_INPUT_BYTES } from "../../../plugins/compression/engine.ts";
import { MapStore, shrink } from "./worlds.ts";

const LOG = Array.from(
  { length: 300 },
  (_, i) => `2026-11-30 08:00:00 INFO worker finished job ${i} in ${i % 9} ms`,
).join("\n");
/** A counter that costs nothing, for inputs where counting would be the slow part. */
const quick: Engine = createEngine(builtinRegistry(), (text) => Math.ceil(text.length / 4));
const quickly = (input: string) => quick.compress(input, { keep: new MapStore().keep });

describe("inputs that are no text", () => {
  test.each([
    ["half a character", `${LOG}\ud800`],
    ["a zero byte", `${LOG}\u0000`],
    ["random bytes", randomBytes(200_000).toString("latin1")],
    ["bytes that were no UTF-8", randomBytes(200_000).toString("utf8")],
  ])("%s stay as they are", async (_, input) => {
    const { text, report } = await shrink(input);
    expect(text).toBe(input);
    expect(report.reason).toBe("not_text");
  });
});

describe("large inputs end in a moment and without a fault", () => {
  const shapes: Record<string, () => string> = {
    "one line of ten megabytes": () => "word ".repeat(2_000_000),
    "one letter ten million times": () => "a".repeat(10_000_000),
    "base64 without a line end": () => randomBytes(3_000_000).toString("base64"),
    "brackets half a million deep": () => `${"[".repeat(500_000)}${"]".repeat(500_000)}`,
    "objects two hundred thousand deep": () => `${'{"a":'.repeat(200_000)}1${"}".repeat(200_000)}`,
    "JSON that is cut off": () => `[${"1,".repeat(1_000_000)}`,
    "escapes that end nowhere": () => "\u001b[".repeat(500_000),
    "titles that end nowhere": () => "\u001b]0;".repeat(300_000),
    "lines drawn over a million times": () => "a\r".repeat(1_000_000),
    "a million line ends": () => "\n".repeat(1_000_000),
    "indentation a thousand deep": () => Array.from({ length: 1_000 }, (_, i) => `${" ".repeat(i)}key${i}:`).join("\n"),
    "fences that end nowhere": () => `# A\n\n[x](y) **z**\n\n${"```\n~~~\n".repeat(50_000)}`,
    "records of four hundred different fields": () =>
      JSON.stringify(
        Array.from({ length: 5_000 }, (_, i) =>
          Object.fromEntries(Array.from({ length: 20 }, (_, j) => [`k${(i * 7 + j) % 400}`, j])),
        ),
      ),
  };
  test.each(Object.keys(shapes))("%s", async (name) => {
    const input = shapes[name]?.() ?? "";
    const started = performance.now();
    const { text, report } = await quickly(input);
    expect(performance.now() - started).toBeLessThan(20_000);
    expect(report.reason).not.toBe("compressor_failed");
    if (report.reason !== undefined) expect(text).toBe(input);
    else expect(text.length).toBeLessThan(input.length);
  });

  test("more than 64 MiB are not looked at", async () => {
    const { report } = await quickly("x".repeat(MAX_INPUT_BYTES + 1));
    expect(report).toMatchObject({ reason: "input_too_large", tokensBefore: 0, ratio: 0 });
  });
});

describe("markers in the input", () => {
  test.each([
    ["a marker", `${LOG}\n… 3 lines elided (caveman) …`],
    ["a marker of code", `${LOG}\n/* caveman: 12 lines elided */`],
    ["a marker of JSON", `${LOG}\n{"__caveman_elided__":3}`],
    ["a pointer", `${LOG}\n<<ccr:ccr_${"a".repeat(32)}>>`],
  ])("%s means that it was compressed before, so nothing is", async (_, input) => {
    const { text, report, store } = await shrink(input);
    expect(text).toBe(input);
    expect(report.reason).toBe("already_compressed");
    expect(store.originals.size).toBe(0);
  });
});

test("time grows with the input and not with its square", async () => {
  const cost = async (lines: number): Promise<number> => {
    const input = Array.from(
      { length: lines },
      (_, i) =>
        `2026-11-30 08:00:00 INFO user ${(i * 7_919).toString(36)} opened page ${(i * 104_729).toString(36)} in ${i % 90} ms`,
    ).join("\n");
    let least = Number.POSITIVE_INFINITY;
    // The less of two: what else the machine does only ever adds.
    for (let run = 0; run < 2; run++) {
      const { user } = process.cpuUsage();
      await quickly(input);
      least = Math.min(least, process.cpuUsage().user - user);
    }
    return least;
  };
  const [small, large] = [await cost(2_000), await cost(32_000)];
  // 16 times the lines; a square would cost 256 times as much.
  expect(large / small).toBeLessThan(128);
}, 60_000);

test("an aborted call gives the input back and stores nothing", async () => {
  const { text, report, store } = await shrink(LOG, { signal: AbortSignal.abort() });
  expect(text).toBe(LOG);
  expect(report.reason).toBe("aborted");
  expect(store.originals.size).toBe(0);
});

test("a counter that throws means the input", async () => {
  const engine = createEngine(builtinRegistry(), () => {
    throw new Error("no ranks");
  });
  const { text, report } = await engine.compress(LOG, { keep: new MapStore().keep });
  expect(text).toBe(LOG);
  expect(report.tokensBefore).toBe(0);
});
