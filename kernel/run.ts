/** One run: its identity, state, verbs and settlement. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { callModel, settling } from "./call.ts";
import type { CallOutcome, CallRequest, Clock, Conversation, Outcome, Run, RunEvent, RunEventBody, RunInput, RunOptions, Service, Stop, ToolCall, ToolOutcome, ToolRequest } from "./contract.ts";
import { type AgentDefinition, type Context, type FileRef, isFileRef, type Tool } from "./definition.ts";
import { asCaveman, CavemanError, describe } from "./errors.ts";
import type { HookSet } from "./hooks.ts";
import { type CallId, type Fact, type Facts, type FactType, Ledger, type RunId, type StopReason } from "./ledger.ts";
import type { ModelMessage, ModelTool, ResolvedModel } from "./model.ts";
import { checkRunOptions, type Plugin } from "./plugin.ts";
import { race } from "./race.ts";
import type { Host } from "./request.ts";
import { checkJson } from "./schema.ts";
import { abandon, called, speculate, type ToolHost } from "./tool.ts";
import { Transcript } from "./transcript.ts";

/** State that spans the runs of a conversation: how it is made and saved. */
export interface ConversationSlot { readonly name: string; readonly schema: object; readonly init: (run: Run, saved: unknown) => { toJSON(): unknown } }
/** What the assembled kernel lends its runs. */
export interface Engine {
  readonly plugins: readonly Plugin[];
  /** Those that prepare a run, and those that bring tools or contexts. */
  readonly preparing: readonly Plugin[]; readonly equipping: readonly Plugin[]; readonly hooks: HookSet; readonly clock: Clock;
  readonly perRun: readonly ((run: Run) => unknown)[];
  readonly perConversation: readonly ConversationSlot[];
  readonly services: ReadonlyMap<string, (run: Run) => unknown>;
  readonly drive: (run: RunImpl, input: RunInput) => Promise<Outcome>;
}

