/** The life of one tool call: arguments, admission, slots, execution, output. */
import type { Denial, Hold, HoldSpec, OutputStage, Run, ToolCall, ToolOutcome, ToolRequest } from "./contract.ts";
import type { Tool, ToolContext } from "./definition.ts";
import { canonicalJson, sha256 } from "./digest.ts";
import { asCaveman, CavemanError, codeOf, describe } from "./errors.ts";
import { type HoldCount, Holds } from "./holds.ts";
import { type HookSet, isDenial, isThenable } from "./hooks.ts";
import type { CallId } from "./ledger.ts";
import type { ToolOutput } from "./model.ts";
import { abortable, race } from "./race.ts";
import { type Check, check, modelJson } from "./schema.ts";

/** What the life of a tool call needs of its run beside the public face. */
export interface ToolHost extends Run {
  readonly hooks: HookSet; readonly count: HoldCount;
  /** Whether anybody reads the events. */
  readonly listening: boolean;
  /** Calls back on an abort, at once when there was one already, until it is taken off. */
  onAbort(tell: () => void): void; offAbort(tell: () => void): void;
  /** The tail of the admission queue: admissions of one run are serial, in call order. */
  admissions: Promise<unknown> | undefined;
  /** Reads that were started ahead of their turn, by tool and arguments. */
  readonly ahead: Map<string, Ahead>;
}
/** A read started ahead: its result stays outside of the transcript until an identical call adopts it. */
interface Ahead { readonly call: Pending; readonly work: Promise<unknown>; readonly stop: AbortController }

type Problem = { readonly code: string; readonly message: string };

class Pending implements ToolCall {
  readonly run: ToolHost; readonly toolCallId: string; readonly name: string; readonly tool: Tool | undefined; readonly parent: ToolCall | undefined;
  readonly speculative: CallId | undefined; readonly signal: AbortSignal; readonly holds: Holds;
  input: unknown; problem: Problem | undefined;
  recorded: ((input: unknown) => unknown) | undefined; stages: OutputStage[] = [];
  executorOf: ((input: unknown, signal: AbortSignal) => unknown) | undefined;
  /** Ends a call that was made ahead of its turn. */
  stop: AbortController | undefined;

  constructor(run: ToolHost, request: ToolRequest, tool: Tool | undefined) {
    this.run = run; this.toolCallId = request.toolCallId; this.name = request.name; this.tool = tool; this.input = request.input;
    this.parent = request.nestedIn; this.speculative = request.speculative; this.signal = run.signal;
    this.holds = new Holds(run.count);
  }
  hold<T>(spec: HoldSpec<T>): Hold<T> {
    if (this.speculative) throw new CavemanError("cave_speculation_denied", { place: spec.owner, received: "a hold" });
    return this.holds.take(spec);
  }
  replay(make: (input: unknown) => unknown): void { this.recorded ??= make; }
  output(stage: OutputStage): void { this.stages.push(stage); }
  executor(run: (input: unknown, signal: AbortSignal) => unknown): void {
    if (this.executorOf) throw new CavemanError("cave_executor_duplicate", { place: this.name });
    this.executorOf = run;
  }
}

/** An admitted call waiting to be executed, or the outcome of one that will not be. */
export type Admitted = { readonly outcome: ToolOutcome } | { readonly call: ToolCall };

/** Admits a call: arguments, then the hook. Serial within a run, in the order asked; at once when nothing had to wait. */
export function admit(run: ToolHost, request: ToolRequest): Admitted | Promise<Admitted> {
  const before = run.admissions;
  const mine = before ? before.then(() => admission(run, request)) : admission(run, request);
  if (!(mine instanceof Promise)) return mine;
  const done = (): void => {
    if (run.admissions === tail) run.admissions = undefined;
  };
  const tail: Promise<void> = mine.then(done, done);
  run.admissions = tail;
  return mine;
}

