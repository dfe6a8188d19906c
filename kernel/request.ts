/** The request of one attempt: shaped by taps, then frozen. */
import type { CallRequest, FrozenCall, Hold, HoldSpec, ModelCall, Run, Stop } from "./contract.ts";
import { CavemanError } from "./errors.ts";
import { type HoldCount, Holds } from "./holds.ts";
import type { HookSet, Restorable } from "./hooks.ts";
import type { CallId } from "./ledger.ts";
import { type Bytes, bytes, type CallOptions, type CallPurpose, type ModelMessage, type ModelTool, type ResolvedModel, type Tokens, tokens } from "./model.ts";
import type { View } from "./transcript.ts";

/** What the life of a call needs of its run beside the public face. */
export interface Host extends Run {
  readonly hooks: HookSet; readonly count: HoldCount; readonly system: readonly ModelMessage[]; readonly modelTools: readonly ModelTool[];
  readonly listening: boolean;
  /** The model of the last attempt. */
  resolved: ResolvedModel | undefined;
  /** Calls back on an abort, at once when there was one already, until it is taken off. */
  onAbort(tell: () => void): void; offAbort(tell: () => void): void;
  nextCallId(): CallId;
  /** Throws when the run is aborted or failed; answers with the stop when it is stopping. */
  standing(): Stop | undefined;
}

/** Output tokens asked for when neither the model's limit nor the definition states one. */
export const DEFAULT_ALLOWANCE = 8_192;
/** Tokens of framing a message may cost beside its bytes. */
const FRAMING = 16;

type Shaped = Pick<Shape, "model" | "tools" | "maxOutputTokens" | "settings" | "additions" | "decorators">;

export class Shape implements ModelCall, Restorable {
  readonly run: Host; readonly callId: CallId; readonly attempt: number; readonly purpose: CallPurpose; readonly view: View;
  readonly signal: AbortSignal; model: ResolvedModel | undefined; tools: readonly ModelTool[]; maxOutputTokens: number | undefined;
  settings: Readonly<Partial<CallOptions>> = {};
  additions: readonly ModelMessage[] = [];
  decorators: readonly ((frozen: CallOptions) => Record<string, string>)[] = [];
  #kept: Shaped | undefined;

  constructor(run: Host, callId: CallId, attempt: number, request: CallRequest, view: View, model: ResolvedModel | undefined) {
    this.run = run; this.callId = callId; this.attempt = attempt; this.purpose = request.purpose; this.view = view; this.signal = run.signal;
    this.model = model;
    this.tools = request.tools ?? run.modelTools;
    this.maxOutputTokens = request.maxOutputTokens;
  }
  setModel(model: ResolvedModel): void { [this.#kept, this.model] = [undefined, model]; }
  setTools(tools: readonly ModelTool[]): void { [this.#kept, this.tools] = [undefined, tools]; }
  setSettings(settings: Partial<CallOptions>): void { [this.#kept, this.settings] = [undefined, { ...this.settings, ...settings }]; }
  addContext(message: ModelMessage): void { [this.#kept, this.additions] = [undefined, [...this.additions, message]]; }
  transport(decorate: (frozen: CallOptions) => Record<string, string>): void { [this.#kept, this.decorators] = [undefined, [...this.decorators, decorate]]; }
  /** What it is now; the same object until something changes. */
  snapshot(): Shaped {
    const { model, tools, maxOutputTokens, settings, additions, decorators } = this;
    return (this.#kept ??= { model, tools, maxOutputTokens, settings, additions, decorators });
  }
  restore(snapshot: unknown): void { Object.assign(this, snapshot as Shaped); }
}

const sizes = new WeakMap<object, number>();
/** UTF-8 bytes of a frozen list or of one entry as JSON, counted once. */
function sizeOf(value: object): number {
  let size = sizes.get(value);
  if (size !== undefined) return size;
  if (!Array.isArray(value)) size = Buffer.byteLength(JSON.stringify(value));
  else size = value.length === 0 ? 0 : value.reduce<number>((sum, entry: object) => sum + sizeOf(entry) + 1, 1);
  sizes.set(value, size);
  return size;
}

export class Frozen implements FrozenCall {
  readonly run: Host; readonly callId: CallId; readonly attempt: number; readonly purpose: CallPurpose; readonly view: View;
  readonly signal: AbortSignal; readonly model: ResolvedModel; readonly request: Readonly<CallOptions>; readonly toolsKey: readonly ModelTool[];
  readonly at: number; readonly holds: Holds; readonly asked: Tokens; readonly #additions: readonly ModelMessage[];
  #overhead: Bytes | undefined; #allowance: Tokens;

  constructor(shape: Shape, model: ResolvedModel) {
    const { run } = shape;
    this.run = run; this.callId = shape.callId; this.attempt = shape.attempt; this.purpose = shape.purpose; this.view = shape.view;
    this.signal = run.signal; this.model = model;
    this.at = run.clock.now();
    this.toolsKey = shape.tools;
    this.holds = new Holds(run.count);
    const wanted = shape.maxOutputTokens ?? run.agent.output?.maxTokens ?? model.maxOutput ?? DEFAULT_ALLOWANCE;
    this.asked = this.#allowance = tokens(Math.min(wanted, model.maxOutput ?? wanted));
    const json = shape.purpose === "summary" ? undefined : run.agent.output?.jsonSchema;
    this.#additions = json && !model.structuredOutput ? [...shape.additions, { role: "system", content: schemaPrompt(json) }] : shape.additions;
    const prompt = shape.view.prompt(run.system);
    // Added context stands before the newest user message, after everything whose bytes were sent before.
    if (shape.additions.length > 0) prompt.splice(Math.max(prompt.findLastIndex((message) => message.role === "user"), run.system.length), 0, ...shape.additions);
    if (json && !model.structuredOutput) prompt.splice(run.system.length, 0, { role: "system", content: schemaPrompt(json) });
    const request: CallOptions = { ...shape.settings, prompt, abortSignal: run.signal };
    // Tools are those that were shaped, measured and bounded, whatever settings say.
    if (shape.tools.length > 0 || request.tools) request.tools = shape.tools as ModelTool[];
    if (json && model.structuredOutput) request.responseFormat = { type: "json", schema: json, name: "answer" };
    this.request = Object.freeze(request);
  }
  get prompt(): CallOptions["prompt"] { return this.request.prompt; }
  get overheadBytes(): Bytes {
    return (this.#overhead ??= bytes(sizeOf(this.run.system) + sizeOf(this.toolsKey) + (this.#additions.length > 0 ? sizeOf(this.#additions) : 0)));
  }
  get allowance(): Tokens { return this.#allowance; }
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
