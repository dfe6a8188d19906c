import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { caveman, folder, here } from "./caveman.ts";

const AGENT = `import { agent, schema, tool } from "caveman-agent";
const lookup = tool({ name: "lookup", description: "Looks up.", input: schema.object({ id: schema.string() }), effect: "read", execute: ({ id }) => ({ id, status: "shipped" }) });
export default agent({ id: "shop", instructions: "Help.", tools: [lookup], model: "sim/model.script", sandbox: "host" });
`;
const SCRIPT = '[{ "toolCalls": [{ "name": "lookup", "input": { "id": "A-1" } }] }, { "text": "It has shipped." }]';
const shop = (more: Readonly<Record<string, string>> = {}) =>
  folder({ "package.json": '{ "type": "module" }', "agent.ts": AGENT, "model.script.json": SCRIPT, ...more });

describe("run", () => {
  test("piped, stdout is the answer alone; tools and receipt go to stderr without colour", async () => {
    await using dir = await shop();
    const { code, out, err } = await caveman(["run", "agent.ts", "Where is A-1?"], {
      cwd: dir.path,
      env: { FORCE_COLOR: "1" },
    });
    expect([code, out]).toEqual([0, "It has shipped.\n"]);
    expect(err).toMatch(/✓ lookup \d+ ms, \d+ B\n/);
    expect(err).toContain("run complete · 2 turns");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colour is what is looked for
    expect(err).not.toMatch(/\u001b\[/);
  });

  test("the receipt is written under .caveman/runs, and its path printed", async () => {
    await using dir = await shop();
    const { err } = await caveman(["run", "agent.ts", "hi"], { cwd: dir.path });
    const [folderName = ""] = await readdir(join(dir.path, ".caveman/runs"));
    expect(err).toContain(`.caveman/runs/${folderName}/receipt.json`);
    expect(
      JSON.parse(await readFile(join(dir.path, ".caveman/runs", folderName, "receipt.json"), "utf8")),
    ).toMatchObject({ schema: "caveman.agent.run-receipt.v1", agentId: "shop" });
  });

  test("what each tap took is shown by the listing of plugins until the next run", async () => {
    await using dir = await shop();
    const listing = async () =>
      JSON.parse((await caveman(["plugins", "--json"], { cwd: dir.path })).out) as {
        lastRun: string | null;
        hooks: Record<string, { name: string; lastRun?: { calls: number; totalMs: number } }[]>;
      };
    expect((await listing()).lastRun).toBeNull();
    const { receipt } = JSON.parse((await caveman(["run", "agent.ts", "hi", "--json"], { cwd: dir.path })).out) as {
      receipt: { runId: string };
    };
    const { lastRun, hooks } = await listing();
    expect(lastRun).toBe(receipt.runId);
    // Two model calls and one tool call.
    expect(hooks.reserve?.find(({ name }) => name === "limits")?.lastRun).toMatchObject({ calls: 2 });
    expect(hooks.admitTool?.find(({ name }) => name === "limits")?.lastRun).toMatchObject({ calls: 1 });
    expect((await caveman(["plugins"], { cwd: dir.path })).out).toMatch(/limits +\d+\.\d\d ms in 2 calls/);
  });

  test("--json is one document with the receipt; input comes from stdin with -", async () => {
    await using dir = await shop();
    const { code, out } = await caveman(["run", "agent.ts", "-", "--json"], {
      cwd: dir.path,
      stdin: "Where is A-1?\n",
    });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      agentId: "shop",
      stopReason: "complete",
      text: "It has shipped.",
      receipt: { tools: [{ name: "lookup", calls: 1, errors: 0 }] },
    });
  });

  test("--stream is one event a line, the last with the receipt", async () => {
    await using dir = await shop();
    const { out } = await caveman(["run", "agent.ts", "hi", "--stream"], { cwd: dir.path });
    const events = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; receipt?: object });
    expect(events[0]).toMatchObject({ type: "run_start", path: ["shop"] });
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(["tool_start", "tool_end", "text_delta"]));
    expect(events.at(-1)).toMatchObject({ type: "run_end", receipt: { stopReason: "complete" } });
  });

  test.each(["a=b", "-5 degrees", "true", "007", '{"a":1}', "ü ☃", "-x -y"])(
    "the input %j arrives as it is",
    async (input) => {
      await using dir = await shop({
        "model.script.ts": "export default ({ prompt }) => ({ text: prompt.at(-1).content[0].text });\n",
      });
      expect((await here(["run", join(dir.path, "agent.ts"), input])).out).toBe(`${input}\n`);
      expect((await here(["run", join(dir.path, "agent.ts"), "--", input])).out).toBe(`${input}\n`);
    },
  );

  test("a failed run is exit 1: code, message and remedy on stderr, the receipt all the same", async () => {
    await using dir = await shop({
      "model.script.json": '[{ "error": { "status": 400, "message": "no such model" } }]',
    });
    const { code, out, err } = await caveman(["run", "agent.ts", "hi"], { cwd: dir.path });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toMatch(/cave_\w+: .+\n\s+→ /);
    expect(err).toContain("run failed — ");
    expect(err).not.toMatch(/\n\s+at .+:\d+/);
    const json = await caveman(["run", "agent.ts", "hi", "--json"], { cwd: dir.path });
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({
      stopReason: "error",
      error: { code: expect.stringMatching(/^cave_/), message: expect.any(String) },
      receipt: { stopReason: "error" },
    });
  });

  test("a missing credential fails before any call and names what to set", async () => {
    await using dir = await shop();
    const { code, err } = await caveman(["run", "agent.ts", "hi", "--model", "anthropic/claude-haiku-4-5"], {
      cwd: dir.path,
    });
    expect(code).toBe(1);
    expect(err).toContain("ANTHROPIC_API_KEY");
  });

  test("a stop by a guard is exit 3, with its answer and receipt", async () => {
    await using dir = await shop({
      "caveman.config.ts":
        'import { definePlugin } from "caveman-agent";\nexport default { plugins: [definePlugin({ name: "once", apply(kernel) { kernel.hooks.afterUsage.tap("once", ({ run }) => run.stop("deadline_reached")); } })] };\n',
    });
    const { code, err } = await caveman(["run", "agent.ts", "hi"], { cwd: dir.path });
    expect(err).toContain("run stopped — deadline reached");
    expect(code).toBe(3);
  });

  test.each<[what: string, files: Record<string, string>, path: string, said: string]>([
    ["no such path", {}, "nothing.ts", "received nothing"],
    ["a directory without instructions", { "bare/agent.ts": "export default {};\n" }, "bare", "cave_agent_dir_invalid"],
    ["a module without an agent", { "x.ts": "export const y = 1;\n" }, "x.ts", "received y"],
    ["a module that throws", { "x.ts": 'throw new Error("boom");\n' }, "x.ts", "boom"],
    ["a module that does not parse", { "x.ts": "export default {{;\n" }, "x.ts", "cave_cli_agent_missing"],
    [
      "a wrong definition",
      {
        "x.ts": 'import { agent } from "caveman-agent";\nexport default agent({ id: "Bad Id", instructions: "x" });\n',
      },
      "x.ts",
      "cave_agent_definition_invalid",
    ],
    [
      "a wrong config beside the agent",
      { "caveman.config.json": '{ "preset": "standrad" }' },
      "agent.ts",
      'did you mean "standard"?',
    ],
  ])("refused before anything runs, exit 2: %s", async (_what, files, path, said) => {
    await using dir = await shop(files);
    const { code, out, err } = await here(["run", join(dir.path, path), "hi"]);
    expect(err).toContain(said);
    expect(err).not.toMatch(/\n\s+at .+:\d+/);
    expect([code, out]).toEqual([2, ""]);
  });

  test.each(["0", "-1", "abc"])("--max-usd=%s is refused", async (amount) => {
    await using dir = await shop();
    expect(await here(["run", join(dir.path, "agent.ts"), "hi", `--max-usd=${amount}`])).toMatchObject({
      code: 2,
      err: expect.stringContaining("--max-usd"),
    });
  });

  test("--max-usd is the run's budget: kept within it, the receipt shows it; what cannot be paid stops the run, exit 3", async () => {
    await using dir = await shop({
      "model.script.json": `{ "as": "anthropic/claude-haiku-4-5", "script": ${SCRIPT} }`,
    });
    const enough = await here(["run", join(dir.path, "agent.ts"), "hi", "--max-usd", "0.5", "--json"]);
    expect(enough.code).toBe(0);
    expect(JSON.parse(enough.out)).toMatchObject({ receipt: { denomination: "usd", max: 0.5, capBreached: false } });
    const little = await here(["run", join(dir.path, "agent.ts"), "hi", "--max-usd", "0.0000001"]);
    expect(little.err).toContain("run stopped — budget exhausted");
    expect(little.err).toContain(
      "stopped: The first call could cost more than the $0.0000001 left.\n  → Raise --max-usd",
    );
    expect(little.code).toBe(3);
  });

  test("a stopped run says why on stderr, also where stdout is JSON", async () => {
    await using dir = await shop({ "caveman.config.json": '{ "run": { "maxModelCalls": 1 } }' });
    const { code, out, err } = await here(["run", join(dir.path, "agent.ts"), "hi", "--json"]);
    expect([code, err]).toEqual([
      3,
      expect.stringContaining("stopped: The run has made as many model calls as it may."),
    ]);
    expect(JSON.parse(out)).toMatchObject({ stopReason: "call_budget_exhausted" });
  });

  test.each([
    '{ "run": { "maxCostUsd": 1 } }',
    '{ "run": { "budget": { "maxTokens": 9 } } }',
    '{ "plugins": [["budget", { "maxCostUsd": 0.001 }]] }',
  ])("--max-usd takes the place of every other cap: config %s", async (config) => {
    await using dir = await shop({
      "model.script.json": `{ "as": "anthropic/claude-haiku-4-5", "script": ${SCRIPT} }`,
      "caveman.config.json": config,
    });
    const { code, out } = await here(["run", join(dir.path, "agent.ts"), "hi", "--max-usd", "0.5", "--json"]);
    expect([code, JSON.parse(out)]).toMatchObject([0, { receipt: { denomination: "usd", max: 0.5 } }]);
  });

  test.each([
    ["run: { maxCostUsd: 1 }", 0.5],
    ["budget: { maxTokens: 9, initialTokens: 5 }", 0.5],
    ["budget: { maxUsd: 2, initialUsd: 1 }", 0.5],
    ["budget: { maxUsd: 2, initialUsd: 0.25 }", 0.25],
  ])("--max-usd takes the place of the agent's own maximum: { %s }", async (own, released) => {
    await using dir = await shop({
      "bot/agent.ts": `export default { model: "sim/model.script", ${own} };\n`,
      "bot/instructions.md": "Help.\n",
      "bot/model.script.json": '{ "as": "anthropic/claude-haiku-4-5", "script": [{ "text": "Hello." }] }',
    });
    const { code, out } = await here(["run", join(dir.path, "bot"), "hi", "--max-usd", "0.5", "--json"]);
    expect([code, JSON.parse(out)]).toMatchObject([0, { receipt: { denomination: "usd", max: 0.5, released } }]);
  });

  test("the export may be called agent, and a config of the agent's folder comes before that of the working directory", async () => {
    await using dir = await shop({
      "caveman.config.json": '{ "preset": "nonsense" }',
      "bots/package.json": '{ "type": "module" }',
      "bots/one.ts": AGENT.replace("export default", "export const agent_ =")
        .replace("import { agent,", "import { agent as make,")
        .replace("agent_ = agent(", "agent = make("),
      "bots/model.script.json": SCRIPT,
      "bots/caveman.config.json": '{ "preset": "bare" }',
    });
    expect(await caveman(["run", "bots/one.ts", "hi"], { cwd: dir.path })).toMatchObject({
      code: 0,
      out: "It has shipped.\n",
    });
  });

  test("without a credential the script beside an auto() agent answers, and that is said", async () => {
    const files = { "agent.ts": AGENT.replace('model: "sim/model.script", ', "") };
    await using dir = await shop(files);
    const { code, out, err } = await caveman(["run", "agent.ts", "hi"], { cwd: dir.path });
    expect([code, out]).toEqual([0, "It has shipped.\n"]);
    expect(err).toMatch(/^simulated: /);
  });
});

