import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, jest, test } from "@jest/globals";
import {
  agent,
  createKernel,
  frameworkTool,
  type Run,
  type RunOptions,
  schema,
  subagent,
  type Tool,
  tool,
} from "../../../kernel/index.ts";
import { createConversation } from "../../../plugins/conversation/index.ts";
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  decideToolCall,
  describeRules,
  policy,
  TOOL_POLICY_TIMEOUT_MS,
  type ToolPolicyInput,
} from "../../../plugins/policy/index.ts";
import { type Script, scripted } from "../../../plugins/providers/scripted/index.ts";
import { receipt } from "../../../plugins/receipt/index.ts";
import { Receipts } from "../../../plugins/services.ts";
import { models, seededClock, unhandledDuring } from "../../support/harness.ts";

type Options = Parameters<typeof policy>[0];
const SECRET = "top secret text";
const ran: string[] = [];
const make = (name: string, effect: Tool["effect"], nestedTools: Tool[] = []): Tool =>
  tool({
    name,
    description: "T.",
    input: schema.object({
      path: schema.optional(schema.string()),
      command: schema.optional(schema.string()),
      text: schema.optional(schema.string()),
    }),
    effect,
    nestedTools,
    execute: async (input, { call }) => {
      ran.push(name);
      for (const nested of nestedTools) await call(nested.name, input);
      return "done";
    },
  });
const read = make("read_file", "read");
const write = make("write_file", "write");
const bash = make("bash", "external");
const both = make("both", "write", [write]);
const remember = frameworkTool({
  name: "cave_memory_remember",
  description: "R.",
  input: schema.object({}),
  effect: "write",
  execute: () => void ran.push("cave_memory_remember"),
});
const calls = (...list: [name: string, input?: object][]): Script => [
  ...list.map(([name, input = {}]) => ({ toolCalls: [{ name, input }] })),
  { text: "done" },
];
const kernelOf = (options: Options = {}) =>
  createKernel({ plugins: [models, receipt(), policy(options)], clock: seededClock() });

async function go(
  script: Script,
  runOptions: RunOptions = {},
  options: Options = {},
  kernel = kernelOf(options),
  tools = [read, write, bash, both, remember],
) {
  ran.length = 0;
  const started = kernel.start(agent({ id: "a", instructions: "i", model: scripted(script), tools }), "go", runOptions);
  const outcome = await started.done;
  return { ...started, outcome, results: resultsOf(started.run), ran: [...ran], decided: decidedIn(started.run) };
}
const resultsOf = (run: Run): string[] =>
  run.transcript.history.flatMap(({ value }) =>
    value.role === "tool"
      ? value.content.flatMap((part) =>
          part.type === "tool-result" && "value" in part.output ? [String(part.output.value)] : [],
        )
      : [],
  );
const decidedIn = (run: Run) =>
  run.ledger.of("policy.decided").map(({ type: _, seq: __, at: ___, toolCallId: ____, ...rest }) => rest);
const deny = (code: string) => () => ({ deny: code });

