/** Attacks on contained tools. None may succeed; the same attacks on host tools show that they are real. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { createSocket, type Socket } from "node:dgram";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:http";
import { createServer as createNetServer, type Server as NetServer } from "node:net";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createCaveman } from "../../index.ts";
import { definePlugin } from "../../kernel/index.ts";
import { scripted } from "../../plugins/providers/scripted/index.ts";
import { sandbox } from "../../plugins/sandbox/index.ts";
import { available } from "../plugins/sandbox/availability.ts";
import { contained } from "./sandbox-attacks/agent.ts";
import { attacks, type Baits } from "./sandbox-attacks/attacks.ts";
import { polluted } from "./sandbox-attacks/outcome.ts";

const here = import.meta.dirname;
const entryPath = join(here, "sandbox-attacks", "agent.ts");
const suite = available ? describe : describe.skip;

let baits: Baits;
let decoy: ChildProcess;
let web: Server;
const servers: NetServer[] = [];
let udp: Socket;

const addon = (): string => {
  const scope = join(here, "../../node_modules/@swc");
  for (const name of readdirSync(scope))
    for (const file of readdirSync(join(scope, name))) if (file.endsWith(".node")) return join(scope, name, file);
  return join(scope, "none.node");
};

beforeAll(async () => {
  // Not in the temporary folder, which a worker has one of its own.
  const dir = mkdtempSync(
    join(dirname(tmpdir()) === "/" && existsSync("/var/tmp") ? "/var/tmp" : tmpdir(), "caveman-baits-"),
  );
  for (const [name, text] of [
    ["secret.txt", "the secret"],
    ["module.mjs", 'export default "loaded";'],
    ["module.cjs", 'exports.found = "loaded";'],
    [".env", "FROM_ENV_FILE=read"],
    ["a", ""],
  ] as const)
    writeFileSync(join(dir, name), text);
  mkdirSync(join(dir, "folder"));
  decoy = spawn("sleep", ["120"], { stdio: "ignore" });
  web = createServer((_request, response) => response.end("ok"));
  await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
  const address = web.address();
  const tcp = typeof address === "object" && address ? address.port : 0;
  udp = createSocket("udp4", (message, from) => udp.send(message, from.port, from.address));
  await new Promise<void>((resolve) => udp.bind(0, "127.0.0.1", resolve));
  const socket = join(dir, "host.sock");
  const abstract = `\0caveman-attack-${process.pid}`;
  for (const path of [socket, ...(process.platform === "linux" ? [abstract] : [])]) {
    const server = createNetServer((connection) => connection.end());
    await new Promise<void>((resolve) => server.listen(path, resolve));
    servers.push(server);
  }
  process.env.CAVEMAN_ATTACK_SECRET = "the secret";
  baits = {
    dir,
    home: homedir(),
    tcp,
    udp: udp.address().port,
    socket,
    abstract,
    hostPid: decoy.pid ?? 0,
    descriptor: openSync(join(dir, "secret.txt"), "r"),
    addon: addon(),
    variable: "CAVEMAN_ATTACK_SECRET",
  };
});

afterAll(() => {
  decoy.kill();
  web.close();
  web.closeAllConnections();
  udp.close();
  for (const server of servers) server.close();
  closeSync(baits.descriptor);
  rmSync(baits.dir, { recursive: true, force: true });
  delete process.env.CAVEMAN_ATTACK_SECRET;
});

interface Outcome {
  readonly attack: string;
  readonly raw: unknown;
  readonly error: string | undefined;
}
let seen: Outcome[] = [];
/** Keeps what the tools really returned, before it becomes text. */
const capture = definePlugin({
  name: "capture",
  apply: (kernel) =>
    kernel.hooks.admitTool.tap({ name: "capture", stage: "place" }, (call) =>
      call.output((output, { input }, raw) => {
        const error = output.type === "error-text" ? output.value : undefined;
        seen.push({ attack: (input as { name: string }).name, raw, error });
        return output;
      }),
    ),
});
const caveman = createCaveman({ preset: "bare", plugins: [sandbox(), capture()] });

/** Runs attacks as the tool calls of one run, one a turn. */
async function attacked(names: readonly string[]): Promise<Outcome[]> {
  seen = [];
  const turns = names.map((name) => ({
    toolCalls: [{ name: /loop|signals/.test(name) ? "attack_700" : "attack_8000", input: { name, baits } }],
  }));
  await caveman.run(contained, "go", {
    model: scripted([...turns, { text: "" }]),
    entryPath,
    rootDir: join(here, "../.."),
  });
  return seen;
}