describe("Ctrl-C", () => {
  const slow = '[{ "text": "one two three four", "chunks": 4, "delayMs": 20000 }]';

  test("aborts, settles and prints the receipt; exit 130", async () => {
    await using dir = await shop({
      "model.script.json": `[{ "toolCalls": [{ "name": "lookup", "input": { "id": "A-1" } }] }, ${slow.slice(1)}`,
    });
    const { code, out, err } = await caveman(["run", "agent.ts", "hi"], { cwd: dir.path, interruptAt: "✓ lookup" });
    expect(err).toContain("interrupted: settling");
    expect(err).toContain("cave_run_aborted");
    expect(err).toMatch(/calls\s+2/);
    expect([code, out]).toEqual([130, ""]);
  });

  test("a second one leaves at once", async () => {
    const stuck = AGENT.replace(
      'execute: ({ id }) => ({ id, status: "shipped" })',
      "execute: () => { const end = Date.now() + 60000; return new Promise(() => setInterval(() => end, 1000)); }",
    );
    await using dir = await shop({
      "agent.ts": stuck,
      "caveman.config.ts":
        'import { definePlugin } from "caveman-agent";\nexport default { plugins: [definePlugin({ name: "hang", apply(kernel) { kernel.hooks.settle.tap({ name: "hang", timeoutMs: 60000 }, () => new Promise((done) => setTimeout(done, 60000))); } })] };\n',
    });
    const started = Date.now();
    const { code } = await caveman(["run", "agent.ts", "hi", "--stream"], {
      cwd: dir.path,
      interruptAt: "tool_start",
      interrupts: 2,
    });
    expect(code).toBe(130);
    expect(Date.now() - started).toBeLessThan(20_000);
  });
});
