/** What a plugin sees: interfaces only. */
import type { AgentDefinition, Context, ModelSpec, Tool } from "./definition.ts";
import type { CavemanError } from "./errors.ts";
import type { CallId, Fact, Facts, FactType, Ledger, RunId, StopReason } from "./ledger.ts";
import type { Bytes, CallBasis, CallOptions, CallPurpose, LanguageModel, ModelContent, ModelFilePart, ModelMessage, ModelPrompt, ModelTool, ResolvedModel, Tokens, ToolOutput, Usage } from "./model.ts";
import type { Message, Rewrite, Transcript, View } from "./transcript.ts";

/** Text, or parts of text, image and file. */
export type InputPart = { type: "text"; text: string } | { type: "image"; data: Uint8Array | string | URL; mediaType?: string } | { type: "file"; data: Uint8Array | string | URL; mediaType: string; filename?: string };
export type RunInput = string | readonly InputPart[];

/** The options of a run. Plugins add the keys they own by declaration merging and `definePlugin({ runOptions })`. */
export interface RunOptions {
  /** Overrides the model of the definition, for this run and its children that say `auto()`. */
  model?: ModelSpec;
  /** Aborts the run at once; everything is settled before the promise rejects. */
  signal?: AbortSignal;
  /** Where `file()` paths are resolved from. Default: the working directory. */
  rootDir?: string;
  /** Carries history across runs; a failed run leaves it as it was. */
  conversation?: Conversation;
  /** The run's name, `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`. Default: a random one. */
  runId?: string;
}

/** Time and chance, injectable so that a run can be repeated exactly. */
export interface Clock {
  now(): number; random(): number; sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls back after `ms` and gives the function that forgets it; a clock without it is slept on, which costs more. */
  alarm?(ms: number, ring: () => void): () => void;
}

/** A typed service between plugins. */
export interface Service<T> { readonly name: string; readonly __type?: T }

/** History and plugin state across runs. One owner at a time; changed only by a run that succeeds; JSON and back. */
export interface Conversation {
  readonly kind: "conversation";
  readonly messages: readonly Message[];
  /** Plugin state by name, as JSON. */
  readonly states: Readonly<Record<string, unknown>>;
  /** Takes it for one run. @throws CavemanError `cave_conversation_in_use`. */
  acquire(): void;
  commit(messages: readonly Message[], states: Readonly<Record<string, unknown>>): void;
  release(): void; toJSON(): unknown;
}

export interface Stop { readonly reason: StopReason; readonly code?: string; readonly error?: CavemanError }

export interface Run {
  readonly id: RunId; readonly agent: AgentDefinition;
  /** Agent ids from the root to this run. */
  readonly path: readonly string[];
  readonly depth: number; readonly parent: Run | undefined;
  /** The tool call whose work this child run is. */
  readonly spawnedBy: ToolCall | undefined;
  readonly options: Readonly<RunOptions>; readonly signal: AbortSignal;
  readonly ledger: Ledger; readonly transcript: Transcript; readonly clock: Clock;
  readonly tools: ReadonlyMap<string, Tool>; readonly children: readonly Run[];
  /** The stop that was asked for, once there is one. */
  readonly stopping: Stop | undefined;
  /** How the run ended; set before the `settle` hook. */
  readonly outcome: Outcome | undefined;
  /** Model turns completed so far. */
  readonly turn: number;
  /** Ends the run between calls. The first reason wins. With `error`, the run fails with it. */
  stop(reason: StopReason, error?: CavemanError): void;
  /** Aborts now what is in flight, as a deadline does after its grace. */
  abort(reason: CavemanError): void;
  call(request: CallRequest): Promise<CallOutcome>;
  /**
   * Admits and runs a tool call. With `speculative` a plain read is started ahead of its turn: its result stays outside of
   * the transcript until an identical call adopts it (and is admitted anew), and is given up when the next call begins.
   */
  tool(request: ToolRequest): Promise<ToolOutcome>;
  spawn(agent: AgentDefinition, input: RunInput, by: ToolCall): Promise<Outcome>;
  service<T>(service: Service<T>): T; find<T>(service: Service<T>): T | undefined;
  record<T extends FactType>(type: T, data: Facts[T]): Fact<T>;
  notice(owner: string, code: string, message: string): void;
  emit(event: RunEventBody): void;
}

export interface CallRequest {
  readonly purpose: CallPurpose;
  /** The view to send; default: the transcript's own, compacted when it must be. */
  readonly view?: View;
  /** Most output tokens wanted. */
  readonly maxOutputTokens?: number;
  readonly tools?: readonly ModelTool[]; readonly model?: ResolvedModel;
}

/** Which attempt of which call. */
interface Attempt { readonly run: Run; readonly callId: CallId; readonly attempt: number; readonly purpose: CallPurpose; readonly signal: AbortSignal }

/** One attempt being shaped. Values are frozen; they change only through the setters. */
export interface ModelCall extends Attempt {
  readonly view: View; readonly model: ResolvedModel | undefined; readonly tools: readonly ModelTool[];
  /** Output tokens asked for; undefined leaves it to the model's own limit. */
  readonly maxOutputTokens: number | undefined;
  readonly settings: Readonly<Partial<CallOptions>>;
  readonly additions: readonly ModelMessage[];
  setModel(model: ResolvedModel): void; setTools(tools: readonly ModelTool[]): void;
  setSettings(settings: Partial<CallOptions>): void;
  /** Adds context after the frozen prefix and before the newest user message. */
  addContext(message: ModelMessage): void;
  /** Makes headers from the frozen request. */
  transport(decorate: (frozen: CallOptions) => Record<string, string>): void;
}

