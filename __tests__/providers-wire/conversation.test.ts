import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { afterEach, describe, expect, test } from "@jest/globals";
import { type ModelServer, type ScriptStep, startModelServer } from "../../plugins/providers/scripted/index.ts";
import { ask, names, of, read, vendors } from "./vendors.ts";

let server: ModelServer | undefined;
afterEach(() => server?.close());

const lookup: LanguageModelV4FunctionTool = {
  type: "function",
  name: "lookup",
  description: "Looks a number up.",
  inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
};

// Every step's figures differ, so a figure taken from another step shows. input = 1000 + 10n holds cacheRead and cacheWrite.
const usageOf = (n: number, vendor: string) => ({
  input: 1000 + 10 * n,
  output: 100 + n,
  cacheRead: 300 + n,
  cacheWrite: vendor === "google" ? 0 : 50 + n,
  reasoning: 20 + n,
});

describe.each(names)("%s", (vendor) => {
  test("ten tool calls through the vendor's package: content and usage arrive as scripted", async () => {
    const steps: ScriptStep[] = Array.from({ length: 10 }, (_, n) => ({
      reasoning: `think ${n}`,
      text: `step ${n} é🎉`,
      chunks: 3,
      toolCalls: [{ id: `id_${n}`, name: "lookup", input: { n } }],
      usage: usageOf(n, vendor),
    }));
    steps.push({ text: "done", usage: usageOf(10, vendor) });
    server = await startModelServer({ script: steps });
    const model = vendors[vendor](server);
    const prompt: LanguageModelV4Prompt = [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "Count." }] },
    ];

    for (let n = 0; n <= 10; n++) {
      const { parts, failure } = await read(
        (await model.doStream({ prompt, tools: [lookup], maxOutputTokens: 1000 })).stream,
      );
      expect(failure).toBeUndefined();
      expect(of(parts, "error")).toEqual([]);
      const [finish] = of(parts, "finish");
      const { input, output, cacheRead, cacheWrite, reasoning } = usageOf(n, vendor);
      expect(finish?.usage.inputTokens).toEqual({
        total: input,
        noCache: input - cacheRead - cacheWrite,
        cacheRead,
        cacheWrite: vendor === "google" ? undefined : cacheWrite,
      });
      expect(finish?.usage.outputTokens).toEqual({ total: output, text: output - reasoning, reasoning });
      const text = of(parts, "text-delta")
        .map(({ delta }) => delta)
        .join("");
      if (n === 10) {
        expect(text).toBe("done");
        expect(finish?.finishReason.unified).toBe("stop");
        break;
      }
      expect(text).toBe(`step ${n} é🎉`);
      // Chat Completions has no reasoning text.
      expect(
        of(parts, "reasoning-delta")
          .map(({ delta }) => delta)
          .join(""),
      ).toBe(vendor === "openai-chat" ? "" : `think ${n}`);
      expect(finish?.finishReason.unified).toBe("tool-calls");
      const [call] = of(parts, "tool-call");
      expect(call).toMatchObject({ toolCallId: `id_${n}`, toolName: "lookup", input: JSON.stringify({ n }) });
      prompt.push(
        {
          role: "assistant",
          content: [
            { type: "text", text },
            { type: "tool-call", toolCallId: `id_${n}`, toolName: "lookup", input: { n } },
          ],
        },
        {
          role: "tool",
          content: [
            {
              type: "tool-result",
              toolCallId: `id_${n}`,
              toolName: "lookup",
              output: { type: "text", value: `value ${n}` },
            },
          ],
        },
      );
    }

    // The server reads the conversation back: system, user, then ten pairs of call and result.
    const last = server.requests[10];
    expect(last).toMatchObject({ vendor, stream: true, maxOutputTokens: 1000, toolNames: ["lookup"] });
    expect(last?.prompt.map(({ role }) => role)).toEqual([
      "system",
      "user",
      ...Array.from({ length: 10 }, () => ["assistant", "tool"]).flat(),
    ]);
    expect(last?.prompt.at(-1)).toMatchObject({
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "id_9", toolName: "lookup", output: { type: "text", value: "value 9" } },
      ],
    });
    expect(last?.prompt.at(-2)).toMatchObject({
      content: [
        { type: "text", text: "step 9 é🎉" },
        { type: "tool-call", toolCallId: "id_9", input: { n: 9 } },
      ],
    });
  });

  test("an answer that is not streamed carries the same content and usage", async () => {
    server = await startModelServer({
      script: [
        {
          reasoning: "hm",
          text: "hi",
          toolCalls: [{ id: "a", name: "lookup", input: { n: 1 } }],
          usage: usageOf(1, vendor),
        },
      ],
    });
    const { content, usage, finishReason } = await vendors[vendor](server).doGenerate(ask("Hi", { tools: [lookup] }));
    expect(content.find(({ type }) => type === "text")).toMatchObject({ text: "hi" });
    expect(content.find(({ type }) => type === "tool-call")).toMatchObject({
      toolCallId: "a",
      toolName: "lookup",
      input: '{"n":1}',
    });
    expect(finishReason.unified).toBe("tool-calls");
    expect(usage.inputTokens).toMatchObject({ total: 1010, cacheRead: 301 });
    expect(usage.outputTokens).toMatchObject({ total: 101, reasoning: 21 });
  });

  test.each([
    ["length", "length"],
    ["content-filter", "content-filter"],
  ] as const)("finish %s arrives as %s", async (finish, unified) => {
    server = await startModelServer({ script: [{ text: "par", finish }] });
    const { parts } = await read((await vendors[vendor](server).doStream(ask("Hi"))).stream);
    expect(of(parts, "finish")[0]?.finishReason.unified).toBe(unified);
  });
});

test("one function script serves every vendor and sees what the client sent", async () => {
  server = await startModelServer({
    script: ({ vendor, prompt }, index) => ({ text: `${index} ${vendor} ${prompt.length}` }),
  });
  for (const [index, vendor] of names.entries()) {
    const { parts } = await read((await vendors[vendor](server).doStream(ask("Hi"))).stream);
    expect(
      of(parts, "text-delta")
        .map(({ delta }) => delta)
        .join(""),
    ).toBe(`${index} ${vendor} 1`);
  }
});
