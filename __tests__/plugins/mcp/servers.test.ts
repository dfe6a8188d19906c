import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { describe, expect, jest, test } from "@jest/globals";
import { agent, createKernel, definePlugin, subagent } from "../../../kernel/index.ts";
import { mcp } from "../../../plugins/mcp/index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { models } from "../../support/harness.ts";
import { calls, everything, gone, plain, resultsOf, World } from "./worlds.ts";

// Generous: every test starts processes.
jest.setTimeout(60_000);
const { execPath } = process;
const official = { command: execPath, args: [everything, "stdio"] };

describe("the official example server", () => {
  test("over stdio: its tools are called by a run and its process ends with it", async () => {
    const world = new World();
    const { outcome, results, tools, run } = await world.run(
      calls(["e__echo", { message: "hello" }], ["e__get-sum", { a: 2, b: 40 }], ["e__get-sum", { a: "2" }]),
      { servers: { e: official } },
    );
    expect(outcome.stopReason).toBe("complete");
    expect(tools).toContain("e__get-sum");
    expect(results[0]).toBe("Echo: hello");
    expect(results[1]).toContain("42");
    expect(results[2]).toContain("cave_tool_arguments_invalid");
    expect(results[2]).toContain("b is required");
    const [fact] = run.ledger.of("mcp.server");
    expect(fact).toMatchObject({
      server: "e",
      tools: tools.length,
      refused: 0,
      loading: "prompt",
      tokenBasis: "estimated",
    });
  });

  test("over streamable HTTP", async () => {
    const port = await freePort();
    const server = spawn(execPath, [everything, "streamableHttp"], {
      env: { PATH: process.env.PATH, PORT: String(port) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    try {
      await new Promise<void>((resolve, reject) => {
        createInterface({ input: server.stderr }).on("line", (line) => line.includes("listening") && resolve());
        createInterface({ input: server.stdout }).on("line", (line) => line.includes("listening") && resolve());
        server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
      });
      const world = new World();
      const { outcome, results } = await world.run(calls(["e__echo", { message: "over http" }]), {
        servers: { e: { url: `http://127.0.0.1:${port}/mcp` } },
      });
      expect(outcome.error?.message).toBeUndefined();
      expect(results).toEqual(["Echo: over http"]);
    } finally {
      server.kill("SIGKILL");
    }
  });
});

describe("a server that misbehaves is a tool error, and the run goes on", () => {
  test("a crash in the middle of a call: the call is not repeated, the next one finds the server again", async () => {
    const world = new World([plain("crash"), plain("ok")]);
    const { outcome, results } = await world.run(calls("s__crash", "s__ok"));
    expect(outcome.stopReason).toBe("complete");
    expect(results[0]).toContain("cave_mcp_server_lost");
    expect(results[1]).toBe("ok: {}");
    expect(world.lines.filter((line) => line === "call crash")).toHaveLength(1);
    for (const pid of world.pids) expect(await gone(pid)).toBe(true);
  });

  test("one that always crashes is not started for ever", async () => {
    const world = new World([plain("crash")]);
    const { results } = await world.run(calls(...Array.from({ length: 7 }, () => "s__crash")));
    expect(results.every((text) => text.includes("cave_mcp_server_lost"))).toBe(true);
    expect(world.pids).toHaveLength(4);
  });

  test("a hang ends at the time limit", async () => {
    const world = new World([plain("hang"), plain("ok")]);
    const { outcome, results } = await world.run(calls("s__hang", "s__ok"), {
      servers: { s: world.server({ timeoutMs: 300 }) },
    });
    expect(outcome.stopReason).toBe("complete");
    expect(results[0]).toContain("cave_tool_timeout");
    expect(results[1]).toBe("ok: {}");
  });

  test("garbage between messages is passed over; a result of the wrong shape is an error", async () => {
    const world = new World([plain("garbage"), plain("nonsense"), plain("ok")]);
    const { results } = await world.run(calls("s__garbage", "s__nonsense", "s__ok"), {
      servers: { s: world.server({ env: { MCP_START: "garbage" } }) },
    });
    expect(results[0]).toBe("after garbage");
    expect(results[1]).toMatch(/^cave_mcp_/);
    expect(results[2]).toBe("ok: {}");
  });

  test("a large result keeps head and tail, says what is left out, and one without end costs the connection only", async () => {
    const world = new World([plain("huge"), plain("ok")]);
    const { results } = await world.run(
      calls(["s__huge", { lines: 100_000 }], ["s__huge", { lines: 1_500_000 }], "s__ok"),
    );
    const [cut = "", endless, after] = results;
    expect(Buffer.byteLength(cut)).toBeLessThan(1_048_576 + 100);
    expect(cut).toMatch(/^a line of output\n/);
    expect(cut).toMatch(/\nthe end$/);
    // 100,000 lines of 17 bytes and 7 for the end are 1,700,007 bytes.
    const left = Number(/\[(\d+) bytes left out\]/.exec(cut)?.[1]);
    expect(left + Buffer.byteLength(cut.replace(/\n\[\d+ bytes left out\]\n/, ""))).toBe(1_700_007);
    expect(endless).toContain("cave_mcp_server_lost");
    expect(after).toBe("ok: {}");
  });

  test("an error it reports is read by the model", async () => {
    const world = new World([plain("fail")]);
    const { results } = await world.run(calls("s__fail"));
    expect(results[0]).toContain("cave_mcp_tool_failed: the disk is full");
  });

  test("what it asks of its client is refused and noted", async () => {
    const world = new World([plain("ask")]);
    const { results, notices } = await world.run(calls("s__ask"));
    // -32601 is JSON-RPC's "method not found".
    expect(results[0]).toBe("-32601,-32601,-32601");
    for (const method of ["sampling/createMessage", "roots/list", "elicitation/create"])
      expect(notices).toContainEqual(
        expect.stringMatching(new RegExp(`^cave_mcp_request_refused: s asked for ${method}`)),
      );
  });
});

test("a server that knows only the newer handshake is spoken to in it, and what it wants in the middle of a call is refused", async () => {
  const world = new World([plain("ok"), plain("want"), plain("crash")]);
  const { results } = await world.run(calls("s__ok", "s__want", "s__crash", "s__ok"), {
    servers: { s: world.server({ env: { MCP_START: "modern" } }) },
  });
  expect(results[0]).toBe("ok: {}");
  expect(results[1]).toMatch(/^cave_mcp_tool_failed/);
  expect(results[2]).toContain("cave_mcp_server_lost");
  expect(results[3]).toBe("ok: {}");
});

describe("a server that does not start", () => {
  test.each([
    ["ends", "exit", /cannot start/],
    ["hangs", "hang", /no answer within 700 ms/],
    ["floods", "flood", /cave_mcp_server_unavailable/],
    ["lists tools without end", "endless", /pagination did not terminate/],
  ])("one that %s fails the run with a coded error, and an optional one does not", async (_, start, says) => {
    process.env.CAVE_TEST_MCP_TOKEN = "s3cr3t-of-the-test";
    const world = new World([plain("ok")]);
    const s = world.server({
      startTimeoutMs: start === "endless" ? 30_000 : 700,
      env: { MCP_START: start, TOKEN: { env: "CAVE_TEST_MCP_TOKEN" } },
    });
    const failed = await world.run(calls(), { servers: { s } });
    expect(failed.outcome.error?.code).toBe("cave_mcp_server_unavailable");
    expect(failed.outcome.error?.message).toMatch(says);
    expect(failed.outcome.error?.message).not.toContain("s3cr3t");
    expect(failed.model.calls).toHaveLength(0);
    const going = await world.run(calls(), { servers: { s: { ...s, optional: true } } });
    expect(going.outcome.stopReason).toBe("complete");
    expect(going.notices[0]).toMatch(/^cave_mcp_server_unavailable/);
    for (const pid of world.pids) expect(await gone(pid)).toBe(true);
  });

  test("a program that is not there, and a variable that is not set", async () => {
    const world = new World();
    const missing = await world.run(calls(), { servers: { s: { command: "no-such-program-here" } } });
    expect(missing.outcome.error?.code).toBe("cave_mcp_server_unavailable");
    const unset = await world.run(calls(), {
      servers: { s: world.server({ env: { TOKEN: { env: "CAVE_TEST_NOT_SET" } } }) },
    });
    expect(unset.outcome.error?.code).toBe("cave_mcp_env_missing");
    expect(unset.outcome.error?.message).toContain("CAVE_TEST_NOT_SET");
  });
});

describe("the environment", () => {
  test("of a server is an allow-list and what the configuration names", async () => {
    process.env.CAVE_TEST_MCP_TOKEN = "s3cr3t-of-the-test";
    process.env.CAVE_TEST_OTHER = "not for servers";
    const world = new World([plain("env")]);
    const { results } = await world.run(calls("s__env"), {
      servers: { s: world.server({ env: { TOKEN: { env: "CAVE_TEST_MCP_TOKEN", prefix: "Bearer " } } }) },
    });
    const env = JSON.parse(results[0] ?? "{}");
    expect(env.TOKEN).toBe("Bearer s3cr3t-of-the-test");
    expect(env.PATH).toBe(process.env.PATH);
    const allowed = [
      "HOME",
      "LANG",
      "LC_ALL",
      "LOGNAME",
      "PATH",
      "SHELL",
      "TERM",
      "TMPDIR",
      "TZ",
      "USER",
      "MCP_LOG",
      "NODE_COMPILE_CACHE",
      "MCP_TOOLS",
      "TOKEN",
    ];
    expect(Object.keys(env).filter((key) => !allowed.includes(key))).toEqual([]);
  });

  test("headers of an HTTP server come from the environment, reach it alone, and are in no error", async () => {
    process.env.CAVE_TEST_MCP_TOKEN = "s3cr3t-of-the-test";
    const seen: string[] = [];
    const elsewhere: string[] = [];
    const away = createServer((request, response) => {
      elsewhere.push(String(request.headers.authorization));
      response.writeHead(500).end();
    });
    const front = createServer((request, response) => {
      seen.push(String(request.headers.authorization));
      response.writeHead(307, { location: `http://127.0.0.1:${(away.address() as AddressInfo).port}/` }).end();
    });
    await Promise.all(
      [away, front].map((server) => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    );
    const url = `http://127.0.0.1:${(front.address() as AddressInfo).port}/mcp`;
    const { outcome } = await new World().run(calls(), {
      servers: { h: { url, headers: { Authorization: { env: "CAVE_TEST_MCP_TOKEN", prefix: "Bearer " } } } },
    });
    for (const server of [away, front]) server.close();
    expect(seen[0]).toBe("Bearer s3cr3t-of-the-test");
    expect(elsewhere).toEqual([]);
    expect(outcome.error?.code).toBe("cave_mcp_server_unavailable");
    expect(outcome.error?.message).not.toContain("s3cr3t");
  });

  test("an HTTP answer without end is cut off", async () => {
    let written = 0;
    const server = createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const chunk = Buffer.alloc(1_048_576, " ");
      const more = (): void => {
        written += chunk.length;
        if (response.destroyed || written > 256 * chunk.length) response.end();
        else if (response.write(chunk)) setImmediate(more);
        else response.once("drain", more);
      };
      more();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    const { outcome } = await new World().run(calls(), { servers: { h: { url } } });
    server.closeAllConnections();
    server.close();
    expect(outcome.error?.code).toBe("cave_mcp_server_unavailable");
    // Sixteen MiB are read; the rest of what was written stood in buffers between the two.
    expect(written).toBeLessThan(64 * 1_048_576);
  });

  test.each([
    [{ s: {} }, "a command or a url"],
    [{ s: { command: "x", url: "https://x.test" } }, "both"],
    [{ a_b: { command: "x" } }, "names like"],
    [{ cave: { command: "x" } }, 'other than "cave"'],
    [{ s: { command: "x", headers: {} } }, "a url"],
    [{ s: { url: "ftp://x.test" } }, "http or https"],
    [{ s: { url: "http://me:pw@x.test" } }, "without credentials"],
    [{ s: { url: "http://x.test", headers: { A: { env: "B" } } } }, "https where headers come from the environment"],
    [{ s: { command: "x", comand: "y" } }, 'did you mean "command"'],
  ])("a configuration that cannot be meant is refused when the kernel is assembled: %j", (servers, says) => {
    expect(() => createKernel({ plugins: [models, mcp({ servers } as never)] })).toThrow(says);
  });
});

describe("no process outlives its run", () => {
  test("one that ignores the end of its input and SIGTERM, and what it forked", async () => {
    const world = new World([plain("fork")]);
    const { results } = await world.run(calls("s__fork"), {
      servers: { s: world.server({ env: { MCP_START: "stubborn" } }) },
    });
    expect(world.lines).toContain("SIGTERM");
    for (const pid of [...world.pids, Number(results[0])]) expect(await gone(pid)).toBe(true);
  });

  test("an abort while a server starts, and in the middle of a call", async () => {
    const world = new World([plain("hang")]);
    const starting = new AbortController();
    const watch = setInterval(() => world.pids.length > 0 && starting.abort(), 20);
    const first = await world.run(
      calls(),
      { servers: { s: world.server({ env: { MCP_START: "hang" } }) } },
      { signal: starting.signal },
    );
    clearInterval(watch);
    expect(first.outcome.stopReason).toBe("aborted");
    const calling = new AbortController();
    const kernel = world.kernel(
      { servers: { s: world.server() } },
      definePlugin({
        name: "abort",
        apply: ({ hooks }) =>
          hooks.admitTool.tap({ name: "abort", stage: "place" }, () => void setTimeout(() => calling.abort(), 50)),
      })(),
    );
    const second = await world.runOn(kernel, calls("s__hang"), { signal: calling.signal });
    expect(second.outcome.stopReason).toBe("aborted");
    expect(world.pids.length).toBeGreaterThanOrEqual(2);
    for (const pid of world.pids) expect(await gone(pid)).toBe(true);
  });

  test("runs at the same time share one process, which ends with the last", async () => {
    const world = new World([plain("ok")]);
    const kernel = world.kernel({ servers: { s: world.server() } });
    const runs = await Promise.all([1, 2, 3].map(() => world.runOn(kernel, calls("s__ok"))));
    expect(runs.flatMap(({ results }) => results)).toEqual(["ok: {}", "ok: {}", "ok: {}"]);
    expect(world.pids).toHaveLength(1);
    for (const pid of world.pids) expect(await gone(pid)).toBe(true);
  });

  test("a connection may be kept for the next run", async () => {
    const world = new World([plain("ok")]);
    const kernel = world.kernel({ servers: { s: world.server() }, keepAliveMs: 2_000 });
    await world.runOn(kernel, calls("s__ok"));
    await world.runOn(kernel, calls("s__ok"));
    expect(world.pids).toHaveLength(1);
    for (const pid of world.pids) expect(await gone(pid)).toBe(true);
  });

  test("the end of the parent by SIGKILL is the end of the server's input", async () => {
    const world = new World([plain("hang")]);
    const parent = spawn(
      execPath,
      [
        "--conditions=caveman-source",
        "--input-type=module",
        "-e",
        `
      const { agent, createKernel } = await import(${JSON.stringify(new URL("../../../kernel/index.ts", import.meta.url).href)});
      const { mcp } = await import(${JSON.stringify(new URL("../../../plugins/mcp/index.ts", import.meta.url).href)});
      const { scripted } = await import(${JSON.stringify(new URL("../../../plugins/providers/scripted/index.ts", import.meta.url).href)});
      const { models } = await import(${JSON.stringify(new URL("../../support/harness.ts", import.meta.url).href)});
      const kernel = createKernel({ plugins: [models, mcp({ servers: { s: ${JSON.stringify(world.server())} } })] });
      kernel.start(agent({ id: "a", instructions: "i", model: scripted([{ toolCalls: [{ name: "s__hang", input: {} }] }]) }), "go", { rootDir: ${JSON.stringify(world.root)} });
    `,
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    );
    for (let wait = 0; wait < 200 && !world.lines.includes("call hang"); wait++)
      await new Promise((resolve) => setTimeout(resolve, 50));
    expect(world.lines).toContain("call hang");
    parent.kill("SIGKILL");
    for (const pid of world.pids) expect(await gone(pid)).toBe(true);
  });
});

test("children of a run get the tools only when the configuration invites them", async () => {
  const world = new World([plain("ok")]);
  const ran = (config: object) => {
    const child = agent({
      id: "child",
      instructions: "i",
      model: scripted([{ toolCalls: [{ name: "s__ok", input: {} }] }, { text: "done" }]),
    });
    const root = agent({
      id: "root",
      instructions: "i",
      model: scripted([{ toolCalls: [{ name: "go", input: { task: "x" } }] }, { text: "done" }]),
      tools: [delegate(child)],
    });
    const kernel = world.kernel({ servers: { s: world.server() }, ...config });
    const { run, done } = kernel.start(root, "go", { rootDir: world.root });
    return done.then(() => run.children.map(resultsOf));
  };
  expect((await ran({}))[0]?.[0]).toContain("cave_unknown_tool");
  expect(await ran({ agents: ["root", "child"] })).toEqual([["ok: {}"]]);
  expect(await ran({ agents: ["child"] })).toEqual([["ok: {}"]]);
});

test("a run may go without any server", async () => {
  const world = new World([plain("ok")]);
  const { tools } = await world.run(calls(), undefined, { mcp: false });
  expect(tools).toEqual([]);
  expect(world.pids).toEqual([]);
});

const delegate = (child: ReturnType<typeof agent>) => subagent({ name: "go", description: "d", agent: child });

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => resolve(port));
    });
  });
