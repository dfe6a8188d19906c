import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { agent, createCaveman, type RunEvent, schema, tool } from "../../index.ts";
import { providers } from "../../plugins/index.ts";
import { type ModelServer, type ScriptUsage, startModelServer } from "../../plugins/testing.ts";
import { bare } from "../../presets/index.ts";

const KEYS = {
  ANTHROPIC_API_KEY: "sk-ant-test-0123456789",
  OPENAI_API_KEY: "sk-test-0123456789",
  GEMINI_API_KEY: "AIza-test-0123456789",
};
const CALLS = 10;
/** Usage in the normal form for turn `n`: gross input, of which some is read from and some written to a cache. */
const usageOf = (n: number, writes: boolean): Required<ScriptUsage> => ({
  input: 1_000 + 100 * n,
  output: 50 + n,
  cacheRead: n === 0 ? 0 : 800,
  cacheWrite: writes && n === 0 ? 900 : 0,
  reasoning: 10,
});

const vendors = [
  {
    name: "Anthropic Messages",
    model: "anthropic/claude-haiku-4-5",
    api: "responses",
    writes: true,
    reportsReasoning: false,
  },
  { name: "OpenAI Responses", model: "openai/gpt-5.4-mini", api: "responses", writes: false, reportsReasoning: true },
  { name: "OpenAI Chat Completions", model: "openai/gpt-5.4-mini", api: "chat", writes: false, reportsReasoning: true },
  { name: "Gemini", model: "google/gemini-2.5-flash", api: "responses", writes: false, reportsReasoning: true },
] as const;

describe.each(vendors)(
  "$name drives a ten-tool-call run over real HTTP",
  ({ model, api, writes, reportsReasoning }) => {
    let server: ModelServer;
    const before = { ...process.env };
    beforeEach(() => void Object.assign(process.env, KEYS));
    afterEach(async () => {
      process.env = { ...before };
      await server.close();
    });
    const runtime = () =>
      createCaveman({ preset: bare(), plugins: [providers({ baseURLs: server.baseURL, openaiApi: api })] });
    const add = tool({
      name: "add",
      description: "Adds one.",
      input: schema.object({ n: schema.number() }),
      effect: "read",
      allowRepeat: true,
      execute: ({ n }) => ({ sum: n + 1 }),
    });
    const counter = () => agent({ id: "counter", instructions: "Count.", model, tools: [add] });

    test("streamed, with usage in the normal form equal to what the server reported", async () => {
      server = await startModelServer({
        script: (_request, n) =>
          n < CALLS
            ? { text: `step ${n}`, toolCalls: [{ name: "add", input: { n } }], usage: usageOf(n, writes) }
            : { text: "counted to ten", chunks: 4, usage: usageOf(n, writes) },
      });
      const events: RunEvent[] = [];
      const { kernel } = runtime();
      const { run, done } = kernel.start(counter(), "Count to ten.", {}, (event) => events.push(event));
      expect(await done).toMatchObject({ stopReason: "complete", text: "counted to ten" });
      const settled = run.ledger.of("call.settled");
      expect(settled).toHaveLength(CALLS + 1);
      for (const [n, { usage, basis }] of settled.entries()) {
        const expected = usageOf(n, writes);
        expect({ ...usage }).toEqual({
          ...expected,
          reasoning: reportsReasoning ? expected.reasoning : expect.any(Number),
        });
        expect(basis).toBe("provider_reported");
      }
      expect(run.ledger.of("tool.finished").filter((fact) => !fact.isError)).toHaveLength(CALLS);
      expect(events.filter((event) => event.type === "text_delta").length).toBeGreaterThan(CALLS);
      expect(JSON.stringify([run.ledger.facts, events])).not.toMatch(/test-0123456789/);
    }, 30_000);

    test.each([
      ["a rate limit", { status: 429, when: "before" }, false],
      ["a full house", { status: 529, when: "before" }, false],
      ["an internal error", { status: 500, when: "before" }, true],
      ["an error in mid-stream", { status: 529, when: "mid-stream" }, true],
      ["a cut connection", { when: "cut" }, true],
    ] as const)(
      "%s ends in a coded error with a receipt, booked only when it may have been billed",
      async (_name, error, booked) => {
        server = await startModelServer({ script: [{ text: "some words that are then cut off", chunks: 6, error }] });
        const failure = await runtime()
          .run(counter(), "Count.")
          .then(
            () => undefined,
            (thrown: { code: string; receipt: { stopReason: string; calls: { inputTokens: number }[] } }) => thrown,
          );
        expect(failure?.code).toMatch(/^cave_provider_/);
        expect(failure?.receipt.stopReason).toBe("error");
        expect((failure?.receipt.calls[0]?.inputTokens ?? 0) > 0).toBe(booked);
        expect(String(failure) + JSON.stringify(failure)).not.toMatch(/test-0123456789/);
      },
      30_000,
    );

    test("malformed JSON arguments are answered, and the run goes on", async () => {
      server = await startModelServer({
        script: [{ toolCalls: [{ name: "add", input: '{"n":' }] }, { text: "recovered" }],
      });
      const running = runtime().run(counter(), "Count.");
      // Gemini has no way to send them: it ends the turn with MALFORMED_FUNCTION_CALL instead.
      if (model.startsWith("google/")) return expect(running).rejects.toMatchObject({ code: "cave_provider_failed" });
      const result = await running;
      expect(result.text).toBe("recovered");
      expect(result.receipt.tools[0]).toMatchObject({ name: "add", denied: 1 });
    }, 30_000);

    test("an abort in a slow stream comes back at once, settled", async () => {
      server = await startModelServer({ script: [{ text: "a slow answer ".repeat(50), chunks: 150, delayMs: 200 }] });
      const stop = new AbortController();
      const started = Date.now();
      const failing = runtime().run(counter(), "Count.", { signal: stop.signal });
      setTimeout(() => stop.abort(), 300);
      await expect(failing).rejects.toMatchObject({ code: "cave_run_aborted", receipt: { stopReason: "aborted" } });
      expect(Date.now() - started).toBeLessThan(15_000); // the answer would take 30 s
    }, 30_000);
  },
);
