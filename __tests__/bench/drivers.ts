/** How each runtime is driven through a shape. Loaded in the process that measures it, and only there. */
import type * as Library from "../../index.ts";
import {
  type Drive,
  expectCalls,
  INSTRUCTIONS,
  QUESTION,
  resultOf,
  type Shape,
  scriptedModel,
  TOOL,
  TOOL_SCHEMA,
} from "./shape.ts";

export type Build = "source" | "dist";
export type Peer = "pi-agent-core" | "ai";
/** The `standard` preset runs with a budget in dollars, a deadline and ceilings. */
export type Target = `${"bare" | "standard"}@${Build}` | Peer;

const entries: Readonly<Record<Build, string>> = { source: "../../index.ts", dist: "../../dist/index.js" };

export async function driverOf(target: Target): Promise<Drive> {
  if (target === "pi-agent-core") return pi();
  if (target === "ai") return aiSdk();
  const [preset, build] = target.split("@") as ["bare" | "standard", Build];
  return ours(preset, build);
}

async function ours(preset: "bare" | "standard", build: Build): Promise<Drive> {
  const { agent, createCaveman, schema, tool } = (await import(entries[build])) as typeof Library;
  const runtime = createCaveman({ preset });
  let size = 0;
  const look = tool({
    ...TOOL,
    input: schema.object({ page: schema.integer() }, { additionalProperties: false }),
    effect: "read",
    result: "inline",
    execute: ({ page }) => resultOf(page, size),
  });
  const reader = agent({ id: "reader", instructions: INSTRUCTIONS, tools: [look], sandbox: "host" });
  return async (shape) => {
    size = shape.resultBytes;
    const model = scriptedModel(shape);
    const guards =
      preset === "bare"
        ? {}
        : {
            budget: { maxUsd: 100 },
            assumeMeteredCredential: true,
            maxModelCalls: shape.calls + 1,
            maxToolCalls: shape.calls + 1,
            deadlineMs: 600_000,
          };
    const { stopReason } = await runtime.run(reader, QUESTION, { model, ...guards });
    if (stopReason !== "complete") throw new Error(`${preset}@${build}: the run stopped with ${stopReason}`);
    expectCalls(`${preset}@${build}`, model.made(), shape);
  };
}

/** Peers are installed in a folder of their own, so their packages have no types here: what is used of them is said. */
const peer = async <T>(path: string): Promise<T> => (await import(`./peers/node_modules/${path}`)) as T;

interface AiSdk {
  generateText(options: object): Promise<{ readonly text: string }>;
  stepCountIs(count: number): unknown;
  jsonSchema(schema: object): unknown;
  tool(definition: object): unknown;
}

async function aiSdk(): Promise<Drive> {
  const { generateText, stepCountIs, jsonSchema, tool } = await peer<AiSdk>("ai/dist/index.js");
  let size = 0;
  const look = tool({
    description: TOOL.description,
    inputSchema: jsonSchema(TOOL_SCHEMA),
    execute: async ({ page }: { page: number }) => resultOf(page, size),
  });
  return async (shape) => {
    size = shape.resultBytes;
    const model = scriptedModel(shape);
    await generateText({
      model,
      instructions: INSTRUCTIONS,
      prompt: QUESTION,
      tools: { [TOOL.name]: look },
      stopWhen: stepCountIs(shape.calls + 1),
    });
    expectCalls("ai", model.made(), shape);
  };
}

interface PiStream {
  push(event: object): void;
}
interface PiAi {
  createAssistantMessageEventStream(): PiStream;
}
interface PiAgent {
  runAgentLoop(
    prompts: object[],
    context: object,
    config: object,
    emit: () => void,
    signal: undefined,
    streamFn: () => PiStream,
  ): Promise<unknown[]>;
}

/** Its loop without the stateful class around it, the leanest way it can be used. */
async function pi(): Promise<Drive> {
  const { createAssistantMessageEventStream } = await peer<PiAi>("@earendil-works/pi-ai/dist/index.js");
  const { runAgentLoop } = await peer<PiAgent>("@earendil-works/pi-agent-core/dist/index.js");
  const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const model = {
    id: "claude-sonnet-4-5",
    name: "scripted",
    api: "anthropic-messages",
    provider: "anthropic",
    baseUrl: "http://localhost",
    reasoning: false,
    input: ["text"],
    cost: zero,
    contextWindow: 200_000,
    maxTokens: 8_192,
  };
  let size = 0;
  const look = {
    ...TOOL,
    label: TOOL.name,
    parameters: TOOL_SCHEMA,
    execute: async (_: string, { page }: { page: number }) => ({
      content: [{ type: "text", text: resultOf(page, size) }],
      details: {},
    }),
  };
  const base = {
    role: "assistant",
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: { input: 100, output: 20, cacheRead: 0, cacheWrite: 0, totalTokens: 120, cost: zero },
  };
  const answer = (turn: number, shape: Shape): PiStream => {
    const stream = createAssistantMessageEventStream();
    const last = turn >= shape.calls;
    const toolCall = { type: "toolCall", id: `call_${turn}`, name: TOOL.name, arguments: { page: turn } };
    const content = last ? [{ type: "text", text: "It says so." }] : [toolCall];
    const partial = { ...base, content, stopReason: last ? "stop" : "toolUse", timestamp: Date.now() };
    stream.push({ type: "start", partial });
    if (last) {
      stream.push({ type: "text_start", contentIndex: 0, partial });
      stream.push({ type: "text_delta", contentIndex: 0, delta: "It says so.", partial });
      stream.push({ type: "text_end", contentIndex: 0, content: "It says so.", partial });
    } else {
      stream.push({ type: "toolcall_start", contentIndex: 0, partial });
      stream.push({ type: "toolcall_delta", contentIndex: 0, delta: `{"page":${turn}}`, partial });
      stream.push({ type: "toolcall_end", contentIndex: 0, toolCall, partial });
    }
    stream.push({ type: "done", reason: partial.stopReason, message: partial });
    return stream;
  };
  return async (shape) => {
    size = shape.resultBytes;
    let made = 0;
    const context = {
      messages: [{ role: "system", content: INSTRUCTIONS, tools: [], timestamp: Date.now() }],
      tools: [look],
    };
    const question = { role: "user", content: [{ type: "text", text: QUESTION }], timestamp: Date.now() };
    await runAgentLoop(
      [question],
      context,
      { model, convertToLlm: (messages: unknown) => messages },
      () => undefined,
      undefined,
      () => answer(++made, shape),
    );
    expectCalls("pi-agent-core", made, shape);
  };
}
