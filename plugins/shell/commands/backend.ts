/** Where a command runs. The local backend is the default; a host may run commands in a container or on another machine. */

/** What a backend is asked to do. */
export interface ExecRequest {
  /** For the backend's shell. */
  readonly command: string;
  /** Real path of the workspace on this machine. */
  readonly cwd: string;
  /** All of the command's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Milliseconds; the backend ends the command and its children then. */
  readonly timeoutMs: number;
  /** The backend ends the command and its children when it fires. */
  readonly signal: AbortSignal;
  /** Takes standard output and error as they come, in order; copies what it keeps, so the bytes may be reused. */
  readonly output: (chunk: Uint8Array) => void;
}

/** How a command ended. */
export interface ExecResult {
  /** Undefined when it did not exit by itself. */
  readonly exitCode?: number;
  /** The signal that ended it. */
  readonly signal?: string;
  /** Why the backend ended it; absent when it ended by itself. */
  readonly ended?: "timed_out" | "aborted" | "flooded" | "forked";
}

export interface ExecutionBackend {
  exec(request: ExecRequest): Promise<ExecResult>;
}