function admission(run: ToolHost, request: ToolRequest): Admitted | Promise<Admitted> {
  const nestable = request.nestedIn?.tool?.nestedTools;
  const tool = request.nestedIn ? nestable?.find((entry) => entry.name === request.name) : run.tools.get(request.name);
  const call = new Pending(run, request, tool);
  const reading = readArguments(call, tool, request.input);
  return reading ? reading.then(() => judged(run, call)) : judged(run, call);
}

const failed = (error: unknown): Denial => ({ deny: { code: codeOf(error, "cave_plugin_failed"), message: describe(error) } });
function judged(run: ToolHost, call: Pending): Admitted | Promise<Admitted> {
  let fired: Denial | undefined | Promise<Denial | undefined>;
  try {
    fired = run.hooks.fire("admitTool", call);
  } catch (error) {
    fired = failed(error);
  }
  return fired instanceof Promise ? fired.catch(failed).then((answer) => verdict(run, call, answer)) : verdict(run, call, fired);
}

function verdict(run: ToolHost, call: Pending, answer: Denial | undefined): Admitted {
  const refusal: Problem | undefined = (isDenial(answer) ? answer.deny : undefined) ?? call.problem ?? standing(run);
  if (refusal) return { outcome: denied(run, call, refusal) };
  run.ledger.append("tool.admitted", { type: "tool.admitted", seq: run.ledger.facts.length, at: run.clock.now(), toolCallId: call.toolCallId, name: call.name, effect: call.tool?.effect ?? "read", nested: call.parent !== undefined });
  return { call };
}

function denied(run: ToolHost, call: Pending, { code, message }: Problem): ToolOutcome {
  close(run, call, false);
  const { name, toolCallId, tool, parent } = call;
  // A name that nobody declared is the model's own words, so a digest stands for it.
  run.record("tool.denied", { toolCallId, code, nested: parent !== undefined, ...(tool ? { declared: true, name } : { declared: false, name: "undeclared", nameDigest: sha256(name) }) });
  return failure(call, code, message);
}

const standing = (run: ToolHost): Problem | undefined =>
  run.signal.aborted ? { code: "cave_run_aborted", message: "The run was aborted before this tool started." }
    : run.stopping ? { code: "cave_run_stopping", message: "The run is stopping, so this tool was not started." } : undefined;

function readArguments(call: Pending, tool: Tool | undefined, raw: unknown): Promise<void> | undefined {
  if (!tool) {
    const known = call.parent?.tool ? call.parent.tool.nestedTools.map((entry) => entry.name) : [...call.run.tools.keys()];
    call.problem = { code: "cave_unknown_tool", message: `There is no tool of this name. Known tools: ${known.join(", ") || "none"}.` };
    return undefined;
  }
  const given = typeof raw === "string" ? modelJson(raw) : { value: raw };
  if (!given) return wrong(call, "The arguments are not valid JSON, or are nested too deep.");
  try {
    const checking = check(tool.input, given.value);
    if (isThenable(checking)) return waited(call, checking);
    take(call, checking);
  } catch (error) {
    wrong(call, `The arguments could not be checked: ${describe(error)}`);
  }
  return undefined;
}
const waited = (call: Pending, checking: PromiseLike<Check<unknown>>): Promise<void> =>
  Promise.resolve(checking).then((result) => take(call, result)).catch((error: unknown) => wrong(call, `The arguments could not be checked: ${describe(error)}`));
function take(call: Pending, result: Check<unknown>): void {
  if (result.ok) call.input = result.value;
  else wrong(call, `The arguments do not fit the schema: ${result.problem}`);
}
const wrong = (call: Pending, message: string): undefined => void (call.problem = { code: "cave_tool_arguments_invalid", message });

/** Most reads that one call of the model may have started ahead. */
const MOST_AHEAD = 8;
const keyOf = ({ name, input }: Pending): string => `${name} ${canonicalJson(input)}`;

/**
 * Starts a literal read ahead of its turn. Denied when its tool acts, spawns or has nested tools, and when a tap would wait
 * or hold: nobody is asked and nothing is set aside for a call that may never be made.
 */