describe("toolPolicy", () => {
  test("denies by a code the model reads; the run goes on and the receipt counts it", async () => {
    const { outcome, results, run, ran } = await go(calls(["bash"], ["write_file", { text: SECRET }]), {
      toolPolicy: ({ effect }) => (effect === "write" ? { deny: "read_only_review" } : undefined),
    });
    expect(outcome.stopReason).toBe("complete");
    expect(results).toEqual(["done", "cave_tool_denied:read_only_review"]);
    expect(ran).toEqual(["bash"]);
    expect(run.service(Receipts).receiptOf(run).tools).toEqual([
      { name: "bash", calls: 1, errors: 0 },
      { name: "write_file", calls: 1, errors: 1, denied: 1 },
    ]);
    expect(JSON.stringify(run.ledger.facts)).not.toContain(SECRET);
    expect(decidedIn(run)).toEqual([
      { name: "bash", decision: "allow", by: "tool_policy" },
      { name: "write_file", decision: "deny", by: "tool_policy", reason: "read_only_review" },
    ]);
  });

  test("is asked about root, nested and child calls alike, with where each comes from", async () => {
    const seen: ToolPolicyInput[] = [];
    const leaf = agent({
      id: "leaf",
      instructions: "i",
      model: scripted(calls(["write_file", { path: "x" }])),
      tools: [write],
    });
    const middle = agent({
      id: "middle",
      instructions: "i",
      model: scripted([{ toolCalls: [{ name: "fetch", input: { task: "t" } }] }, { text: "done" }]),
      tools: [subagent({ name: "fetch", description: "F.", agent: leaf })],
    });
    const script: Script = [
      { toolCalls: [{ name: "both", input: { path: "p" } }] },
      { toolCalls: [{ name: "research", input: { task: "t" } }] },
      { text: "done" },
    ];
    const { run } = await go(
      script,
      {
        runId: "r1",
        toolPolicy: (input) => {
          seen.push({ ...input, args: input.args });
          return input.name === "write_file" ? { deny: "no_writes" } : { allow: true };
        },
      },
      {},
      kernelOf(),
      [both, subagent({ name: "research", description: "R.", agent: middle })],
    );
    const root = { runId: "r1", agentId: "a", agentPath: [] };
    expect(seen).toEqual([
      { ...root, toolCallId: expect.any(String), name: "both", effect: "write", args: { path: "p" } },
      {
        ...root,
        toolCallId: expect.any(String),
        parentToolCallId: seen[0]?.toolCallId,
        name: "write_file",
        effect: "write",
        args: { path: "p" },
      },
      { ...root, toolCallId: expect.any(String), name: "research", effect: "read", args: { task: "t" } },
      expect.objectContaining({ agentId: "middle", agentPath: ["research"], name: "fetch" }),
      expect.objectContaining({
        agentId: "leaf",
        agentPath: ["research", "fetch"],
        name: "write_file",
        args: { path: "x" },
      }),
    ]);
    expect(ran).toEqual(["both"]);
    const made = run.service(Receipts).receiptOf(run);
    const denied = (level: typeof made): number =>
      level.tools.reduce((sum, row) => sum + (row.denied ?? 0), 0) +
      level.subagents.reduce((sum, child) => sum + denied(child), 0);
    expect(denied(made)).toBe(2);
  });

  test("is asked last, about declared tools with fitting arguments only, and not about the framework's own", async () => {
    const toolPolicy = jest.fn(deny("never"));
    const { results, ran } = await go(calls(["nothing_like_it"], ["bash", { command: 1 }], ["cave_memory_remember"]), {
      toolPolicy,
    });
    expect(toolPolicy).not.toHaveBeenCalled();
    expect(ran).toEqual(["cave_memory_remember"]);
    expect(results[0]).toMatch(/^cave_unknown_tool/);
    expect(results[1]).toMatch(/^cave_tool_arguments_invalid/);
  });

  const nonsense: [unknown, string][] = [
    [null, "cave_tool_policy_decision_invalid"],
    [true, "cave_tool_policy_decision_invalid"],
    ["allow", "cave_tool_policy_decision_invalid"],
    [{}, "cave_tool_policy_decision_invalid"],
    [[], "cave_tool_policy_decision_invalid"],
    [{ allow: false }, "cave_tool_policy_decision_invalid"],
    [{ allow: true, deny: "x" }, "cave_tool_policy_decision_invalid"],
    [{ allow: true, args: {} }, "cave_tool_policy_decision_invalid"],
    [{ deny: 1 }, "cave_tool_policy_decision_invalid"],
    [{ deny: true }, "cave_tool_policy_decision_invalid"],
    [
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error(SECRET);
          },
        },
      ),
      "cave_tool_policy_decision_invalid",
    ],
    [{ deny: "" }, "cave_tool_policy_reason_invalid"],
    [{ deny: "Not A Code" }, "cave_tool_policy_reason_invalid"],
    [{ deny: "1st" }, "cave_tool_policy_reason_invalid"],
    [{ deny: `customer said: ${SECRET}` }, "cave_tool_policy_reason_invalid"],
    [{ deny: "a\n" }, "cave_tool_policy_reason_invalid"],
    [{ deny: "a".repeat(65) }, "cave_tool_policy_reason_invalid"],
    [Promise.resolve(null), "cave_tool_policy_decision_invalid"],
  ];
  test.each(nonsense)("answering nonsense ends the run before the tool: %#", async (answer, code) => {
    const { outcome, ran, run } = await go(calls(["bash"], ["bash"]), { toolPolicy: () => answer as undefined });
    expect(outcome.error?.code).toBe(code);
    expect(outcome.stopReason).toBe("error");
    expect(outcome.error?.message).not.toContain(SECRET);
    expect(JSON.stringify(run.ledger.facts)).not.toContain(SECRET);
    expect(ran).toEqual([]);
    expect(run.ledger.of("tool.denied").map((fact) => fact.code)).toEqual([code]);
  });
  test.each<[string, () => never | Promise<never>]>([
    [
      "throws",
      () => {
        throw new Error(SECRET);
      },
    ],
    [
      "throws nothing",
      () => {
        throw undefined;
      },
    ],
    ["rejects", () => Promise.reject(new Error(SECRET))],
  ])("that %s ends the run before the tool", async (_, toolPolicy) => {
    const rejections = await unhandledDuring(async () => {
      const { outcome, ran } = await go(calls(["bash"]), { toolPolicy });
      expect(outcome.error?.code).toBe("cave_tool_policy_failed");
      expect(outcome.error?.message).not.toContain(SECRET);
      expect(ran).toEqual([]);
    });
    expect(rejections).toEqual([]);
  });
  test("that fails in a child ends the whole tree", async () => {
    const child = agent({ id: "c", instructions: "i", model: scripted(calls(["write_file"])), tools: [write] });
    const { outcome, ran } = await go(
      [{ toolCalls: [{ name: "sub", input: { task: "t" } }] }, { text: "done" }],
      { toolPolicy: ({ agentPath }) => (agentPath.length > 0 ? ("?" as never) : undefined) },
      {},
      kernelOf(),
      [subagent({ name: "sub", description: "S.", agent: child })],
    );
    expect(outcome.error?.code).toBe("cave_tool_policy_decision_invalid");
    expect(ran).toEqual([]);
  });
  test("that hangs ends the run after ten seconds; its late answer changes nothing", async () => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate", "performance"] });
    try {
      expect(TOOL_POLICY_TIMEOUT_MS).toBe(10_000);
      let late = (_: undefined): void => undefined;
      let signal: AbortSignal | undefined;
      const pending = go(calls(["bash"]), {
        toolPolicy: (_, given) => {
          signal = given;
          return new Promise<undefined>((resolve) => (late = resolve));
        },
      });
      while (!signal) await new Promise(setImmediate);
      await jest.advanceTimersByTimeAsync(TOOL_POLICY_TIMEOUT_MS - 1);
      expect(signal.aborted).toBe(false);
      await jest.advanceTimersByTimeAsync(1);
      expect(signal.aborted).toBe(true);
      late(undefined);
      const { outcome, ran } = await pending;
      expect(outcome.error?.code).toBe("cave_tool_policy_failed");
      expect(ran).toEqual([]);
    } finally {
      jest.useRealTimers();
    }
  });
  test("that waits when the run is aborted is left, and the run ends as aborted", async () => {
    const abort = new AbortController();
    const { outcome, ran } = await go(calls(["bash"]), {
      signal: abort.signal,
      toolPolicy: () => {
        setImmediate(() => abort.abort());
        return new Promise(() => undefined);
      },
    });
    expect(outcome.stopReason).toBe("aborted");
    expect(ran).toEqual([]);
  });
  test("decides admission alone: what it is shown cannot be changed", async () => {
    const { outcome } = await go(calls(["bash", { command: "ls" }]), {
      toolPolicy: ({ args }) => void ((args as { command: string }).command = "rm"),
    });
    expect(outcome.error?.code).toBe("cave_tool_policy_failed");
  });
  test("does not wait ahead of its turn", async () => {
    const kernel = kernelOf();
    const { run, close } = await kernel.open(
      agent({ id: "a", instructions: "i", model: scripted([]), tools: [read] }),
      {
        toolPolicy: async () => undefined,
      },
    );
    const ahead = await run.tool({ toolCallId: "t1", name: "read_file", input: {}, speculative: "c1" as never });
    expect(ahead.code).toBe("cave_speculation_denied");
    expect((await run.tool({ toolCallId: "t1", name: "read_file", input: {} })).isError).toBe(false);
    await close();
  });
  test("must be a function", () => {
    for (const key of ["toolPolicy", "approve"])
      expect(() =>
        kernelOf().start(agent({ id: "a", instructions: "i", model: scripted([]) }), "go", { [key]: "yes" }),
      ).toThrow(expect.objectContaining({ code: "cave_option_invalid" }));
  });
});

