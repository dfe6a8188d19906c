/**
 * A script: what a model answers, step by step. The model in process (`model.ts`) and the model server (`server.ts`)
 * play the same scripts, so a test moves from one to the other without a rewrite.
 */
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { checkStep, refuse } from "./check-step.ts";
import { ScriptError } from "./script-error.ts";
import type { ScriptFault, ScriptFinish, ScriptStep, ScriptUsage } from "./step.ts";

/** A list of steps, or a function that answers a request; `index` counts calls from zero. */
export type Script<Request = LanguageModelV4CallOptions> =
  | readonly ScriptStep[]
  | ((request: Request, index: number) => ScriptStep | Promise<ScriptStep>);

/** A piece of an answer, cut into the chunks it is sent in. */
export type Block =
  | { readonly type: "reasoning"; readonly text: string; readonly pieces: readonly string[] }
  | { readonly type: "text"; readonly text: string; readonly pieces: readonly string[] }
  | {
      readonly type: "tool-call";
      readonly id: string;
      readonly name: string;
      readonly input: string;
      readonly pieces: readonly string[];
    };

/** A step with every default filled in. */
export interface Turn {
  readonly index: number;
  readonly blocks: readonly Block[];
  readonly usage: Required<ScriptUsage>;
  readonly finish: ScriptFinish;
  readonly delayMs: number;
  readonly fault: Fault | undefined;
}

export interface Fault {
  readonly status: number;
  readonly code: string | undefined;
  readonly message: string;
  readonly when: "before" | "mid-stream" | "cut";
  readonly retryAfterMs: number | undefined;
}

/** What an estimate of the input is made from. */
interface Estimable {
  readonly prompt: unknown;
  readonly tools?: unknown;
}

/**
 * Gives the turns of a script in order. The index is taken synchronously, so calls made at the same time never share a step.
 * @throws ScriptError `cave_script_invalid` at once for a list, on the call for a function's answer.
 * @throws ScriptError `cave_script_exhausted` on the call after the last step.
 */
export function play<Request extends Estimable>(script: Script<Request>): (request: Request) => Turn | Promise<Turn> {
  let next = 0;
  if (typeof script === "function") {
    return (request) => {
      const index = next++;
      const step = script(request, index);
      const turn = (given: ScriptStep): Turn => turnOf(checkStep(given, `step ${index}`), index, request);
      return step instanceof Promise ? step.then(turn) : turn(step);
    };
  }
  if (!Array.isArray(script)) throw refuse("script", "a list of steps or a function", script);
  const steps: readonly ScriptStep[] = [...script];
  for (const [index, step] of steps.entries()) checkStep(step, `script[${index}]`);
  return (request) => {
    const index = next++;
    const step = steps[index];
    if (step === undefined) {
      throw new ScriptError("cave_script_exhausted", {
        place: `call ${index}`,
        expected: `at most ${steps.length} calls`,
        received: `call number ${index + 1}`,
      });
    }
    return turnOf(step, index, request);
  };
}

function turnOf(step: ScriptStep, index: number, request: Estimable): Turn {
  const chunks = step.chunks ?? 1;
  const blocks: Block[] = [];
  if (step.reasoning) blocks.push({ type: "reasoning", text: step.reasoning, pieces: cut(step.reasoning, chunks) });
  if (step.text) blocks.push({ type: "text", text: step.text, pieces: cut(step.text, chunks) });
  step.toolCalls?.forEach((call, position) => {
    const input = typeof call.input === "string" ? call.input : JSON.stringify(call.input);
    blocks.push({
      type: "tool-call",
      id: call.id ?? `call_${index}_${position}`,
      name: call.name,
      input,
      pieces: cut(input, chunks),
    });
  });
  return {
    index,
    blocks,
    usage: step.usage ? { cacheRead: 0, cacheWrite: 0, reasoning: 0, ...step.usage } : estimate(blocks, request),
    finish: step.finish ?? (step.toolCalls?.length ? "tool-calls" : "stop"),
    delayMs: step.delayMs ?? 0,
    fault: step.error && faultOf(step.error),
  };
}

function faultOf(error: ScriptFault): Fault {
  const status = error.status ?? 500;
  return {
    status,
    code: error.code,
    message: error.message ?? `scripted failure (${status})`,
    when: error.when ?? "before",
    retryAfterMs: error.retryAfterMs,
  };
}

/** How many chunks a turn is sent in. */
export const chunkCount = (turn: Turn): number => turn.blocks.reduce((sum, block) => sum + block.pieces.length, 0);

/** How many chunks arrive before a turn's fault, or Infinity when no fault interrupts it. */
export const chunksBeforeFault = (turn: Turn): number =>
  turn.fault && turn.fault.when !== "before" ? Math.ceil(chunkCount(turn) / 2) : Number.POSITIVE_INFINITY;

/** Cuts at code points: half a surrogate pair is not text and would not survive UTF-8. */
function cut(text: string, chunks: number): readonly string[] {
  if (chunks === 1) return [text];
  const pieces: string[] = [];
  let from = 0;
  for (let n = 1; n <= chunks; n++) {
    let to = Math.round((text.length * n) / chunks);
    const code = text.charCodeAt(to);
    if (to < text.length && code >= 0xdc00 && code <= 0xdfff) to++;
    if (to > from) pieces.push(text.slice(from, to));
    from = Math.max(from, to);
  }
  return pieces.length ? pieces : [text];
}

const quarter = (bytes: number): number => Math.ceil(bytes / 4);

function estimate(blocks: readonly Block[], request: Estimable): Required<ScriptUsage> {
  let content = 0;
  let reasoning = 0;
  for (const block of blocks) {
    const size = Buffer.byteLength(block.type === "tool-call" ? block.name + block.input : block.text);
    content += size;
    if (block.type === "reasoning") reasoning += size;
  }
  const input = Buffer.byteLength(JSON.stringify({ prompt: request.prompt, tools: request.tools }));
  return {
    input: quarter(input),
    output: quarter(content),
    cacheRead: 0,
    cacheWrite: 0,
    reasoning: quarter(reasoning),
  };
}