export async function speculate(run: ToolHost, request: ToolRequest): Promise<ToolOutcome> {
  const tool = run.tools.get(request.name);
  const call = new Pending(run, request, tool);
  const reading = readArguments(call, tool, request.input);
  if (reading) await reading;
  const no = (why: string): ToolOutcome => failure(call, "cave_speculation_denied", why);
  const key = keyOf(call);
  if (!tool || call.problem || request.nestedIn) return no(call.problem?.message ?? "There is no such tool.");
  if (tool.effect !== "read" || tool.subagent || tool.nestedTools.length > 0) return no("Only a plain read is made ahead of its turn.");
  if (run.ahead.size >= MOST_AHEAD || run.ahead.has(key) || standing(run)) return no("No further read is made ahead now.");
  try {
    const answer = run.hooks.fire("admitTool", call);
    if (answer instanceof Promise) answer.catch(() => undefined);
    if (answer !== undefined) return no(isDenial(answer) ? answer.deny.message : "A tap would have to wait.");
  } catch (error) {
    return no(describe(error));
  }
  const stop = (call.stop = new AbortController());
  const end = (): void => stop.abort(run.signal.reason);
  run.onAbort(end);
  const work = Promise.resolve().then(() => perform(call, tool, call.input)).finally(() => run.offAbort(end));
  run.ahead.set(key, { call, work, stop });
  try {
    const value = await work;
    return { toolCallId: call.toolCallId, name: call.name, output: written(value), value, isError: false };
  } catch (error) {
    // The call itself will be made anew.
    if (run.ahead.get(key)?.work === work) abandon(run, key);
    return failure(call, codeOf(error, "cave_tool_failed"), describe(error));
  }
}

/** Ends what was started ahead and nobody adopted: one, or all. */
export function abandon(run: ToolHost, key?: string): void {
  if (run.ahead.size === 0) return;
  for (const [each, { call, stop }] of run.ahead) {
    if (key !== undefined && each !== key) continue;
    run.ahead.delete(each);
    stop.abort(new CavemanError("cave_speculation_denied", { received: "nobody adopted it" }));
    run.record("tool.speculated", { toolCallId: call.toolCallId, name: call.name, adopted: false });
  }
}

/** What an identical read that was started ahead gives. */
function adopted(call: Pending): Promise<unknown> | undefined {
  const { run } = call;
  const early = run.ahead.size > 0 && !call.parent && !call.speculative ? run.ahead.get(keyOf(call)) : undefined;
  if (!early) return undefined;
  run.ahead.delete(keyOf(call));
  run.record("tool.speculated", { toolCallId: early.call.toolCallId, name: call.name, adopted: true });
  return early.work;
}

/** What became of a call that was admitted, or not. */
export const carriedOut = (admitted: Admitted): ToolOutcome | Promise<ToolOutcome> => ("call" in admitted ? execute(admitted.call) : admitted.outcome);

/** A call from its admission to its result, at once when nothing has to wait. */
export function called(run: ToolHost, request: ToolRequest): ToolOutcome | Promise<ToolOutcome> {
  const admitted = admit(run, request);
  return admitted instanceof Promise ? admitted.then(carriedOut) : carriedOut(admitted);
}

/** Executes an admitted call, at once when nothing has to wait. Never fails: what goes wrong becomes a result the model can act on. */
function execute(admitted: ToolCall): ToolOutcome | Promise<ToolOutcome> {
  const call = admitted as Pending;
  const { run, tool, input } = call;
  if (!tool) return failure(call, "cave_unknown_tool", "There is no tool of this name.");
  const late = standing(run);
  if (late) return denied(run, call, late);
  // What was read ahead of a call that acts may no longer be so.
  if (tool.effect !== "read") abandon(run);
  const startedAt = run.clock.now();
  if (run.listening) run.emit({ type: "tool_start", toolCallId: call.toolCallId, name: call.name, input });
  let raw: unknown, output: ToolOutput | Promise<ToolOutput> | undefined;
  try {
    raw = perform(call, tool, input);
    if (!isThenable(raw) && !tool.output) output = stages(call, written(raw), raw);
  } catch (error) {
    raw = Promise.reject(error);
  }
  return output && !(output instanceof Promise) ? finished(call, startedAt, success(call, output, raw), raw) : awaited(call, tool, startedAt, raw, output);
}

