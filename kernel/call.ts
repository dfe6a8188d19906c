/** The life of one model call: attempts, each shaped, frozen, reserved, sent and settled. */
import type { Again, CallOutcome, CallRequest, Compaction, FrozenCall, Hold, HoldSpec, ModelCall, Refusal, Replay, Run, SettledCall, Stop } from "./contract.ts";
import { asCaveman, CavemanError, describe } from "./errors.ts";
import { type HoldCount, Holds } from "./holds.ts";
import { type HookSet, isRefusal, isReplay, type Restorable } from "./hooks.ts";
import type { CallId } from "./ledger.ts";
import {
  type Bytes, bytes, type CallBasis, type CallOptions, type CallPurpose, type ModelContent, type ModelMessage, type ModelTool, normalUsage, noUsage,
  type ResolvedModel, type Tokens, tokens, type Usage,
} from "./model.ts";
import { illegality, type Rewrite, View } from "./transcript.ts";

/** What the life of a call needs of its run beside the public face. */
export interface Host extends Run {
  readonly hooks: HookSet;
  readonly count: HoldCount;
  readonly system: readonly ModelMessage[];
  readonly modelTools: readonly ModelTool[];
  readonly listening: boolean;
  /** The model of the last attempt. */
  resolved: ResolvedModel | undefined;
  nextCallId(): CallId;
  /** Throws when the run is aborted or failed; answers with the stop when it is stopping. */
  standing(): Stop | undefined;
}

/** Output tokens asked for when neither the model's limit nor the definition states one. */
export const DEFAULT_ALLOWANCE = 8_192;
/** Tokens of framing a message may cost beside its bytes. */
const FRAMING = 16;

type Shaped = Pick<Shape, "model" | "tools" | "maxOutputTokens" | "settings" | "additions" | "decorators">;

class Shape implements ModelCall, Restorable {
  readonly run: Host;
  readonly callId: CallId;
  readonly attempt: number;
  readonly purpose: CallPurpose;
  readonly view: View;
  readonly signal: AbortSignal;
  model: ResolvedModel | undefined;
  tools: readonly ModelTool[];
  maxOutputTokens: number | undefined;
  settings: Readonly<Partial<CallOptions>> = {};
  additions: readonly ModelMessage[] = [];
  decorators: readonly ((frozen: CallOptions) => Record<string, string>)[] = [];

  constructor(run: Host, callId: CallId, attempt: number, request: CallRequest, view: View, model: ResolvedModel | undefined) {
    this.run = run;
    this.callId = callId;
    this.attempt = attempt;
    this.purpose = request.purpose;
    this.view = view;
    this.signal = run.signal;
    this.model = model;
    this.tools = request.tools ?? run.modelTools;
    this.maxOutputTokens = request.maxOutputTokens;
  }
  setModel(model: ResolvedModel): void {
    this.model = model;
  }
  setTools(tools: readonly ModelTool[]): void {
    this.tools = tools;
  }
  setSettings(settings: Partial<CallOptions>): void {
    this.settings = { ...this.settings, ...settings };
  }
  addContext(message: ModelMessage): void {
    this.additions = [...this.additions, message];
  }
  transport(decorate: (frozen: CallOptions) => Record<string, string>): void {
    this.decorators = [...this.decorators, decorate];
  }
  snapshot(): Shaped {
    const { model, tools, maxOutputTokens, settings, additions, decorators } = this;
    return { model, tools, maxOutputTokens, settings, additions, decorators };
  }
  restore(snapshot: unknown): void {
    Object.assign(this, snapshot as Shaped);
  }
}

const toolBytes = new WeakMap<object, number>();
const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");
const sizeOfTools = (list: readonly ModelTool[]): number => {
  let size = toolBytes.get(list);
  if (size === undefined) toolBytes.set(list, (size = list.length === 0 ? 0 : sizeOf(list)));
  return size;
};

