/** `caveman run`: one run of one agent, shown as it happens. */
import { readdir, readFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { format, fromDollars } from "../../catalog/index.ts";
import {
  type Caveman,
  CavemanError,
  CavemanRunError,
  createCaveman,
  type Plugin,
  type Receipt,
  type RunOptions,
  type RunResult,
  renderReceipt,
  type StreamEvent,
} from "../../index.ts";
import { errorRow } from "../../kernel/errors.ts";
import { receipt } from "../../plugins/index.ts";
import { type FoundAgent, findAgent, placeOf } from "../agent.ts";
import { type Args, EXIT, text } from "../command.ts";
import { type LoadedConfig, loadConfig, type PluginEntry } from "../config.ts";
import { usage } from "../errors.ts";
import { interruptible } from "../interrupt.ts";
import { errorJson, printError } from "../render/error.ts";
import { liveEvents } from "../render/events.ts";
import { printableJson } from "../render/printable.ts";
import type { Terminal } from "../render/terminal.ts";
import { simulatedModel } from "../simulated.ts";
import { keepTapTimes } from "../tap-times.ts";

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  if (args.json && args.stream) throw usage("--json and --stream exclude each other", "Pass one of them.");
  const path = text(args, "agent") ?? "";
  const input = await inputOf(text(args, "input"));
  const found = await findAgent(path);
  const config = await configFor(found, text(args, "config"));
  const options = await optionsFor(args, found, config, terminal);
  const caveman = createCaveman({ preset: [], plugins: pluginsOf(config), run: runOf(args, config) });
  const interrupt = interruptible(terminal);
  const request = { ...options, ...approvals(config, args, terminal, interrupt.interrupt), signal: interrupt.signal };
  try {
    const end = args.json
      ? await answer(caveman.run(found.agent, input, request), terminal)
      : await follow(
          caveman.stream(found.agent, input, request),
          args.stream ? ndjson(terminal) : liveEvents(terminal),
        );
    if (!args.json && !args.stream && !terminal.person && end.text) terminal.out(`${end.text}\n`);
    if (end.error !== undefined) printError(end.error, terminal);
    else if (!interrupt.signal.aborted) explainStop(end, terminal);
    if (!args.json && !args.stream && end.receipt)
      terminal.err(
        `\n${renderReceipt(end.receipt, { color: terminal.colour, ...(await written(end, caveman, found.dir)) })}`,
      );
    if (end.receipt) await keepTapTimes(found.dir, end.receipt.runId, caveman.kernel.taps);
    if (interrupt.signal.aborted) return EXIT.interrupted;
    if (end.error !== undefined) return EXIT.failed;
    return end.stopReason === "complete" ? EXIT.done : EXIT.stopped;
  } finally {
    interrupt.done();
  }
}

/** Says why a guard stopped the run and what to do: the figures alone leave a reader to guess. */
function explainStop({ stopReason, receipt }: End, terminal: Terminal): void {
  const { denomination, remaining, calls, capBreached } = receipt ?? {};
  const breached = stopReason === "budget_exhausted" && capBreached === true;
  const row = errorRow(breached ? "cave_budget_cap_breached" : (STOPS[stopReason ?? ""] ?? ""));
  if (row === undefined) return;
  const unfit = stopReason === "budget_exhausted" && remaining !== undefined && !breached;
  const left = denomination === "usd" ? format(fromDollars(Math.max(0, remaining ?? 0))) : `${remaining} tokens`;
  const said = unfit
    ? `The ${calls?.length ? "next" : "first"} call could cost more than the ${left} left.`
    : row.meaning;
  terminal.err(
    `${terminal.style("yellow", "stopped")}: ${said}\n  ${terminal.style("dim", "→")} ${unfit ? "Raise --max-usd, or the budget that the agent or its config states." : row.remedy}\n`,
  );
}
/** The rows of the error table that say what a stop of a run means. */
const STOPS: Readonly<Record<string, string>> = {
  budget_exhausted: "cave_budget_exhausted",
  wallet_revoked: "cave_budget_revoked",
  call_budget_exhausted: "cave_call_budget_exhausted",
  deadline: "cave_run_deadline_exceeded",
  loop_detected: "cave_tool_call_loop_detected",
  no_progress: "cave_no_progress",
};

