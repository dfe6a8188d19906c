import { existsSync, readdirSync } from "node:fs";
import { afterEach, describe, expect, test } from "@jest/globals";
import {
  type AgentDefinition,
  agent,
  createKernel,
  type ModelMessage,
  type Run,
  type RunOptions,
  subagent,
  textOf,
} from "../../../kernel/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { memory, memoryPlugin } from "../../../plugins/memory/index.ts";
import { shown } from "../../../plugins/memory/recall.ts";
import { type ScriptedModel, type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";
import { Tokenizer } from "../../../plugins/services.ts";
import { tokens } from "../../../plugins/tokens/index.ts";
import { models } from "../../support/harness.ts";
import { codeOf, engineIn, folder } from "./world.ts";

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

const remember = (text: string, more: object = {}): ScriptStep => ({
  toolCalls: [{ name: "cave_memory_remember", input: { text, ...more } }],
});
const search = (query: string): ScriptStep => ({ toolCalls: [{ name: "cave_memory_search", input: { query } }] });
const say = (text: string): ScriptStep => ({ text });

const definition = (model: ScriptedModel, more: Partial<Parameters<typeof agent>[0]> = {}): AgentDefinition =>
  agent({ id: "support", instructions: "Help.", model, memory: memory({ namespace: "notes" }), ...more });
const kernel = () => createKernel({ plugins: [models, tokens(), memoryPlugin()] });

async function go(of: AgentDefinition, input: string, options: RunOptions = {}, on = kernel()) {
  const { run, done } = on.start(of, input, options);
  const outcome = await done;
  return { run, outcome, results: results(run) };
}
const results = (run: Run): string[] =>
  run.transcript.history.flatMap(({ value }) =>
    value.role === "tool"
      ? value.content.flatMap((part) => (part.type === "tool-result" ? [textOf(part.output)] : []))
      : [],
  );
const text = ({ content }: ModelMessage): string =>
  typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join("");
const prompts = (model: ScriptedModel): string[][] => model.calls.map(({ prompt }) => prompt.map(text));

describe("an agent that declares memory", () => {
  test("remembers in one run and finds it in another, and replaces what is outdated", async () => {
    using at = folder();
    const first = await go(
      definition(scripted([remember("The gate code is on the blue card"), say("Noted.")])),
      "Remember it",
      {
        memory: { root: at.path },
      },
    );
    const { id } = JSON.parse(first.results[0] ?? "") as { id: string };
    expect(id).toMatch(/^mem_[0-9a-f]{16}$/);
    const second = await go(
      definition(
        scripted([
          search("gate code"),
          remember("The gate code is on the red card", { supersedes: id }),
          search("gate code"),
          say("Red."),
        ]),
      ),
      "Where is it?",
      { memory: { root: at.path } },
    );
    expect(JSON.parse(second.results[0] ?? "")).toMatchObject({
      hits: [{ id, text: "The gate code is on the blue card" }],
      basis: "inferred",
      namespace: "notes",
    });
    const { hits } = JSON.parse(second.results[2] ?? "") as { hits: { text: string }[] };
    expect(hits.map((hit) => hit.text)).toEqual(["The gate code is on the red card"]);
  });

  test("reads a refusal of a secret, and of an id it does not know, as tool errors", async () => {
    using at = folder();
    const { results } = await go(
      definition(
        scripted([
          remember("The password: hunter2!x"),
          remember("A new fact", { supersedes: "mem_unknown" }),
          say("No."),
        ]),
      ),
      "go",
      { memory: { root: at.path } },
    );
    expect(results[0]).toContain("cave_memory_secret_refused");
    expect(results[0]).not.toContain("hunter2");
    expect(results[1]).toContain("cave_memory_unknown");
  });

  test("reads a record whole by the id of a cut hit, one that was replaced too, and none by no argument", async () => {
    using at = folder();
    const long = `The runbook of the migration: ${"step by step, with care. ".repeat(200)}`.trim();
    const engine = engineIn(at.path, { recallBudget: 200 });
    const { id } = await engine.remember(long);
    const recalled = shown((await engine.search("runbook migration")).hits, "notes");
    expect(recalled).toContain(`(${id}, 2025-06-15, cut, whole by this id)`);
    expect(recalled).not.toContain("ccr_");
    const read = { toolCalls: [{ name: "cave_memory_search", input: { id } }] };
    const { results } = await go(
      definition(
        scripted([
          search("runbook migration"),
          read,
          remember("No runbook any more", { supersedes: id }),
          read,
          { toolCalls: [{ name: "cave_memory_search", input: { id: "mem_0000000000000000" } }] },
          { toolCalls: [{ name: "cave_memory_search", input: {} }] },
          say("Read."),
        ]),
      ),
      "go",
      { memory: { engine } },
    );
    const [cut, whole, replaced, after] = results.slice(0, 4).map((each) => JSON.parse(each) as { id: string });
    expect(cut).toMatchObject({ hits: [{ id, truncated: true }] });
    expect(whole).toEqual({
      id,
      text: long,
      created_at: "2025-06-15T15:06:40.000Z",
      basis: "inferred",
      namespace: "notes",
    });
    expect(after).toEqual({ ...whole, state: "superseded", superseded_by: replaced?.id });
    expect(results[4]).toContain("cave_memory_unknown");
    expect(results[5]).toContain("cave_tool_arguments_invalid");
    await engine.close();
  });

  test("that uses none of it opens no file, and starts nothing in the background", async () => {
    using at = folder();
    const model = scripted([say("Hello.")]);
    await go(definition(model), "Where is the gate code?", { memory: { root: at.path } });
    expect(readdirSync(at.path)).toEqual([]);
    expect(prompts(model)[0]).toEqual(["Help.", "Where is the gate code?"]);
  });

  test("keeps its files where the environment says", async () => {
    using at = folder();
    process.env.CAVE_AGENT_MEMORY_ROOT = at.path;
    await go(definition(scripted([remember("The gate code is on the blue card"), say("ok")])), "go");
    expect(existsSync(`${at.path}/_/support/notes.db`)).toBe(true);
  });

  test("has no tools of it when a run leaves memory out, and one that declares none has none", async () => {
    for (const [of, options] of [
      [definition(scripted([say("a")])), { memory: false }],
      [agent({ id: "support", instructions: "i", model: scripted([say("a")]) }), {}],
    ] as const) {
      const { run } = await go(of, "go", options);
      expect([...run.tools.keys()]).toEqual([]);
    }
  });
});

describe("an engine kept across runs", () => {
  test("adds finished recall before the newest user message, within the declared tokens, and never to the history", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    for (let fact = 0; fact < 30; fact++)
      await engine.remember(`Ferry note ${fact}: the ferry to Gozo leaves at ${fact} past the hour`);
    const conversation = createConversation();
    const model = scripted([say("I will look."), say("Every hour.")]);
    const of = definition(model, { memory: memory({ namespace: "notes", recallBudget: 150 }) });
    const options = { memory: { engine }, conversation };
    await go(of, "When does the ferry to Gozo leave?", options);
    const { run } = await go(of, "And back?", options);
    const [first, second] = prompts(model);
    expect(first).toEqual(["Help.", "When does the ferry to Gozo leave?"]);
    expect(second?.slice(0, 3)).toEqual(["Help.", "When does the ferry to Gozo leave?", "I will look."]);
    expect(second?.at(-1)).toBe("And back?");
    const block = second?.at(-2) ?? "";
    expect(block).toContain("the ferry to Gozo leaves at");
    expect(run.service(Tokenizer).count(block)).toBeLessThanOrEqual(150);
    expect(run.transcript.history.some(({ value }) => text(value).includes("recalled_memory"))).toBe(false);
    await engine.close();
  });

  test("recalls for a turn as soon as its look-up is done, and then leaves the prompt as it is", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    await engine.remember("The ferry to Gozo leaves every hour");
    const model = scripted(async (_request, index) => {
      await engine.flush();
      return index < 4 ? search(`unrelated topic ${index}`) : say("Every hour.");
    });
    await go(definition(model), "When does the ferry to Gozo leave?", { memory: { engine } });
    const all = prompts(model);
    expect(all).toHaveLength(5);
    expect(all[0]).toEqual(["Help.", "When does the ferry to Gozo leave?"]);
    for (const prompt of all.slice(1)) expect(prompt[1]).toContain("The ferry to Gozo leaves every hour");
    // From there on each prompt begins with the one before it.
    for (let call = 2; call < all.length; call++)
      expect(all[call]?.slice(0, all[call - 1]?.length)).toEqual(all[call - 1]);
    await engine.close();
  });

  test("is silent off topic", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    await engine.remember("The ferry to Gozo leaves every hour");
    const conversation = createConversation();
    const model = scripted([say("a"), say("b")]);
    for (const input of ["How do I bake bread?", "And cakes?"])
      await go(definition(model), input, { memory: { engine }, conversation });
    expect(prompts(model).flat().join()).not.toContain("ferry");
    await engine.close();
  });

  test("keeps the turns of a run for later sessions, but not those of a failed one", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    await go(definition(scripted([say("The lighthouse is 31 metres tall.")])), "How tall is the lighthouse?", {
      memory: { engine },
    });
    await go(definition(scripted([{ error: { status: 500, message: "down" } }])), "How deep is the harbour?", {
      memory: { engine },
    });
    expect(await engine.searchSessions("lighthouse tall")).toHaveLength(1);
    expect(await engine.searchSessions("harbour deep")).toHaveLength(0);
    const { results } = await go(
      definition(
        scripted([
          { toolCalls: [{ name: "cave_memory_search_sessions", input: { query: "lighthouse tall" } }] },
          say("31."),
        ]),
      ),
      "What was it again?",
      { memory: { engine } },
    );
    expect(results[0]).toContain("31 metres");
    await engine.close();
  });

  test("made for another agent or namespace is refused before a call", async () => {
    using at = folder();
    const engine = engineIn(at.path);
    const model = scripted([say("never")]);
    for (const of of [
      definition(model, { id: "sales" }),
      definition(model, { memory: memory({ namespace: "other" }) }),
    ])
      expect(codeOf(() => kernel().start(of, "go", { memory: { engine } }))).toBe("cave_memory_scope_mismatch");
    expect(model.calls).toHaveLength(0);
    await engine.close();
  });
});