class Frozen implements FrozenCall {
  readonly run: Host;
  readonly callId: CallId;
  readonly attempt: number;
  readonly purpose: CallPurpose;
  readonly view: View;
  readonly signal: AbortSignal;
  readonly model: ResolvedModel;
  readonly request: Readonly<CallOptions>;
  readonly toolsKey: object;
  readonly at: number;
  readonly holds: Holds;
  readonly asked: Tokens;
  readonly #additions: readonly ModelMessage[];
  #overhead: Bytes | undefined;
  #allowance: Tokens;

  constructor(shape: Shape, model: ResolvedModel) {
    const { run } = shape;
    this.run = run;
    this.callId = shape.callId;
    this.attempt = shape.attempt;
    this.purpose = shape.purpose;
    this.view = shape.view;
    this.signal = run.signal;
    this.model = model;
    this.at = run.clock.now();
    this.toolsKey = shape.tools;
    this.holds = new Holds(run.count);
    const wanted = shape.maxOutputTokens ?? run.agent.output?.maxTokens ?? model.maxOutput ?? DEFAULT_ALLOWANCE;
    this.asked = this.#allowance = tokens(Math.min(wanted, model.maxOutput ?? wanted));
    const json = shape.purpose === "summary" ? undefined : run.agent.output?.jsonSchema;
    this.#additions = json && !model.structuredOutput ? [...shape.additions, { role: "system", content: schemaPrompt(json) }] : shape.additions;
    const prompt = assemble(run.system, shape.view, shape.additions);
    if (json && !model.structuredOutput) prompt.splice(run.system.length, 0, { role: "system", content: schemaPrompt(json) });
    this.request = Object.freeze({
      ...shape.settings, prompt, abortSignal: run.signal,
      ...(shape.tools.length > 0 ? { tools: shape.tools as ModelTool[] } : {}),
      ...(json && model.structuredOutput ? { responseFormat: { type: "json", schema: json, name: "answer" } as const } : {}),
    });
  }
  get prompt(): CallOptions["prompt"] {
    return this.request.prompt;
  }
  get overheadBytes(): Bytes {
    return (this.#overhead ??= bytes(sizeOf(this.run.system) + sizeOfTools(this.toolsKey as ModelTool[]) + (this.#additions.length > 0 ? sizeOf(this.#additions) : 0)));
  }
  get allowance(): Tokens {
    return this.#allowance;
  }
  lowerAllowance(to: number): void {
    if (!Number.isSafeInteger(to) || to < 1 || to > this.#allowance) throw new CavemanError("cave_allowance_raised", { expected: `1 to ${this.#allowance}`, received: String(to) });
    this.#allowance = tokens(to);
  }
  hold<T>(spec: HoldSpec<T>): Hold<T> {
    return this.holds.take(spec);
  }
  /** The most the provider can have read of this request. */
  inputBound(): number {
    const bound = this.view.bytes + this.overheadBytes + FRAMING * this.request.prompt.length;
    return Math.min(bound, this.model.contextWindow ?? bound);
  }
}

const schemaPrompt = (json: object): string => `Answer with one JSON value and nothing else. It must fit this JSON schema: ${JSON.stringify(json)}`;

// Added context stands before the newest user message, after everything whose bytes were sent before.
function assemble(system: readonly ModelMessage[], view: View, additions: readonly ModelMessage[]): ModelMessage[] {
  const prompt = view.prompt();
  if (additions.length > 0) {
    const at = prompt.findLastIndex((message) => message.role === "user");
    prompt.splice(Math.max(at, 0), 0, ...additions);
  }
  return system.length > 0 ? [...system, ...prompt] : prompt;
}

interface Answer { content: ModelContent[]; finish: string; usage: Usage | undefined; error: CavemanError | undefined; cause: unknown; sent: boolean; emitted: boolean; received: number }

class Settled implements SettledCall {
  readonly run: Run;
  readonly frozen: Frozen;
  readonly usage: Usage;
  readonly basis: CallBasis;
  readonly sent: boolean;
  readonly replayed: boolean;
  readonly content: readonly ModelContent[];
  readonly finish: string;
  readonly latencyMs: number;
  readonly error: CavemanError | undefined;
  readonly cause: unknown;
  wanted: Again | undefined;

  constructor(frozen: Frozen, answer: Answer, usage: Usage, basis: CallBasis, replayed: boolean) {
    this.run = frozen.run;
    this.frozen = frozen;
    this.usage = usage;
    this.basis = basis;
    this.sent = answer.sent;
    this.replayed = replayed;
    this.content = answer.content;
    this.finish = answer.finish;
    this.latencyMs = frozen.run.clock.now() - frozen.at;
    this.error = answer.error;
    this.cause = answer.cause;
  }
  get callId(): CallId { return this.frozen.callId; }
  get attempt(): number { return this.frozen.attempt; }
  get purpose(): CallPurpose { return this.frozen.purpose; }
  get signal(): AbortSignal { return settling; }
  get holds(): readonly Hold[] { return this.frozen.holds.list; }
  again(request: Again): void {
    if (this.error) this.wanted ??= request;
  }
}

/** Settlement is never raced against an abort: what was spent is booked whatever became of the run. */
export const settling: AbortSignal = new AbortController().signal;

/** Runs a call to its end. @throws CavemanError when it fails, is refused with an error, or the run is aborted. */
export async function callModel(run: Host, request: CallRequest): Promise<CallOutcome> {
  const callId = run.nextCallId();
  const stopped = (stop: Stop): CallOutcome => ({ callId, content: [], finish: "stopped", usage: noUsage, basis: "bound", text: "", model: run.resolved, stopped: stop });
  let view = request.view ?? (await compacted(run, run.transcript.view, "pressure", request.purpose));
  let model = request.model;
  let compactedOnce = false;
  for (let attempt = 1; ; attempt++) {
    let stop = run.standing();
    if (stop) return stopped(stop);
    const shape = new Shape(run, callId, attempt, request, view, model);
    const shaping = run.hooks.fire("beforeCall", shape);
    if (shaping instanceof Promise) await shaping;
    stop = run.standing();
    if (stop) return stopped(stop);
    if (!shape.model) throw new CavemanError("cave_model_missing", { place: `agent ${run.agent.id}` });
    run.resolved = shape.model;
    const frozen = new Frozen(shape, shape.model);
    const admission = run.hooks.fire("reserve", frozen);
    const decision = admission instanceof Promise ? await admission : admission;
    const refused = isRefusal(decision) ? decision.refuse : undefined;
    if (refused || run.signal.aborted || run.stopping) {
      report(run, frozen.holds.close(false));
      run.record("call.abandoned", { callId, attempt, code: refused?.code ?? "cave_run_stopping" });
      stop = run.standing();
      if (stop) return stopped(stop);
      if (refused?.compact && !compactedOnce) {
        compactedOnce = true;
        view = await compacted(run, view, "refused", request.purpose);
        continue;
      }
      const refusal = refused ?? { code: "cave_run_aborted", message: "The run was aborted." };
      if (refused?.stop) {
        run.stop(refused.stop);
        return stopped(run.standing() ?? { reason: refused.stop, code: refused.code });
      }
      throw new CavemanError(refusal.code, { message: refusal.message });
    }
    const settled = await complete(run, shape, frozen, decision as Replay | undefined);
    if (!settled.error) return outcome(callId, settled, run.resolved);
    if (!settled.wanted || run.signal.aborted || run.stopping) {
      stop = run.standing();
      if (stop && !settled.wanted) throw settled.error;
      if (stop) return stopped(stop);
      throw settled.error;
    }
    const { afterMs, model: next, compact } = settled.wanted;
    if (settled.content.length > 0) run.emit({ type: "attempt_reset", callId, attempt });
    if (afterMs) await run.clock.sleep(afterMs, run.signal).catch(() => undefined);
    if (next) model = next;
    if (compact) view = await compacted(run, view, compact, request.purpose);
  }
}

function outcome(callId: CallId, settled: Settled, model: ResolvedModel | undefined): CallOutcome {
  let text = "";
  for (const part of settled.content) if (part.type === "text") text += part.text;
  return { callId, content: settled.content, finish: settled.finish, usage: settled.usage, basis: settled.basis, text, model };
}

async function complete(run: Host, shape: Shape, frozen: Frozen, decision: Replay | undefined): Promise<Settled> {
  const { callId, attempt, purpose, model } = frozen;
  const { provider, id } = model;
  run.record("call.intended", { callId, attempt, purpose, provider, model: id, allowance: frozen.allowance });
  const replay = isReplay(decision) ? decision.replay : undefined;
  const answer: Answer = replay
    ? { content: [...replay.content], finish: replay.finish, usage: replay.usage, error: undefined, cause: undefined, sent: true, emitted: false, received: 0 }
    : await send(run, shape, frozen);
  const basis: CallBasis = replay ? replay.basis : answer.usage ? (model.simulated ? "simulated" : "provider_reported") : "bound";
  const usage = answer.usage ?? (answer.sent ? bound(frozen, answer) : noUsage);
  const settled = new Settled(frozen, answer, usage, basis, replay !== undefined);
  run.record("call.settled", {
    callId, attempt, purpose, provider, model: id, simulated: model.simulated, usage, basis, sent: answer.sent, route: replay ? "replay" : model.route,
    finish: answer.finish, latencyMs: settled.latencyMs, allowance: frozen.allowance,
    ...(frozen.allowance < frozen.asked ? { clampedOutputTokens: frozen.allowance } : {}), ...(answer.error ? { errorCode: answer.error.code } : {}),
  });
  const accounting = run.hooks.fire("afterUsage", settled);
  if (accounting instanceof Promise) await accounting;
  report(run, frozen.holds.close(answer.sent));
  return settled;
}

/** What a provider that gave no usage can have billed: the whole request, and what it wrote, or all it was allowed. */
function bound(frozen: Frozen, answer: Answer): Usage {
  const output = answer.error && frozen.run.signal.aborted ? Math.min(answer.received, frozen.allowance) : frozen.allowance;
  return { ...noUsage, input: tokens(frozen.inputBound()), output: tokens(output) };
}

async function send(run: Host, shape: Shape, frozen: Frozen): Promise<Answer> {
  const answer: Answer = { content: [], finish: "other", usage: undefined, error: undefined, cause: undefined, sent: true, emitted: false, received: 0 };
  const { signal } = run;
  let reader: ReadableStreamDefaultReader<unknown> | undefined;
  let abandon: (() => void) | undefined;
  const onAbort = (): void => {
    abandon?.();
    void reader?.cancel(signal.reason).catch(() => undefined);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const options: CallOptions = { ...frozen.request, maxOutputTokens: frozen.allowance };
    if (shape.decorators.length > 0) options.headers = Object.assign({ ...options.headers }, ...shape.decorators.map((decorate) => decorate(options)));
    const opening = Promise.resolve(frozen.model.model.doStream(options));
    const opened = await Promise.race([opening, new Promise<undefined>((resolve) => (abandon = () => resolve(undefined)))]);
    if (!opened) {
      void opening.then(({ stream }) => stream.cancel(), () => undefined).catch(() => undefined);
      throw signal.reason;
    }
    const parts = opened.stream.getReader();
    reader = parts;
    if (signal.aborted) onAbort();
    const texts = new Map<string, { type: "text" | "reasoning"; text: string; providerMetadata?: unknown }>();
    let finished = false;
    for (;;) {
      const { done, value: part } = await parts.read();
      if (done) break;
      switch (part.type) {
        case "text-start":
        case "reasoning-start": {
          const open = { type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const), text: "" };
          texts.set(part.id, open);
          answer.content.push(open as ModelContent);
          break;
        }
        case "text-delta":
        case "reasoning-delta": {
          const open = texts.get(part.id);
          if (open) open.text += part.delta;
          answer.received += part.delta.length;
          if (run.listening && frozen.purpose !== "summary") run.emit({ type: part.type === "text-delta" ? "text_delta" : "reasoning_delta", callId: frozen.callId, delta: part.delta });
          break;
        }
        case "text-end":
        case "reasoning-end": {
          // Providers sign reasoning at its end; the signature must go back with the text.
          const open = texts.get(part.id);
          if (open && part.providerMetadata) open.providerMetadata = part.providerMetadata;
          break;
        }
        case "tool-input-delta":
          answer.received += part.delta.length;
          break;
        case "tool-call":
        case "tool-result":
        case "file":
        case "source":
          answer.content.push(part);
          break;
        case "finish":
          finished = true;
          answer.finish = part.finishReason.unified;
          answer.usage = normalUsage(part.usage);
          break;
        case "error":
          throw part.error;
        default:
          break;
      }
    }
    if (signal.aborted) throw signal.reason;
    if (!finished || answer.finish === "interrupted") answer.error = new CavemanError("cave_provider_incomplete", { place: frozen.model.id });
    else if (answer.finish === "error") answer.error = new CavemanError("cave_provider_failed", { place: frozen.model.id, received: "finish reason error" });
  } catch (cause) {
    fault(answer, frozen, cause, signal);
  } finally {
    signal.removeEventListener("abort", onAbort);
    if (answer.error && reader) void reader.cancel().catch(() => undefined);
  }
  return answer;
}

function fault(answer: Answer, frozen: Frozen, cause: unknown, signal: AbortSignal): void {
  answer.cause = cause;
  answer.finish = "error";
  if (signal.aborted) {
    answer.error = asCaveman(signal.reason, "cave_run_aborted");
    return;
  }
  answer.error = cause instanceof CavemanError ? cause : new CavemanError("cave_provider_failed", { place: `${frozen.model.provider}/${frozen.model.id}`, received: describe(cause), cause });
  // A vendor that answers with an error before it wrote anything billed nothing.
  const status = (cause as { statusCode?: unknown } | null)?.statusCode;
  const spoke = answer.received > 0 || answer.content.length > 0;
  const said = typeof status === "number" && status >= 400;
  const inStream = typeof cause === "object" && cause !== null && !(cause instanceof Error && status === undefined && !("type" in cause));
  if (!spoke && !answer.usage && (said || inStream)) answer.sent = false;
}

class Pressure implements Compaction {
  readonly run: Host;
  readonly reason: Compaction["reason"];
  readonly model: ResolvedModel | undefined;
  readonly signal: AbortSignal;
  readonly rewrites: Rewrite[] = [];
  view: View;

