import { describe, expect, test } from "@jest/globals";
import { agent, createKernel, Message, type Run } from "../../../kernel/index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { Tokenizer } from "../../../plugins/services.ts";
import { o200kTokenizer, tokens } from "../../../plugins/tokens/index.ts";
import { createTokenizer } from "../../../plugins/tokens/tokenizer.ts";
import { models } from "../../support/harness.ts";

async function inRun<T>(look: (tokenizer: Tokenizer, run: Run) => T, options = {}): Promise<T> {
  const kernel = createKernel({ plugins: [models, tokens(options)] });
  const opened = await kernel.open(agent({ id: "a", instructions: "i", model: scripted([]) }));
  try {
    return look(opened.run.service(Tokenizer), opened.run);
  } finally {
    await opened.close();
  }
}

describe("what a count may be trusted for", () => {
  test("OpenAI's models of this encoding are exact, with the digest of the ranks", () =>
    inRun((tokenizer) => {
      for (const id of [
        "gpt-4o",
        "gpt-4o-mini-2024-07-18",
        "gpt-4.1",
        "gpt-5",
        "gpt-5.2-codex",
        "o1-preview",
        "o3",
        "o4-mini",
      ])
        expect(tokenizer.identityOf({ provider: "openai", id })).toMatchObject({
          backend: "o200k_base",
          exactness: "exact",
          digest: expect.stringMatching(/^[0-9a-f]{64}$/),
          surface: "text",
        });
      expect(tokenizer.identityOf({ provider: "openai.responses", id: "gpt-4o" })?.exactness).toBe("exact");
    }));

  test("older ones, and other vendors', are modelled and name no digest", () =>
    inRun((tokenizer) => {
      for (const model of [
        { provider: "openai", id: "gpt-4-turbo" },
        { provider: "openai", id: "gpt-3.5-turbo" },
        { provider: "openai", id: "o365-assistant" },
        { provider: "anthropic", id: "claude-sonnet-4-5" },
        { provider: "google.generative-ai", id: "gemini-3-pro" },
      ])
        expect(tokenizer.identityOf(model)).toMatchObject({ exactness: "modelled", digest: "" });
    }));

  test("a model nobody knows a tokenizer for is unmeasured", () =>
    inRun((tokenizer) => {
      expect(tokenizer.identityOf({ provider: "sim", id: "scripted" })).toBeUndefined();
      expect(tokenizer.identityOf({ provider: "my-endpoint", id: "gpt-4o" })).toBeUndefined();
    }));

  test("stand-ins are the caller's to choose", () =>
    inRun(
      (tokenizer) => {
        expect(tokenizer.identityOf({ provider: "my-endpoint", id: "m" })?.exactness).toBe("modelled");
        expect(tokenizer.identityOf({ provider: "anthropic", id: "m" })).toBeUndefined();
      },
      { standIns: ["my-endpoint"] },
    ));

  test("ranks that cannot be read leave an approximation that says so", () => {
    const tokenizer = createTokenizer(new Set(["anthropic"]), () => {
      throw new Error("gone");
    });
    // 9 characters, one of them outside the basic plane: floor(9 / 4).
    expect(tokenizer.count("12345678𠮷")).toBe(2);
    expect(tokenizer.count("a")).toBe(1);
    expect(tokenizer.count("")).toBe(0);
    expect(tokenizer.identity).toMatchObject({
      backend: "approx/chars-per-four",
      exactness: "modelled",
      reason: expect.stringContaining("gone"),
    });
    expect(tokenizer.identityOf({ provider: "openai", id: "gpt-4o" })).toBe(tokenizer.identity);
  });
});

describe("a message", () => {
  const tokenizer = o200kTokenizer();
  const count = (value: Message["value"]): number => tokenizer.countMessage(new Message(value));

  test("counts its text, reasoning, tool calls and results", () => {
    expect(count({ role: "system", content: "hello world" })).toBe(tokenizer.count("hello world"));
    expect(
      count({
        role: "assistant",
        content: [
          { type: "reasoning", text: "hm" },
          { type: "tool-call", toolCallId: "1", toolName: "look", input: { q: "ö" } },
        ],
      }),
    ).toBe(tokenizer.count('hm\nlook\n{"q":"ö"}'));
    expect(
      count({
        role: "tool",
        content: [
          { type: "tool-result", toolCallId: "1", toolName: "look", output: { type: "text", value: "found" } },
          { type: "tool-result", toolCallId: "2", toolName: "look", output: { type: "json", value: { a: 1 } } },
          {
            type: "tool-result",
            toolCallId: "3",
            toolName: "look",
            output: { type: "content", value: [{ type: "text", text: "x" }] },
          },
        ],
      }),
    ).toBe(tokenizer.count('found\n{"a":1}\nx'));
  });

  test("is read once, however often it is counted", () => {
    let reads = 0;
    const message = new Message({
      role: "user",
      content: [
        {
          type: "text",
          get text() {
            reads++;
            return "how much";
          },
        },
      ],
    });
    const first = tokenizer.countMessage(message);
    expect(tokenizer.countMessage(message)).toBe(first);
    expect(reads).toBe(1);
  });
});
