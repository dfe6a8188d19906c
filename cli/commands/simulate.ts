/** `caveman simulate`: what an agent's script would cost with several models, by the price list and without a provider. */
import { catalog, format, type Row, toDollars } from "../../catalog/index.ts";
import { CavemanRunError, createCaveman, type RunOptions } from "../../index.ts";
import { tokens } from "../../kernel/index.ts";
import { receipt } from "../../plugins/index.ts";
import { simulatedModel } from "../../plugins/providers/sim.ts";
import { type FoundAgent, findAgent, placeOf } from "../agent.ts";
import { type Args, EXIT, text } from "../command.ts";
import { type LoadedConfig, loadConfig } from "../config.ts";
import { usage } from "../errors.ts";
import { interruptible } from "../interrupt.ts";
import { type ErrorJson, errorJson } from "../render/error.ts";
import { table } from "../render/table.ts";
import type { Terminal } from "../render/terminal.ts";
import { type Bill, bills } from "../simulate/cost.ts";
import { ASSUMED_TTL, canSimulate } from "../simulate/prompt-cache.ts";
import { simulatedProviders } from "../simulate/providers.ts";
import { type RecordedCall, recorded } from "../simulate/recorded.ts";
import { rowNamed } from "./catalog.ts";

/** What the agent is told when nobody says what. */
const GREETING = "Hello.";

const ASSUMPTIONS: readonly string[] = [
  "The script answers for every model. The tools really run, once a model: one that keeps state may answer the next differently.",
  "Tokens are UTF-8 bytes over four unless the script states its usage; no model's own tokenizer is used.",
  "cold: the cache is empty. warm: the same run again at once.",
  `Cached is a prefix of whole messages sent before within the cache's time to live (${ASSUMED_TTL} s where the catalog names none); an explicit cache is marked at every message.`,
];

interface Simulated {
  readonly model: string;
  readonly row: Row;
  readonly stopReason: string;
  readonly calls: number;
  readonly failedCalls: number;
  readonly cold: Bill;
  readonly warm: Bill;
  readonly error?: ErrorJson;
}

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  const names = (text(args, "models") ?? "").split(",").map((name) => name.trim());
  if (names.every((name) => name === ""))
    throw usage("The models are missing", "Pass --models provider/model,provider/model.");
  const rows = [...new Set(names.filter(Boolean))].map((name) => ({ name, row: rowNamed(name, catalog()) }));
  const found = await findAgent(text(args, "agent") ?? "");
  const { script } = found;
  if (script === undefined)
    throw usage(
      `There is no model script beside the agent in ${found.dir}`,
      "Write model.script.ts or model.script.json there: what a model would answer, step by step.",
    );
  const said = text(args, "input")?.trim();
  const input = said === undefined || said === "" ? GREETING : said;
  const beside = await loadConfig({ cwd: found.dir });
  const config = beside.file === undefined ? await loadConfig() : beside;
  const interrupt = interruptible(terminal);
  try {
    const results: Simulated[] = [];
    for (const { name, row } of rows) {
      const result = await simulate(found, script, config, input, name, row, interrupt.signal);
      if (interrupt.signal.aborted) return EXIT.interrupted;
      results.push(result);
    }
    show(args.json === true, found.agent.id, input, results, terminal);
    return results.some(({ error }) => error !== undefined) ? EXIT.failed : EXIT.done;
  } finally {
    interrupt.done();
  }
}

/** One run of the script under one model's name and limits. */
async function simulate(
  found: FoundAgent,
  script: string,
  config: LoadedConfig,
  input: string,
  name: string,
  row: Row,
  signal: AbortSignal,
): Promise<Simulated> {
  const calls: RecordedCall[] = [];
  const model = recorded(await simulatedModel(script, found.dir), name, calls);
  const { context, output } = row.limits;
  const providers = simulatedProviders({
    provider: model.provider,
    id: model.modelId,
    model,
    simulated: true,
    structuredOutput: row.capabilities.structuredOutput === "supported",
    route: "direct",
    ...(context === undefined ? {} : { contextWindow: tokens(context) }),
    ...(output === undefined ? {} : { maxOutput: tokens(output) }),
  });
  // Nothing is called and nothing was spent: no receipt is written.
  const stand = new Set(["providers", "receipt"]);
  const plugins = [...config.plugins.filter((plugin) => !stand.has(plugin.name)), providers, receipt()];
  const caveman = createCaveman({ preset: [], plugins, run: config.run });
  const options: RunOptions = { ...placeOf(found, plugins), ...found.run, signal };
  const ended = await caveman.run(found.agent, input, options).catch((error: unknown) => {
    if (error instanceof CavemanRunError) return error;
    throw error;
  });
  const failed = ended instanceof CavemanRunError;
  return {
    model: name,
    row,
    stopReason: failed ? ended.receipt.stopReason : ended.stopReason,
    calls: calls.length,
    failedCalls: calls.filter((call) => call.usage === undefined).length,
    ...bills(row, calls),
    ...(failed ? { error: errorJson(ended) } : {}),
  };
}

function show(json: boolean, agentId: string, input: string, results: readonly Simulated[], terminal: Terminal): void {
  if (json) {
    terminal.out(
      `${JSON.stringify({ simulated: true, agentId, input, catalog: catalog().date, assumptions: ASSUMPTIONS, models: results.map(resultJson) }, null, 2)}\n`,
    );
    return;
  }
  terminal.out(`simulated: ${agentId}, no provider was called; catalog of ${catalog().date}\n\n`);
  const head = ["model", "", "calls", "input", "cache read", "cache write", "output", "cost", "ended"];
  terminal.out(
    table([
      head,
      ...results.flatMap((result) =>
        (["cold", "warm"] as const).map((state) => {
          const bill = result[state];
          return [
            state === "cold" ? result.model : "",
            state,
            grouped(result.calls),
            ...[bill.inputTokens, bill.cacheReadTokens, bill.cacheWriteTokens, bill.outputTokens].map(grouped),
            bill.unpriced === undefined ? `${format(bill.cost)} simulated` : "unpriced",
            state === "cold" ? result.stopReason.replaceAll("_", " ") : "",
          ];
        }),
      ),
    ]),
  );
  const notes = results.flatMap(({ model, row, cold, warm, error, failedCalls }) => [
    ...[...new Set([cold.unpriced, warm.unpriced])].flatMap((why) => (why === undefined ? [] : [`${model}: ${why}`])),
    ...(canSimulate(row.cache) || row.cache.mode === "unsupported"
      ? []
      : [`${model}: the catalog does not know its cache well enough, so nothing is taken to be cached`]),
    ...(failedCalls > 0
      ? [
          `${model}: ${failedCalls === 1 ? "1 call failed and is" : `${grouped(failedCalls)} calls failed and are`} not in the figures`,
        ]
      : []),
    ...(error ? [`${model}: ${error.code}: ${error.message}`] : []),
  ]);
  if (input === GREETING)
    notes.push(`The agent was told "${GREETING}"; pass what your user would say after the agent.`);
  terminal.out(`\n${[...notes, ...ASSUMPTIONS].map((line) => `  ${line}\n`).join("")}`);
}

function resultJson({ model, row, cold, warm, ...rest }: Simulated): object {
  return { model, simulated: true, ...rest, cache: row.cache, cold: billJson(cold), warm: billJson(warm) };
}

const billJson = ({ cost, unpriced, ...counts }: Bill): object => ({
  ...counts,
  costUsd: unpriced === undefined ? toDollars(cost) : null,
  ...(unpriced === undefined ? {} : { unpriced }),
});
const grouped = (count: number): string => count.toLocaleString("en-US");
