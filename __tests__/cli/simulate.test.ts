import { describe, expect, test } from "@jest/globals";
import { lookup, type Row } from "../../catalog/index.ts";
import { bills } from "../../cli/simulate/cost.ts";
import { PromptCache } from "../../cli/simulate/prompt-cache.ts";
import { tokens } from "../../kernel/index.ts";
import { caveman, folder, here } from "./caveman.ts";

// 400 ASCII bytes are 100 tokens.
const block = (letter: string): string => letter.repeat(400);
const [A, B, C, D] = ["a", "b", "c", "d"].map(block) as [string, string, string, string];

describe("the simulated prompt cache", () => {
  test("an explicit cache writes what it does not read, and reads what was sent before", () => {
    const cache = new PromptCache({ mode: "explicit", minPrefix: 100, ttl: 300 });
    expect(cache.ask([A, B], 0)).toEqual({ read: 0, write: 200 });
    expect(cache.ask([A, B, C], 1_000)).toEqual({ read: 200, write: 100 });
    expect(cache.ask([A, D], 2_000)).toEqual({ read: 100, write: 100 });
  });

  test("an implicit cache reads and bills no write", () => {
    const cache = new PromptCache({ mode: "implicit", minPrefix: 100, ttl: 300 });
    expect(cache.ask([A], 0)).toEqual({ read: 0, write: 0 });
    expect(cache.ask([A, B], 0)).toEqual({ read: 100, write: 0 });
  });

  test("a prefix below the minimum is neither read nor written", () => {
    const cache = new PromptCache({ mode: "explicit", minPrefix: 201, ttl: 300 });
    expect(cache.ask([A, B], 0)).toEqual({ read: 0, write: 0 });
    // 300 tokens are enough to write, but no 201 of them were sent before.
    expect(cache.ask([A, B, C], 1)).toEqual({ read: 0, write: 300 });
    expect(cache.ask([A, B, D], 2)).toEqual({ read: 0, write: 300 });
    expect(cache.ask([A, B, D, C], 3)).toEqual({ read: 300, write: 100 });
  });

  test("an entry expires after its time to live, and a read lengthens it", () => {
    const cache = new PromptCache({ mode: "explicit", minPrefix: 100, ttl: 300 });
    cache.ask([A], 0);
    expect(cache.ask([A], 299_999).read).toBe(100);
    expect(cache.ask([A], 599_998).read).toBe(100);
    expect(cache.ask([A], 899_998).read).toBe(0);
  });

  test("only a prefix is read: a change in front ends it", () => {
    const cache = new PromptCache({ mode: "implicit", minPrefix: 100 });
    cache.ask([A, B, C], 0);
    expect(cache.ask([D, B, C], 1).read).toBe(0);
    expect(cache.ask([A, D, C], 2).read).toBe(100);
  });

  test("of stated tokens a prefix has its share by bytes", () => {
    const cache = new PromptCache({ mode: "implicit", minPrefix: 100 });
    cache.ask([A], 0, 150);
    expect(cache.ask([A, B], 1, 1_000).read).toBe(500);
  });

  test.each([{ mode: "unsupported" }, { mode: "unknown", minPrefix: 1 }, { mode: "implicit" }] as const)(
    "nothing is cached when the catalog does not know enough: %j",
    (behaviour) => {
      const cache = new PromptCache(behaviour);
      cache.ask([A], 0);
      expect(cache.ask([A, B], 1)).toEqual({ read: 0, write: 0 });
    },
  );
});

test("a rate that was needed and is not known makes a bill unpriced, not free", () => {
  const row = lookup("anthropic", "claude-haiku-4-5");
  if (!row) throw new Error("expected the row");
  const halved: Row = { ...row, prices: [{ rates: { input: "1" } }], cache: { mode: "unsupported" } };
  const usage = {
    input: tokens(10),
    output: tokens(5),
    reasoning: tokens(0),
    cacheRead: tokens(0),
    cacheWrite: tokens(0),
  };
  const { cold, warm } = bills(halved, [{ at: Date.UTC(2026, 10, 30), segments: [A], usage }]);
  for (const bill of [cold, warm])
    expect(bill).toMatchObject({ outputTokens: 5, unpriced: "anthropic/claude-haiku-4-5 has no output rate" });
});

const AGENT = `import { agent, schema, tool } from "caveman-agent";
const lookup = tool({ name: "lookup", description: "Looks up.", input: schema.object({}), effect: "read", execute: () => "shipped" });
export default agent({ id: "shop", instructions: ${JSON.stringify("Help. ".repeat(2_000))}, tools: [lookup], model: "anthropic/claude-haiku-4-5", sandbox: "host" });
`;
// 200,000 tokens in and 100,000 out, in two calls.
const SCRIPT = JSON.stringify([
  { toolCalls: [{ name: "lookup", input: {} }], usage: { input: 100_000, output: 50_000 } },
  { text: "It has shipped.", usage: { input: 100_000, output: 50_000 } },
]);
const shop = () => folder({ "package.json": '{ "type": "module" }', "agent.ts": AGENT, "model.script.json": SCRIPT });

