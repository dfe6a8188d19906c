import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "@jest/globals";
import { Type } from "@sinclair/typebox";
import {
  agent,
  createKernel,
  definePlugin,
  type Plugin,
  type PluginFactory,
  type ToolCall,
  tool,
} from "../../../kernel/index.ts";
import { type Compressor, compression } from "../../../plugins/compression/index.ts";
import { OutputCompression } from "../../../plugins/compression/output-stage.ts";
import { recovery } from "../../../plugins/recovery/index.ts";
import { results } from "../../../plugins/results/index.ts";
import { Compression, Recovery } from "../../../plugins/services.ts";
import { scripted } from "../../../plugins/testing.ts";
import { tokens } from "../../../plugins/tokens/index.ts";
import { models } from "../../support/harness.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
function storePath(): string {
  const folder = mkdtempSync(join(tmpdir(), "compression-"));
  folders.push(folder);
  return join(folder, "ccr.db");
}

const LOG = Array.from({ length: 600 }, (_, i) =>
  i === 333
    ? "2026-11-30T08:00:00Z ERROR payment 4711 declined by issuer 88"
    : `2026-11-30T08:00:00Z INFO worker-${i % 4} finished job ${i} in ${i % 9} ms`,
).join("\n");

type Options = {
  plugins?: readonly (Plugin | PluginFactory)[];
  result?: "inline" | "auto" | "exact_ccr";
  fails?: boolean;
  off?: boolean;
  calls?: number;
  text?: string;
};

/** One run in which the model reads the text, as often as asked; gives what it was shown. */
async function read({ plugins, result = "auto", fails = false, off = false, calls = 1, text = LOG }: Options = {}) {
  const read = tool({
    name: "read_log",
    description: "Reads the log.",
    input: Type.Object({ n: Type.Optional(Type.Integer()) }),
    effect: "read",
    result,
    allowRepeat: true,
    execute: () => {
      if (fails) throw new Error(text);
      return text;
    },
  });
  const steps = Array.from({ length: calls }, (_, n) => ({
    toolCalls: [{ id: `t${n}`, name: "read_log", input: { n } }],
  }));
  const kernel = createKernel({
    plugins: plugins ?? [models, tokens(), recovery({ path: storePath() }), compression()],
  });
  const { run, done } = kernel.start(
    agent({ id: "reader", instructions: "Read.", model: scripted([...steps, { text: "done" }]), tools: [read] }),
    "What happened?",
    off ? { compression: false } : {},
  );
  const outcome = await done;
  const shown = run.transcript.history.flatMap(({ value }) =>
    value.role === "tool"
      ? value.content.flatMap((part) =>
          part.type === "tool-result" && "value" in part.output ? [String(part.output.value)] : [],
        )
      : [],
  );
  return { run, outcome, shown, facts: run.ledger.of("compression.applied") };
}

describe("in a run", () => {
  test("a long result is shown smaller, its errors whole, with a handle that gives the exact original back", async () => {
    let original: string | undefined;
    let handle = "";
    const path = storePath();
    const reads = definePlugin({
      name: "reads",
      apply(kernel) {
        kernel.hooks.settle.tap("reads", ({ run }) => {
          handle = run.ledger.of("compression.applied")[0]?.recoveryHandle ?? "";
          original = run.service(Recovery).retrieve(handle);
        });
      },
    });
    const { outcome, shown, facts } = await read({
      plugins: [models, tokens(), recovery({ path }), compression(), reads],
    });
    expect(outcome.stopReason).toBe("complete");
    expect(shown[0]).toContain("payment 4711 declined by issuer 88");
    expect(shown[0]?.length).toBeLessThan(LOG.length / 10);
    expect(shown[0]?.endsWith(`<<ccr:${handle}>>`)).toBe(true);
    expect(original).toBe(LOG);
    expect(facts).toHaveLength(1);
    expect(facts[0]).toMatchObject({
      name: "read_log",
      contentType: "log",
      counter: "o200k_base",
      exactness: "exact",
      basis: "inferred",
    });
    // 600 lines: what is not shown as a line is counted by the fact.
    expect((facts[0]?.kept ?? 0) + (facts[0]?.dropped ?? 0)).toBe(600);
  });

  test("the first compressed result pays for the retrieval tool, the next does not", async () => {
    const { facts } = await read({ calls: 2 });
    expect(facts).toHaveLength(2);
    expect(facts[0]?.toolTokens).toBeGreaterThan(20);
    expect(facts[1]?.toolTokens).toBe(0);
    for (const { tokensBefore, tokensAfter, toolTokens } of facts)
      expect(tokensAfter + toolTokens).toBeLessThan(tokensBefore);
  });

  test("the fact holds figures, not content", async () => {
    const { facts } = await read();
    expect(JSON.stringify(facts)).not.toMatch(/payment|declined|worker/);
  });

  test("without a store nothing is left out", async () => {
    const { shown, facts } = await read({ plugins: [models, tokens(), compression()] });
    expect(shown).toEqual([LOG]);
    expect(facts).toEqual([]);
  });

  test("without a tokenizer it works by a modelled count, and says so", async () => {
    const { facts } = await read({ plugins: [models, recovery({ path: storePath() }), compression()] });
    expect(facts[0]).toMatchObject({ counter: "approx-chars/4", exactness: "modelled" });
  });

  test.each([
    ["a tool that promises its result inline", { result: "inline" as const }],
    ["a run with compression off", { off: true }],
    ["a small result", { text: "42 rows" }],
  ])("%s is left alone", async (_, options) => {
    const { shown, facts } = await read(options);
    expect(shown).toEqual(["text" in options ? options.text : LOG]);
    expect(facts).toEqual([]);
  });

  test("the long message of a failed tool is compressed too, and stays an error", async () => {
    const { run, facts } = await read({ fails: true });
    expect(facts).toHaveLength(1);
    expect(run.ledger.of("tool.finished")[0]?.isError).toBe(true);
  });

  test("a type that is skipped is left alone", async () => {
    const { facts } = await read({
      plugins: [models, tokens(), recovery({ path: storePath() }), compression({ skip: ["log"] })],
    });
    expect(facts).toEqual([]);
  });

  test("whatever the order of the plugins, results are compressed before what is still too long is cut", async () => {
    for (const order of [
      [results(), compression()],
      [compression(), results()],
    ]) {
      const { run, shown } = await read({
        plugins: [models, tokens(), recovery({ path: storePath() }), ...order],
        text: LOG.repeat(3),
      });
      expect(run.ledger.of("output.capped")).toEqual([]);
      expect(run.ledger.of("compression.applied")).toHaveLength(1);
      expect(shown[0]).toContain("elided (caveman)");
    }
  });

  test("what the model fetched back is shown as it was stored", async () => {
    const path = storePath();
    const kernel = createKernel({ plugins: [models, tokens(), recovery({ path }), compression()] });
    const log = tool({
      name: "read_log",
      description: "Reads.",
      input: Type.Object({}),
      effect: "read",
      execute: () => LOG,
    });
    const handle = `ccr_${createHash("sha256").update(LOG).digest("hex").slice(0, 32)}`;
    const model = scripted([
      { toolCalls: [{ id: "a", name: "read_log", input: {} }] },
      { toolCalls: [{ id: "b", name: "cave_retrieve", input: { recovery_handle: handle } }] },
      { text: "done" },
    ]);
    const { run, done } = kernel.start(
      agent({ id: "reader", instructions: "Read.", model, tools: [log] }),
      "Read it all.",
    );
    await done;
    const last = run.transcript.history.findLast(({ value }) => value.role === "tool")?.value;
    expect(JSON.stringify(last)).toContain(JSON.stringify(LOG).slice(1, -1));
    expect(run.ledger.of("compression.applied")).toHaveLength(1);
  });
});