/** How the run ended, as far as the command has to know. */
interface End {
  readonly stopReason?: string;
  readonly text?: string;
  readonly startedAt?: number;
  readonly receipt?: Receipt;
  readonly error?: unknown;
}

/** Prints the result, or the failure with the receipt of what was spent before it, as one JSON document. */
async function answer(result: Promise<RunResult>, terminal: Terminal): Promise<End> {
  let end: RunResult | CavemanRunError;
  try {
    end = await result;
  } catch (error) {
    if (!(error instanceof CavemanRunError)) throw error;
    end = error;
  }
  if (!(end instanceof CavemanRunError)) {
    terminal.out(`${printableJson(JSON.stringify(end, plain, 2))}\n`);
    return end;
  }
  const { receipt } = end;
  terminal.out(
    `${printableJson(JSON.stringify({ runId: receipt.runId, agentId: receipt.agentId, stopReason: receipt.stopReason, error: errorJson(end), receipt }, plain, 2))}\n`,
  );
  return { stopReason: receipt.stopReason, receipt, error: end };
}

/** Reads the events to the end. */
async function follow(events: AsyncIterable<StreamEvent>, show: (event: StreamEvent) => void): Promise<End> {
  let end: End = {};
  for await (const event of events) {
    show(event);
    if (!("receipt" in event)) continue;
    const { result, receipt } = event;
    end = {
      stopReason: result.stopReason,
      text: result.text,
      startedAt: result.startedAt,
      receipt,
      ...(event.type === "run_error"
        ? { error: result.error ?? new CavemanError(event.code, { message: event.message }) }
        : {}),
    };
  }
  return end;
}

const ndjson =
  (terminal: Terminal) =>
  (event: StreamEvent): void =>
    terminal.out(`${printableJson(JSON.stringify(event, plain))}\n`);

/** Where the receipt plugin wrote the receipt, when it did. */
async function written(
  { receipt, startedAt = 0 }: End,
  { kernel }: Caveman,
  rootDir: string,
): Promise<{ path?: string }> {
  const { dir, write } = (kernel.plugins.find((plugin) => plugin.name === "receipt")?.options ?? {}) as {
    readonly dir?: string;
    readonly write?: boolean;
  };
  if (!write || dir === undefined) return {};
  const runs = resolve(rootDir, dir);
  const second = new Date(startedAt).toISOString().slice(0, 19).replaceAll(":", "-");
  for (const folder of await readdir(runs).catch(() => [])) {
    if (!folder.startsWith(second)) continue;
    const path = join(runs, folder, "receipt.json");
    const found = await readFile(path, "utf8").then(
      (text) => JSON.parse(text) as { runId?: unknown },
      () => undefined,
    );
    if (found?.runId === receipt?.runId) return { path: relative(process.cwd(), path) };
  }
  return {};
}

/** The config's plugins; receipts are written to disk unless the config sets the receipt plugin itself. */
function pluginsOf(config: LoadedConfig): readonly Plugin[] {
  const own = (config.config.plugins ?? []).some((entry) => nameOf(entry) === "receipt");
  return config.plugins.map((plugin) => (plugin.name === "receipt" && !own ? receipt({ write: true }) : plugin));
}
const nameOf = (entry: PluginEntry): unknown =>
  typeof entry === "string"
    ? entry
    : Array.isArray(entry)
      ? entry[0]
      : "pluginName" in entry
        ? entry.pluginName
        : "name" in entry
          ? entry.name
          : undefined;