interface Simulated {
  readonly simulated: boolean;
  readonly models: readonly {
    readonly model: string;
    readonly simulated: boolean;
    readonly calls: number;
    readonly stopReason: string;
    readonly cold: { readonly [name: string]: number } & {
      readonly costUsd: string | null;
      readonly unpriced?: string;
    };
    readonly warm: { readonly [name: string]: number } & { readonly costUsd: string | null };
  }[];
}

describe("simulate", () => {
  test("runs the script once a model, and prices it cold and warm without any key", async () => {
    await using dir = await shop();
    const { code, out } = await caveman(
      ["simulate", "agent.ts", "Hi", "--models", "anthropic/claude-haiku-4-5, anthropic/claude-v1", "--json"],
      { cwd: dir.path },
    );
    expect(code).toBe(0);
    const { simulated, models } = JSON.parse(out) as Simulated;
    expect([simulated, models.map((one) => one.model)]).toEqual([
      true,
      ["anthropic/claude-haiku-4-5", "anthropic/claude-v1"],
    ]);
    const [haiku, old] = models;
    expect(haiku).toMatchObject({ simulated: true, calls: 2, stopReason: "complete", cold: { outputTokens: 100_000 } });
    // $1 in, $0.10 read, $1.25 written, $5 out a million; explicit, so what is not read is written.
    const dollars = (bill: { readonly [name: string]: unknown } | undefined): number =>
      (Number(bill?.cacheReadTokens) * 0.1 + Number(bill?.cacheWriteTokens) * 1.25 + 100_000 * 5) / 1e6;
    for (const bill of [haiku?.cold, haiku?.warm]) {
      expect(Number(bill?.inputTokens) + Number(bill?.cacheReadTokens) + Number(bill?.cacheWriteTokens)).toBe(200_000);
      expect(Number(bill?.costUsd)).toBeCloseTo(dollars(bill), 9);
    }
    expect(haiku?.cold.cacheReadTokens).toBeGreaterThan(90_000);
    expect(haiku?.warm).toMatchObject({ cacheReadTokens: 200_000, cacheWriteTokens: 0, costUsd: "0.52" });
    // $8 in, $24 out a million, and a cache nobody knows: cold and warm cost the same.
    expect([old?.cold.costUsd, old?.warm.costUsd]).toEqual(["4", "4"]);
  });

  test("is a table that says it is simulated, how tokens were counted, and what is not known", async () => {
    await using dir = await shop();
    const { code, out } = await caveman(["simulate", "agent.ts", "--models", "anthropic/claude-v1"], { cwd: dir.path });
    expect(code).toBe(0);
    expect(out).toMatch(/anthropic\/claude-v1 +cold +2 +200,000 +0 +0 +100,000 +\$4\.00 simulated +complete/);
    expect(out).toMatch(/^ +warm +2 /m);
    for (const said of ["no provider was called", "bytes over four", "does not know its cache", 'told "Hello."'])
      expect(out).toContain(said);
  });

  test("an example of ours, with a child, answers every model alike, whatever key is set", async () => {
    const models = "anthropic/claude-haiku-4-5,openai/gpt-5.4-mini,google/gemini-2.5-flash";
    const question = "Where is order A-123? Can I get a refund?";
    const { code, out } = await caveman(["simulate", "examples/support-bot", question, "--models", models, "--json"], {
      env: { ANTHROPIC_API_KEY: "sk-none" },
    });
    expect(code).toBe(0);
    expect((JSON.parse(out) as Simulated).models.map(({ calls, stopReason }) => [calls, stopReason])).toEqual(
      Array.from({ length: 3 }, () => [6, "complete"]),
    );
  });

  test("a script that ends too early is exit 1 with its code", async () => {
    await using dir = await folder({
      "package.json": '{ "type": "module" }',
      "agent.ts": AGENT,
      "model.script.json": '[{ "toolCalls": [{ "name": "lookup", "input": {} }] }]',
    });
    const { code, out } = await caveman(["simulate", "agent.ts", "--models", "anthropic/claude-v1"], { cwd: dir.path });
    expect([code, out]).toEqual([1, expect.stringContaining("cave_")]);
    expect(out).toContain("1 call failed and is not in the figures");
  });

  test("an unknown model is exit 2 with the nearest name; so are no models, and no script", async () => {
    await using dir = await folder({ "package.json": '{ "type": "module" }', "agent.ts": AGENT });
    const unknown = await here(["simulate", "nowhere", "--models", "anthropic/claude-haiku-4-6"]);
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("cave_cli_usage")]);
    expect(unknown.err).toContain("did you mean");
    expect((await here(["simulate", "nowhere"])).err).toContain("The models are missing");
    const bare = await caveman(["simulate", "agent.ts", "--models", "anthropic/claude-v1"], { cwd: dir.path });
    expect([bare.code, bare.err]).toEqual([2, expect.stringContaining("no model script")]);
  });
});
