/** Plugins declare what they record: every fact of these runs has the fields that its schema says, and no content. */
import { beforeAll, describe, expect, jest, test } from "@jest/globals";
import { Type } from "@sinclair/typebox";
import {
  agent,
  createKernel,
  definePlugin,
  type LanguageModel,
  output,
  type Plugin,
  type PluginFactory,
  type Run,
  type RunOptions,
  schema,
  type Tool,
  tool,
} from "../../kernel/index.ts";
import { breakers } from "../../plugins/breakers/index.ts";
import { budget, createBudgetController } from "../../plugins/budget/index.ts";
import { compaction } from "../../plugins/compaction/index.ts";
import { compression } from "../../plugins/compression/index.ts";
import { contextEditing } from "../../plugins/context-editing/index.ts";
import * as all from "../../plugins/index.ts";
import { policy } from "../../plugins/policy/index.ts";
import { prefix } from "../../plugins/prefix/index.ts";
import { pricing } from "../../plugins/pricing/index.ts";
import { providers } from "../../plugins/providers/index.ts";
import { type ScriptStep, scripted } from "../../plugins/providers/scripted/index.ts";
import { results } from "../../plugins/results/index.ts";
import { retry } from "../../plugins/retry/index.ts";
import { subagents } from "../../plugins/subagents/index.ts";
import { type PluginFact, pluginFactsOf, undeclaredIn } from "../support/declared-facts.ts";
import { family } from "../support/family.ts";
import { seededClock } from "../support/harness.ts";
import { capsuleFor } from "./compaction/summarisers.ts";
import { play, worker } from "./compaction/worlds.ts";
import { recoveryStore } from "./context-editing/stores.ts";
import { calls as callsOf, plain, World } from "./mcp/worlds.ts";

// One of them starts a process.
jest.setTimeout(60_000);

/** Whether a scenario below records a fact. Types hold the list complete: a new fact is named here, covered or not. */
const covered: Record<PluginFact, boolean> = {
  "breaker.tripped": true,
  "budget.clamped": true,
  "budget.closed": true,
  "budget.opened": true,
  "budget.released": true,
  "call.priced": true,
  "coding.command_failed": false,
  "compaction.declined": true,
  "compaction.discarded": true,
  "compaction.settled": true,
  "compression.applied": true,
  "context.clear_declined": true,
  "context.cleared": true,
  "mcp.server": true,
  "output.capped": true,
  "policy.decided": true,
  "prefix.broken": true,
  "prefix.call": true,
  "prefix.restored": true,
  "prefix.run": true,
  "run.resumed": false,
  "subagents.tree": true,
};

/** A word that is in every prompt, argument, result and answer, and must be in no fact. */
const SECRET = "cloudberry";
const HAIKU = { as: "anthropic/claude-haiku-4-5" };
type Plugins = readonly (Plugin | PluginFactory)[];
interface Played {
  readonly run: Run;
  readonly plugins: Plugins;
}

const give = (name: string, value: string, more: Partial<Pick<Tool, "effect" | "result" | "allowRepeat">> = {}) =>
  tool({
    name,
    description: `Gives, ${SECRET}.`,
    input: schema.object({ q: schema.optional(schema.string()), n: schema.optional(schema.integer()) }),
    effect: "read",
    ...more,
    execute: () => `${SECRET} ${value}`,
  });
const call = (name: string, n = 0): ScriptStep => ({
  text: `${SECRET} next`,
  toolCalls: [{ name, input: { q: SECRET, n } }],
});
const many = (count: number, name: string): ScriptStep[] => Array.from({ length: count }, (_, n) => call(name, n));
const done: ScriptStep = { text: `${SECRET} done` };

async function go(
  plugins: Plugins,
  model: LanguageModel,
  tools: readonly Tool[] = [],
  options: RunOptions = {},
  maxTokens = 300,
): Promise<Played> {
  const kernel = createKernel({ plugins: [providers, ...plugins], clock: seededClock() });
  const instructions = `Say ${SECRET}. `.repeat(200);
  const definition = agent({ id: "a", instructions, model, tools, output: output({ maxTokens }) });
  const { run, done } = kernel.start(definition, `Find the ${SECRET}`, options);
  await done;
  return { run, plugins: kernel.plugins };
}
const windowed = (script: ScriptStep[]) =>
  Object.assign(scripted(script), { contextWindow: 120_000, maxOutput: 1_000 });
const page = "a page of it ".repeat(2_500);
const bad = ["rubbish {}", `${SECRET} {"${SECRET}": 1}`, "no object"];

