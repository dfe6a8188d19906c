/** `caveman run`: one run of one agent, shown as it happens. */
import { CavemanError, CavemanRunError, createCaveman, type Receipt, type RunOptions, type RunResult, renderReceipt, type StreamEvent } from "../../index.ts";
import { type FoundAgent, findAgent } from "../agent.ts";
import { type Args, EXIT, text } from "../command.ts";
import { type LoadedConfig, loadConfig } from "../config.ts";
import { usage } from "../errors.ts";
import { interruptible } from "../interrupt.ts";
import { errorJson, printError } from "../render/error.ts";
import { liveEvents } from "../render/events.ts";
import type { Terminal } from "../render/terminal.ts";
import { simulatedModel } from "../simulated.ts";

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  if (args.json && args.stream) throw usage("--json and --stream exclude each other", "Pass one of them.");
  const path = text(args, "agent") ?? "";
  const input = await inputOf(text(args, "input"));
  const found = await findAgent(path);
  const config = await configFor(found, text(args, "config"));
  const options = await optionsFor(args, found, config, terminal);
  const caveman = createCaveman({ preset: [], plugins: config.plugins, run: config.run });
  const interrupt = interruptible(terminal);
  const request = { ...options, signal: interrupt.signal };
  try {
    const end = args.json
      ? await answer(caveman.run(found.agent, input, request), terminal)
      : await follow(caveman.stream(found.agent, input, request), args.stream ? ndjson(terminal) : liveEvents(terminal));
    if (!args.json) report(end, args, terminal);
    if (end.error !== undefined) printError(end.error, terminal);
    if (interrupt.signal.aborted) return EXIT.interrupted;
    if (end.error !== undefined) return EXIT.failed;
    return end.stopReason === "complete" ? EXIT.done : EXIT.stopped;
  } finally {
    interrupt.done();
  }
}

/** How the run ended, as far as the command has to know. */
interface End { readonly stopReason?: string; readonly text?: string; readonly receipt?: Receipt; readonly error?: unknown }

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
    terminal.out(`${JSON.stringify(end, plain, 2)}\n`);
    return end;
  }
  const { receipt } = end;
  terminal.out(`${JSON.stringify({ runId: receipt.runId, agentId: receipt.agentId, stopReason: receipt.stopReason, error: errorJson(end), receipt }, plain, 2)}\n`);
  return { stopReason: receipt.stopReason, receipt, error: end };
}

/** Reads the events to the end. */
async function follow(events: AsyncIterable<StreamEvent>, show: (event: StreamEvent) => void): Promise<End> {
  let end: End = {};
  for await (const event of events) {
    show(event);
    if (!("receipt" in event)) continue;
    const { result, receipt } = event;
    end = { stopReason: result.stopReason, text: result.text, receipt, ...(event.type === "run_error" ? { error: result.error ?? new CavemanError(event.code, { message: event.message }) } : {}) };
  }
  return end;
}

const ndjson = (terminal: Terminal) => (event: StreamEvent): void => terminal.out(`${JSON.stringify(event, plain)}\n`);

/** The answer on stdout, unless a person saw it arrive; the receipt on stderr. */
function report({ text: answered, receipt }: End, args: Args, terminal: Terminal): void {
  if (args.stream) return;
  if (!terminal.person && answered) terminal.out(`${answered}\n`);
  if (receipt) terminal.err(`\n${renderReceipt(receipt, { color: terminal.colour })}`);
}

/** Errors are written as code, message and remedy: no stack, no cause. */
const plain = (_key: string, value: unknown): unknown => (value instanceof Error ? errorJson(value) : typeof value === "bigint" ? String(value) : value);

async function inputOf(given: string | undefined): Promise<string> {
  if (given === undefined) throw usage("The input is missing", "Pass it after the agent, or - to read it from stdin.");
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

/** The command line over the agent's own options; the config's are the runtime's defaults. */
async function optionsFor(args: Args, found: FoundAgent, config: LoadedConfig, terminal: Terminal): Promise<RunOptions> {
  const model = text(args, "model");
  const maxUsd = args["max-usd"];
  if (maxUsd !== undefined && !(typeof maxUsd === "number" && Number.isFinite(maxUsd) && maxUsd > 0)) throw usage("--max-usd must be a positive number of dollars", "For example --max-usd 0.50.");
  const options: Record<string, unknown> = { rootDir: found.dir, ...found.run };
  if (maxUsd !== undefined) options.budget = { ...(typeof options.budget === "object" ? options.budget : {}), maxUsd };
  if (model !== undefined) options.model = model;
  else {
    const simulated = await simulatedModel(found, config);
    if (simulated !== undefined) {
      options.model = simulated;
      terminal.err(`${terminal.style("yellow", "simulated")}: no provider credential is set, so ${found.script}.* beside the agent answers; no model is called\n`);
    }
  }
  return options as RunOptions;
}

