/** Required mode through whole runs: tools work as on the host, and nothing is left of them. */

import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { createCaveman, type RunResult } from "../../../index.ts";
import {
  type AgentDefinition,
  agent,
  CavemanError,
  definePlugin,
  type RunOptions,
  schema,
  subagent,
  textOf,
  tool,
} from "../../../kernel/index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { sandbox } from "../../../plugins/sandbox/index.ts";
import drifting from "./agents/drifting.ts";
import plain from "./agents/plain.ts";
import { team } from "./agents/team.ts";
import typebox from "./agents/typebox.ts";
import { available } from "./availability.ts";

const agents = join(import.meta.dirname, "agents");
const entry = (name: string): RunOptions => ({ entryPath: join(agents, `${name}.ts`), rootDir: agents });
// Each call starts a process: on a busy machine that takes its time.
jest.setTimeout(60_000);
const suite = available ? describe : describe.skip;

/** Keeps what tools returned and what the model read. */
let seen: { name: string; raw: unknown; text: string }[] = [];
const capture = definePlugin({
  name: "capture",
  apply: (kernel) =>
    kernel.hooks.admitTool.tap({ name: "capture", stage: "place" }, (call) =>
      call.output((output, { name }, raw) => {
        seen.push({ name, raw, text: textOf(output) });
        return output;
      }),
    ),
});
const caveman = createCaveman({ preset: "standard", plugins: [sandbox(), capture()] });

type Calls = readonly { name: string; input: object }[];
async function run(definition: AgentDefinition, calls: Calls, options: RunOptions): Promise<RunResult> {
  seen = [];
  return caveman.run(definition, "go", {
    model: scripted([...calls.map((call) => ({ toolCalls: [call] })), { text: "done" }]),
    ...options,
  });
}
const code = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "no error",
    (error: unknown) => (error instanceof CavemanError ? error.code : String(error)),
  );

suite("a tool in required mode", () => {
  test("runs in a process of its own, with its imports, and answers as on the host", async () => {
    await run(
      plain,
      [
        { name: "hello", input: { name: "ann", loud: true } },
        { name: "hello", input: { name: "bob" } },
      ],
      entry("plain"),
    );
    expect(seen.map(({ raw }) => raw)).toEqual([
      { text: "HELLO ANN", pid: 1 },
      { text: "hello bob", pid: 1 },
    ]);
  });

  test("may import packages", async () => {
    await run(typebox, [{ name: "double", input: { n: 21 } }], entry("typebox"));
    expect(seen[0]?.raw).toBe(42);
  });

  test("calls its nested tools through the host's admission, each in a worker", async () => {
    const { receipt } = await run(team, [{ name: "composite", input: { to: 1 } }], entry("team"));
    expect(seen.at(-1)?.raw).toEqual({ sum: 3, denied: "cave_unknown_tool" });
    expect(seen.filter(({ name }) => name === "add").map(({ raw }) => raw)).toEqual([
      { sum: 2, pid: 1 },
      { sum: 3, pid: 1 },
    ]);
    expect(receipt.tools.find(({ name }) => name === "add")?.calls).toBe(2);
  });

  test("gets no crowd of workers out of its nested calls", async () => {
    let running = 0;
    let peak = 0;
    const watch = definePlugin({
      name: "watch",
      apply: (kernel) =>
        kernel.hooks.admitTool.tap({ name: "watch", stage: "place" }, (call) => {
          if (!call.parent) return;
          peak = Math.max(peak, ++running);
          call.output((output) => {
            running--;
            return output;
          });
        }),
    });
    const watched = createCaveman({ preset: "bare", plugins: [sandbox(), capture(), watch()] });
    seen = [];
    const model = scripted([{ toolCalls: [{ name: "crowd", input: { times: 12 } }] }, { text: "done" }]);
    await watched.run(team, "go", { model, ...entry("team") });
    expect(seen.at(-1)?.raw).toBe(12);
    expect(peak).toBe(4);
  });

  test("is found through the subagents that lead to it", async () => {
    const model = scripted([
      { toolCalls: [{ name: "helper", input: { task: "add" } }] },
      { toolCalls: [{ name: "add", input: { to: 4 } }] },
      { text: "five" },
      { text: "done" },
    ]);
    await run(team, [], { ...entry("team"), model });
    expect(seen.find(({ name }) => name === "add")?.raw).toEqual({ sum: 5, pid: 1 });
  });

  test.each([
    ["text", "cave_sandbox_tool_failed: only text"],
    ["null", "cave_sandbox_tool_failed: a thrown null"],
    ["error", "cave_sandbox_tool_failed: an error"],
    ["circle", "cave_sandbox_result_not_serializable"],
    ["bigint", "cave_sandbox_result_not_serializable"],
    ["function", "cave_sandbox_result_not_serializable"],
    ["nothing", ""],
  ])("that ends with %s gives a result the model can read", async (what, text) => {
    const { stopReason } = await run(team, [{ name: "throws", input: { what } }], entry("team"));
    expect(stopReason).toBe("complete");
    expect(seen[0]?.text.startsWith(text)).toBe(true);
    if (text === "") expect(seen[0]?.text).toBe("");
  });

  test("gets validated values that are not JSON", async () => {
    await run(team, [{ name: "when", input: { at: "2031-05-06T00:00:00Z" } }], entry("team"));
    expect(seen[0]?.raw).toBe(2031);
  });

  test("sees the fixed environment, and one provider's credential when it is asked for", async () => {
    process.env.OPENAI_API_KEY = "sk-test";
    try {
      await run(team, [{ name: "secret", input: {} }], entry("team"));
      expect(seen[0]?.raw).toMatchObject({ key: null, cwd: "/tmp" });
      const [{ raw } = { raw: undefined }] = seen;
      const { names } = raw as { names: string[] };
      expect(
        names.filter((name) => !["CAVE_EVAL_FIXTURE", "LANG", "LC_ALL", "PATH", "PWD", "TZ"].includes(name)),
      ).toEqual([]);
      await run(team, [{ name: "secret", input: {} }], {
        ...entry("team"),
        sandboxProfile: { credentialEnv: ["OPENAI_API_KEY"] },
      });
      expect(seen[0]?.raw).toMatchObject({ key: "sk-test" });
    } finally {
      delete process.env.OPENAI_API_KEY;
    }
  });

  test("whose arguments are more than 1 MiB is refused", async () => {
    await run(plain, [{ name: "hello", input: { name: "x".repeat(1_100_000) } }], entry("plain"));
    expect(seen[0]?.text).toMatch(/^cave_sandbox_input_limit/);
  });
});