async function awaited(call: Pending, tool: Tool, startedAt: number, performing: unknown, staged: Promise<ToolOutput> | undefined): Promise<ToolOutcome> {
  let outcome: ToolOutcome, raw: unknown;
  try {
    raw = await performing;
    const value = tool.output ? await checkedOutput(tool, raw) : raw;
    outcome = success(call, await (staged ?? stages(call, written(value), value)), value);
  } catch (error) {
    outcome = failure(call, codeOf(error, "cave_tool_failed"), describe(error));
    if (call.stages.length > 0) outcome = { ...outcome, output: await Promise.resolve().then(() => stages(call, outcome.output, undefined)).catch(() => outcome.output) };
  }
  return finished(call, startedAt, outcome, raw);
}

const success = (call: ToolCall, output: ToolOutput, value: unknown): ToolOutcome => ({ toolCallId: call.toolCallId, name: call.name, output, value, isError: false });

function finished(call: Pending, startedAt: number, outcome: ToolOutcome, raw: unknown): ToolOutcome {
  const { run } = call;
  close(run, call, true);
  const endedAt = run.clock.now();
  run.ledger.append("tool.finished", new Finished(call, raw, outcome, endedAt - startedAt), endedAt);
  if (run.listening) run.emit({ type: "tool_end", toolCallId: call.toolCallId, name: call.name, isError: outcome.isError, durationMs: endedAt - startedAt, bytes: textOf(outcome.output).length, ...(outcome.code ? { code: outcome.code } : {}) });
  return outcome;
}

/** Characters from which a result is digested at once, so that the ledger does not hold it for the life of the run. */
const LARGE = 1_000_000;

/** The record of a finished call; its digests are made when first read. */
class Finished {
  readonly toolCallId: string; readonly name: string; readonly effect: string; readonly isError: boolean; readonly durationMs: number;
  readonly nested: boolean;
  declare readonly code?: string;
  readonly #input: unknown; #result: unknown; #digest: string | undefined;