test("memory: true keeps one engine for as long as the runtime lives", async () => {
  using at = folder();
  process.env.CAVE_AGENT_MEMORY_ROOT = at.path;
  const on = kernel();
  const conversation = createConversation();
  const model = scripted([
    remember("The ferry to Gozo leaves every hour"),
    say("Noted."),
    say("Hm."),
    say("Every hour."),
  ]);
  const of = definition(model);
  for (const input of ["Remember the ferry", "When does the ferry to Gozo leave?", "Well?"])
    await go(of, input, { memory: true, conversation }, on);
  expect(prompts(model)[3]?.join()).toContain("The ferry to Gozo leaves every hour");
});

test("a child has the memory of its own id, not its parent's", async () => {
  using at = folder();
  const engine = engineIn(at.path);
  await engine.remember("The gate code is on the blue card");
  const child = agent({
    id: "helper",
    instructions: "i",
    memory: memory({ namespace: "notes" }),
    model: scripted([search("gate code"), say("Nothing.")]),
  });
  const parent = definition(scripted([{ toolCalls: [{ name: "ask", input: { task: "gate code?" } }] }, say("ok")]), {
    tools: [subagent({ name: "ask", description: "A.", agent: child })],
  });
  const { run } = await go(parent, "go", { memory: { engine, root: at.path } });
  expect(run.children.map(results)).toEqual([[expect.stringContaining('"hits":[]')]]);
  await engine.close();
});

describe("what is refused before a call", () => {
  test.each([
    [{ kind: "memory", namespace: "notes", provenance: "project" }, {}, "cave_memory_shared_backend_unavailable"],
    [{ namespace: "notes", consent: "project_shared" }, {}, "cave_memory_shared_backend_unavailable"],
    [{ namespace: "../x" }, {}, "cave_memory_namespace_invalid"],
    [undefined, { memory: { rot: "/x" } }, "cave_option_invalid"],
    [undefined, { memory: { engine: {} } }, "cave_option_invalid"],
    [undefined, { memory: 7 }, "cave_option_invalid"],
    [undefined, { memory: { tenant: "../../etc" } }, "cave_memory_tenant_invalid"],
  ])("%j with %j", (declared, options, code) => {
    const model = scripted([say("never")]);
    const of = definition(model, { memory: declared ?? memory({ namespace: "notes" }) });
    expect(codeOf(() => kernel().start(of, "go", options as RunOptions))).toBe(code);
    expect(model.calls).toHaveLength(0);
  });
});
