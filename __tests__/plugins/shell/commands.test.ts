/** bash and the command sessions: nothing holds a call, nothing is left behind, nothing leaks. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, jest, test } from "@jest/globals";
import { environment, PASSED_NAMES } from "../../../plugins/shell/commands/environment.ts";
import { localBackend } from "../../../plugins/shell/index.ts";
import { world } from "./workspaces.ts";

// A generous safety limit: the machine may be busy.
jest.setTimeout(120_000);
const linux = process.platform === "linux";
const onLinux = linux ? test : test.skip;

/** Command lines of the machine's processes that hold a text. */
function processesWith(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const state = /\) (\S)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
        return line.includes(text) && state !== "Z" && Number(pid) !== process.pid ? [line] : [];
      } catch {
        return [];
      }
    });
}
/** A duration nobody else sleeps for. */
const marker = (): string => `${600 + Math.floor(Math.random() * 300)}.${Math.floor(Math.random() * 1e9)}`;

describe("bash", () => {
  test.each([
    ["output and success", "echo one; echo two", "one\ntwo\n"],
    ["a failure says its code", "echo one; exit 3", "one\n[exit code 3]"],
    ["output without a line end", "printf x; false", "x\n[exit code 1]"],
    ["no output at all", "true", "[no output]"],
    ["a failure without output", "exit 7", "[exit code 7]"],
    ["both streams, in their order", "echo a; echo b >&2; echo c", "a\nb\nc\n"],
    ["a signal", "kill -SEGV $$", "[ended by SIGSEGV]"],
    ["standard input is empty", "cat; echo after", "after\n"],
    ["pipes and quotes", "printf 'a\\nb\\n' | grep b | tr b \"'\"", "'\n"],
  ])("%s", async (_what, command, text) => {
    await using at = await world();
    expect(await at.ok("bash", { command })).toBe(text);
  });
  test("runs in the workspace's real path, and says what the shell cannot read", async () => {
    await using at = await world();
    expect(await at.ok("bash", { command: "pwd -P" })).toBe(`${at.workspace}\n`);
    expect(await at.ok("bash", { command: "if then" })).toMatch(/syntax error.*\[exit code [12]\]$/s);
  });

  test("no variable of this process reaches a command but the allowed ones", async () => {
    process.env.SHELL_TEST_API_KEY = "sk-secret";
    process.env.BASH_ENV = "/dev/null";
    try {
      await using at = await world({ env: { OF_THE_HOST: "given" } });
      const names = (await at.ok("bash", { command: "env" }))
        .trim()
        .split("\n")
        .map((line) => line.slice(0, line.indexOf("=")));
      expect(names).toContain("OF_THE_HOST");
      expect(names).not.toContain("SHELL_TEST_API_KEY");
      const known = new Set([
        ...PASSED_NAMES,
        ...Object.keys(environment({}, {})),
        "OF_THE_HOST",
        "CAVEMAN_COMMAND",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
      ]);
      expect(names.filter((name) => !known.has(name))).toEqual([]);
    } finally {
      delete process.env.SHELL_TEST_API_KEY;
      delete process.env.BASH_ENV;
    }
  });

  onLinux.each([
    ["a child in the background", (id: string) => `sleep ${id} & echo done`],
    ["one that left its session", (id: string) => `setsid sleep ${id} & echo done`],
    [
      "a daemon",
      (id: string) =>
        `(setsid sh -c 'trap "" HUP TERM; sleep ${id}; :' >/dev/null 2>&1 </dev/null &) & wait; echo done`,
    ],
    ["one that ignores TERM", (id: string) => `(trap '' TERM; sleep ${id}; sleep ${id}) & echo done`],
    ["one that holds the pipe", (id: string) => `nohup sleep ${id} & disown; echo done`],
  ])("%s neither holds the call nor outlives it", async (_what, command) => {
    await using at = await world();
    const id = marker();
    const started = Date.now();
    expect(await at.ok("bash", { command: command(id) })).toContain("done\n");
    expect(Date.now() - started).toBeLessThan(20_000);
    expect(processesWith(id)).toEqual([]);
  });
  onLinux("a command that ignores signals is killed at its time, its output kept", async () => {
    await using at = await world();
    const id = marker();
    const text = await at.ok("bash", {
      command: `trap '' TERM INT HUP; echo begun; sleep ${id}; sleep ${id}`,
      timeoutMs: 300,
    });
    expect(text).toBe("begun\n[timed out after 300 ms; the command and what it started were ended]");
    expect(processesWith(id)).toEqual([]);
  });
  onLinux("an abort ends the command before the run has settled", async () => {
    const abort = new AbortController();
    await using at = await world({ signal: abort.signal });
    const id = marker();
    const calling = at.call("bash", { command: `trap '' TERM; sleep ${id}; sleep ${id}` });
    while (processesWith(id).length === 0) await sleep(10);
    abort.abort();
    expect(await calling).toMatchObject({ isError: true, code: "cave_run_aborted" });
    await at.close();
    expect(processesWith(id)).toEqual([]);
  });
  onLinux("a fork bomb ends at its limit of processes", async () => {
    const id = `bomb_${marker().replace(".", "_")}`;
    await using at = await world({ executionBackend: localBackend({ maxProcesses: 40 }) });
    const text = await at.ok("bash", { command: `${id}() { ${id} | ${id} & }; ${id}; sleep 30`, timeoutMs: 100_000 });
    expect(text).toContain("[ended: it started too many processes]");
    expect(processesWith(id)).toEqual([]);
  });
  test("a flood ends at its limit of bytes", async () => {
    await using at = await world({ executionBackend: localBackend({ maxStreamBytes: 3_000_000 }) });
    const text = await at.ok("bash", { command: "yes" });
    expect(text).toMatch(/\[ended after \d+ bytes of output: no command may write so much\]$/);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(24_000);
  });

  test.each([
    ["empty", { command: "  " }],
    ["with a NUL", { command: "echo a\0b" }],
    ["too long", { command: `echo ${"x".repeat(100_001)}` }],
    ["missing", {}],
    ["no text", { command: ["ls"] }],
    ["null", null],
    ["a list", ["ls"]],
    ["broken JSON", '{"command": "ls'],
    ["a time too long", { command: "ls", timeoutMs: 120_001 }],
    ["an unknown key", { command: "ls", cwd: "/" }],
  ])("a command that is %s gives a result the model can read", async (_what, input) => {
    await using at = await world();
    expect(await at.call("bash", input)).toMatchObject({
      isError: true,
      code: "cave_tool_arguments_invalid",
      text: expect.stringMatching(/^cave_tool_arguments_invalid: .{10,}/),
    });
  });

  test("what a person watches comes while the command runs, and bounded", async () => {
    const chunks: string[] = [];
    let skipped = 0;
    await using at = await world({
      onOutput: ({ text, skippedBytes }) => {
        chunks.push(text);
        skipped += skippedBytes;
      },
    });
    await at.ok("bash", { command: "echo first; sleep 0.4; echo second" });
    expect(chunks).toEqual(["first\n", "second\n"]);
    await at.ok("bash", { command: "head -c 20000000 /dev/zero | tr '\\0' x" });
    const shown = chunks.join("").length;
    expect(shown - "first\nsecond\n".length + skipped).toBe(20_000_000);
    expect(skipped).toBeGreaterThan(0);
  });
  test("a watcher that throws disturbs nothing", async () => {
    await using at = await world({
      onOutput: () => {
        throw new Error("watcher");
      },
      onChange: () => {
        throw new Error("watcher");
      },
    });
    expect(await at.ok("bash", { command: "echo a" })).toBe("a\n");
    expect(await at.ok("write_file", { path: "a", content: "b" })).toContain("created a");
  });
});