/** Asks the person at the terminal about calls that a rule of the config asks about. In a pipe such calls are refused. */
function approvals({ plugins, run }: LoadedConfig, args: Args, terminal: Terminal, interrupt: () => void): RunOptions {
  const { rules = [] } = (plugins.find((plugin) => plugin.name === "policy")?.options ?? {}) as {
    readonly rules?: readonly { readonly decision: string }[];
  };
  const asked = rules.some(({ decision }) => decision === "ask") && run.approve === undefined;
  if (!asked || args.json || args.stream || !terminal.person || process.stdin.isTTY !== true) return {};
  return {
    approve: async (request) => {
      const [{ ask }, { Keyboard }, { Screen }] = await Promise.all([
        import("../code/approvals.ts"),
        import("../code/keyboard.ts"),
        import("../code/screen.ts"),
      ]);
      const keyboard = new Keyboard(process.stdin, (sequence) => void process.stdout.write(sequence));
      try {
        return await ask(request, new Screen(terminal), keyboard, interrupt);
      } finally {
        keyboard.close();
      }
    },
  };
}

/** Errors are written as code, message and remedy: no stack, no cause. */
const plain = (_key: string, value: unknown): unknown =>
  value instanceof Error ? errorJson(value) : typeof value === "bigint" ? String(value) : value;

async function inputOf(given: string | undefined): Promise<string> {
  if (given === undefined || given.trim() === "")
    throw usage("The input is missing", "Pass it after the agent, or - to read it from stdin.");
  if (given !== "-") return given;
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  const read = Buffer.concat(chunks).toString("utf8").trim();
  if (read === "") throw usage("The input on stdin is empty", "Write the input to stdin, or pass it as an argument.");
  return read;
}

/** The config that was named, else the one beside the agent, else the one of the working directory. */
async function configFor(found: FoundAgent, file: string | undefined): Promise<LoadedConfig> {
  if (file !== undefined) return loadConfig({ file });
  const beside = await loadConfig({ cwd: found.dir });
  return beside.file === undefined ? loadConfig() : beside;
}

/** The config's run options; a cap in dollars on the command line takes the place of the config's. */
function runOf(args: Args, { run }: LoadedConfig): RunOptions {
  if (args["max-usd"] === undefined || !("maxCostUsd" in run)) return run;
  const { maxCostUsd: _, ...others } = run;
  return others;
}

/** What of an agent's own budget holds beside `--max-usd`: all but its maximum, and a start that is larger. */
function budgetBeside(budget: unknown, maxUsd: number): object {
  if (typeof budget !== "object" || budget === null) return {};
  const { maxTokens: _, initialTokens: __, initialUsd, ...others } = budget as Readonly<Record<string, unknown>>;
  return initialUsd === undefined || (typeof initialUsd === "number" && initialUsd > maxUsd)
    ? others
    : { ...others, initialUsd };
}

/** The command line over the agent's own options; the config's are the runtime's defaults. */
async function optionsFor(
  args: Args,
  found: FoundAgent,
  config: LoadedConfig,
  terminal: Terminal,
): Promise<RunOptions> {
  const model = text(args, "model");
  const maxUsd = args["max-usd"];
  if (maxUsd !== undefined && !(typeof maxUsd === "number" && Number.isFinite(maxUsd) && maxUsd > 0))
    throw usage("--max-usd must be a positive number of dollars", "For example --max-usd 0.50.");
  const options: Record<string, unknown> = { ...placeOf(found, config.plugins), ...found.run };
  if (maxUsd !== undefined) {
    options.budget = { ...budgetBeside(options.budget, maxUsd), maxUsd };
    delete options.maxCostUsd;
  }
  if (model !== undefined) options.model = model;
  else {
    const simulated = simulatedModel(found, config.run);
    if (simulated !== undefined) {
      options.model = simulated;
      terminal.err(
        `${terminal.style("yellow", "simulated")}: no provider credential is set, so ${found.script}.* beside the agent answers; no model is called\n`,
      );
    }
  }
  return options as RunOptions;
}
