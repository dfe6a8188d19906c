import { describe, expect, test } from "@jest/globals";
import { Type } from "@sinclair/typebox";
import * as z from "zod";
import {
  type AgentDefinition,
  AUTO,
  agent,
  artifact,
  auto,
  context,
  file,
  frameworkTool,
  isAgent,
  isFileRef,
  isModelSpec,
  isTool,
  output,
  subagent,
  tool,
} from "../../kernel/definition.ts";
import { CavemanError } from "../../kernel/errors.ts";
import { type AnySchema, check, type StandardSchema, schema } from "../../kernel/schema.ts";

const input = Type.Object({ id: Type.String() });
const base = { name: "lookup", description: "Looks an order up.", input, effect: "read", execute: () => "ok" } as const;
const bot = { id: "bot", instructions: "Answer." };

/** The coded error that a construction throws. */
function refusal(make: () => unknown): CavemanError {
  try {
    make();
  } catch (error) {
    if (error instanceof CavemanError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}
/** Calls a builder the way JavaScript can: with options its types would not let through. */
const untyped =
  <T>(make: (options: never) => T, options: unknown): (() => T) =>
  () =>
    make(options as never);

describe("tool()", () => {
  test("fills in its defaults", () => {
    expect(tool(base)).toMatchObject({
      kind: "tool",
      name: "lookup",
      effect: "read",
      result: "auto",
      allowRepeat: false,
      timeoutMs: 30_000,
      nestedTools: [],
      inputJSONSchema: input,
    });
  });

  test.each(["a", "Z9", "get-order_2", `a${"b".repeat(127)}`])("takes the name %j", (name) => {
    expect(tool({ ...base, name }).name).toBe(name);
  });

  test.each(["", "1st", "_x", "-x", "é", "a b", "a.b", `a${"b".repeat(128)}`, 7, undefined])(
    "refuses the name %j",
    (name) => {
      expect(refusal(untyped(tool, { ...base, name })).code).toBe("cave_tool_definition_invalid");
    },
  );

  test("keeps names that begin with cave_ for the framework", () => {
    expect(refusal(() => tool({ ...base, name: "cave_skill" })).code).toBe("cave_reserved_tool_name");
    expect(frameworkTool({ ...base, name: "cave_skill" }).name).toBe("cave_skill");
  });

  test.each<[string, object]>([
    ["description", { description: "  " }],
    ["effect", { effect: undefined }],
    ["effect", { effect: "delete" }],
    ["result", { result: "zip" }],
    ["result", { result: null }],
    ["timeoutMs", { timeoutMs: 0 }],
    ["timeoutMs", { timeoutMs: 1.5 }],
    ["timeoutMs", { timeoutMs: Number.POSITIVE_INFINITY }],
    ["allowRepeat", { allowRepeat: "yes" }],
    ["execute", { execute: "ls" }],
    ["schemaSemanticsSHA256", { schemaSemanticsSHA256: "ABC" }],
  ])("refuses a wrong %s and names the field", (field, change) => {
    const error = refusal(untyped(tool, { ...base, ...change }));
    expect(error.code).toBe("cave_tool_definition_invalid");
    expect(error.detail.place).toBe(`tool "lookup".${field}`);
    expect(error.remedy).toBeTruthy();
  });

  test("refuses a key it does not know, and lists those it does", () => {
    const error = refusal(untyped(tool, { ...base, effects: "read" }));
    expect(error.detail).toMatchObject({ received: "effects" });
    expect(error.detail.expected).toContain("effect");
  });

  test.each([undefined, null, "tool", 3])("refuses %j instead of options", (options) => {
    expect(refusal(untyped(tool, options)).code).toBe("cave_tool_definition_invalid");
  });

  test("is frozen, nested list included", () => {
    const made = tool({ ...base, nestedTools: [tool({ ...base, name: "inner" })] });
    expect(Object.isFrozen(made)).toBe(true);
    expect(Object.isFrozen(made.nestedTools)).toBe(true);
  });

  test("does not follow later changes to the list it was given", () => {
    const nestedTools = [tool({ ...base, name: "inner" })];
    const made = tool({ ...base, nestedTools });
    nestedTools.pop();
    expect(made.nestedTools).toHaveLength(1);
  });

  test("runs nothing when it is made", () => {
    let ran = 0;
    tool({ ...base, execute: () => ++ran });
    expect(ran).toBe(0);
  });

  test("has one digest for one definition, and another when what the model sees or its code changes", () => {
    const { digest } = tool(base);
    expect(digest).toMatch(/^[0-9a-f]{64}$/);
    expect(tool(base).digest).toBe(digest);
    expect(tool({ ...base, description: "Other." }).digest).not.toBe(digest);
    expect(tool({ ...base, execute: () => "other" }).digest).not.toBe(digest);
  });
});

describe("schemas", () => {
  const standard = (extra: object = {}): AnySchema => ({
    "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }), ...extra },
  });

  test("TypeBox is shown to the model as it is", () => {
    expect(tool({ ...base, input: schema.object({ n: schema.integer() }) }).inputJSONSchema).toMatchObject({
      type: "object",
      properties: { n: { type: "integer" } },
    });
  });

  test("zod 4 writes its own JSON schema, and its output is what execute receives", async () => {
    const made = tool({
      ...base,
      input: z.object({ n: z.string().transform(Number) }),
      execute: ({ n }) => n.toFixed(1),
    });
    expect(made.inputJSONSchema).toMatchObject({
      type: "object",
      properties: { n: { type: "string" } },
      required: ["n"],
    });
    expect(await check(made.input, { n: "3" })).toEqual({ ok: true, value: { n: 3 } });
    expect(await check(made.input, { n: 3 })).toMatchObject({ ok: false, problem: expect.stringContaining("n: ") });
  });

  test("zod 4 describes an output from its output side", () => {
    expect(output({ schema: z.object({ n: z.string().default("x") }) }).jsonSchema).toMatchObject({ required: ["n"] });
  });

  test("a Standard Schema that only validates needs inputJSONSchema beside it", () => {
    expect(refusal(() => tool({ ...base, input: standard() })).code).toBe("cave_schema_invalid");
    const shown = { type: "object" };
    expect(tool({ ...base, input: standard(), inputJSONSchema: shown }).inputJSONSchema).toBe(shown);
  });

  test("a Standard Schema may be a function", () => {
    const callable: AnySchema = Object.assign(() => undefined, standard() as StandardSchema<unknown, unknown>);
    expect(isTool(tool({ ...base, input: callable, inputJSONSchema: { type: "object" } }))).toBe(true);
  });

  test.each([{ type: "object" }, null, undefined, "string", 5, { "~standard": {} }])("%j is no schema", (value) => {
    expect(refusal(untyped(tool, { ...base, input: value })).code).toBe("cave_schema_invalid");
    expect(refusal(untyped(output, { schema: value ?? 1 })).code).toBe("cave_schema_invalid");
  });

  test("TypeBox checks fill in defaults and name the nearest key", async () => {
    const closed = Type.Object({ limit: Type.Integer({ default: 5 }) }, { additionalProperties: false });
    expect(await check(closed, {})).toEqual({ ok: true, value: { limit: 5 } });
    expect(await check(closed, { limti: 1 })).toMatchObject({ ok: false, problem: expect.stringContaining("limit") });
  });
});

describe("nested tools", () => {
  const write = tool({ ...base, name: "save", effect: "write" });
  const read = tool({ ...base, name: "get" });

  test("a read tool contains only read tools", () => {
    expect(refusal(() => tool({ ...base, nestedTools: [write] })).code).toBe("cave_nested_tool_invalid");
    expect(tool({ ...base, effect: "write", nestedTools: [write, read] }).nestedTools.map(({ name }) => name)).toEqual([
      "save",
      "get",
    ]);
  });

  test("nested tools are flat", () => {
    const parent = tool({ ...base, name: "parent", nestedTools: [read] });
    expect(refusal(() => tool({ ...base, nestedTools: [parent] })).code).toBe("cave_nested_tool_invalid");
  });

  test("a subagent is no nested tool", () => {
    const child = subagent({ name: "child", description: "Does.", agent: agent(bot) });
    expect(refusal(() => tool({ ...base, nestedTools: [child] })).code).toBe("cave_nested_tool_invalid");
  });

  test("a look-alike is refused: only tool() makes tools", () => {
    expect(refusal(() => tool({ ...base, nestedTools: [{ ...read }] })).code).toBe("cave_nested_tool_invalid");
  });

  test("a list is needed", () => {
    expect(refusal(untyped(tool, { ...base, nestedTools: 5 })).code).toMatch(
      /^cave_(nested_tool|tool_definition)_invalid$/,
    );
  });

  test("two of one name are refused", () => {
    expect(refusal(() => tool({ ...base, nestedTools: [read, tool({ ...base, name: "get" })] })).code).toBe(
      "cave_duplicate_tool_name",
    );
  });
});

describe("subagent()", () => {
  const child = agent(bot);
  const options = { name: "helper", description: "Helps.", agent: child };

  test("fills in its defaults and takes one task", () => {
    const made = subagent(options);
    expect(made).toMatchObject({
      kind: "subagent",
      effect: "read",
      subagent: { agent: child, maxInputChars: 32_768, maxCalls: 1, maxContextTokens: 128_000 },
    });
    expect(made.subagent).not.toHaveProperty("maxCostUsd");
    expect(made.inputJSONSchema).toMatchObject({ required: ["task"] });
    expect(isTool(made)).toBe(true);
  });

  test.each<[string, object]>([
    ["agent", { agent: { ...child } }],
    ["maxCalls", { maxCalls: 0 }],
    ["maxInputChars", { maxInputChars: -1 }],
    ["maxContextTokens", { maxContextTokens: "many" }],
    ["maxTokens", { maxTokens: 0.5 }],
    ["maxCostUsd", { maxCostUsd: 0 }],
    ["maxCostUsd", { maxCostUsd: Number.NaN }],
    ["maxCostUsd", { maxCostUsd: Number.POSITIVE_INFINITY }],
  ])("refuses a wrong %s", (field, change) => {
    expect(refusal(untyped(subagent, { ...options, ...change })).detail.place).toBe(`subagent "helper".${field}`);
  });

  test("refuses reserved names and unknown keys", () => {
    expect(refusal(() => subagent({ ...options, name: "cave_helper" })).code).toBe("cave_reserved_tool_name");
    expect(refusal(untyped(subagent, { ...options, maxCost: 1 })).detail.received).toBe("maxCost");
  });
});

describe("agent()", () => {
  test("fills in its defaults", () => {
    expect(agent(bot)).toEqual({
      kind: "agent",
      id: "bot",
      instructions: "Answer.",
      model: AUTO,
      reasoning: "low",
      tools: [],
      contexts: [],
      sandbox: "required",
    });
    expect(auto()).toBe(AUTO);
  });

  test.each(["a", "0", "a-b_c", "a".repeat(96)])("takes the id %j", (id) => {
    expect(agent({ ...bot, id }).id).toBe(id);
  });
  test.each(["", "A", "-a", "_a", "a.b", "a b", "a".repeat(97), 1, null])("refuses the id %j", (id) => {
    expect(refusal(untyped(agent, { ...bot, id })).code).toBe("cave_agent_definition_invalid");
  });

  test.each<[string, object]>([
    ["instructions", { instructions: " \n" }],
    ["instructions", { instructions: 4 }],
    ["model", { model: "haiku" }],
    ["model", { model: {} }],
    ["model", { model: "a/" }],
    ["reasoning", { reasoning: "max" }],
    ["sandbox", { sandbox: "none" }],
    ["tools", { tools: [{ name: "x" }] }],
  ])("refuses a wrong %s", (field, change) => {
    const error = refusal(untyped(agent, { ...bot, ...change }));
    expect(error.code).toBe("cave_agent_definition_invalid");
    expect(error.detail.place).toBe(`agent bot.${field}`);
  });

  test.each<[string, unknown]>([
    ["tools", 5],
    ["tools", null],
    ["contexts", [null]],
    ["contexts", [{ id: "x" }]],
    ["output", 5],
    ["output", { maxTokens: -1 }],
  ])("refuses %s: %j, which its builder did not make", (field, value) => {
    expect(refusal(untyped(agent, { ...bot, [field]: value })).code).toBe("cave_agent_definition_invalid");
  });

  test("refuses unknown keys and anything but options", () => {
    expect(refusal(untyped(agent, { ...bot, tool: [] })).detail.received).toBe("tool");
    expect(refusal(untyped(agent, undefined)).code).toBe("cave_agent_definition_invalid");
  });

  test("refuses two tools of one name, a subagent's included", () => {
    const child = subagent({ name: "lookup", description: "Looks.", agent: agent(bot) });
    expect(refusal(() => agent({ ...bot, tools: [tool(base), child] })).code).toBe("cave_duplicate_tool_name");
  });

  test("refuses two contexts of one id", () => {
    const segment = context({ id: "policy", kind: "text", source: "x", stability: "build" });
    expect(refusal(() => agent({ ...bot, contexts: [segment, segment] })).detail.place).toBe("agent bot.contexts");
  });

  test("is frozen and does not follow later changes to its lists", () => {
    const tools = [tool(base)];
    const made = agent({ ...bot, tools });
    tools.pop();
    expect(made.tools).toHaveLength(1);
    for (const part of [made, made.tools, made.contexts]) expect(Object.isFrozen(part)).toBe(true);
  });

  test("only agent() makes agents: a copy is none", () => {
    const made: AgentDefinition = agent(bot);
    expect(isAgent(made)).toBe(true);
    expect(isAgent({ ...made })).toBe(false);
    expect(isAgent(tool(base))).toBe(false);
    expect(isTool(made)).toBe(false);
  });

  test.each(["anthropic/claude-haiku-4-5", "ollama/qwen3:8b", "openrouter/meta/llama-4", "sim/model"])(
    "%j can name a model",
    (model) => {
      expect(isModelSpec(model)).toBe(true);
    },
  );
});

describe("file(), context(), artifact(), output()", () => {
  test("file() names a path and opens nothing", () => {
    expect(file("/nowhere/at/all.md")).toEqual({ kind: "file", path: "/nowhere/at/all.md" });
    expect(file(new URL("file:///nowhere.md")).path).toBe("file:///nowhere.md");
    expect(isFileRef(file("a"))).toBe(true);
    expect(Object.isFrozen(file("a"))).toBe(true);
    for (const path of ["", "  ", 3, undefined])
      expect(refusal(untyped(file, path)).code).toBe("cave_agent_definition_invalid");
  });

  test("context() puts build-stable content in the frozen prefix and the rest in the live zone", () => {
    const segment = { id: "policy", kind: "text", source: "x" };
    expect(context({ ...segment, stability: "build" })).toMatchObject({
      cacheRegion: "frozen_prefix",
      safety: "S0",
      priority: "required",
      recovery: "none",
      opaque: false,
    });
    expect(context({ ...segment, stability: "turn" }).cacheRegion).toBe("live_zone");
    expect(
      refusal(() => context({ ...segment, stability: "session", cacheRegion: "frozen_prefix" })).detail.place,
    ).toBe("context policy.cacheRegion");
    expect(Object.isFrozen(context({ ...segment, stability: "build" }))).toBe(true);
  });

  test.each<[string, object]>([
    ["id", { id: "" }],
    ["source", { source: 1 }],
    ["stability", { stability: "always" }],
    ["safety", { safety: "S9" }],
    ["priority", { priority: "high" }],
  ])("context() refuses a wrong %s", (_field, change) => {
    expect(
      refusal(untyped(context, { id: "policy", kind: "text", source: "x", stability: "build", ...change })).code,
    ).toBe("cave_agent_definition_invalid");
  });

  test("artifact() pages above 1,200 tokens and recovers exactly", () => {
    expect(artifact()).toEqual({ kind: "artifact", strategy: "page", maxInlineTokens: 1_200, recovery: "exact_ccr" });
    expect(tool({ ...base, result: artifact({ strategy: "verbatim" }) }).result).toMatchObject({
      strategy: "verbatim",
    });
    for (const wrong of [{ maxInlineTokens: 0 }, { strategy: "zip" }, { recovery: "none" }])
      expect(refusal(untyped(artifact, wrong)).code).toBe("cave_tool_definition_invalid");
  });

  test("output() takes a budget and a shape", () => {
    expect(output({ maxTokens: 200 })).toEqual({ maxTokens: 200 });
    expect(output({ schema: input }).jsonSchema).toBe(input);
    for (const wrong of [{ maxTokens: 0 }, { maxTokens: 1.5 }, { tokens: 3 }])
      expect(refusal(untyped(output, wrong)).code).toBe("cave_agent_definition_invalid");
  });
});
