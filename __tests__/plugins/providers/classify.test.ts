import { APICallError } from "@ai-sdk/provider";
import { describe, expect, test } from "@jest/globals";
import { CavemanError } from "../../../kernel/index.ts";
import { classify } from "../../../plugins/providers/classify.ts";
import { faultOf, ProviderFault } from "../../../plugins/providers/scrub.ts";

const api = (statusCode: number, responseBody = "", responseHeaders: Record<string, string> = {}): APICallError =>
  new APICallError({
    message: responseBody || "failed",
    url: "http://127.0.0.1/v1",
    requestBodyValues: {},
    statusCode,
    responseBody,
    responseHeaders,
  });
const network = (code: string): Error =>
  new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });

describe("a failed call", () => {
  test.each<[string, unknown, object]>([
    ["401", api(401), { status: 401, retryable: false, billed: "no", code: "cave_provider_auth" }],
    ["403", api(403), { retryable: false, billed: "no", code: "cave_provider_auth" }],
    ["404", api(404), { retryable: false, billed: "no", code: "cave_provider_rejected" }],
    ["429", api(429), { retryable: true, billed: "no", code: "cave_provider_rate_limited" }],
    [
      "429 without quota",
      api(429, "insufficient_quota"),
      { retryable: false, billed: "no", code: "cave_provider_quota" },
    ],
    ["413", api(413), { retryable: false, tooLarge: true, billed: "no", code: "cave_provider_too_large" }],
    [
      "Anthropic's size",
      api(400, "prompt is too long: 210000 tokens > 200000 maximum"),
      { tooLarge: true, retryable: false },
    ],
    ["OpenAI's size", api(400, "context_length_exceeded"), { tooLarge: true, retryable: false }],
    [
      "Google's size",
      api(400, "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
      { tooLarge: true, retryable: false },
    ],
    [
      "a size only the body tells",
      faultOf(
        new APICallError({
          message: "Bad Request",
          url: "",
          requestBodyValues: {},
          statusCode: 400,
          responseBody: '{"detail": "maximum context length is 8192"}',
        }),
        (text) => text,
        false,
      ),
      { tooLarge: true },
    ],
    ["another 400", api(400, "bad tool"), { tooLarge: false, retryable: false, code: "cave_provider_rejected" }],
    ["500 may have run", api(500), { retryable: true, billed: "maybe", code: "cave_provider_overloaded" }],
    ["503 and 529 turn away", api(529), { retryable: true, billed: "no" }],
    [
      "a refused connection",
      network("ECONNREFUSED"),
      { retryable: true, billed: "no", code: "cave_provider_unreachable" },
    ],
    [
      "a lost connection",
      network("ECONNRESET"),
      { retryable: true, billed: "maybe", code: "cave_provider_unreachable" },
    ],
    [
      "overload in a stream",
      faultOf({ type: "overloaded_error", message: "Overloaded" }, (text) => text, true),
      { retryable: true, billed: "maybe", code: "cave_provider_overloaded" },
    ],
    [
      "an incomplete stream",
      new CavemanError("cave_provider_incomplete"),
      { retryable: true, billed: "maybe", code: "cave_provider_incomplete" },
    ],
    ["an abort", new DOMException("stop", "AbortError"), { retryable: false, code: "cave_run_aborted" }],
    ["our own refusal", new CavemanError("cave_model_missing"), { retryable: false, code: "cave_model_missing" }],
    [
      "a wrapped fault",
      new CavemanError("cave_provider_failed", { cause: api(429) }),
      { status: 429, retryable: true },
    ],
    ["nothing", undefined, { retryable: false, tooLarge: false, billed: "maybe", code: "cave_provider_failed" }],
    ["a text", "boom", { retryable: false, code: "cave_provider_failed" }],
  ])("%s", (_, cause, expected) => {
    expect(classify(cause)).toMatchObject(expected);
  });

  test("the wait is read from milliseconds, seconds or a date", () => {
    const now = Date.UTC(2026, 0, 1);
    expect(classify(api(429, "", { "retry-after-ms": "1500" }), now).retryAfterMs).toBe(1_500);
    expect(classify(api(429, "", { "retry-after": "2" }), now).retryAfterMs).toBe(2_000);
    expect(classify(api(503, "", { "retry-after": new Date(now + 3_000).toUTCString() }), now).retryAfterMs).toBe(
      3_000,
    );
    expect(classify(api(429, "", { "retry-after": "soon" }), now)).not.toHaveProperty("retryAfterMs");
  });

  test("the vendor's x-should-retry is obeyed", () => {
    expect(classify(api(400, "", { "x-should-retry": "true" })).retryable).toBe(true);
    expect(classify(api(500, "", { "x-should-retry": "false" })).retryable).toBe(false);
  });

  test("a safe fault keeps what decides and drops url, body and other headers", () => {
    const fault = faultOf(api(429, "slow down", { "retry-after": "1", "set-cookie": "x" }), (text) => text, false);
    expect(fault).toBeInstanceOf(ProviderFault);
    expect(Object.keys(fault as object).sort()).toEqual([
      "inStream",
      "isRetryable",
      "name",
      "responseHeaders",
      "statusCode",
    ]);
    expect(fault).toMatchObject({ responseHeaders: { "retry-after": "1" } });
  });
});
