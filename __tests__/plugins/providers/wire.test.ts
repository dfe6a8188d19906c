import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { agent, createKernel, definePlugin, output, type Reasoning, type RunEvent } from "../../../kernel/index.ts";
import { providers } from "../../../plugins/providers/index.ts";
import { type ModelServer, startModelServer } from "../../../plugins/providers/scripted/index.ts";
import { withEnvironment } from "./environment.ts";

const KEY = "sk-wire-0123456789/+abcdef";
const keys = { ANTHROPIC_API_KEY: KEY, OPENAI_API_KEY: KEY, GEMINI_API_KEY: KEY, LOCAL_KEY: KEY };
let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer({ script: () => ({ text: "ok", usage: { input: 10, output: 2 } }) });
});
afterAll(() => server.close());

type Body = Readonly<Record<string, unknown>>;

/** Runs one turn with an allowance of `allowance`, set by a tap as a budget does, and gives the body that was sent. */
async function sent(
  model: string,
  reasoning: Reasoning,
  allowance: number,
  options: { chat?: boolean; reasons?: boolean } = {},
): Promise<Body> {
  const clamp = definePlugin({
    name: "clamp",
    apply: (kernel) =>
      kernel.hooks.reserve.tap({ name: "clamp", stage: "hold" }, (call) => void call.lowerAllowance(allowance)),
  });
  const kernel = createKernel({
    plugins: [
      providers({
        baseURLs: server.baseURL,
        openaiApi: options.chat ? "chat" : "responses",
        endpoints: {
          local: {
            baseURL: server.baseURL.openai,
            apiKeyEnv: "LOCAL_KEY",
            ...(options.reasons ? { reasoning: true } : {}),
          },
        },
      }),
      clamp(),
    ],
  });
  const outcome = await withEnvironment(
    keys,
    () =>
      kernel.start(
        agent({ id: "a", instructions: "Answer.", model, reasoning, output: output({ maxTokens: 100_000 }) }),
        "hi",
      ).done,
  );
  expect(outcome.error).toBeUndefined();
  return server.requests.at(-1)?.body ?? {};
}

const LEVELS: readonly Reasoning[] = ["off", "minimal", "low", "medium", "high"];
// 1,280 = 1,024 (least budget) + 256 (room for the answer) has no room for thinking, 1,281 just has.
const ALLOWANCES = [1, 1_024, 1_280, 1_281, 2_000, 8_192, 60_000];

describe("Anthropic", () => {
  test.each([
    "claude-haiku-4-5",
    "claude-opus-4-1",
    "claude-sonnet-4-6",
    "claude-sonnet-5-5",
    "claude-3-haiku-20240307",
    "claude-3-5-haiku-latest",
  ])("%s: the maximum on the wire never exceeds the allowance, and thinking fits inside it", async (id) => {
    for (const level of LEVELS)
      for (const allowance of ALLOWANCES) {
        const body = await sent(`anthropic/${id}`, level, allowance);
        expect(body.max_tokens).toBeLessThanOrEqual(allowance);
        const budget = (body.thinking as { budget_tokens?: number } | undefined)?.budget_tokens;
        if (budget !== undefined) {
          expect(budget).toBeGreaterThanOrEqual(1_024);
          expect(budget).toBeLessThanOrEqual(Number(body.max_tokens) - 256);
        }
      }
  });

  test.each<[Reasoning, number, unknown]>([
    ["off", 10_000, undefined],
    ["minimal", 10_000, { type: "enabled", budget_tokens: 1_024 }], // a tenth is 1,000, the least is 1,024
    ["low", 10_000, { type: "enabled", budget_tokens: 2_000 }],
    ["medium", 10_000, { type: "enabled", budget_tokens: 5_000 }],
    ["high", 10_000, { type: "enabled", budget_tokens: 8_000 }],
    ["high", 1_280, undefined],
    ["high", 1_281, { type: "enabled", budget_tokens: 1_024 }],
  ])("a model with budgets: %s within %i", async (level, allowance, thinking) => {
    const body = await sent("anthropic/claude-haiku-4-5", level, allowance);
    expect(body.thinking).toEqual(thinking);
    expect(body.max_tokens).toBe(allowance);
  });

  test("a model that thinks adaptively takes an effort, and thinking off stays off", async () => {
    expect(await sent("anthropic/claude-sonnet-4-6", "medium", 10_000)).toMatchObject({
      max_tokens: 10_000,
      thinking: { type: "adaptive" },
      output_config: { effort: "medium" },
    });
    expect(await sent("anthropic/claude-sonnet-4-6", "off", 10_000)).toMatchObject({
      max_tokens: 10_000,
      thinking: { type: "disabled" },
    });
    expect(await sent("anthropic/claude-sonnet-4-6", "high", 1_280)).toMatchObject({
      max_tokens: 1_280,
      thinking: { type: "disabled" },
    });
  });

  test.each(["claude-3-haiku-20240307", "claude-3-5-haiku-latest"])(
    "%s cannot think, so nothing is asked",
    async (id) => {
      const body = await sent(`anthropic/${id}`, "high", 4_000);
      expect(body).not.toHaveProperty("thinking");
      expect(body).not.toHaveProperty("output_config");
    },
  );
});

