import { APICallError } from "@ai-sdk/provider";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type ModelServer, type ScriptStep, startModelServer } from "../../plugins/providers/scripted/index.ts";
import { ask, names, of, read, rejection, vendors } from "./vendors.ts";

let server: ModelServer | undefined;
afterEach(() => server?.close());

const start = async (...script: ScriptStep[]): Promise<ModelServer> => (server = await startModelServer({ script }));

describe.each(names)("%s", (vendor) => {
  test.each([
    [429, true],
    [500, true],
    [529, true],
    [400, false],
    [401, false],
  ])("status %i is an API error; retryable: %s", async (status, retryable) => {
    const model = vendors[vendor](await start({ error: { status, message: "scripted trouble", retryAfterMs: 1500 } }));
    const error = await rejection(model.doStream(ask("Hi")));
    if (!APICallError.isInstance(error)) throw error;
    expect(error.statusCode).toBe(status);
    expect(error.isRetryable).toBe(retryable);
    expect(error.message).toContain("scripted trouble");
    // 1500 ms is one and a half seconds; the header counts whole ones and must not be early.
    expect(error.responseHeaders?.["retry-after"]).toBe("2");
  });

  test("an error in the middle of a stream is an error part after half the chunks", async () => {
    const model = vendors[vendor](
      await start({ text: "abcdefgh", chunks: 4, error: { status: 529, message: "too busy", when: "mid-stream" } }),
    );
    const { parts, failure } = await read((await model.doStream(ask("Hi"))).stream);
    expect(failure).toBeUndefined();
    // Two of four chunks of two letters.
    expect(
      of(parts, "text-delta")
        .map(({ delta }) => delta)
        .join(""),
    ).toBe("abcd");
    expect(of(parts, "error")).toHaveLength(1);
    expect(JSON.stringify(of(parts, "error")[0]?.error) + String(of(parts, "error")[0]?.error)).toContain("too busy");
    expect(of(parts, "finish")[0]?.finishReason.unified ?? "error").toBe("error");
  });

  test("a cut connection fails the stream after half the chunks", async () => {
    const model = vendors[vendor](await start({ text: "abcdefgh", chunks: 4, error: { when: "cut" } }));
    const { parts, failure } = await read((await model.doStream(ask("Hi"))).stream);
    expect(
      of(parts, "text-delta")
        .map(({ delta }) => delta)
        .join(""),
    ).toBe("abcd");
    expect(failure).toBeInstanceOf(Error);
  });

  test("a cut connection fails an answer that is not streamed", async () => {
    const model = vendors[vendor](await start({ text: "abcdefgh", error: { when: "cut" } }));
    expect(await rejection(model.doGenerate(ask("Hi")))).toBeInstanceOf(Error);
  });

  test("malformed tool arguments reach the client as the vendor sends them", async () => {
    const model = vendors[vendor](await start({ toolCalls: [{ id: "a", name: "lookup", input: '{"n": 1' }] }));
    const tools = [{ type: "function" as const, name: "lookup", inputSchema: { type: "object" as const } }];
    const { parts } = await read((await model.doStream(ask("Hi", { tools }))).stream);
    if (vendor === "google") {
      // Gemini parses arguments itself and says so when it cannot.
      expect(of(parts, "tool-call")).toEqual([]);
      expect(of(parts, "finish")[0]?.finishReason).toEqual({ unified: "error", raw: "MALFORMED_FUNCTION_CALL" });
    } else expect(of(parts, "tool-call")[0]).toMatchObject({ toolCallId: "a", toolName: "lookup", input: '{"n": 1' });
  });

  test("a slow stream arrives in pieces and stops when its client leaves", async () => {
    const model = vendors[vendor](await start({ text: "abcdefgh", chunks: 4, delayMs: 40 }));
    const leaving = new AbortController();
    const began = performance.now();
    const { stream } = await model.doStream(ask("Hi", { abortSignal: leaving.signal }));
    let text = "";
    const failure = await rejection(
      (async () => {
        for await (const part of stream) {
          if (part.type !== "text-delta") continue;
          text += part.delta;
          leaving.abort(new Error("left"));
        }
      })(),
    );
    expect(performance.now() - began).toBeGreaterThanOrEqual(35);
    expect(failure).toBeInstanceOf(Error);
    expect("abcdef".startsWith(text) && text.length > 0).toBe(true);
  });

  test("a request beyond the script is refused with a status no client retries", async () => {
    const model = vendors[vendor](await start());
    const error = await rejection(model.doStream(ask("Hi")));
    expect(error).toMatchObject({
      statusCode: 400,
      isRetryable: false,
      message: expect.stringContaining("cave_script_exhausted"),
    });
  });
});