  constructor(run: Host, view: View, reason: Compaction["reason"]) {
    this.run = run;
    this.view = view;
    this.reason = reason;
    this.model = run.resolved;
    this.signal = run.signal;
  }
  pressureOf(view: View): number | undefined {
    const window = this.model?.contextWindow;
    return window === undefined ? undefined : view.bytes / window;
  }
  /** Why a rewrite cannot stand, or undefined. */
  problem({ view }: Rewrite): CavemanError | undefined {
    if (!(view instanceof View)) return new CavemanError("cave_plugin_failed", { expected: "a View made by view.rewrite()", received: typeof view });
    const illegal = illegality(view.messages);
    if (illegal) return new CavemanError("cave_transcript_illegal", { received: illegal });
    return view.bytes < this.view.bytes ? undefined : new CavemanError("cave_plugin_failed", { expected: "a smaller view", received: `${view.bytes} bytes for ${this.view.bytes}` });
  }
  take(rewrite: Rewrite): void {
    this.run.record("transcript.compacted", { by: rewrite.by, reason: this.reason, beforeBytes: this.view.bytes, afterBytes: rewrite.view.bytes, dropped: rewrite.dropped });
    this.rewrites.push(rewrite);
    this.view = rewrite.view;
  }
}

async function compacted(run: Host, view: View, reason: Compaction["reason"], purpose: CallPurpose): Promise<View> {
  if (purpose === "summary" || !run.hooks.has("compact")) return view;
  const payload = new Pressure(run, view, reason);
  await run.hooks.fire("compact", payload);
  if (payload.view !== view) run.transcript.adopt(payload.view);
  return payload.view;
}

function report(run: Run, failures: readonly unknown[]): void {
  for (const failure of failures) run.notice("kernel", "cave_plugin_failed", `closing a hold: ${describe(failure)}`);
}