const RUN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export class RunImpl implements Host, ToolHost {
  readonly id: RunId; readonly agent: AgentDefinition; readonly path: readonly string[]; readonly depth: number; readonly parent: RunImpl | undefined;
  readonly spawnedBy: ToolCall | undefined; readonly options: Readonly<RunOptions>; readonly ledger: Ledger; readonly transcript: Transcript;
  readonly clock: Clock; readonly hooks: HookSet;
  readonly tools = new Map<string, Tool>(); readonly children: RunImpl[] = [];
  readonly count = { openHolds: 0 };
  readonly ahead: ToolHost["ahead"] = new Map();
  readonly startedAt: number; readonly engine: Engine;
  readonly states: unknown[] = []; readonly conversationStates: { toJSON(): unknown }[] = [];
  readonly #abort = new AbortController(); readonly #onAbort: (() => void)[] = [];
  readonly listener: ((event: RunEvent) => void) | undefined;
  readonly #services = new Map<string, unknown>();
  readonly #onSignal: (() => void) | undefined;
  readonly #conversation: Conversation | undefined; admissions: Promise<unknown> | undefined; resolved: ResolvedModel | undefined;
  system: readonly ModelMessage[] = []; modelTools: readonly ModelTool[] = []; stopping: Stop | undefined; outcome: Outcome | undefined; turn = 0;
  #calls = 0; #settled: Promise<Outcome> | undefined;

  /** @throws CavemanError for options that no plugin knows, before anything starts. */
  constructor(engine: Engine, agent: AgentDefinition, options: RunOptions, parent?: RunImpl, spawnedBy?: ToolCall, listener?: (event: RunEvent) => void) {
    this.engine = engine; this.hooks = engine.hooks; this.clock = engine.clock; this.agent = agent; this.parent = parent; this.spawnedBy = spawnedBy;
    this.depth = parent ? parent.depth + 1 : 0;
    this.path = parent ? [...parent.path, agent.id] : [agent.id];
    this.options = parent ? options : checkRunOptions(engine.plugins, options);
    if (options.runId !== undefined && !RUN_ID.test(options.runId)) throw new CavemanError("cave_option_invalid", { place: "run options.runId", expected: RUN_ID.source, received: JSON.stringify(options.runId) });
    this.id = (options.runId && !parent ? options.runId : newRunId()) as RunId;
    this.listener = listener ?? parent?.listener;
    this.startedAt = engine.clock.now();
    this.ledger = new Ledger(() => engine.clock.now());
    const { conversation, signal } = options;
    if (conversation !== undefined && conversation?.kind !== "conversation") throw new CavemanError("cave_conversation_invalid");
    this.#conversation = conversation;
    this.transcript = new Transcript(this.#conversation?.messages);
    if (signal !== undefined && !(signal instanceof AbortSignal)) throw new CavemanError("cave_option_invalid", { place: "run options.signal", expected: "an AbortSignal", received: typeof signal });
    this.#conversation?.acquire();
    try {
      for (const init of engine.perRun) this.states.push(init(this));
      for (const slot of engine.perConversation) this.conversationStates.push(slot.init(this, savedState(slot, this.#conversation?.states[slot.name])));
    } catch (error) {
      this.#conversation?.release();
      throw asCaveman(error, "cave_plugin_failed", { place: "the state of a run" });
    }
    const outer = parent?.signal ?? signal;
    if (outer) {
      const reason = (): CavemanError => (parent ? asCaveman(outer.reason, "cave_run_aborted") : new CavemanError("cave_run_aborted", { cause: outer.reason }));
      this.#onSignal = () => this.abort(reason());
      if (outer.aborted) this.abort(reason());
      else outer.addEventListener("abort", this.#onSignal, { once: true });
    }
    this.record("run.started", { agentId: agent.id, depth: this.depth, input: "", ...(spawnedBy ? { parentCall: spawnedBy.toolCallId } : {}) });
  }

  get signal(): AbortSignal { return this.#abort.signal; }
  get listening(): boolean { return this.listener !== undefined; }
  nextCallId(): CallId { return `${this.id}.c${++this.#calls}` as CallId; }
  stop(reason: StopReason, error?: CavemanError): void {
    // The first reason stands, but a failure is never masked by a graceful stop.
    if (this.stopping && !(error && !this.stopping.error)) return;
    this.stopping = { reason: error ? "error" : reason, ...(error ? { error, code: error.code } : {}) };
    this.record("run.stopped", { reason: this.stopping.reason, ...(error ? { code: error.code } : {}) });
  }
  abort(reason: CavemanError): void {
    if (this.#abort.signal.aborted || this.outcome) return;
    this.#abort.abort(reason);
    for (const tell of this.#onAbort.splice(0)) tell();
  }
  onAbort(tell: () => void): void { this.signal.aborted ? tell() : this.#onAbort.push(tell); }
  offAbort(tell: () => void): void {
    const at = this.#onAbort.lastIndexOf(tell);
    if (at >= 0) at === this.#onAbort.length - 1 ? this.#onAbort.pop() : this.#onAbort.splice(at, 1);
  }
  standing(): Stop | undefined {
    if (this.stopping?.error) throw this.stopping.error;
    if (this.stopping) return this.stopping;
    if (this.signal.aborted) throw asCaveman(this.signal.reason, "cave_run_aborted");
    return undefined;
  }
  call(request: CallRequest): Promise<CallOutcome> {
    if (this.outcome) return Promise.reject(new CavemanError("cave_run_closed"));
    if (request.purpose !== "summary") abandon(this);
    return callModel(this, request);
  }
  tool(request: ToolRequest): Promise<ToolOutcome> {
    if (this.outcome) return Promise.reject(new CavemanError("cave_run_closed"));
    if (request.speculative) return speculate(this, request);
    return new Promise((done) => done(called(this, request)));
  }
  async spawn(agent: AgentDefinition, input: RunInput, by: ToolCall): Promise<Outcome> {
    if (this.outcome) throw new CavemanError("cave_run_closed");
    const { conversation: _, signal: __, runId: ___, ...inherited } = this.options;
    const child = new RunImpl(this.engine, agent, inherited, this, by);
    this.children.push(child);
    const { toolCallId } = by;
    this.record("child.spawned", { childRunId: child.id, agentId: agent.id, toolCallId });
    this.emit({ type: "child_start", agentId: agent.id, toolCallId });
    const outcome = await this.engine.drive(child, input);
    this.record("child.settled", { childRunId: child.id, agentId: agent.id, toolCallId, stopReason: outcome.stopReason });
    this.emit({ type: "child_end", agentId: agent.id, toolCallId, stopReason: outcome.stopReason });
    return outcome;
  }
  find<T>(service: Service<T>): T | undefined {
    let found = this.#services.get(service.name);
    if (found === undefined && !this.#services.has(service.name)) this.#services.set(service.name, (found = this.engine.services.get(service.name)?.(this)));
    return found as T | undefined;
  }
  service<T>(service: Service<T>): T {
    const found = this.find(service);
    if (found === undefined) throw new CavemanError("cave_service_missing", { received: service.name });
    return found;
  }
  record<T extends FactType>(type: T, data: Facts[T]): Fact<T> { return this.ledger.append(type, data); }
  notice(owner: string, code: string, message: string): void {
    this.record("notice", { owner, code, message });
    this.emit({ type: "notice", owner, code, message });
  }
  emit(event: RunEventBody): void { this.listener?.({ ...event, runId: this.id, path: this.path }); }

  /** Reads what the definition names, starts the plugins, fixes tools and the frozen prefix. */
  async prepare(): Promise<void> {
    this.emit({ type: "run_start", agentId: this.agent.id, depth: this.depth });
    for (const { name, spec } of this.engine.preparing) {
      try {
        const preparing = spec.prepare?.(this, this.signal);
        if (preparing instanceof Promise) await race(preparing, this);
      } catch (error) {
        throw asCaveman(error, "cave_plugin_failed", { place: `plugin ${name} prepare` });
      }
      this.standing();
    }
    for (const tool of this.agent.tools) this.tools.set(tool.name, tool);
    const contexts: Context[] = [...this.agent.contexts];
    for (const { name, spec } of this.engine.equipping) {
      try {
        for (const tool of spec.tools?.(this) ?? []) {
          if (this.tools.has(tool.name)) throw new CavemanError("cave_duplicate_tool_name", { received: tool.name });
          this.tools.set(tool.name, tool);
        }
        if (spec.contexts) contexts.push(...spec.contexts(this));
      } catch (error) {
        throw asCaveman(error, "cave_plugin_failed", { place: `plugin ${name}` });
      }
    }
    const root = this.options.rootDir ?? process.cwd();
    const { instructions } = this.agent, system = [isFileRef(instructions) ? await readText(root, instructions) : instructions];
    this.live = [];
    for (const { source, cacheRegion } of contexts) (cacheRegion === "frozen_prefix" ? system : this.live).push(isFileRef(source) ? await readText(root, source) : source);
    const text = system.join("\n\n");
    const prefix = prefixOf(this.agent, text, [...this.tools.values()]);
    this.system = prefix.system;
    this.modelTools = prefix.modelTools;
    if (this.listening) this.emit({ type: "context_ready", segments: contexts.length + 1, tools: this.tools.size, bytes: Buffer.byteLength(text) });
  }
  /** Live-zone context, read once: it stands with the first user message of the run. */
  live: string[] = [];

  /** Ends the run exactly once, whatever became of it, and answers with how it ended. */
  settle(end: { text: string; output?: unknown; error?: unknown }): Promise<Outcome> {
    return (this.#settled ??= this.#settle(end));
  }
  async #settle(end: { text: string; output?: unknown; error?: unknown }): Promise<Outcome> {
    abandon(this);
    let error = end.error === undefined ? this.stopping?.error : asCaveman(end.error, "cave_plugin_failed");
    if (this.stopping?.error && error?.code !== "cave_run_aborted") error = this.stopping.error;
    const aborted = error !== undefined && this.signal.aborted && (error.code === "cave_run_aborted" || error === this.signal.reason || error.code === "cave_stream_cancelled");
    // A deadline's abort is a graceful stop.
    if (aborted && this.stopping && !this.stopping.error) error = undefined;
    const draft = (): Outcome => ({
      runId: this.id, agentId: this.agent.id, text: end.text, startedAt: this.startedAt, durationMs: this.clock.now() - this.startedAt,
      stopReason: error ? (aborted ? "aborted" : "error") : (this.stopping?.reason ?? "complete"),
      ...(end.output !== undefined && !error ? { output: end.output } : {}), ...(error ? { error } : {}),
    });
    this.outcome = draft();
    // Plain fields: V8 keeps what an accessor of a literal closes over until the next full collection.
    const settlement = { run: this, signal: settling, outcome: this.outcome, fail: (failure: CavemanError): void => {
      if (error) return;
      error = failure;
      settlement.outcome = this.outcome = draft();
    } };
    try {
      await this.hooks.fire("settle", settlement);
    } catch (fault) {
      this.notice("kernel", "cave_plugin_failed", describe(fault));
    }
    this.outcome = draft();
    if (this.#onSignal) (this.parent?.signal ?? this.options.signal)?.removeEventListener("abort", this.#onSignal);
    this.record("run.settled", { stopReason: this.outcome.stopReason, durationMs: this.outcome.durationMs, openHolds: this.count.openHolds, ...(error ? { code: error.code } : {}) });
    if (this.#conversation) {
      if (!error) this.#conversation.commit(this.transcript.view.messages, Object.fromEntries(this.engine.perConversation.map((slot, index) => [slot.name, structuredClone(this.conversationStates[index]?.toJSON())])));
      this.#conversation.release();
    }
    this.emit(error ? { type: "run_error", code: error.code, message: error.message, result: this.outcome } : { type: "run_end", result: this.outcome });
    return this.outcome;
  }
}

/** `run_` and 16 hex digits of chance, drawn for many runs at once. */
const chance = { bytes: Buffer.alloc(2_048), at: 2_048 };
function newRunId(): string {
  if (chance.at === chance.bytes.length) [chance.bytes, chance.at] = [crypto.getRandomValues(chance.bytes), 0];
  return `run_${chance.bytes.toString("hex", chance.at, (chance.at += 8))}`;
}

interface Prefix { readonly text: string; readonly tools: readonly Tool[]; readonly system: readonly ModelMessage[]; readonly modelTools: readonly ModelTool[] }
const prefixes = new WeakMap<AgentDefinition, Prefix>();
/** The frozen prefix of an agent's requests: the same objects in every run that begins alike, so that they are measured once. */
function prefixOf(agent: AgentDefinition, text: string, tools: readonly Tool[]): Prefix {
  let prefix = prefixes.get(agent);
  if (prefix?.text !== text || prefix.tools.length !== tools.length || tools.some((tool, at) => tool !== prefix?.tools[at])) {
    const modelTools = tools.map(({ name, description, inputJSONSchema }) => Object.freeze({ type: "function" as const, name, description, inputSchema: inputJSONSchema }));
    prefixes.set(agent, (prefix = { text, tools, system: Object.freeze([{ role: "system" as const, content: text }]), modelTools: Object.freeze(modelTools) }));
  }
  return prefix;
}

function savedState({ name, schema }: ConversationSlot, saved: unknown): unknown {
  if (saved === undefined) return undefined;
  const checked = checkJson(schema, saved);
  if (!checked.ok) throw new CavemanError("cave_conversation_invalid", { place: `state "${name}"`, received: checked.problem });
  return checked.value;
}

async function readText(root: string, { path }: FileRef): Promise<string> {
  const full = path.startsWith("file:") ? fileURLToPath(path) : resolve(root, path);
  try {
    return await readFile(full, "utf8");
  } catch (cause) {
    throw new CavemanError("cave_file_unreadable", { place: full, received: (cause as NodeJS.ErrnoException).code ?? "a failure", cause });
  }
}