export interface Hold<T = unknown> { readonly owner: string; readonly amount: T; readonly state: "open" | "settled" | "released"; settle(actual: T): void; release(): void }
/** How a plugin's money answers to the kernel. `settle(amount)` in full is what the kernel does when the plugin forgot. */
export interface HoldSpec<T> { readonly owner: string; readonly amount: T; readonly settle: (actual: T) => void; readonly release: () => void }

export interface Refusal { readonly refuse: { readonly code: string; readonly message: string; readonly stop?: StopReason; readonly compact?: boolean } }
export interface Replay { readonly replay: { readonly content: readonly ModelContent[]; readonly usage: Usage; readonly basis: CallBasis; readonly finish: string } }

/** One attempt whose request no longer changes. Only the allowance may, and only downwards. */
export interface FrozenCall extends Attempt {
  readonly view: View; readonly model: ResolvedModel;
  readonly request: Readonly<CallOptions>; readonly prompt: Readonly<ModelPrompt>;
  /** Bytes of what the request carries beside the view: tools and added context. */
  readonly overheadBytes: Bytes;
  /** Identity of the tool list: equal when the tools are the same. */
  readonly toolsKey: object;
  /** Most output tokens, thinking included. */
  readonly allowance: Tokens;
  /** Epoch milliseconds of the admission: the price instant. */
  readonly at: number;
  lowerAllowance(to: number): void;
  hold<T>(spec: HoldSpec<T>): Hold<T>;
}

/** One attempt that is over, whatever became of it. */
export interface SettledCall extends Attempt {
  readonly frozen: FrozenCall;
  readonly usage: Usage; readonly basis: CallBasis;
  /** False when the request provably never reached a bill. */
  readonly sent: boolean; readonly replayed: boolean;
  readonly content: readonly ModelContent[]; readonly finish: string;
  readonly latencyMs: number;
  readonly error: CavemanError | undefined; readonly cause: unknown;
  readonly holds: readonly Hold[];
  /** Asks for another attempt of a failed call. The first asker wins. */
  again(request: Again): void;
}
export interface Again { readonly afterMs?: number; readonly model?: ResolvedModel; readonly compact?: "rejected" }

export interface CallOutcome { readonly callId: CallId; readonly content: readonly ModelContent[]; readonly finish: string; readonly usage: Usage; readonly basis: CallBasis; readonly text: string; readonly model: ResolvedModel | undefined; readonly stopped?: Stop }

export interface ToolRequest { readonly toolCallId: string; readonly name: string; /** Raw JSON text, or a value. */ readonly input: unknown; readonly nestedIn?: ToolCall; /** Made ahead of its turn, while this call still streams; see `Run.tool`. */ readonly speculative?: CallId }
export interface ToolOutcome { readonly toolCallId: string; readonly name: string; readonly output: ToolOutput; readonly value: unknown; readonly isError: boolean; readonly code?: string }

/** One tool call before it is admitted. */
export interface ToolCall {
  readonly run: Run;
  readonly toolCallId: string; readonly name: string;
  readonly tool: Tool | undefined; readonly input: unknown;
  readonly parent: ToolCall | undefined;
  readonly speculative: CallId | undefined;
  readonly signal: AbortSignal;
  /** Set when the call cannot run whatever the taps say: unknown tool, invalid arguments. */
  readonly problem: { readonly code: string; readonly message: string } | undefined;
  hold<T>(spec: HoldSpec<T>): Hold<T>;
  /** Outermost slot: answers from a record. */
  replay(make: (input: unknown) => unknown): void;
  /** Staged output slot: sees what the tool returned, gives what the model reads. */
  output(stage: OutputStage): void;
  /** Runs the tool elsewhere. A second executor is an error. */
  executor(run: (input: unknown, signal: AbortSignal) => unknown): void;
}
export type OutputStage = (output: ToolOutput, call: ToolCall, raw: unknown) => ToolOutput | Promise<ToolOutput>;
export interface Denial { readonly deny: { readonly code: string; readonly message: string } }

export interface Settlement { readonly run: Run; readonly outcome: Outcome; readonly signal: AbortSignal }
export interface Compaction { readonly run: Run; readonly view: View; readonly reason: "pressure" | "refused" | "rejected"; readonly model: ResolvedModel | undefined; readonly signal: AbortSignal; readonly rewrites: readonly Rewrite[]; /** Share of the context window the view takes, by its byte bound; undefined when the window is unknown. */ pressureOf(view: View): number | undefined }

/** How a run ended. */
export interface Outcome {
  readonly runId: RunId; readonly agentId: string;
  readonly stopReason: StopReason; readonly text: string;
  readonly output?: unknown;
  readonly error?: CavemanError;
  readonly startedAt: number; readonly durationMs: number;
}

/** The events of `stream()`, each with the agent path it came from. */
export type RunEventBody =
  | { type: "run_start"; agentId: string; depth: number }
  | { type: "context_ready"; segments: number; tools: number; bytes: number }
  | { type: "text_delta"; callId: CallId; delta: string } | { type: "reasoning_delta"; callId: CallId; delta: string }
  | { type: "attempt_reset"; callId: CallId; attempt: number }
  | { type: "tool_start"; toolCallId: string; name: string; input: unknown }
  | { type: "tool_end"; toolCallId: string; name: string; isError: boolean; code?: string; durationMs: number; bytes: number }
  | { type: "child_start"; agentId: string; toolCallId: string } | { type: "child_end"; agentId: string; toolCallId: string; stopReason: StopReason }
  | { type: "notice"; code: string; message: string; owner: string }
  | { type: "run_end"; result: Outcome } | { type: "run_error"; code: string; message: string; result: Outcome };
export type RunEvent = RunEventBody & { readonly runId: RunId; readonly path: readonly string[] };

export type { AgentDefinition, Context, LanguageModel, ModelFilePart, Tool };