describe("OpenAI", () => {
  test.each<[string, Reasoning, number, string | undefined]>([
    ["gpt-5.4-mini", "off", 8_000, "none"],
    ["gpt-5.4-mini", "low", 8_000, "low"],
    ["gpt-5.4-mini", "high", 8_000, "high"],
    ["gpt-5.4-mini", "high", 1_280, "none"],
    ["gpt-5", "minimal", 8_000, "minimal"],
    ["gpt-5", "off", 8_000, "minimal"],
    ["o3-mini", "off", 8_000, "low"],
    ["gpt-5.1-codex", "minimal", 8_000, "low"],
    ["gpt-4o", "high", 8_000, undefined],
    ["gpt-5-pro", "low", 8_000, undefined],
  ])("%s with reasoning %s within %i is sent effort %s, over either API", async (id, level, allowance, effort) => {
    const responses = await sent(`openai/${id}`, level, allowance);
    expect((responses.reasoning as { effort?: string } | undefined)?.effort).toBe(effort);
    expect(responses.max_output_tokens).toBe(allowance);
    if (/codex|-pro/.test(id)) return; // answered by the responses API alone
    const chat = await sent(`openai/${id}`, level, allowance, { chat: true });
    expect(chat.reasoning_effort).toBe(effort);
    expect(chat.max_completion_tokens ?? chat.max_tokens).toBe(allowance);
  });
});

describe("Google", () => {
  const config = (body: Body) =>
    body.generationConfig as { maxOutputTokens?: number; thinkingConfig?: Record<string, unknown> };
  test.each<[string, Reasoning, number, unknown]>([
    ["gemini-2.5-flash", "off", 10_000, { thinkingBudget: 0 }],
    ["gemini-2.5-flash", "low", 10_000, { thinkingBudget: 2_000 }],
    ["gemini-2.5-flash", "high", 10_000, { thinkingBudget: 8_000 }],
    ["gemini-2.5-flash", "high", 60_000, { thinkingBudget: 24_576 }], // the model's own most
    ["gemini-2.5-flash", "high", 1_280, { thinkingBudget: 0 }],
    ["gemini-2.5-pro", "off", 10_000, { thinkingBudget: 128 }], // it cannot stop; 128 is its least
    ["gemini-3-pro-preview", "high", 10_000, { thinkingLevel: "high" }],
    ["gemini-3-pro-preview", "off", 10_000, { thinkingLevel: "low" }],
    ["gemini-2.0-flash", "high", 10_000, undefined],
  ])("%s with reasoning %s within %i", async (id, level, allowance, thinking) => {
    const { maxOutputTokens, thinkingConfig } = config(await sent(`google/${id}`, level, allowance));
    expect(maxOutputTokens).toBe(allowance);
    expect(thinkingConfig).toEqual(thinking);
  });
});

