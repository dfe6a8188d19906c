/** `caveman doctor`: what a run needs, each with the command that mends it. */

import { type Args, EXIT, text } from "../command.ts";
import { packageVersion } from "../package.ts";
import { errorJson } from "../render/error.ts";
import type { Terminal } from "../render/terminal.ts";
import { credentialsIn } from "../simulated.ts";

interface Check {
  readonly name: string;
  readonly status: "pass" | "warn" | "fail";
  readonly detail: string /** The command that mends it. */;
  readonly mend?: string;
}

/** The oldest Node that runs TypeScript config and agent files as they are. */
const OLDEST_NODE = [22, 19, 0] as const;

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  const checks = [node(), await config(text(args, "config")), await provider(), await contained(), await scriptedRun()];
  const ready = checks.every((check) => check.status !== "fail");
  const next =
    checks.find((check) => check.status === "fail")?.mend ??
    checks.find((check) => check.status === "warn")?.mend ??
    'caveman run <agent> "…"';
  if (args.json)
    terminal.out(
      `${JSON.stringify({ schema_version: 1, version: await packageVersion(), ready, checks, next_action: next }, null, 2)}\n`,
    );
  else {
    for (const check of checks) {
      terminal.out(`${mark(check, terminal)} ${check.name.padEnd(13)} ${check.detail}\n`);
      if (check.mend) terminal.out(`    → ${check.mend}\n`);
    }
  }
  return ready ? EXIT.done : EXIT.failed;
}

function mark({ status }: Check, { style }: Terminal): string {
  if (status === "pass") return style("green", "ok  ");
  return status === "warn" ? style("yellow", "warn") : style("red", "FAIL");
}

function node(): Check {
  const have = process.versions.node.split(".").map(Number);
  const at = OLDEST_NODE.findIndex((part, index) => have[index] !== part);
  const enough = at < 0 || (have[at] ?? 0) > (OLDEST_NODE[at] ?? 0);
  return enough
    ? { name: "node", status: "pass", detail: process.versions.node }
    : {
        name: "node",
        status: "fail",
        detail: `${process.versions.node}; ${OLDEST_NODE.join(".")} or newer is needed`,
        mend: "nvm install 24",
      };
}

async function config(file: string | undefined): Promise<Check> {
  try {
    const { loadConfig } = await import("../config.ts");
    const loaded = await loadConfig(file === undefined ? {} : { file });
    return {
      name: "config",
      status: "pass",
      detail: `${loaded.file ?? "none: the defaults apply"}, preset ${loaded.preset}`,
    };
  } catch (error) {
    return failed("config", error);
  }
}

async function provider(): Promise<Check> {
  const found = credentialsIn(process.env);
  const model = process.env.CAVE_MODEL;
  if (model) return { name: "provider", status: "pass", detail: `CAVE_MODEL=${model}` };
  if (found.length === 0)
    return {
      name: "provider",
      status: "warn",
      detail: "no provider credential is set; agents with a model script run simulated",
      mend: "export ANTHROPIC_API_KEY=…  (or OPENAI_API_KEY, GEMINI_API_KEY)",
    };
  if (found.length > 1)
    return {
      name: "provider",
      status: "warn",
      detail: `several credentials are set (${found.join(", ")}), so auto() cannot choose`,
      mend: "export CAVE_MODEL=provider/model",
    };
  const [name = ""] = found;
  return /^[\x21-\x7e]{8,}$/.test(process.env[name] ?? "")
    ? { name: "provider", status: "pass", detail: `${name} is set` }
    : {
        name: "provider",
        status: "fail",
        detail: `${name} does not look like a key: printable ASCII without spaces is needed`,
        mend: `export ${name}=…`,
      };
}

/** A worker that tries to get out, with something to find on this machine. */
async function contained(): Promise<Check> {
  const { probeSandbox } = await import("../../plugins/index.ts");
  const { contained: holds, checks } = await probeSandbox();
  if (holds)
    return { name: "sandbox", status: "pass", detail: `required mode holds: ${checks.length - 1} ways out are closed` };
  const open = checks.find((check) => !check.contained);
  // Without a worker nothing got out: contained agents are refused, the others run.
  const refused = checks.length <= 1;
  return {
    name: "sandbox",
    status: refused ? "warn" : "fail",
    detail: refused
      ? `agents in required mode are refused here: ${open?.outcome ?? "no worker starts"}`
      : `required mode does not hold here: ${open?.name} ${open?.outcome}`,
    ...(open?.remedy ? { mend: open.remedy } : {}),
  };
}

/** One agent, one tool call and a receipt, through the whole runtime, on a model in process. */
async function scriptedRun(): Promise<Check> {
  try {
    const [{ agent, createCaveman, schema, tool }, { scripted }] = await Promise.all([
      import("../../index.ts"),
      import("../../plugins/testing.ts"),
    ]);
    const ping = tool({
      name: "ping",
      description: "Answers pong.",
      input: schema.object({}),
      effect: "read",
      execute: () => "pong",
    });
    const model = scripted([{ toolCalls: [{ name: "ping", input: {} }] }, { text: "pong" }]);
    const doctor = agent({ id: "doctor", instructions: "Call ping.", tools: [ping], model, sandbox: "host" });
    const { text: said, receipt, stopReason } = await createCaveman({ preset: "fixture" }).run(doctor, "ping");
    const calls = receipt.tools.find((row) => row.name === "ping")?.calls;
    if (stopReason === "complete" && said === "pong" && calls === 1)
      return {
        name: "scripted run",
        status: "pass",
        detail: `${receipt.calls.length} model calls, 1 tool call, receipt ${receipt.runId}`,
      };
    return {
      name: "scripted run",
      status: "fail",
      detail: `ended as ${stopReason} with ${calls ?? 0} tool calls`,
      mend: "npm install caveman-agent@latest",
    };
  } catch (error) {
    return failed("scripted run", error);
  }
}

function failed(name: string, error: unknown): Check {
  const { code, message, remedy } = errorJson(error);
  return {
    name,
    status: "fail",
    detail: `${code}: ${message}${remedy ? ` ${remedy}` : ""}`,
    mend: `caveman explain ${code}`,
  };
}