const scenarios: Record<string, () => Promise<Played>> = {
  "a clamped call, then a tranche": () => {
    const budgetController = createBudgetController();
    const more = tool({
      name: "more",
      description: "Releases.",
      input: schema.object({ q: schema.string(), n: schema.integer() }),
      effect: "read",
      execute: () => budgetController.releaseBudget(9_000, "approved").amount,
    });
    const model = scripted([call("more"), done], HAIKU);
    const budgeted = { budget: { maxTokens: 20_000, initialTokens: 8_000 }, budgetController };
    return go([pricing, budget], model, [more], budgeted, 12_000);
  },
  "a dollar budget with failures before and in the answer": () =>
    go(
      [pricing, budget, retry({ repeatBilled: true })],
      scripted(
        [
          { error: { status: 529 } },
          { ...done, chunks: 4, error: { when: "cut" } },
          { error: { status: 429, retryAfterMs: 31_000, message: SECRET } },
        ],
        HAIKU,
      ),
      [],
      { budget: { maxUsd: 1 } },
    ),
  "a model without a price": () => go([pricing], scripted([done], { as: "nobody/nothing" })),
  "a loop of calls": () =>
    go(
      [breakers],
      scripted(() => call("look")),
      [give("look", "same")],
    ),
  "too many calls in a turn, of tools that nobody declared too": () =>
    go(
      [breakers, policy({ rules: [{ decision: "deny", effect: "write" }] }), results, compression],
      scripted([
        { toolCalls: Array.from({ length: 10 }, (_, n) => ({ name: n % 2 ? SECRET : "look", input: { n } })) },
        done,
      ]),
      [give("look", "same"), ...Array.from({ length: 100 }, (_, n) => give(`look_${n}`, "same"))],
    ),
  "turns without progress": () =>
    go(
      [breakers],
      scripted((_request, n) => call("look", n)),
      [give("look", "same")],
    ),
  "calls that rules, a policy and a person decide": () =>
    go(
      [
        policy({
          rules: [
            { decision: "deny", tool: "write", reason: "read_only" },
            { decision: "ask", tool: "send" },
          ],
        }),
      ],
      scripted([call("look"), call("write"), call("send"), call("drop"), done]),
      ["look", "write", "send", "drop"].map((name) => give(name, "x")),
      {
        toolPolicy: ({ name }) => (name === "drop" ? { deny: "not_now" } : undefined),
        approve: () => "yes",
      },
    ),
  "results over their caps": () =>
    go([results, recoveryStore().plugin], scripted([call("paged"), call("exact"), done]), [
      give("paged", page.repeat(2), { result: "page" }),
      give("exact", page.repeat(2), { result: "exact_ccr" }),
    ]),
  "a compressed result": () =>
    go([compression, recoveryStore().plugin], scripted([call("log"), call("log", 1), done]), [
      give(
        "log",
        Array.from({ length: 600 }, (_, n) => `2026-11-30T08:00:00Z INFO worker ${SECRET} finished job ${n}`).join(
          "\n",
        ),
        { allowRepeat: true },
      ),
    ]),
  "old results cleared": () =>
    go([contextEditing({ tools: ["look"] }), recoveryStore().plugin], windowed([...many(14, "look"), done]), [
      give("look", page),
    ]),
  "nothing worth clearing": () =>
    go([contextEditing], windowed([...many(14, "bash"), done]), [give("bash", page, { effect: "external" })]),
  "evicted and summarised": () => compacted((text) => ({ text: JSON.stringify(capsuleFor(text)) })),
  "summaries that are not used": () => {
    let n = 0;
    return compacted(() => ({ text: bad[n++ % bad.length] ?? "" }));
  },
  "a claim about messages that are not there": () =>
    compacted((text) => ({
      text: JSON.stringify(
        capsuleFor(text, {
          critical_anchors: [{ id: SECRET, text: SECRET, source_id: SECRET }],
          citations: [{ segment_id: SECRET, digest: "0".repeat(64), what: SECRET }],
        }),
      ),
    })),
  "a prefix restored, and one broken": async () => {
    let n = 0;
    const drift = definePlugin({
      name: "drift",
      apply: ({ hooks }) =>
        hooks.beforeCall.tap({ name: "drift", stage: "shape" }, (made) => {
          if (n++ === 1) made.setTools([...made.tools].reverse());
          if (n > 3) made.setTools(made.tools.slice(0, 1));
        }),
    });
    const usage = { input: 5_000, output: 5, cacheRead: 4_000 };
    const steps = many(5, "look").map((step) => ({ ...step, usage }));
    const model = scripted([...steps, done], { as: "anthropic/claude-sonnet-4-5" });
    return go([pricing, prefix, drift], model, [give("look", "x"), give("other", "x")]);
  },
  "a tree of runs under a budget": async () => {
    const kernel = createKernel({ plugins: [providers, pricing, budget, subagents] });
    const { run, done } = kernel.start(family(), SECRET, { budget: { maxTokens: 100_000 } });
    await done;
    return { run, plugins: kernel.plugins };
  },
  "an MCP server": async () => {
    const world = new World([plain("ping", { description: SECRET })]);
    const kernel = world.kernel({ servers: { s: world.server() } });
    const { run } = await world.runOn(kernel, callsOf(["s__ping", { q: SECRET }]));
    return { run, plugins: kernel.plugins };
  },
};