// Usage after an error is not to be believed: a package may end with a finish part that reports no output, although output was
// sent and will be billed. Whoever counts must take an error part as "usage unknown", whatever the finish part says.
test.each([
  ["anthropic", undefined],
  ["openai-chat", { input: undefined, output: undefined }],
  ["openai-responses", { input: undefined, output: undefined }],
  ["google", { input: 100, output: 0 }],
] as const)("after an error in the middle of a stream %s reports usage %j", async (vendor, reported) => {
  const model = vendors[vendor](
    await start({ text: "abcd", chunks: 2, usage: { input: 100, output: 40 }, error: { when: "mid-stream" } }),
  );
  const { parts } = await read((await model.doStream(ask("Hi"))).stream);
  const [finish] = of(parts, "finish");
  expect(finish && { input: finish.usage.inputTokens.total, output: finish.usage.outputTokens.total }).toEqual(
    reported,
  );
});

test("a client that leaves a slow stream ends it: the next request is served at once", async () => {
  const model = vendors.anthropic(await start({ text: "ab", chunks: 2, delayMs: 60_000 }, { text: "next" }));
  const leaving = new AbortController();
  const first = rejection(
    model
      .doStream(ask("Hi", { abortSignal: leaving.signal }))
      .then(({ stream }) => read(stream))
      .then(({ failure }) => {
        throw failure;
      }),
  );
  while (server?.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  leaving.abort(new Error("left"));
  // The package gives the reason, or an API error around it, by where the abort finds it.
  await first;
  const { parts } = await read((await model.doStream(ask("Hi"))).stream);
  expect(
    of(parts, "text-delta")
      .map(({ delta }) => delta)
      .join(""),
  ).toBe("next");
});

describe("the door", () => {
  const post = (path: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${server?.url}${path}`, { method: "POST", body, headers });
  const key = { "x-api-key": "k" };

  test("an unknown route is 404 with a JSON error", async () => {
    await start();
    const response = await post("/v2/messages", "{}", key);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { message: "No route for POST /v2/messages" } });
  });

  test.each([
    ["/v1/messages", 401, "authentication_error"],
    ["/v1/chat/completions", 401, "invalid_api_key"],
    ["/v1/responses", 401, "invalid_api_key"],
    ["/v1beta/models/m:generateContent", 403, "PERMISSION_DENIED"],
  ])("%s without a key is %i %s", async (path, status, word) => {
    await start({ text: "never" });
    for (const headers of [{}, { authorization: "Bearer " }]) {
      const response = await post(path, "{}", headers);
      expect(response.status).toBe(status);
      expect(await response.text()).toContain(word);
    }
    expect(server?.requests).toHaveLength(0);
  });

  test.each(["no json", "[]", "{}"])("the body %s is 400 and takes no step", async (body) => {
    await start({ text: "first" });
    expect((await post("/v1/messages", body, key)).status).toBe(400);
    const good = await post("/v1/messages", JSON.stringify({ model: "m", max_tokens: 9, messages: [] }), key);
    expect(await good.json()).toMatchObject({ content: [{ type: "text", text: "first" }] });
  });

  test("a body beyond 32 MiB is 413", async () => {
    await start({ text: "never" });
    // Announced, not sent: the refusal must not need the bytes.
    const { request } = await import("node:http");
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const call = request(
        `${server?.url}/v1/messages`,
        { method: "POST", headers: { ...key, "content-length": 32 * 1024 * 1024 + 1 } },
        (response) => {
          resolve(response.statusCode);
          call.destroy();
        },
      );
      call.on("error", reject);
      call.flushHeaders();
    });
    expect(status).toBe(413);
  });

  test("close ends open streams and may be called twice", async () => {
    await start({ text: "abcd", chunks: 2, delayMs: 60_000 });
    const pending = post(
      "/v1/messages",
      JSON.stringify({ model: "m", max_tokens: 9, messages: [], stream: true }),
      key,
    ).then((response) => response.text());
    const failed = rejection(pending);
    while (server?.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await server?.close();
    expect(await failed).toMatchObject({ name: "TypeError" });
    await server?.close();
  });
});
