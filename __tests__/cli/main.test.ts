import { spawnSync } from "node:child_process";
import { describe, expect, test } from "@jest/globals";
import { fromPlugins } from "../../cli/commands/index.ts";
import { pluginCommands } from "../../cli/plugin-commands.ts";
import { caveman, folder, here, node, ROOT } from "./caveman.ts";

const LOADED = `data:text/javascript,import{registerHooks}from"node:module";registerHooks({load(url,context,next){process.stderr.write(url+"\\n");return next(url,context)}})`;

describe("help", () => {
  test("lists every command and the exit codes, and loads neither kernel nor plugins", async () => {
    const { code, out, err } = await node([`--import=${LOADED}`, `${ROOT}/cli/main.ts`, "--help"], ROOT);
    expect(code).toBe(0);
    for (const word of [
      "run <agent> [input]",
      "init <dir>",
      "plugins",
      "doctor",
      "config",
      "explain [code]",
      "130 interrupted",
    ])
      expect(out).toContain(word);
    expect(err).toContain("/cli/main.ts");
    expect(err).not.toMatch(/\/(kernel|plugins|presets)\/\w+/);
    expect(err).not.toContain("cosmiconfig");
  });

  test("names every command that a built-in plugin brings", async () => {
    const brought = Object.keys(await pluginCommands());
    expect([...fromPlugins]).toEqual(brought.sort());
    expect((await caveman(["--help"])).out).toContain(fromPlugins.join(", "));
    expect((await caveman(["compress", "--help"])).out).toContain("--query");
  });

  test("of one command shows its options, and goes to stdout", async () => {
    const { code, out, err } = await caveman(["run", "--help"]);
    expect(code).toBe(0);
    expect(out).toContain("--max-usd");
    expect(err).toBe("");
  });

  test("without arguments it is a usage error on stderr", async () => {
    const { code, out, err } = await caveman([]);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("Commands:");
  });

  test("--version", async () => {
    expect((await caveman(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe("a wrong command line is exit 2, with the nearest name and no stack", () => {
  test.each([
    [["rnu", "x"], 'Unknown command "rnu", did you mean "run"?'],
    [["xyzzy"], 'Unknown command "xyzzy"'],
    [["--json"], "A command is missing"],
    [["run", "a", "b", "--jsn"], 'did you mean "json"?'],
    [["run"], "Not enough non-option arguments"],
    [["run", "a", "b", "c d"], '"c d"'],
    [["run", "a", "b", "--model"], "model"],
    [["run", "a", "b", "--json", "--stream"], "exclude each other"],
    [["run", "a"], "The input is missing"],
    [["run", "a", " "], "The input is missing"],
    [["plugins", "extra"], 'Too many arguments for plugins: "extra"'],
    [["receipts", "a", "b"], 'Too many arguments for receipts: "b"'],
    [["receipts", "a", "--hmtl", "x"], 'Unknown option of receipts: "hmtl", did you mean "html"?'],
    [["explain", "cave_tool_fialed"], 'did you mean "cave_tool_failed"?'],
  ])("%j", async (args, said) => {
    const { code, out, err } = await here(args);
    expect(err).toContain(said);
    expect(err).toContain("cave_cli_usage");
    expect(err).not.toMatch(/\n\s+at |node:internal/);
    expect([code, out]).toEqual([2, ""]);
  });
});

test("a wrong command line as a process, with an empty stdin", async () => {
  const { code, out, err } = await caveman(["run", "a", "-"]);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toBe(
    "cave_cli_usage: The input on stdin is empty.\n  → Write the input to stdin, or pass it as an argument.\n",
  );
});

const POLICY = `import { definePlugin, defineConfig } from "caveman-agent";
const hours = definePlugin({ name: "office-hours", apply(kernel) {
  kernel.hooks.admitTool.tap({ name: "office-hours", stage: "policy", guard: true }, () => undefined);
  kernel.hooks.admitTool.tap({ name: "office-hours:count", stage: "count" }, () => undefined);
} });
export default defineConfig({ preset: "bare", plugins: [hours], run: { printReceipt: false } });
`;

describe("plugins and config", () => {
  test("the six hooks are shown with every tap in the order it runs", async () => {
    await using dir = await folder({ "caveman.config.ts": POLICY });
    const { code, out } = await caveman(["plugins", "--json"], { cwd: dir.path });
    expect(code).toBe(0);
    const view = JSON.parse(out) as { hooks: Record<string, object[]> };
    expect(Object.keys(view.hooks)).toEqual(["compact", "beforeCall", "reserve", "afterUsage", "admitTool", "settle"]);
    expect(view.hooks.admitTool).toEqual([
      { name: "office-hours:count", stage: "count", plugin: "office-hours", guard: false },
      { name: "office-hours", stage: "policy", plugin: "office-hours", guard: true },
    ]);
    const person = await caveman(["plugins"], { cwd: dir.path });
    expect(person.out).toMatch(
      /admitTool\n.*\n\s+1\s+office-hours:count\s+count\s+office-hours\n\s+2\s+office-hours\s+policy\s+office-hours\s+guard\n/,
    );
  });

  test("config prints what applies and where it comes from", async () => {
    await using dir = await folder({ "caveman.config.ts": POLICY });
    const view = JSON.parse((await caveman(["config", "--json"], { cwd: dir.path })).out) as {
      plugins: { name: string }[];
    };
    expect(view).toMatchObject({ file: `${dir.path}/caveman.config.ts`, preset: "bare", run: { printReceipt: false } });
    expect(view.plugins.map(({ name }) => name)).toContain("office-hours");
    expect((await caveman(["config"], { cwd: dir.path })).out).toContain(dir.path);
  });

  test("a wrong config is exit 2 in every command that reads one", async () => {
    await using dir = await folder({ "caveman.config.json": '{ "plugins": ["receit"] }' });
    for (const command of ["plugins", "config"]) {
      const { code, out, err } = await caveman([command], { cwd: dir.path });
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain("cave_config_plugin_missing");
      expect(err).toContain(`${dir.path}/caveman.config.json plugins[0]`);
      expect(err).toContain('did you mean "receipt"?');
    }
  });

  test("a plugin of the config brings a command", async () => {
    await using dir = await folder({
      "hello.mjs": `import { definePlugin } from "caveman-agent";
export default definePlugin({ name: "hello", apply() {}, commands: async () => ({ commands: { greet: {
  usage: "greet <name>", describe: "Say hello", positionals: { name: "Whom" }, options: { loud: { type: "boolean", describe: "Shout" } },
  execute: async (args, terminal) => { terminal.out("hello " + args.name + (args.loud ? "!" : "") + "\\n"); return 0; },
} } }) });\n`,
      "caveman.config.json": '{ "preset": "bare", "plugins": ["./hello.mjs"] }',
    });
    expect(await caveman(["greet", "Ada", "--loud"], { cwd: dir.path })).toMatchObject({
      code: 0,
      out: "hello Ada!\n",
    });
    expect((await caveman(["greet", "Ada", "--lod"], { cwd: dir.path })).err).toContain('did you mean "loud"?');
  });
});

describe("doctor", () => {
  const KEY = "k".repeat(20);
  interface Report {
    ready: boolean;
    next_action: string;
    checks: { name: string; status: string; mend?: string }[];
  }
  const status = (report: Report): Record<string, string> =>
    Object.fromEntries(report.checks.map((check) => [check.name, check.status]));

  test("passes with a key, and the scripted run goes end to end", async () => {
    await using dir = await folder();
    const { code, out } = await caveman(["doctor", "--json"], { cwd: dir.path, env: { OPENAI_API_KEY: KEY } });
    const report = JSON.parse(out) as Report;
    expect(status(report)).toEqual({
      node: "pass",
      config: "pass",
      provider: "pass",
      // A machine without user namespaces refuses contained agents, and says so.
      sandbox: expect.stringMatching(/^(?:pass|warn)$/),
      "scripted run": "pass",
    });
    expect(report.ready).toBe(true);
    expect(code).toBe(0);
    expect(out).not.toContain(KEY);
  });

  test("no key is a warning, a damaged key and a wrong config are failures, each with what mends it", async () => {
    await using dir = await folder();
    const none = await caveman(["doctor"], { cwd: dir.path });
    expect(none.code).toBe(0);
    expect(none.out).toMatch(/warn provider[^\n]+\n\s+→ export ANTHROPIC_API_KEY/);

    await using broken = await folder({ "caveman.config.json": '{ "presett": 1 }' });
    const both = await caveman(["doctor", "--json"], { cwd: broken.path, env: { ANTHROPIC_API_KEY: "sk with space" } });
    const report = JSON.parse(both.out) as Report;
    expect(both.code).toBe(1);
    expect(status(report)).toMatchObject({ config: "fail", provider: "fail", "scripted run": "pass" });
    for (const check of report.checks) if (check.status === "fail") expect(check.mend).toBeTruthy();
    expect(both.out).not.toContain("sk with space");
  });
});

describe("what a command writes", () => {
  test("stats takes every file it is given", async () => {
    const { code, out } = await caveman(["stats", "package.json", "tsconfig.json", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out).files.map(({ file }: { file: string }) => file)).toEqual(["package.json", "tsconfig.json"]);
  });

  test("an output that takes nothing is a failure, one that is read no further is none", async () => {
    if (process.platform !== "linux") return;
    await using dir = await folder({});
    const command = `"$0" --conditions=caveman-source "${ROOT}/cli/main.ts" compress "${ROOT}/package.json"`;
    const shell = (script: string) =>
      spawnSync("bash", ["-c", script, `${ROOT}/node_modules/node/bin/node`], {
        encoding: "utf8",
        env: { ...process.env, CAVEMAN_HOME: dir.path },
      });
    const full = shell(`${command} > /dev/full`);
    expect(full.status).toBe(1);
    expect(full.stderr).toContain("ENOSPC");
    expect(shell(`${command} | true; exit \${PIPESTATUS[0]}`).status).toBe(0);
  });
});