async function compacted(summarise: Parameters<typeof worker>[1]): Promise<Played> {
  const { model } = worker(16, summarise, { prose: 2_400 });
  const more = [pricing, recoveryStore().plugin];
  const { run } = await play(model, [`Go and find the ${SECRET}`], more);
  return { run, plugins: [providers, contextEditing, compaction, ...more] };
}

const played = new Map<string, Played>();
beforeAll(async () => {
  for (const [name, scenario] of Object.entries(scenarios)) played.set(name, await scenario());
});

describe("what plugins record", () => {
  test.each(Object.keys(scenarios))("%s: is what they declare", (name) => {
    const { run, plugins } = played.get(name) as Played;
    expect(pluginFactsOf(run)).not.toEqual([]);
    expect(undeclaredIn(run, plugins)).toEqual([]);
  });
  test.each(Object.keys(scenarios))("%s: is no content", (name) => {
    const { run } = played.get(name) as Played;
    expect(pluginFactsOf(run).filter((fact) => JSON.stringify(fact).includes(SECRET))).toEqual([]);
  });
  test("is recorded by some scenario, all but what the list says", () => {
    const recorded = new Set([...played.values()].flatMap(({ run }) => pluginFactsOf(run).map(({ type }) => type)));
    const expected = Object.entries(covered).flatMap(([type, is]) => (is ? [type] : []));
    expect([...recorded].sort()).toEqual(expected.sort());
  });
  test("is of every kind that a breaker sees", () => {
    const kinds = [...played.values()].flatMap(({ run }) => run.ledger.of("breaker.tripped").map(({ kind }) => kind));
    expect([...new Set(kinds)].sort()).toEqual([
      "fan_out_blocked",
      "loop_detected",
      "no_progress",
      "retry_attempted",
      "retry_exhausted",
    ]);
  });
  test("is in one shape, whoever records it", () => {
    const schemas = new Map<string, object>();
    for (const value of Object.values<unknown>(all)) {
      if (typeof value !== "function" || !("pluginName" in value)) continue;
      for (const [type, schema] of Object.entries((value as PluginFactory).spec.facts ?? {})) {
        expect(covered).toHaveProperty([type]);
        expect(schemas.get(type) ?? schema).toBe(schema);
        schemas.set(type, schema);
      }
    }
    expect(schemas.size).toBeGreaterThan(0);
  });
});

test("a fact that nobody declares, one with a field too few, and one with a field too many are found", async () => {
  const shape = (more: object) => Type.Object({ reason: Type.String() }, more);
  const say = (facts?: Record<string, ReturnType<typeof shape>>, data: object = { reason: "r" }) =>
    definePlugin({
      name: "say",
      ...(facts ? { facts } : {}),
      apply: ({ hooks }) => hooks.settle.tap("say", ({ run }) => void run.record("compaction.declined", data as never)),
    });
  const closed = { "compaction.declined": shape({ additionalProperties: false }) };
  const found = async (plugin: PluginFactory): Promise<string[]> => {
    const { run, plugins } = await go([plugin], scripted([done]));
    return undeclaredIn(run, plugins);
  };
  expect(await found(say(closed))).toEqual([]);
  expect(await found(say())).toEqual(["compaction.declined: no plugin declares it"]);
  expect(await found(say({ "compaction.declined": shape({}) }))).toEqual([
    "compaction.declined: its schema leaves more fields open",
  ]);
  expect(await found(say(closed, {}))).toEqual([expect.stringContaining("required property 'reason'")]);
  expect(await found(say(closed, { reason: "r", text: "t" }))).toEqual([expect.stringContaining('has no "text"')]);
});