describe("decideToolCall", () => {
  const input = {
    runId: "r1",
    agentId: "reviewer",
    agentPath: [],
    toolCallId: "c1",
    name: "write_file",
    effect: "write" as const,
    args: { path: "out.txt" },
  };
  test("is the same decision, on its own", async () => {
    expect(await decideToolCall(deny("read_only_review"), input)).toEqual({
      block: true,
      reason: "cave_tool_denied:read_only_review",
    });
    expect(await decideToolCall(() => undefined, input)).toBeUndefined();
    expect(await decideToolCall(async () => ({ allow: true }), input)).toBeUndefined();
    await expect(decideToolCall(deny("No"), input)).rejects.toMatchObject({ code: "cave_tool_policy_reason_invalid" });
    await expect(decideToolCall(() => Promise.reject(1), input)).rejects.toMatchObject({
      code: "cave_tool_policy_failed",
    });
  });
});

describe("rules", () => {
  const rules: NonNullable<Options>["rules"] = [
    { decision: "deny", effect: "external" },
    { decision: "allow", tool: "bash", command: "git status" },
    { decision: "deny", path: "secrets/**", reason: "secrets_are_secret" },
  ];
  test("decide root, nested and child calls alike", async () => {
    const child = agent({
      id: "c",
      instructions: "i",
      model: scripted(calls(["read_file", { path: "secrets/x" }])),
      tools: [read],
    });
    const script: Script = [
      { toolCalls: [{ name: "bash", input: { command: "git status; rm -rf /" } }] },
      { toolCalls: [{ name: "bash", input: { command: "git status" } }] },
      { toolCalls: [{ name: "both", input: { path: "secrets/x" } }] },
      { toolCalls: [{ name: "sub", input: { task: "t" } }] },
      { text: "done" },
    ];
    const tools = [bash, both, subagent({ name: "sub", description: "S.", agent: child })];
    const { results, run, ran } = await go(script, {}, { rules }, undefined, tools);
    expect(ran).toEqual(["bash"]);
    expect(results.slice(0, 3)).toEqual([
      "cave_tool_denied:denied_by_rule. A rule of this run refuses it.",
      "done",
      "cave_tool_denied:secrets_are_secret. A rule of this run refuses it.",
    ]);
    expect(decidedIn(run)[0]).toEqual({
      name: "bash",
      decision: "deny",
      by: "rule",
      reason: "denied_by_rule",
      rule: 0,
    });
    expect(decidedIn(run.children[0] as Run)).toEqual([
      { name: "read_file", decision: "deny", by: "rule", reason: "secrets_are_secret", rule: 2 },
    ]);
    expect(JSON.stringify(run.ledger.facts)).not.toContain("rm -rf");
  });
  test("and toolPolicy can each refuse; neither overrules the other", async () => {
    const toolPolicy = jest.fn(() => ({ allow: true as const }));
    const denied = await go(calls(["bash", { command: "ls" }]), { toolPolicy }, { rules });
    expect(denied.ran).toEqual([]);
    expect(toolPolicy).not.toHaveBeenCalled();
    expect((await go(calls(["bash", { command: "git status" }]), { toolPolicy: deny("no") }, { rules })).ran).toEqual(
      [],
    );
    expect((await go(calls(["bash", { command: "git status" }]), { toolPolicy }, { rules })).ran).toEqual(["bash"]);
  });
  test("reach a framework tool only by its name", async () => {
    const script = calls(["cave_memory_remember"]);
    expect((await go(script, {}, { rules: [{ decision: "deny" }] })).ran).toEqual(["cave_memory_remember"]);
    expect((await go(script, {}, { rules: [{ decision: "deny", tool: "cave_memory_*" }] })).ran).toEqual([]);
  });
  test("can be listed", () => {
    expect(describeRules({ rules })).toEqual([
      "deny effect external",
      'allow command begins "git status", tool bash',
      "deny path secrets/** (secrets_are_secret)",
    ]);
  });
  test("that cannot be used fail assembly, naming the rule", () => {
    expect(() => kernelOf({ rules: [{ decision: "deny" }, { decision: "ask", exact: true }] })).toThrow(/rules\[1\]/);
    expect(() => kernelOf({ rules: [{ decision: "maybe" as never }] })).toThrow(
      expect.objectContaining({ code: "cave_option_invalid" }),
    );
    expect(() => kernelOf({ rules: [{ decision: "deny", tol: "x" } as never] })).toThrow(/did you mean "tool"/);
  });
});