describe("before anything is spent", () => {
  const noop = (name: string) =>
    tool({ name, description: "Nothing.", input: schema.object({}), effect: "write", execute: () => "done" });
  const model = (): ReturnType<typeof scripted> =>
    scripted([{ toolCalls: [{ name: "act", input: {} }] }, { text: "done" }]);
  const refused = async (definition: AgentDefinition, options: RunOptions): Promise<string> => {
    const script = model();
    const found = await code(caveman.run(definition, "go", { model: script, ...options }));
    expect(script.calls.length).toBe(0);
    return found;
  };
  const inline = agent({ id: "inline", instructions: "Act.", tools: [noop("act")] });

  test("tools without an entry are refused, with what to do", async () => {
    expect(await refused(inline, {})).toBe("cave_tool_sandbox_entry_required");
    const error = await caveman.run(inline, "go", { model: model() }).catch((thrown: CavemanError) => thrown);
    expect((error as CavemanError).message).toMatch(/entryPath: import\.meta\.url/);
  });

  test("an agent without tools of its own needs no entry", async () => {
    const { text } = await caveman.run(agent({ id: "none", instructions: "Say." }), "go", {
      model: scripted([{ text: "said" }]),
    });
    expect(text).toBe("said");
  });

  test("host children under required are refused, wherever they are", async () => {
    const host = agent({ id: "inner", instructions: "Act.", tools: [noop("act")], sandbox: "host" });
    const between = agent({
      id: "between",
      instructions: "Pass.",
      tools: [subagent({ name: "inner", description: "Acts.", agent: host })],
    });
    const root = agent({
      id: "root",
      instructions: "Pass.",
      tools: [subagent({ name: "between", description: "Passes.", agent: between })],
    });
    expect(await refused(root, {})).toBe("cave_host_sandbox_nested_under_required");
  });

  test.each([
    [{ network: true }, "cave_sandbox_network_egress_unbounded"],
    [{ childProcess: true }, "cave_sandbox_child_process_containment_unavailable"],
    [{ credentialEnv: ["AWS_SECRET_ACCESS_KEY"] }, "cave_sandbox_credential_env_not_allowlisted"],
    [{ credentialEnv: ["OPENAI_API_KEY", "GEMINI_API_KEY"] }, "cave_sandbox_credential_capability_ambiguous"],
    [{ credentialEnv: ["GEMINI_API_KEY"] }, "cave_sandbox_credential_missing"],
  ])("the profile %j is refused", async (sandboxProfile, expected) => {
    expect(await refused(inline, { sandboxProfile })).toBe(expected);
  });

  test("an entry outside the root, missing, or of a wrong kind is refused", async () => {
    expect(await refused(plain, { entryPath: "/etc/passwd", rootDir: agents })).toBe(
      "cave_tool_sandbox_entry_escapes_root",
    );
    expect(await refused(plain, { entryPath: "none.ts", rootDir: agents })).toBe(
      "cave_tool_sandbox_entry_escapes_root",
    );
    expect(await refused(plain, { entryPath: 7, rootDir: agents } as unknown as RunOptions)).toBe(
      "cave_option_invalid",
    );
  });

  (available ? test : test.skip)("an entry that exports another agent is refused", async () => {
    expect(await refused(inline, entry("plain"))).toBe("cave_sandbox_agent_export_missing");
    expect(await refused(drifting, entry("drifting"))).toBe("cave_sandbox_definition_mismatch");
  });
});

describe("the other modes", () => {
  const act = (effect: "read" | "write") =>
    tool({ name: "act", description: "Acts.", input: schema.object({}), effect, execute: () => process.pid });
  const calls = [{ name: "act", input: {} }];

  test("fixture runs reads here and blocks writes", async () => {
    await run(agent({ id: "fixture", instructions: "Act.", tools: [act("read")], sandbox: "fixture" }), calls, {});
    expect(seen[0]?.raw).toBe(process.pid);
    const model = scripted([{ toolCalls: calls }, { text: "done" }]);
    const writes = agent({ id: "fixture", instructions: "Act.", tools: [act("write")], sandbox: "fixture" });
    await run(writes, [], { model });
    expect(seen).toEqual([]);
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("cave_side_effect_blocked");
  });

  test("host runs everything here", async () => {
    await run(agent({ id: "host", instructions: "Act.", tools: [act("write")], sandbox: "host" }), calls, {});
    expect(seen[0]?.raw).toBe(process.pid);
  });
});