/** Whether an attack got something. One whose tool returned may still have got nothing: that shows on the host. */
function succeeded({ attack, raw, error }: Outcome): boolean {
  if (attack === "a prototype in the result") return "polluted" in Object.assign({}, raw);
  if (attack === "change Object.prototype") return polluted();
  if (attack.startsWith("kill ")) return decoy.exitCode !== null || decoy.signalCode !== null;
  return error === undefined;
}

suite("tools in required mode", () => {
  test("none of the attacks succeeds", async () => {
    const names = Object.keys(attacks).flatMap((name) => (name.startsWith("leave state") ? [name, name] : [name]));
    const rows: { attack: string; outcome: string; said: string }[] = [];
    while (names.length > 0)
      for (const outcome of await attacked(names.splice(0, 20)))
        rows.push({
          attack: outcome.attack,
          outcome: succeeded(outcome) ? "SUCCEEDED" : "contained",
          said: outcome.error ?? `returned ${JSON.stringify(outcome.raw)?.slice(0, 40)}`,
        });
    process.stdout.write(`${table(rows)}\n`);
    expect(rows.filter((row) => row.outcome === "SUCCEEDED")).toEqual([]);
    expect(rows.length).toBeGreaterThanOrEqual(60);
    // What the host can see of it.
    expect(readFileSync(join(baits.dir, "secret.txt"), "utf8")).toBe("the secret");
    expect(readdirSync(baits.dir).sort()).toEqual([
      ".env",
      "a",
      "folder",
      "host.sock",
      "module.cjs",
      "module.mjs",
      "secret.txt",
    ]);
    expect(decoy.exitCode).toBeNull();
    expect(decoy.signalCode).toBeNull();
  }, 120_000);

  test("the same attacks succeed on the host", async () => {
    const of = (host: "deadly" | undefined): string[] =>
      Object.keys(attacks).filter((name) => attacks[name]?.host === host);
    const harmless = await onHost(of(undefined));
    const rows = of(undefined).map((attack) => ({
      attack,
      outcome: harmless.get(attack) ?? "ended the process",
      said: "",
    }));
    // A deadly attack is real when the process that runs it does not come to an answer.
    const deadly = of("deadly").map(async (attack) => {
      const answer = await onHost([attack], 6_000);
      return answer.get(attack) === ""
        ? { attack, outcome: "", said: "" }
        : { attack, outcome: "succeeded", said: answer.has(attack) ? "" : "the process died or hung" };
    });
    rows.push(...(await Promise.all(deadly)));
    process.stdout.write(`${table(rows.map((row) => ({ ...row, outcome: row.outcome || "failed" })))}\n`);
    // What needs root, or a newer Node, is not there everywhere.
    const conditional = ["become root", "environment of process 1 in /proc", "replace the process"];
    expect(
      rows.filter((row) => row.outcome === "" && !conditional.includes(row.attack)).map((row) => row.attack),
    ).toEqual([]);
  }, 120_000);
});

async function onHost(names: string[], timeout = 60_000): Promise<Map<string, string>> {
  const script = join(here, "sandbox-attacks", "on-host.ts");
  const node = process.execPath;
  const stdout = await new Promise<string>((resolve) => {
    // Its own group, so that it can kill its group and nothing else.
    const child = execFile(
      "setsid",
      ["--wait", node, "--conditions=caveman-source", "--no-warnings", script, JSON.stringify({ names, baits })],
      { timeout, env: { ...process.env }, killSignal: "SIGKILL", maxBuffer: 64 * 1024 * 1024 },
      (_error, out) => resolve(String(out)),
    );
    child.stderr?.resume();
  });
  return new Map(
    stdout.split("\n").flatMap((line): [string, string][] => {
      if (!line.startsWith("{")) return [];
      const { name, outcome } = JSON.parse(line) as { name: string; outcome: string };
      return [[name, outcome]];
    }),
  );
}

const table = (rows: readonly { attack: string; outcome: string; said: string }[]): string =>
  rows
    .map(
      ({ attack, outcome, said }) =>
        `${attack.padEnd(42)}${outcome.padEnd(12)}${said.replace(/[^\x20-\x7e]+/g, " ").slice(0, 130)}`,
    )
    .join("\n");
