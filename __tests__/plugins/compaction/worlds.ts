/** A model with a window it really enforces, and a run long enough to fill it many times over. */
import {
  agent,
  type Conversation,
  createKernel,
  illegality,
  type LanguageModel,
  type ModelMessage,
  type Plugin,
  type PluginFactory,
  type Run,
  type RunOptions,
  schema,
  type Tool,
  tool,
} from "../../../kernel/index.ts";
import { compaction } from "../../../plugins/compaction/index.ts";
import { contextEditing } from "../../../plugins/context-editing/index.ts";
import { providers } from "../../../plugins/providers/index.ts";
import { type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";

export const WINDOW = 20_000;
/** Results of about 1,500 tokens, no two alike. */
export const look = tool({
  name: "look",
  description: "Looks.",
  input: schema.object({ n: schema.integer() }),
  effect: "read",
  execute: ({ n }) => `result ${n}\n${`line of result ${n}, nothing to note\n`.repeat(160)}${FOUND[n] ?? ""}`,
});
/** What only a tool result ever said, by the number of the call. */
export const FOUND: Readonly<Record<number, string>> = {
  3: "src/ledger/rounding.ts:88 rounds half down",
  21: "db/migrations/2031/0007_split.sql",
  44: "tenant 88213 has 4096 open orders",
};
/** What only the assistant ever said. */
export const DECIDED: Readonly<Record<number, string>> = {
  9: "Decided: expand and contract, because readers run two versions.",
  52: "Decided: build the index concurrently, it takes 41 minutes.",
};
export const CONSTRAINTS = [
  "Never touch the table billing_ledger.",
  "Keep every name in src/api/orders.ts.",
  "Deploy on Tuesday 06:00 to 07:30 UTC only.",
  "Use integer cents everywhere.",
  "Write migrations to db/migrations/2031.",
] as const;

export type Summarise = (instruction: string, prompt: readonly ModelMessage[]) => ScriptStep;
export interface Request {
  readonly prompt: readonly ModelMessage[];
  readonly tools?: unknown;
}

export const lastText = ({ prompt }: Request): string => {
  const last = prompt.at(-1);
  return last?.role === "user" && last.content[0]?.type === "text" ? last.content[0].text : "";
};
export const isSummary = (request: Request): boolean =>
  lastText(request).startsWith("The conversation above is about to leave");
export const tokensOf = ({ prompt, tools }: Request): number =>
  Math.ceil(Buffer.byteLength(JSON.stringify({ prompt, tools })) / 4);

/**
 * Calls `look` `turns` times in each run, then answers. What does not fit the window is rejected as a provider would.
 * `prose` is how many bytes the assistant says at each step.
 */
export function worker(
  turns: number,
  summarise: Summarise,
  { window = WINDOW, as = "sim/worker", from = 0, prose = 0 } = {},
) {
  const stats = { read: 0, largest: 0, rejected: 0, summaries: 0 };
  let n = from;
  let left = turns;
  const model = scripted(
    (request) => {
      const tokens = tokensOf(request);
      stats.largest = Math.max(stats.largest, tokens);
      if (tokens > window) {
        stats.rejected++;
        return { error: { status: 400, message: `prompt is too long: ${tokens} tokens > ${window} maximum` } };
      }
      stats.read += tokens;
      if (isSummary(request)) {
        stats.summaries++;
        return summarise(lastText(request), request.prompt);
      }
      if (left-- <= 0) {
        left = turns;
        return { text: "done" };
      }
      const at = n++;
      const said = DECIDED[at] ?? `Step ${at}.`;
      // What the assistant says cannot be evicted, only summarised.
      return {
        text: said.padEnd(prose, ` thought ${at},`),
        toolCalls: [{ id: `t${at}`, name: "look", input: { n: at } }],
      };
    },
    { as },
  );
  return { model: Object.assign(model, { contextWindow: window, maxOutput: 1_000 }), stats };
}

export async function play(
  model: LanguageModel,
  inputs: readonly string[],
  plugins: readonly (Plugin | PluginFactory)[],
  options: RunOptions = {},
  { tools = [look], conversation }: { tools?: readonly Tool[]; conversation?: Conversation } = {},
) {
  const kernel = createKernel({ plugins: [providers, contextEditing, compaction, ...plugins] });
  const definition = agent({ id: "worker", instructions: "Be brief.", model, tools });
  const runs: Run[] = [];
  let stopReason = "";
  for (const input of inputs) {
    const { run, done } = kernel.start(definition, input, { ...options, ...(conversation ? { conversation } : {}) });
    const outcome = await done;
    runs.push(run);
    stopReason = outcome.error?.code ?? outcome.stopReason;
    const problem = illegality(run.transcript.view.messages);
    if (problem) throw new Error(problem);
    const { view } = run.transcript;
    const whole = view.messages.reduce((sum, { value }) => sum + Buffer.byteLength(JSON.stringify(value)), 0);
    if (view.bytes !== whole) throw new Error(`${view.bytes} bytes counted, ${whole} written`);
  }
  const last = runs.at(-1);
  if (!last) throw new Error("no run");
  return { runs, run: last, stopReason };
}

export const settledIn = (runs: readonly Run[]) => runs.flatMap((run) => run.ledger.of("compaction.settled"));
export const declinedIn = (runs: readonly Run[]) =>
  runs.flatMap((run) => run.ledger.of("compaction.declined").map(({ reason }) => reason));
export const discardedIn = (runs: readonly Run[]) => runs.flatMap((run) => run.ledger.of("compaction.discarded"));
