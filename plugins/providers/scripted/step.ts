/** One step of a script, as its author writes it. */

/** Tokens in the normal form: `input` includes cache reads and writes, `output` includes reasoning. */
export interface ScriptUsage {
  readonly input: number;
  readonly output: number;
  readonly cacheRead?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

export interface ScriptToolCall {
  /** Default: `call_<step>_<position>`. */
  readonly id?: string;
  readonly name: string;
  /** An object is sent as JSON. A string is sent as it is, which is how malformed JSON is scripted. */
  readonly input: unknown;
}

export type ScriptFinish = "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other";

/** A failure of the provider. */
export interface ScriptFault {
  /** HTTP status. Default 500. */
  readonly status?: number;
  /** The vendor's own name of the failure; by default the usual one for the status. */
  readonly code?: string;
  readonly message?: string;
  /**
   * `before` (default): the request is refused. `mid-stream`: an error arrives after half the chunks.
   * `cut`: the connection is lost after half the chunks.
   */
  readonly when?: "before" | "mid-stream" | "cut";
  /** Milliseconds the provider asks its caller to wait. */
  readonly retryAfterMs?: number;
}

/** One answer of the model. */
export interface ScriptStep {
  readonly text?: string;
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptToolCall[];
  /**
   * Default: an estimate. `input` is the UTF-8 bytes of the JSON of prompt and tools over four, `output` the bytes of
   * reasoning, text, tool names and tool inputs over four, `reasoning` the bytes of the reasoning over four, each rounded up.
   */
  readonly usage?: ScriptUsage;
  /** Default: `tool-calls` when there are tool calls, otherwise `stop`. */
  readonly finish?: ScriptFinish;
  /** Milliseconds before every chunk. Default 0: no timer is used. */
  readonly delayMs?: number;
  /** Into how many chunks each text, reasoning and tool input is cut. Default 1. */
  readonly chunks?: number;
  readonly error?: ScriptFault;
}