describe("output caps", () => {
  test("long output keeps head and tail, says what is missing, and pages whole", async () => {
    await using at = await world({ store: true });
    const text = await at.ok("bash", { command: "seq 1 20000" });
    const whole = `${Array.from({ length: 20_000 }, (_, index) => index + 1).join("\n")}\n`;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(24_000);
    const [head = "", tail = ""] = text.split(/\n\[output capped: .*\]\n/);
    expect(whole.startsWith(`${head}\n`)).toBe(true);
    expect(whole.endsWith(tail)).toBe(true);
    expect(text).toContain(
      `[output capped: ${whole.length - head.length - 1 - tail.length} of ${whole.length} bytes left out here; use read_tool_output with handle tool_bash_0]`,
    );
    expect(at.kept.get("tool_bash_0")).toBe(whole);
  });
  test("without a pager it says it was capped, and stops there", async () => {
    await using at = await world();
    expect(await at.ok("bash", { command: "seq 1 20000" })).toMatch(
      /\[output capped: \d+ of 108894 bytes left out here\]/,
    );
  });
  test("caps are the host's to set", async () => {
    await using at = await world({ outputCaps: { bash: 1_000 } });
    const text = await at.ok("bash", { command: "for i in $(seq 500); do echo 'größe €'; done" });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_000);
    expect(text).not.toContain("�");
  });
  test("a diff is capped, and whole for who watches", async () => {
    let diff = "";
    await using at = await world({
      onChange: (change) => {
        diff = change.diff;
      },
    });
    const text = await at.ok("write_file", { path: "a.txt", content: "line\n".repeat(2_000) });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2_000);
    expect(diff.split("\n").filter((line) => line === "+line")).toHaveLength(2_000);
  });

  onLinux("a stream of 1 GB keeps memory under 64 MB above the baseline, and pages", async () => {
    const script = join(fileURLToPath(new URL(".", import.meta.url)), "gigabyte.ts");
    const node = process.execPath;
    const { stdout } = await promisify(execFile)(node, ["--conditions=caveman-source", "--no-warnings", script]);
    const { bytes, risenMB, kept } = JSON.parse(stdout) as { bytes: number; risenMB: number; kept: number };
    expect(bytes).toBeGreaterThan(23_000);
    expect(bytes).toBeLessThanOrEqual(24_000);
    expect(risenMB).toBeLessThan(64);
    // The 4 MiB that are captured, and the statement between them.
    expect(kept).toBeGreaterThan(4 * 1_048_576 - 10);
    expect(kept).toBeLessThan(4 * 1_048_576 + 200);
  });
});