describe("a compressor of a plugin", () => {
  const shouting: Compressor = {
    type: "shouting",
    keeps: "the first word",
    recognises: (input) => input.startsWith("HEY"),
    compress: (input) => ({
      text: `HEY … ${input.length - 3} characters elided (caveman) …`,
      method: "shouting",
      unit: "characters",
      kept: 3,
      dropped: input.length - 3,
    }),
  };
  const brings = (compressor: Compressor) =>
    definePlugin({
      name: "brings",
      apply: () => undefined,
      prepare: (run) => run.service(Compression).register(compressor),
    });
  const with_ = (compressor: Compressor) => [
    models,
    tokens(),
    recovery({ path: storePath() }),
    compression(),
    brings(compressor),
  ];

  test("is asked first", async () => {
    const { shown, facts } = await read({ plugins: with_(shouting), text: `HEY ${LOG}` });
    expect(facts[0]).toMatchObject({ contentType: "shouting" });
    expect(shown[0]).toContain("HEY … ");
  });

  test("may come before the run is prepared; what a text is can be told from then on", async () => {
    const asked: string[] = [];
    const early = definePlugin({
      name: "early",
      apply: (kernel) => void kernel.perRun((run) => run.service(Compression).register(shouting)),
    });
    const asks = definePlugin({
      name: "asks",
      apply: () => undefined,
      prepare: (run) =>
        void asked.push(run.service(Compression).detect("HEY you"), run.service(Compression).detect("{}")),
    });
    const { facts } = await read({ plugins: [...with_(shouting).slice(0, -1), early, asks], text: `HEY ${LOG}` });
    expect(asked).toEqual(["shouting", "json"]);
    expect(facts[0]).toMatchObject({ contentType: "shouting" });
  });

  test("that throws, or leaves out without a marker, changes nothing", async () => {
    const broken = {
      ...shouting,
      compress: () => {
        throw new Error("no");
      },
    };
    const silent = { ...shouting, compress: () => ({ text: "HEY", method: "m", unit: "u", kept: 1, dropped: 9 }) };
    for (const compressor of [broken, silent]) {
      const text = `HEY ${LOG}`;
      const { shown, facts, run } = await read({ plugins: with_(compressor), text });
      expect(shown).toEqual([text]);
      expect(facts).toEqual([]);
      expect(run.ledger.of("notice").map(({ code }) => code)).toEqual(
        compressor === broken ? ["cave_compression_failed"] : [],
      );
    }
  });

  test("without a type is refused when it is registered", async () => {
    const { outcome } = await read({ plugins: with_({ ...shouting, type: "No Type!" }) });
    expect(outcome.error?.code).toBe("cave_compressor_invalid");
  });
});

test("a small result costs no more than a comparison: no engine is made, nothing is awaited", () => {
  const outputs = new OutputCompression(
    () => {
      throw new Error("asked for an engine");
    },
    { minChars: 1_000, skip: [] },
  );
  const output = { type: "text", value: "x".repeat(999) } as const;
  expect(outputs.stage(output, {} as ToolCall)).toBe(output);
});