  constructor(call: Pending, raw: unknown, outcome: ToolOutcome, durationMs: number) {
    this.toolCallId = call.toolCallId; this.name = call.name;
    this.effect = call.tool?.effect ?? "read";
    this.isError = outcome.isError; this.durationMs = durationMs;
    this.nested = call.parent !== undefined;
    if (outcome.code) this.code = outcome.code;
    this.#input = call.input;
    this.#result = outcome.isError ? textOf(outcome.output) : raw;
    if (typeof this.#result === "string" && this.#result.length > LARGE) void this.resultDigest;
  }
  get argsDigest(): string { return sha256(canonicalJson(this.#input)); }
  get resultDigest(): string {
    this.#digest ??= sha256(this.isError ? (this.#result as string) : canonicalJson(this.#result));
    this.#result = undefined;
    return this.#digest;
  }
}

function perform(call: Pending, tool: Tool, input: unknown): unknown {
  const { run } = call;
  // Whoever was told that the tool starts may have aborted the run.
  if (run.signal.aborted) throw asCaveman(run.signal.reason, "cave_run_aborted");
  if (call.recorded) return call.recorded(input);
  const early = adopted(call);
  if (early) return early;
  const stop = call.stop ?? new AbortController();
  const { signal } = stop;
  const context: ToolContext = { signal, toolCallId: call.toolCallId, call: (name, value) => nested(call, name, value) };
  if (tool.subagent && !call.executorOf) return spawned(call, tool, input);
  const answer = call.executorOf ? call.executorOf(input, signal) : tool.execute(input, context);
  if (!isThenable(answer)) return answer;
  const late = (): CavemanError => new CavemanError("cave_tool_timeout", { place: `tool ${tool.name}`, expected: `an answer within ${tool.timeoutMs} ms`, received: "none" });
  return race(answer, call.stop ? abortable(signal) : run, tool.timeoutMs, late).catch((error) => {
    stop.abort(error);
    throw error;
  });
}

let nestedIds = 0;
async function nested(parent: Pending, name: string, input: unknown): Promise<unknown> {
  const admitted = await admit(parent.run, { toolCallId: `${parent.toolCallId}.${++nestedIds}`, name, input, nestedIn: parent });
  const outcome = "call" in admitted ? await execute(admitted.call) : admitted.outcome;
  if (outcome.isError) {
    const code = outcome.code ?? "cave_tool_failed";
    const said = textOf(outcome.output);
    throw new CavemanError(code, { message: said.startsWith(`${code}: `) ? said.slice(code.length + 2) : said });
  }
  return outcome.value;
}

async function spawned(call: Pending, tool: Tool, input: unknown): Promise<unknown> {
  const { agent, task } = { agent: tool.subagent?.agent, task: (input as { task?: unknown } | null)?.task };
  if (!agent || typeof task !== "string") throw new CavemanError("cave_subagent_arguments_invalid");
  const child = await call.run.spawn(agent, task, call);
  if (child.error) throw new CavemanError("cave_subagent_failed", { place: `agent ${agent.id}`, received: child.error.code, cause: child.error });
  return { text: child.text, agent_id: child.agentId, stop_reason: child.stopReason, claim_basis: "inferred" };
}

async function checkedOutput(tool: Tool, raw: unknown): Promise<unknown> {
  const result = await check(tool.output as NonNullable<Tool["output"]>, raw);
  if (!result.ok) throw new CavemanError("cave_tool_result_invalid", { place: `tool ${tool.name}` });
  return result.value;
}

function written(value: unknown): ToolOutput {
  if (typeof value === "string") return { type: "text", value };
  if (value === undefined) return { type: "text", value: "" };
  try {
    const json = JSON.stringify(value);
    if (json === undefined) throw new TypeError(`a ${typeof value}`);
    return { type: "text", value: json };
  } catch (error) {
    throw new CavemanError("cave_tool_result_unserializable", { received: describe(error) });
  }
}

/** What the output stages make of an output, from the first on; at once when none of them waits. */
function stages(call: Pending, output: ToolOutput, raw: unknown, first = 0): ToolOutput | Promise<ToolOutput> {
  let current = output;
  for (let at = first; at < call.stages.length; at++) {
    const next = (call.stages[at] as OutputStage)(current, call, raw);
    if (isThenable(next)) return Promise.resolve(next).then((waited) => stages(call, staged(call, waited), raw, at + 1));
    current = staged(call, next);
  }
  return current;
}

function staged(call: Pending, output: ToolOutput): ToolOutput {
  if (typeof output !== "object" || output === null || typeof output.type !== "string") throw new CavemanError("cave_plugin_failed", { place: `output of ${call.name}`, expected: "a tool output", received: typeof output });
  return output;
}

function close(run: ToolHost, call: Pending, inFull: boolean): void {
  for (const problem of call.holds.close(inFull)) run.notice("kernel", "cave_plugin_failed", `closing a hold: ${describe(problem)}`);
}

const failure = (call: ToolCall, code: string, message: string): ToolOutcome => ({
  toolCallId: call.toolCallId, name: call.name, isError: true, code, value: undefined,
  output: { type: "error-text", value: message.startsWith(code) ? message : `${code}: ${message}` },
});

/** The text of an output, as the model reads it. */
export const textOf = (output: ToolOutput): string => ("value" in output ? (typeof output.value === "string" ? output.value : (JSON.stringify(output.value) ?? "")) : (output.type === "execution-denied" ? (output.reason ?? "") : ""));