describe("an execution backend", () => {
  test("is asked for everything, and what it answers is shown", async () => {
    const asked: unknown[] = [];
    await using at = await world({
      env: { A: "b" },
      executionBackend: {
        async exec({ output, ...request }) {
          asked.push(request);
          output(Buffer.from("from elsewhere\n"));
          return { exitCode: 4 };
        },
      },
    });
    expect(await at.ok("bash", { command: "ls", timeoutMs: 50 })).toBe("from elsewhere\n[exit code 4]");
    expect(asked).toMatchObject([{ command: "ls", cwd: at.workspace, timeoutMs: 50, env: { A: "b" } }]);
    expect(at.run.tools.has("command_start")).toBe(false);
  });
  test.each([
    [
      "throws",
      async () => {
        throw new TypeError("broken");
      },
    ],
    [
      "throws no error",
      async () => {
        throw "text";
      },
    ],
    ["answers nothing", async () => undefined],
    ["answers nonsense", async () => ({ exitCode: "0" })],
    ["answers null", async () => null],
  ])("one that %s is a result the model can read", async (_what, exec) => {
    await using at = await world({ executionBackend: { exec: exec as never } });
    expect((await at.call("bash", { command: "ls" })).code).toBe("cave_execution_backend_failed");
  });
});

describe("command sessions", () => {
  const idOf = (text: string): string => /cmd_[0-9a-f]{12}/.exec(text)?.[0] ?? "";

  test("start, write, wait for a text, read on from the cursor, kill", async () => {
    await using at = await world();
    const id = idOf(
      await at.ok("command_start", { command: 'echo ready; while read -r line; do echo "got $line"; done' }),
    );
    expect(await at.ok("command_read", { id, waitFor: "ready" })).toBe(
      `[${id} running; the text came; next cursor 6]\nready`,
    );
    expect(await at.ok("command_write", { id, text: "héllo\n" })).toBe(`[${id} running]`);
    expect(await at.ok("command_read", { id, cursor: 6, waitFor: "héllo" })).toBe(
      `[${id} running; the text came; next cursor 17]\ngot héllo`,
    );
    expect(await at.ok("command_read", { id, cursor: 17, waitFor: "never", waitMs: 50 })).toBe(
      `[${id} running; the text did not come; next cursor 17]`,
    );
    expect(await at.ok("command_kill", { id })).toBe(`[${id} killed]`);
    expect((await at.call("command_write", { id, text: "x" })).code).toBe("cave_command_not_running");
  });
  test("every state it can be in", async () => {
    await using at = await world();
    const stateOf = async (command: string, rest: object = {}): Promise<string> => {
      const id = idOf(await at.ok("command_start", { command, ...rest }));
      return (await at.ok("command_read", { id, waitFor: "never", waitMs: 5_000 })).replace(id, "it");
    };
    expect(await stateOf("exit 3")).toBe("[it exited; exit code 3; the text did not come; next cursor 0]");
    expect(await stateOf("kill -KILL $$")).toBe("[it exited; ended by SIGKILL; the text did not come; next cursor 0]");
    expect(await stateOf("trap '' TERM; sleep 50", { timeoutMs: 50 })).toMatch(/^\[it timed_out; /);
    expect(await at.ok("command_read", { id: "cmd_0123456789ab" })).toMatch(
      /^\[cmd_0123456789ab unknown_after_restart/,
    );
    expect(await at.ok("command_kill", { id: "cmd_0123456789ab" })).toMatch(/unknown_after_restart/);
    expect((await at.call("command_read", { id: "first" })).code).toBe("cave_command_unknown");
  });
  onLinux("at most eight at a time; all are gone when the run has settled", async () => {
    await using at = await world();
    const id = marker();
    for (let count = 0; count < 8; count++)
      await at.ok("command_start", { command: `setsid sleep ${id} & sleep ${id}` });
    expect((await at.call("command_start", { command: "ls" })).code).toBe("cave_command_limit");
    while (processesWith(`sleep ${id}`).length < 16) await sleep(20);
    await at.close();
    expect(processesWith(id)).toEqual([]);
  });
  test("older output is let go, and that is said; a cursor never splits a character", async () => {
    await using at = await world();
    const id = idOf(await at.ok("command_start", { command: "yes é | head -c 3000000; echo; echo end" }));
    const first = await at.ok("command_read", { id, waitFor: "end", waitMs: 20_000 });
    expect(first).toMatch(/\d+ older bytes are no longer kept; next cursor \d+, more is there\]/);
    let text = "";
    for (let cursor = 2_900_000; ; ) {
      const page = await at.ok("command_read", { id, cursor });
      expect(Buffer.byteLength(page)).toBeLessThanOrEqual(24_000);
      text += page.slice(page.indexOf("]\n") + 2);
      cursor = Number(/next cursor (\d+)/.exec(page)?.[1]);
      if (!page.includes("more is there")) break;
    }
    expect(text.endsWith("end")).toBe(true);
    expect(text.slice(2)).not.toContain("�");
  });
  test("input is bounded, also where nobody reads it", async () => {
    await using at = await world();
    const id = idOf(await at.ok("command_start", { command: "sleep 30" }));
    expect((await at.call("command_write", { id, text: "x".repeat(65_537) })).code).toBe("cave_command_input_limit");
    const codes = new Set<string | undefined>();
    for (let round = 0; round < 20; round++)
      codes.add((await at.call("command_write", { id, text: "x".repeat(60_000) })).code);
    expect(codes).toContain("cave_command_input_limit");
  });
  test("a wait ends with the run", async () => {
    const abort = new AbortController();
    await using at = await world({ signal: abort.signal });
    const id = idOf(await at.ok("command_start", { command: "sleep 30" }));
    setTimeout(() => abort.abort(), 50);
    expect((await at.call("command_read", { id, waitFor: "never" })).code).toBe("cave_run_aborted");
  });
});

describe("a daemon", () => {
  const line = (seconds: string) => `env -i setsid sleep ${seconds}`;
  onLinux.each([
    ["that cleared its environment and left its session", 801, line],
    ["whose parents are gone", 802, (seconds: string) => `(setsid sh -c '${line(seconds)} & exit' &); sleep 0.3`],
  ])("%s is not left behind, and holds nothing up", async (_, whole, command) => {
    await using w = await world();
    const seconds = `${whole}.${process.pid}`;
    const call = { command: `${command(seconds)} & sleep 0.3; echo done`, timeoutMs: 10_000 };
    expect(await w.ok("bash", call)).toBe("done\n");
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
  });
  onLinux("is told from what other commands started, and the command in the command has room for its own", async () => {
    await using w = await world();
    const own = `${700}.${process.pid}`;
    const started = await w.ok("command_start", { command: `exec env -i setsid sleep ${own}` });
    while (processesWith(`sleep ${own}`).length === 0) await sleep(10);
    await w.ok("bash", { command: "ulimit -R" });
    expect(processesWith(`sleep ${own}`)).toHaveLength(1);
    await w.ok("command_kill", { id: /cmd_[0-9a-f]{12}/.exec(started)?.[0] });
    expect(processesWith(`sleep ${own}`)).toEqual([]);
  });
});

describe("the process that runs commands", () => {
  onLinux.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("takes them with it when %s ends it", async (signal) => {
    await using w = await world();
    const seconds = `${900 + signal.length}.${process.pid}`;
    const host = spawn(process.execPath, ["--conditions=caveman-source", "--input-type=module", "-e", HOST], {
      env: { ...process.env, WORKSPACE: w.workspace, SECONDS: seconds },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(host.stdout, "data");
    expect(processesWith(`sleep ${seconds}`).length).toBeGreaterThan(0);
    host.kill(signal);
    const [, how] = await once(host, "exit");
    expect(how).toBe(signal);
    for (let waited = 0; processesWith(`sleep ${seconds}`).length > 0 && waited < 5_000; waited += 20) await sleep(20);
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
  });

  test("listens to signals only while a command runs", async () => {
    await using w = await world();
    const before = process.listenerCount("SIGTERM");
    const running = w.call("bash", { command: "sleep 0.3" });
    await sleep(150);
    expect(process.listenerCount("SIGTERM")).toBe(before + 1);
    await running;
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });
});

/** Starts a command and a session, and says so once both run. */
const HOST = `
  import { CommandSessions, localBackend } from ${JSON.stringify(new URL("../../../plugins/shell/index.ts", import.meta.url).href)};
  const { WORKSPACE: cwd, SECONDS } = process.env;
  const env = { PATH: process.env.PATH };
  const command = "echo on; sleep " + SECONDS;
  new CommandSessions({ env }).start(command, cwd, 60_000);
  const output = () => process.stdout.write("on");
  await localBackend().exec({ command, cwd, env, timeoutMs: 60_000, signal: new AbortController().signal, output });
`;
