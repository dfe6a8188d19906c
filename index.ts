/** The library: define agents, run them, read what they did. */
import {
  type AgentDefinition,
  CavemanError,
  type Clock,
  createKernel,
  type Kernel,
  type Outcome,
  type Plugin,
  type PluginFactory,
  type Run,
  type RunEvent,
  type RunInput,
  type RunOptions,
} from "./kernel/index.ts";
import { type Receipt, Receipts } from "./plugins/index.ts";
import { type PresetName, presets, standard } from "./presets/index.ts";

export { type CavemanConfig, defineConfig, loadConfig } from "./cli/config.ts";
export * from "./kernel/index.ts";
export { type LoadedAgent, loadAgentDir } from "./plugins/agent-dir/index.ts";
export { createConversation } from "./plugins/conversation/index.ts";
export {
  createMemoryEngine,
  createMemoryWorkflow,
  decideToolCall,
  memory,
  memoryTTLMilliseconds,
  type Receipt,
  renderReceipt,
  shellTools,
} from "./plugins/index.ts";

/** What a run used, whole tree: tokens in the normal form, dollars at catalog list prices. */
export interface RunFigures {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly reasoningTokens: number;
  readonly costUsd: number;
  /** `unpriced` when any call had no price: `costUsd` is then a lower bound. */
  readonly priceBasis: "public_catalog" | "unpriced";
}

/** How a run ended, what it spent, and its receipt. Every figure is local: `claimBasis` is always `inferred`. */
export type RunResult = Omit<Outcome, "error"> &
  RunFigures & { readonly receipt: Receipt; readonly claimBasis: "inferred" };

/** A failed run: the real code, and the receipt of what was spent before it failed. */
export class CavemanRunError extends CavemanError {
  override readonly name = "CavemanRunError";
  readonly receipt: Receipt;
  constructor(cause: CavemanError, receipt: Receipt) {
    super(cause.code, { ...cause.detail, cause });
    this.message = cause.message;
    this.receipt = receipt;
  }
}

/** What a runtime is assembled from. */
export interface CavemanOptions {
  /** A preset by name, or its plugin list. Default: `standard`. */
  preset?: PresetName | readonly (Plugin | PluginFactory)[];
  /** Added after the preset's; one of the same name takes its place. */
  plugins?: readonly (Plugin | PluginFactory)[];
  /** Defaults for every run. */
  run?: RunOptions;
  clock?: Clock;
  tapTimeoutMs?: number;
}

/** The events of a stream; the terminal ones carry the result with its receipt. */
export type StreamEvent =
  | Exclude<RunEvent, { type: "run_end" | "run_error" }>
  | (Extract<RunEvent, { type: "run_end" }> & { readonly receipt: Receipt })
  | (Extract<RunEvent, { type: "run_error" }> & { readonly receipt: Receipt });

/** An assembled runtime: runs and streams agents, with the receipt of each. */
export interface Caveman {
  readonly kernel: Kernel;
  /** @throws CavemanRunError with the receipt when the run fails; a stop is a normal result. */
  run(agent: AgentDefinition, input: RunInput, options?: RunOptions): Promise<RunResult>;
  stream(agent: AgentDefinition, input: RunInput, options?: RunOptions): AsyncGenerator<StreamEvent, void>;
}

const nameOf = (plugin: Plugin | PluginFactory): string => ("pluginName" in plugin ? plugin.pluginName : plugin.name);

/** Assembles a runtime. @throws CavemanError when the plugins do not fit together. */
export function createCaveman(options: CavemanOptions = {}): Caveman {
  const { preset = "standard", plugins = [], run: defaults = {} } = options;
  if (typeof preset === "string" && !(preset in presets))
    throw new CavemanError("cave_option_invalid", {
      place: "preset",
      expected: Object.keys(presets).join(", "),
      received: JSON.stringify(preset),
    });
  const base = typeof preset === "string" ? presets[preset]() : preset;
  const own = new Map(plugins.map((plugin) => [nameOf(plugin), plugin]));
  const list = [
    ...base.map((plugin) => own.get(nameOf(plugin)) ?? plugin),
    ...plugins.filter((plugin) => !base.some((other) => nameOf(other) === nameOf(plugin))),
  ];
  const kernel = createKernel({
    plugins: list,
    ...(options.clock ? { clock: options.clock } : {}),
    ...(options.tapTimeoutMs ? { tapTimeoutMs: options.tapTimeoutMs } : {}),
  });
  return Object.freeze({
    kernel,
    async run(agent: AgentDefinition, input: RunInput, runOptions: RunOptions = {}): Promise<RunResult> {
      const { run, done } = kernel.start(agent, input, { ...defaults, ...runOptions });
      return resultOf(run, await done);
    },
    async *stream(
      agent: AgentDefinition,
      input: RunInput,
      runOptions: RunOptions = {},
    ): AsyncGenerator<StreamEvent, void> {
      let live: Run | undefined;
      for await (const event of kernel.stream(agent, input, { ...defaults, ...runOptions }, (run) => (live = run))) {
        const terminal = event.type === "run_end" || event.type === "run_error";
        yield terminal && live && event.runId === live.id
          ? { ...event, receipt: live.service(Receipts).receiptOf(live) }
          : (event as StreamEvent);
      }
    },
  });
}

function resultOf(run: Run, outcome: Outcome): RunResult {
  const receipt = run.service(Receipts).receiptOf(run);
  if (outcome.error) throw new CavemanRunError(outcome.error, receipt);
  return Object.assign(figures(receipt), outcome, { receipt, claimBasis: "inferred" as const });
}

function figures(receipt: Receipt): RunFigures {
  const sum = {
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    costUsd: receipt.totalEstimatedUsd,
    priceBasis: receipt.unpriced ? ("unpriced" as const) : ("public_catalog" as const),
  };
  const add = ({ calls, subagents }: Receipt): void => {
    for (const call of calls) {
      sum.inputTokens += call.inputTokens;
      sum.outputTokens += call.outputTokens;
      sum.cacheReadTokens += call.cacheReadTokens;
      sum.cacheWriteTokens += call.cacheWriteTokens;
      sum.reasoningTokens += call.reasoningTokens;
    }
    subagents.forEach(add);
  };
  add(receipt);
  return sum;
}

let shared: Caveman | undefined;
const runtime = (): Caveman => (shared ??= createCaveman({ preset: standard() }));
/** Runs an agent on the `standard` preset. @throws CavemanRunError with the receipt when the run fails. */
export const run = (agent: AgentDefinition, input: RunInput, options?: RunOptions): Promise<RunResult> =>
  runtime().run(agent, input, options);
/** Streams an agent's events on the `standard` preset. */
export const stream = (
  agent: AgentDefinition,
  input: RunInput,
  options?: RunOptions,
): AsyncGenerator<StreamEvent, void> => runtime().stream(agent, input, options);