describe("an OpenAI-compatible endpoint", () => {
  test("asks for usage in the stream, and sends an effort only when it says that it reasons", async () => {
    const plain = await sent("local/llama", "high", 4_000);
    expect(plain).toMatchObject({ model: "llama", max_tokens: 4_000, stream_options: { include_usage: true } });
    expect(plain).not.toHaveProperty("reasoning_effort");
    expect(await sent("local/llama", "high", 4_000, { reasons: true })).toMatchObject({
      reasoning_effort: "high",
      max_tokens: 4_000,
    });
  });
});

describe("a foreign model object", () => {
  test("a level reaches a vendor's own object only where thinking counts inside the maximum", async () => {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    const anthropic = createAnthropic({ apiKey: KEY, baseURL: server.baseURL.anthropic });
    const kernel = createKernel({ plugins: [providers()] });
    for (const id of ["claude-haiku-4-5", "claude-sonnet-4-6"]) {
      await kernel.start(
        agent({
          id: "a",
          instructions: "Answer.",
          model: anthropic(id),
          reasoning: "high",
          output: output({ maxTokens: 5_000 }),
        }),
        "hi",
      ).done;
      const body = server.requests.at(-1)?.body ?? {};
      expect(body.max_tokens).toBe(5_000);
      expect(body.thinking).toEqual(
        id === "claude-haiku-4-5" ? undefined : expect.objectContaining({ type: "adaptive" }),
      );
    }
  });
});

describe("the key never comes back", () => {
  // Every answer of this server repeats the key it was given, in a header, in the body, and in its URL form.
  const echo = createServer((request, response) => {
    const key = String(
      request.headers["x-api-key"] ?? request.headers["x-goog-api-key"] ?? request.headers.authorization ?? "",
    ).replace("Bearer ", "");
    const message = `bad key ${key} or ${encodeURIComponent(key)}`;
    if (request.url?.startsWith("/stream")) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(
        `event: error\ndata: ${JSON.stringify({ type: "error", error: { type: "invalid_request_error", message }, message, code: key })}\n\n`,
      );
    } else
      response.writeHead(401, { "content-type": "application/json", "retry-after": "1", "x-echo": key }).end(
        JSON.stringify({
          type: "error",
          error: {
            type: `authentication_error ${key}`,
            message,
            code: request.headers["x-goog-api-key"] ? 401 : key,
            status: key,
          },
        }),
      );
  });
  let url = "";
  beforeAll(async () => {
    await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
  });
  afterAll(() => void echo.close());

  const everything = (value: unknown, seen = new Set<unknown>()): string => {
    if (typeof value !== "object" || value === null) return String(value);
    if (seen.has(value)) return "";
    seen.add(value);
    return Reflect.ownKeys(value)
      .map((key) => `${String(key)} ${everything(Reflect.get(value, key), seen)}`)
      .join("\n");
  };

  test.each(
    ["refused", "stream"].flatMap((path) =>
      ["anthropic/claude-haiku-4-5", "openai/gpt-5.4-mini", "google/gemini-2.5-flash", "local/m"].map(
        (model) => [path, model] as const,
      ),
    ),
  )("%s by %s", async (path, model) => {
    const base = `${url}/${path}`;
    const kernel = createKernel({
      plugins: [
        providers({
          baseURLs: { anthropic: base, openai: base, google: base },
          endpoints: { local: { baseURL: base, apiKeyEnv: "LOCAL_KEY" } },
        }),
      ],
    });
    const events: RunEvent[] = [];
    await withEnvironment(keys, async () => {
      const { run, done } = kernel.start(agent({ id: "a", instructions: "Answer.", model }), "hi", {}, (event) =>
        events.push(event),
      );
      const outcome = await done;
      expect(outcome.stopReason).toBe("error");
      const told = everything([outcome, events, run.ledger.facts]);
      expect(told).not.toContain(KEY);
      expect(told).not.toContain(encodeURIComponent(KEY));
      expect(told).not.toContain("wire-0123456789");
      if (path === "refused") expect(told).toContain("[redacted]");
    });
  });
});
