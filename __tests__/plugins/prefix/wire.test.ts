import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { agent, createKernel, definePlugin, type RunOptions, schema, tool } from "../../../kernel/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { decorated, dialectOf, MAX_MARKS, Marking, placeMarks } from "../../../plugins/prefix/hints.ts";
import { prefix } from "../../../plugins/prefix/index.ts";
import { pricing } from "../../../plugins/pricing/index.ts";
import { priceList } from "../../../plugins/pricing/price-list.ts";
import { providers } from "../../../plugins/providers/index.ts";
import {
  type ModelServer,
  scripted,
  startModelServer,
  type WireRequest,
} from "../../../plugins/providers/scripted/index.ts";
import { resolved } from "../../support/harness.ts";

const input = schema.object({});
const tools = ["alpha", "beta"].map((name) =>
  tool({ name, description: `Does ${name}.`, input, effect: "read", execute: () => `result of ${name}` }),
);
const variables = { ANTHROPIC_API_KEY: "test-key-of-nobody", OPENAI_API_KEY: "test-key-of-nobody" };
const before = Object.fromEntries(Object.keys(variables).map((name) => [name, process.env[name]]));
beforeAll(() => void Object.assign(process.env, variables));
afterAll(() => {
  for (const [name, value] of Object.entries(before)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

interface Ran {
  readonly requests: readonly WireRequest[];
  readonly notices: readonly string[];
  readonly outcome: string;
}
async function over(
  model: string,
  more: {
    api?: "chat" | "responses";
    options?: RunOptions;
    tools?: typeof tools;
    hints?: boolean;
    settings?: object;
    turns?: number;
  } = {},
): Promise<Ran> {
  const { turns = 4 } = more;
  const server: ModelServer = await startModelServer({
    script: (_, index) => (index < turns - 1 ? { toolCalls: [{ name: "alpha", input: {} }] } : { text: "done" }),
  });
  const chosen = definePlugin({
    name: "chosen",
    apply: ({ hooks }) =>
      hooks.beforeCall.tap({ name: "chosen", stage: "shape" }, (call) => call.setSettings(more.settings ?? {})),
  })();
  try {
    const kernel = createKernel({
      plugins: [
        providers({ baseURLs: server.baseURL, openaiApi: more.api ?? "responses" }),
        pricing(),
        chosen,
        prefix({ hints: more.hints ?? true }),
      ],
    });
    const { run, done } = kernel.start(
      agent({ id: "a", instructions: "Say little.", model, tools: more.tools ?? tools, reasoning: "off" }),
      "go",
      more.options,
    );
    const { stopReason, error } = await done;
    return {
      requests: [...server.requests],
      notices: run.ledger.of("notice").map(({ code }) => code),
      outcome: error?.message ?? stopReason,
    };
  } finally {
    await server.close();
  }
}

const keyOf = (request: WireRequest | undefined): unknown =>
  (request?.body as { prompt_cache_key?: unknown } | undefined)?.prompt_cache_key;
/** Where a request carries marks: `tools.1`, `system.0`, `messages.2.0`. */
function marks(body: unknown, path = ""): string[] {
  if (typeof body !== "object" || body === null) return [];
  return Object.entries(body).flatMap(([key, value]) =>
    key === "cache_control" ? [path.slice(1)] : marks(value, `${path}.${key}`),
  );
}
const unmarked = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body, (key, value) => (key === "cache_control" ? undefined : value)));

describe("Anthropic", () => {
  test("gets at most four marks: tools, system, where the request before ended, and the end", async () => {
    const { requests, notices, outcome } = await over("anthropic/claude-sonnet-4-5");
    expect(outcome).toBe("complete");
    const placed = requests.map(({ body }) => marks(body).map((path) => path.replace(/\.content/, "")));
    expect(placed).toEqual(
      [
        ["system.0", "messages.0.0", "tools.1"],
        ["system.0", "messages.0.0", "messages.2.0", "tools.1"],
        ["system.0", "messages.2.0", "messages.4.0", "tools.1"],
        ["system.0", "messages.4.0", "messages.6.0", "tools.1"],
      ].map((paths) => expect.arrayContaining(paths)),
    );
    for (const paths of placed) expect(paths.length).toBeLessThanOrEqual(MAX_MARKS);
    for (const { body } of requests) expect(JSON.stringify(body)).toContain('"cache_control":{"type":"ephemeral"}');
    expect(notices).toEqual([]);
  });

  test("sees the same bytes but for the marks, and each request begins with the one before", async () => {
    const [plain, hinted] = [
      await over("anthropic/claude-sonnet-4-5", { hints: false }),
      await over("anthropic/claude-sonnet-4-5"),
    ];
    expect(plain.requests.flatMap(({ body }) => marks(body))).toEqual([]);
    expect(hinted.requests.map(({ body }) => unmarked(body))).toEqual(plain.requests.map(({ body }) => body));
    const bodies = hinted.requests.map(
      ({ body }) => unmarked(body) as { tools: unknown; system: unknown; messages: unknown[] },
    );
    for (const [i, { tools: list, system, messages }] of bodies.entries()) {
      const last = bodies[i - 1];
      if (last)
        expect(JSON.stringify([list, system, messages.slice(0, last.messages.length)])).toBe(
          JSON.stringify([last.tools, last.system, last.messages]),
        );
    }
  });

  test("gets none for a run that can make one call only, and some when a conversation will go on", async () => {
    const once = await over("anthropic/claude-sonnet-4-5", { tools: [], turns: 1 });
    expect(once.requests.flatMap(({ body }) => marks(body))).toEqual([]);
    const talk = await over("anthropic/claude-sonnet-4-5", {
      tools: [],
      turns: 1,
      options: { conversation: createConversation() },
    });
    expect(talk.requests.map(({ body }) => marks(body).length)).toEqual([2]);
  });

  test("keeps the layout that a caller chose", async () => {
    const { requests } = await over("anthropic/claude-sonnet-4-5", {
      settings: { providerOptions: { anthropic: { cacheControl: { type: "ephemeral" } } } },
    });
    expect(requests.map(({ body }) => marks(body))).toEqual(requests.map(() => [""]));
  });

  test("gets none where the catalog does not say that the model takes them", async () => {
    const { requests } = await over("anthropic/claude-2");
    expect(requests.flatMap(({ body }) => marks(body))).toEqual([]);
  });
});

describe("OpenAI", () => {
  test.each(["responses", "chat"] as const)(
    "gets one key for the whole conversation over %s, which says nothing about it",
    async (api) => {
      const conversation = createConversation();
      const first = await over("openai/gpt-5.4-mini", { api, options: { conversation } });
      const second = await over("openai/gpt-5.4-mini", { api, options: { conversation } });
      const keys = [...first.requests, ...second.requests].map(keyOf);
      expect(new Set(keys).size).toBe(1);
      expect(keys[0]).toMatch(/^cave-[0-9a-f]{24}$/);
      const other = await over("openai/gpt-5.4-mini", { api });
      expect(keyOf(other.requests[0])).not.toBe(keys[0]);
    },
  );

  test("keeps a key that a caller chose, and gets none where the catalog is silent", async () => {
    const own = await over("openai/gpt-5.4-mini", {
      settings: { providerOptions: { openai: { promptCacheKey: "mine" } } },
    });
    expect(own.requests.every((request) => keyOf(request) === "mine")).toBe(true);
    const silent = await over("openai/gpt-4", { api: "chat" });
    expect(silent.requests.every(({ body }) => !("prompt_cache_key" in (body as object)))).toBe(true);
  });
});

describe("Bedrock", () => {
  test("gets cache points on system, where the request before ended, and the end, as its package reads them", () => {
    const prompt = [
      { role: "system" as const, content: "s" },
      {
        role: "user" as const,
        content: [{ type: "text" as const, text: "u" }],
        providerOptions: { bedrock: { other: 1 } },
      },
      { role: "assistant" as const, content: [{ type: "text" as const, text: "a" }] },
      { role: "user" as const, content: [{ type: "text" as const, text: "v" }] },
    ];
    placeMarks(prompt, { dialect: "bedrock", systemLength: 1, before: 2 });
    const sent = decorated({ prompt, tools: [] });
    expect(sent.prompt.map(({ providerOptions }) => providerOptions?.bedrock)).toEqual([
      { cachePoint: { type: "default" } },
      { other: 1, cachePoint: { type: "default" } },
      undefined,
      { cachePoint: { type: "default" } },
    ]);
    expect(prompt[0]).toEqual({ role: "system", content: "s" });
    expect(decorated({ prompt: [...prompt] }).prompt[0]).toBe(prompt[0]);
  });
});

test("what takes which hints is the catalog's word", () => {
  const prices = priceList([]);
  const of = (provider: string, id: string) => dialectOf({ provider, id }, prices.row({ provider, id }));
  expect(of("anthropic", "claude-sonnet-4-5")).toBe("anthropic");
  expect(of("bedrock", "global.anthropic.claude-haiku-4-5-20251001-v1:0")).toBe("bedrock");
  expect(of("bedrock", "amazon.nova-pro-v1:0")).toBeUndefined();
  expect(of("openai", "gpt-5.4-mini")).toBe("openai");
  expect(of("google", "gemini-2.5-flash")).toBeUndefined();
  expect(of("anthropic", "claude-of-tomorrow")).toBeUndefined();
});

test("a marking model is one for each model, and passes for it", () => {
  const model = resolved(scripted([], { as: "anthropic/claude-sonnet-4-5" }));
  const marking = new Marking();
  const marked = marking.of(model);
  expect(marking.of(model)).toBe(marked);
  expect(marking.of(marked)).toBe(marked);
  expect(marked).toMatchObject({
    provider: model.provider,
    id: model.id,
    model: { provider: model.model.provider, modelId: model.model.modelId },
  });
});