describe("approve", () => {
  const ask = { rules: [{ decision: "ask" as const, tool: "bash" }] };
  const asking = (...answers: (ApprovalAnswer | Error | Promise<ApprovalAnswer>)[]) => {
    const requests: ApprovalRequest[] = [];
    return {
      requests,
      approve: (request: ApprovalRequest): ApprovalAnswer | Promise<ApprovalAnswer> => {
        requests.push(request);
        const answer = answers[requests.length - 1] ?? "no";
        if (answer instanceof Error) throw answer;
        return answer;
      },
    };
  };

  test("is shown the call, the rule that asks, and what always would remember", async () => {
    const { approve, requests } = asking("yes", "no");
    const { results, decided } = await go(
      calls(["bash", { command: "npm test -- x" }], ["bash", { command: "rm -rf build" }]),
      { approve },
      ask,
    );
    expect(requests[0]).toMatchObject({
      agentId: "a",
      agentPath: [],
      name: "bash",
      effect: "external",
      args: { command: "npm test -- x" },
      rule: { decision: "ask", tool: "bash" },
      about: ["npm test -- x"],
      always: [{ decision: "allow", tool: "bash", command: "npm test", agent: "/" }],
    });
    expect(requests[1]?.always).toEqual([
      { decision: "allow", tool: "bash", command: "rm -rf build", exact: true, agent: "/" },
    ]);
    expect(results).toEqual([
      "done",
      "cave_tool_denied:not_approved. A person refused it. Do something else, or ask what is wanted.",
    ]);
    expect(decided).toEqual([
      { name: "bash", decision: "allow", by: "person", rule: 0, answer: "yes", waitedMs: expect.any(Number) },
      {
        name: "bash",
        decision: "deny",
        by: "person",
        reason: "not_approved",
        rule: 0,
        answer: "no",
        waitedMs: expect.any(Number),
      },
    ]);
  });
  test("always is remembered for the conversation, for this question alone, across a saved one too", async () => {
    const kernel = kernelOf({
      rules: [
        { decision: "ask", tool: "bash" },
        { decision: "ask", command: "git push" },
        { decision: "deny", command: "git clean" },
      ],
    });
    const conversation = createConversation();
    const first = asking("always", "no");
    const script = calls(
      ["bash", { command: "git status" }],
      ["bash", { command: "git status -s" }],
      ["bash", { command: "git status && git push" }],
    );
    const one = await go(script, { approve: first.approve, conversation }, {}, kernel);
    expect(first.requests).toHaveLength(2);
    expect(first.requests[1]?.about).toEqual(["git push"]);
    expect(one.decided.map(({ answer }) => answer)).toEqual(["always", "remembered", "no"]);

    const restored = createConversation(JSON.parse(JSON.stringify(conversation)));
    const later = asking("no");
    const more = calls(
      ["bash", { command: "git status" }],
      ["bash", { command: "git status; ls" }],
      ["bash", { command: "git status; git clean" }],
    );
    const two = await go(more, { approve: later.approve, conversation: restored }, {}, kernel);
    expect(two.decided.map(({ answer, by }) => answer ?? by)).toEqual(["remembered", "no", "rule"]);
    expect(later.requests.map(({ about }) => about)).toEqual([["ls"]]);
  });
  test("always given to a child is remembered, for the agent path it was given for", async () => {
    const status = ["bash", { command: "git status" }] as const;
    const child = agent({
      id: "c",
      instructions: "i",
      model: scripted(calls([...status], [...status])),
      tools: [bash],
    });
    const { approve, requests } = asking("always", "no");
    await go(
      [
        { toolCalls: [{ name: "sub", input: { task: "t" } }] },
        { toolCalls: [{ name: status[0], input: status[1] }] },
        { text: "done" },
      ],
      { approve },
      ask,
      undefined,
      [bash, subagent({ name: "sub", description: "S.", agent: child })],
    );
    expect(requests.map(({ agentPath }) => agentPath)).toEqual([["sub"], []]);
    expect(ran).toEqual(["bash", "bash"]);
  });
  test("one question at a time over the whole tree", async () => {
    const leaf = (id: string) =>
      agent({ id, instructions: "i", model: scripted(calls(["bash", { command: `git ${id}` }])), tools: [bash] });
    let open = 0;
    let most = 0;
    const approve = async (): Promise<ApprovalAnswer> => {
      most = Math.max(most, ++open);
      await sleep(5);
      open--;
      return "yes";
    };
    await go(
      [{ toolCalls: ["x", "y", "z"].map((name) => ({ name, input: { task: "t" } })) }, { text: "done" }],
      { approve },
      ask,
      undefined,
      ["x", "y", "z"].map((name) => subagent({ name, description: "S.", agent: leaf(name) })),
    );
    expect(most).toBe(1);
    expect(ran).toEqual(["bash", "bash", "bash"]);
  });
  test("with nobody to ask, the call is refused, and recorded so", async () => {
    const { ran, decided, outcome } = await go(calls(["bash"]), {}, ask);
    expect(outcome.stopReason).toBe("complete");
    expect(ran).toEqual([]);
    expect(decided).toEqual([
      {
        name: "bash",
        decision: "deny",
        by: "person",
        reason: "approval_unavailable",
        rule: 0,
        answer: "unavailable",
        waitedMs: 0,
      },
    ]);
  });
  test("when nobody answers in time, the call is refused", async () => {
    let signal: AbortSignal | undefined;
    const { ran, decided } = await go(
      calls(["bash"]),
      {
        approve: (request) => {
          signal = request.signal;
          return new Promise(() => undefined);
        },
      },
      { ...ask, approvalTimeoutMs: 5 },
    );
    expect(ran).toEqual([]);
    expect(decided[0]).toMatchObject({ decision: "deny", reason: "approval_unanswered" });
    expect(signal?.aborted).toBe(true);
  });
  test.each([[new Error(SECRET)], ["perhaps" as never], [undefined as never], [Promise.reject(new Error(SECRET))]])(
    "a failing callback refuses the call and the run goes on: %#",
    async (answer) => {
      const { approve } = asking(answer === undefined ? (null as never) : answer);
      const given = answer === undefined ? () => undefined as never : approve;
      const { ran, decided, outcome, run } = await go(calls(["bash"]), { approve: given }, ask);
      expect(outcome.stopReason).toBe("complete");
      expect(ran).toEqual([]);
      expect(decided[0]).toMatchObject({ decision: "deny", reason: "approval_failed" });
      expect(run.ledger.of("notice").map(({ code }) => code)).toEqual(["cave_approval_failed"]);
      expect(JSON.stringify(run.ledger.facts)).not.toContain(SECRET);
    },
  );
  test("an abort while a person is asked ends the run, and leaves nothing behind", async () => {
    const abort = new AbortController();
    let asked: AbortSignal | undefined;
    const { outcome, ran } = await go(calls(["bash"]), {
      signal: abort.signal,
      approve: ({ signal }) => {
        asked = signal;
        setImmediate(() => abort.abort());
        return new Promise(() => undefined);
      },
    });
    await new Promise(setImmediate);
    expect(outcome.stopReason).toBe("aborted");
    expect(ran).toEqual([]);
    expect(asked?.aborted).toBe(true);
  });
  test("without rules, calls that act are asked about, and those that read are not", async () => {
    const { approve, requests } = asking("yes", "yes");
    const { ran } = await go(
      calls(["read_file"], ["write_file", { path: "a/b.txt" }], ["bash", { command: "x $(y)" }]),
      { approve },
    );
    expect(ran).toEqual(["read_file", "write_file", "bash"]);
    expect(requests.map(({ name, always }) => [name, always])).toEqual([
      ["write_file", [{ decision: "allow", tool: "write_file", agent: "/", path: "**" }]],
      // A command that is not plain has no rule that would stand for it.
      ["bash", []],
    ]);
  });
  test.each([
    ["cat notes", "cat notes /etc/passwd"],
    ["cp a b", "cp a /home/x/.profile"],
    ["tee out", "tee out /home/x/.profile"],
    ["nice ls", "nice ls x"],
    ["flock lock ls", "flock lock rm x"],
    ["su user", "su user -c x"],
    ["git log", "git log --output=/home/x/.profile"],
    ["git submodule status", "git submodule foreach x"],
    ["npm install left-pad", "npm install else"],
    ["npm run-script build", "npm run-script publish"],
    ["tar cf a.tar b", "tar cf a.tar --to-command=x"],
  ])("always given to %j is not given to %j", async (given, other) => {
    const { approve, requests } = asking("always", "no");
    const { ran } = await go(
      calls(["bash", { command: given }], ["bash", { command: given }], ["bash", { command: other }]),
      { approve },
      ask,
    );
    expect(requests.map(({ about }) => about)).toEqual([[given], [other]]);
    expect(ran).toEqual(["bash", "bash"]);
  });
  test("always given to files does not reach what a repository runs", async () => {
    const { approve, requests } = asking("always", "no", "always", "no");
    const { ran } = await go(
      calls(
        ["write_file", { path: "a.txt" }],
        ["write_file", { path: "b/c.txt" }],
        ["write_file", { path: ".git/hooks/pre-commit" }],
        ["write_file", { path: "sub/.GIT/config" }],
        ["write_file", { path: "sub/.GIT/config" }],
        ["write_file", { path: ".git/config" }],
      ),
      { approve },
    );
    expect(requests.map(({ args }) => (args as { path: string }).path)).toEqual([
      "a.txt",
      ".git/hooks/pre-commit",
      "sub/.GIT/config",
      ".git/config",
    ]);
    expect(ran).toHaveLength(4);
  });
  test("toolPolicy refuses before a person is troubled", async () => {
    const { approve, requests } = asking("yes");
    await go(calls(["bash"]), { approve, toolPolicy: deny("no") }, ask);
    expect(requests).toEqual([]);
  });
  test("is not asked ahead of its turn", async () => {
    const { approve, requests } = asking("yes");
    const { run, close } = await kernelOf({ rules: [{ decision: "ask" }] }).open(
      agent({ id: "a", instructions: "i", model: scripted([]), tools: [read] }),
      { approve },
    );
    const ahead = await run.tool({ toolCallId: "t1", name: "read_file", input: {}, speculative: "c1" as never });
    expect(ahead.code).toBe("cave_speculation_denied");
    expect(requests).toEqual([]);
    await close();
  });
});

test("a run with nothing to decide records nothing", async () => {
  const { decided, ran } = await go(calls(["bash"], ["write_file"]));
  expect(ran).toEqual(["bash", "write_file"]);
  expect(decided).toEqual([]);
});
