import { existsSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import {
  agent,
  createKernel,
  definePlugin,
  type Run,
  type RunOptions,
  schema,
  subagent,
  type Tool,
  textOf,
  tool,
} from "../../../kernel/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import { type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";
import { locate, OriginalStore, recovery } from "../../../plugins/recovery/index.ts";
import { Recovery } from "../../../plugins/services.ts";
import { models } from "../../support/harness.ts";
import { folder } from "./world.ts";

const ROWS = Array.from({ length: 80 }, (_, i) => `row ${i} of the report ${i === 30 ? "with the answer" : ""}`).join(
  "\n",
);

/** The simplest compressor: shows the first line of a long result and a handle, or all of it when it cannot be kept. */
const shortener = definePlugin({
  name: "shortener",
  apply(kernel) {
    kernel.hooks.admitTool.tap({ name: "shortener", stage: "place" }, (call) => {
      call.output((output) => {
        const text = textOf(output);
        const kept = call.run.service(Recovery);
        if (text.length < 200 || kept.isRecovered(call.name, text)) return output;
        const handle = kept.keep(text, { contentType: "text", by: "shortener" });
        return handle ? { type: "text", value: `${text.slice(0, 20)} … ${handle}` } : output;
      });
    });
  },
});
const report = tool({
  name: "report",
  description: "R.",
  input: schema.object({}),
  effect: "read",
  execute: () => ROWS,
});

const outputs = (run: Run): string[] =>
  run.transcript.history.flatMap(({ value }) =>
    value.role === "tool"
      ? value.content.flatMap((part) => (part.type === "tool-result" ? [textOf(part.output)] : []))
      : [],
  );
const handleIn = (text = ""): string => /ccr_[0-9a-f]{32}/.exec(text)?.[0] ?? "";

type Prompt = readonly { readonly role: string; readonly content: unknown }[];
/** Steps that may look at what the model was sent. */
type Step = string | ScriptStep | ((request: { readonly prompt: Prompt }) => ScriptStep);
const playing = (...steps: Step[]) =>
  scripted((request, index) => {
    const step = steps[index] ?? "too many calls";
    return typeof step === "string" ? { text: step } : typeof step === "function" ? step(request) : step;
  });

async function go(path: string, script: Step[], options: RunOptions = {}, tools: Tool[] = [report]) {
  const kernel = createKernel({ plugins: [models, recovery({ path }), shortener] });
  const { run, done } = kernel.start(
    agent({ id: "a", instructions: "i", model: playing(...script), tools }),
    "go",
    options,
  );
  return { run, outcome: await done, outputs: outputs(run) };
}
const ask = (text: string | undefined, more: object = {}) => ({
  toolCalls: [{ name: "cave_retrieve", input: { recovery_handle: handleIn(text), ...more } }],
});
/** The last tool result a scripted model was sent. */
const seen = (prompt: Prompt, back = 1): string => {
  const results = prompt.flatMap(({ role, content }) =>
    role === "tool" ? (content as { output?: { value?: unknown } }[]).map(({ output }) => String(output?.value)) : [],
  );
  return results.at(-back) ?? "";
};

describe("a run", () => {
  test("fetches the exact original back, and what it fetched is not shortened again", async () => {
    using at = folder();
    const { outputs } = await go(at.db, [
      { toolCalls: [{ name: "report", input: {} }] },
      ({ prompt }) => ask(seen(prompt)),
      "done",
    ]);
    expect(outputs[0]?.length).toBeLessThan(100);
    expect(outputs[1]).toBe(ROWS);
  });

  test("fetches the part that a query asks for", async () => {
    using at = folder();
    const { outputs } = await go(at.db, [
      { toolCalls: [{ name: "report", input: {} }] },
      ({ prompt }) => ask(seen(prompt), { query: "answer" }),
      "done",
    ]);
    expect(outputs[1]).toContain("row 30 of the report with the answer");
    expect(outputs[1]?.length).toBeLessThan(ROWS.length / 4);
  });

  test("that leaves nothing out makes no file", async () => {
    using at = folder();
    await go(at.db, ["done"]);
    expect(existsSync(at.db)).toBe(false);
  });

  test("gets nothing for a handle it was not shown, even one that is stored", async () => {
    using at = folder();
    const store = new OriginalStore({ path: at.db });
    const put = store.put("the secret of another conversation", { contentType: "text", by: "x" });
    store.close();
    const stored = "handle" in put ? put.handle : "";
    const { outputs } = await go(at.db, [ask(stored), ask(`ccr_${"0".repeat(32)}`), "done"]);
    for (const text of outputs) {
      expect(text).toContain("cave_recovery_handle_out_of_scope");
      expect(text).not.toContain("secret");
    }
  });

  test("of the same conversation fetches what an earlier run was shown, also after a restart; another does not", async () => {
    using at = folder();
    const conversation = createConversation();
    const first = await go(at.db, [{ toolCalls: [{ name: "report", input: {} }] }, "noted"], { conversation });
    const handle = handleIn(first.outputs[0]);
    const restored = createConversation(JSON.parse(JSON.stringify(conversation)));
    const second = await go(at.db, [ask(handle), "done"], { conversation: restored });
    expect(second.outputs.at(-1)).toBe(ROWS);
    const other = await go(at.db, [ask(handle), "done"], { conversation: createConversation() });
    expect(other.outputs.at(-1)).toContain("cave_recovery_handle_out_of_scope");
  });

  test("reads a marker that its child was shown", async () => {
    using at = folder();
    const child = agent({
      id: "child",
      instructions: "i",
      tools: [report],
      model: playing({ toolCalls: [{ name: "report", input: {} }] }, ({ prompt }) => ({ text: `see ${seen(prompt)}` })),
    });
    const { outputs } = await go(
      at.db,
      [{ toolCalls: [{ name: "helper", input: { task: "t" } }] }, ({ prompt }) => ask(seen(prompt)), "done"],
      {},
      [subagent({ name: "helper", description: "H.", agent: child })],
    );
    expect(outputs[1]).toBe(ROWS);
  });

  test("whose store is full, or unsafe, shows everything and says so once", async () => {
    using at = folder();
    const kernel = createKernel({ plugins: [models, recovery({ path: at.db, maxBytes: 8_192 }), shortener] });
    const twice = [
      { name: "report", input: {} },
      { name: "report", input: {} },
    ];
    const { run, done } = kernel.start(
      agent({ id: "a", instructions: "i", model: playing({ toolCalls: twice }, "done"), tools: [report] }),
      "go",
    );
    await done;
    expect(outputs(run)).toEqual([ROWS, ROWS]);
    expect(run.ledger.of("notice").filter(({ code }) => code === "cave_recovery_store_unavailable")).toHaveLength(1);
  });

  test("never stores a text that carries a handle", async () => {
    using at = folder();
    const marked = tool({
      name: "report",
      description: "R.",
      input: schema.object({}),
      effect: "read",
      execute: () => `${ROWS} ccr_${"a".repeat(32)}`,
    });
    const kernel = createKernel({ plugins: [models, recovery({ path: at.db })] });
    const opened = await kernel.open(agent({ id: "a", instructions: "i", model: scripted([]), tools: [marked] }));
    const service = opened.run.service(Recovery);
    expect(service.keep(`${ROWS} ccr_${"a".repeat(32)}`, { contentType: "text", by: "x" })).toBeUndefined();
    expect(service.isRecovered("anything", `… ccr_${"a".repeat(32)}`)).toBe(true);
    expect(service.isRecovered("cave_retrieve", "plain")).toBe(true);
    expect(service.isRecovered("report", "plain")).toBe(false);
    const handle = service.keep(ROWS, { contentType: "text", by: "x" }) ?? "";
    expect(service.retrieve(handle)).toBe(ROWS);
    expect(service.retrieve(`ccr_${"b".repeat(32)}`)).toBeUndefined();
    await opened.close();
  });
});

describe("a storm of retrievals", () => {
  test("is answered once: the same question again points at the answer that still stands", async () => {
    using at = folder();
    const { outputs } = await go(at.db, [
      { toolCalls: [{ name: "report", input: {} }] },
      ({ prompt }) => ask(seen(prompt), { query: "answer" }),
      ({ prompt }) => ask(seen(prompt, 2), { query: " answer " }),
      "done",
    ]);
    expect(outputs[1]).toContain("with the answer");
    expect(outputs[2]).toContain("still stands above");
  });

  test("ends with the whole original after five different queries", async () => {
    using at = folder();
    const query = (word: string) => (request: { readonly prompt: Prompt }) => {
      const results = request.prompt.filter(({ role }) => role === "tool");
      return ask(seen(results.slice(0, 1)), { query: word });
    };
    const { outputs } = await go(at.db, [
      { toolCalls: [{ name: "report", input: {} }] },
      ...["answer", "30", "31", "32", "33", "34"].map(query),
      "done",
    ]);
    for (const text of outputs.slice(1, 6)) expect(text.length).toBeLessThan(ROWS.length);
    expect(outputs[6]).toBe(ROWS);
  });
});

describe("where the store is", () => {
  test("options, then the environment, then the home folder", () => {
    expect(locate({ path: "/o/x.db", maxBytes: 5 }, { CAVEMAN_CCR_DB: "/e/y.db", CAVEMAN_CCR_MAX_BYTES: "7" })).toEqual(
      {
        path: "/o/x.db",
        maxBytes: 5,
      },
    );
    expect(locate({}, { CAVEMAN_CCR_DB: "/e/y.db", CAVEMAN_CCR_MAX_BYTES: "7" })).toEqual({
      path: "/e/y.db",
      maxBytes: 7,
    });
    expect(locate({}, { CAVEMAN_HOME: "/h" }).path).toBe("/h/ccr.db");
    expect(locate({}, {}).path).toMatch(/[\\/]\.caveman[\\/]ccr\.db$/);
    expect(locate({}, {}).maxBytes).toBe(512 * 1024 * 1024);
  });
  test.each(["0", "-1", "1e3", "512MB", " "])("a budget of %j is refused", (said) => {
    expect(() => locate({}, { CAVEMAN_CCR_MAX_BYTES: said })).toThrow(/cave_option_invalid.*CAVEMAN_CCR_MAX_BYTES/);
  });
});

test.each([
  ["whole", (handle: string) => `<<ccr:${handle}>>`],
  ["with spaces", (handle: string) => ` ${handle}\n`],
])("a pointer that is copied %s leads to its original", async (_, copy) => {
  using at = folder();
  const { run } = await go(at.db, [
    { toolCalls: [{ name: "report", input: {} }] },
    ({ prompt }) => ({
      toolCalls: [{ name: "cave_retrieve", input: { recovery_handle: copy(handleIn(JSON.stringify(prompt))) } }],
    }),
    "done",
  ]);
  expect(outputs(run)[1]).toBe(ROWS);
});

test("a wrong setting of the store is said once, by its own code, and everything is shown whole", async () => {
  const before = process.env.CAVEMAN_CCR_MAX_BYTES;
  process.env.CAVEMAN_CCR_MAX_BYTES = "plenty";
  try {
    using at = folder();
    const again = { toolCalls: [{ name: "report", input: {} }] };
    const { run } = await go(at.db, [again, again, "done"]);
    expect(outputs(run)).toEqual([ROWS, ROWS]);
    expect(run.ledger.of("notice").map(({ code }) => code)).toEqual(["cave_option_invalid"]);
  } finally {
    if (before === undefined) delete process.env.CAVEMAN_CCR_MAX_BYTES;
    else process.env.CAVEMAN_CCR_MAX_BYTES = before;
  }
});
