/** The host's side of one worker: a process group that loads the staged entry, answers one call, and is gone. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { asCaveman, CavemanError } from "../../kernel/index.ts";
import { encode, type Frame, FrameReader, MAX_VALUE_BYTES, parsed } from "./frames.ts";
import { BOUNDARY_FAILED, type Bounds, launch } from "./launch.ts";
import type { Stage } from "./stage.ts";

export interface WorkerCall {
  /** Names of subagent tools from the root to the agent. */
  readonly path: readonly string[];
  readonly tool: string;
  readonly nestedIn: string | undefined;
  readonly toolCallId: string;
  readonly input: unknown;
  /** Milliseconds until the worker is killed. */
  readonly timeoutMs: number;
  /** Answers what the tool asks of one of its nested tools. */
  readonly nested: (name: string, input: unknown) => Promise<unknown>;
}
export interface WorkerOptions extends Bounds {
  readonly stage: Stage;
  readonly agentId: string;
  readonly env: Readonly<Record<string, string>>;
  /** Asks for the definition as the worker sees it. */
  readonly inspect?: boolean;
}

/** Between TERM and KILL. */
export const GRACE_MS = 250;
/** A worker that has not loaded its entry by then never will. */
const LOAD_MS = 20_000;
/** Frames of nested calls that one worker may send. */
const MAX_NESTED = 1_024;
/** Nested calls of one worker that run at a time: each may need a worker of its own. */
const NESTED_AT_ONCE = 4;
/** What a tool prints is dropped; this much, and it is a flood. */
const MAX_STDERR_BYTES = MAX_VALUE_BYTES;

const live = new Set<ToolWorker>();
const reap = (): void => {
  for (const worker of live) worker.end();
};

export class ToolWorker {
  /** Resolves with the first frame once the entry is loaded; rejects with why it could not be. */
  readonly ready: Promise<Frame>;
  /** Resolves when the process is gone and its pipes are closed. Never rejects. */
  readonly gone: Promise<void>;
  readonly #child: ChildProcess;
  readonly #reader: FrameReader;
  readonly #scratch: string | undefined;
  #loaded: PromiseWithResolvers<Frame> = Promise.withResolvers();
  #answer: PromiseWithResolvers<unknown> = Promise.withResolvers();
  #call: WorkerCall | undefined;
  #over = false;
  #stopping = false;
  #nested = 0;
  readonly #lanes: Promise<unknown>[] = [];
  #stderrBytes = 0;
  #complaint = "";
  #timers = new Set<NodeJS.Timeout>();

  /** @throws CavemanError `cave_sandbox_os_network_isolation_unavailable`. */
  constructor({ stage, agentId, env, inspect = false, ...bounds }: WorkerOptions) {
    // Linux gives each worker a /tmp in memory; elsewhere its working folder is a real one.
    this.#scratch = process.platform === "linux" ? undefined : mkdtempSync(join(tmpdir(), "caveman-tool-"));
    const key = randomBytes(16).toString("hex");
    this.#reader = new FrameReader(key);
    const { command, args, cwd, app } = launch(stage.dir, this.#scratch ?? "", bounds);
    this.#child = spawn(command, args, { cwd, env, detached: true, stdio: ["pipe", "ignore", "pipe", "pipe"] });
    this.ready = this.#loaded.promise;
    // Whoever waits for these hears of it; a worker that nobody called yet fails unheard.
    this.ready.catch(() => undefined);
    this.#answer.promise.catch(() => undefined);
    this.gone = new Promise((resolve) => {
      this.#child.once("close", (code) => {
        this.#closed(code);
        resolve();
      });
      this.#child.once("error", (cause) => {
        this.#fail(
          new CavemanError("cave_sandbox_os_network_isolation_unavailable", { received: cause.message, cause }),
        );
        if (this.#child.pid === undefined) resolve();
      });
    });
    if (live.size === 0) process.on("exit", reap);
    live.add(this);
    void this.gone.then(() => {
      live.delete(this);
      if (live.size === 0) process.off("exit", reap);
      if (this.#scratch !== undefined) rmSync(this.#scratch, { recursive: true, force: true });
    });
    const [, , stderr, frames] = this.#child.stdio as unknown as [Writable, null, Readable, Readable];
    frames.on("data", (chunk: Buffer) => this.#read(chunk));
    stderr.on("data", (chunk: Buffer) => this.#printed(chunk));
    for (const stream of [this.#stdin, stderr, frames]) stream.on("error", () => undefined);
    const limit = this.#after(LOAD_MS, () => {
      this.#fail(
        new CavemanError("cave_sandbox_source_failed", {
          expected: `a module that loads within ${LOAD_MS} ms`,
          received: "none",
        }),
      );
    });
    void this.ready.then(() => clearTimeout(limit)).catch(() => undefined);
    this.#write({
      type: "start",
      key,
      entry: `file://${app}/${stage.entry.split("/").map(encodeURIComponent).join("/")}`,
      agentId,
      inspect,
      maxBytes: MAX_VALUE_BYTES,
    });
  }

  get dead(): boolean {
    return this.#over;
  }

  /** Runs the one call of this worker. Rejects with a coded error whatever goes wrong in it; the worker ends with it. */
  async run(call: WorkerCall, signal: AbortSignal): Promise<unknown> {
    this.#call = call;
    const onAbort = (): void => {
      this.#answer.reject(asCaveman(signal.reason, "cave_run_aborted"));
      this.#write({ type: "abort" });
      this.kill();
    };
    // Set before anything is awaited, so that it comes before the kernel's own limit of the same length.
    this.#after(call.timeoutMs, () => {
      this.#answer.reject(
        new CavemanError("cave_sandbox_timeout", {
          place: `tool ${call.tool}`,
          expected: `an answer within ${call.timeoutMs} ms`,
          received: "none",
        }),
      );
      this.kill();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    try {
      const { path, tool, nestedIn, toolCallId, input } = call;
      this.#write({ type: "run", path, tool, nestedIn, toolCallId, input });
      return await Promise.race([this.#answer.promise, this.ready.then(() => this.#answer.promise)]);
    } finally {
      signal.removeEventListener("abort", onAbort);
      // An answered worker has nothing to put in order; one that is being stopped gets its grace.
      if (!this.#stopping) this.end();
    }
  }

  /** Asks the worker to end, and kills its whole group when it has not within the grace. */
  kill(): void {
    if (this.#over || this.#stopping) return;
    this.#stopping = true;
    this.#signal("SIGTERM");
    this.#after(GRACE_MS, () => this.end());
  }
  /** Kills the whole group at once. */
  end(): void {
    this.#signal("SIGKILL");
  }

  #signal(name: "SIGTERM" | "SIGKILL"): void {
    const { pid } = this.#child;
    if (pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    try {
      process.kill(-pid, name);
    } catch {
      // The group is gone, or its leader not yet one: then the process itself.
      this.#child.kill(name);
    }
  }

  get #stdin(): Writable {
    return this.#child.stdin as Writable;
  }
  #write(message: object): void {
    const frame = encode(message);
    if (!this.#over && this.#stdin.writable) this.#stdin.write(frame);
  }

  #read(chunk: Buffer): void {
    try {
      for (const frame of this.#reader.read(chunk)) this.#received(frame);
    } catch (error) {
      this.#fail(asCaveman(error, "cave_sandbox_invalid_output"));
    }
  }

  #received(frame: Frame): void {
    if (frame.type === "ready") this.#loaded.resolve(frame);
    else if (frame.type === "call") this.#asked(frame);
    else if (frame.type !== "result")
      throw new CavemanError("cave_sandbox_invalid_output", {
        expected: "a frame of the protocol",
        received: "another type",
      });
    else if (frame.ok === true) this.#answer.resolve(typeof frame.json === "string" ? parsed(frame.json) : undefined);
    else this.#fail(failureOf(frame));
  }

  #asked({ id, name, json }: Frame): void {
    const call = this.#call;
    if (
      typeof id !== "number" ||
      typeof name !== "string" ||
      typeof json !== "string" ||
      ++this.#nested > MAX_NESTED ||
      !call
    ) {
      this.#fail(
        new CavemanError("cave_sandbox_invalid_output", {
          expected: `at most ${MAX_NESTED} nested calls`,
          received: "another frame",
        }),
      );
      return;
    }
    const lane = this.#nested % NESTED_AT_ONCE;
    this.#lanes[lane] = Promise.resolve(this.#lanes[lane]).then(() => this.#reply(call, id, name, json));
  }

  /** Never rejects. */
  async #reply(call: WorkerCall, id: number, name: string, json: string): Promise<void> {
    // Nobody waits for the answer any more.
    if (this.#over || this.#stopping) return;
    try {
      this.#write({ type: "reply", id, value: await call.nested(name, parsed(json)) });
    } catch (error) {
      const { code, message } = asCaveman(error, "cave_tool_failed");
      this.#write({ type: "reply", id, code, message: message.slice(0, 2_000) });
    }
  }

  /** What the boundary itself complains of; what a tool prints is counted and dropped. */
  #printed(chunk: Buffer): void {
    this.#stderrBytes += chunk.length;
    if (this.#complaint.length < 500) this.#complaint += chunk.toString("utf8").slice(0, 500);
    if (this.#stderrBytes > MAX_STDERR_BYTES)
      this.#fail(
        new CavemanError("cave_sandbox_output_limit", {
          place: "standard error",
          expected: `at most ${MAX_STDERR_BYTES} bytes`,
          received: "more",
        }),
      );
  }

  #fail(error: CavemanError): void {
    this.#loaded.reject(error);
    this.#answer.reject(error);
    this.end();
  }

  #closed(code: number | null): void {
    this.#over = true;
    for (const timer of this.#timers) clearTimeout(timer);
    const boundary =
      code === BOUNDARY_FAILED || /^(?:unshare|setpriv|mount|chroot):|sandbox-exec:/m.test(this.#complaint);
    const how = code === null ? "killed" : `exit code ${code}`;
    this.#loaded.reject(
      boundary
        ? new CavemanError("cave_sandbox_os_network_isolation_unavailable", {
            received: this.#complaint.split("\n")[0] ?? how,
          })
        : new CavemanError("cave_sandbox_source_failed", {
            expected: "a module that loads",
            received: `a worker that ended first (${how})`,
          }),
    );
    this.#answer.reject(
      code === 0
        ? new CavemanError("cave_sandbox_invalid_output", { received: "a worker that ended without an answer" })
        : new CavemanError("cave_sandbox_failed", { received: how }),
    );
  }

  #after(ms: number, then: () => void): NodeJS.Timeout {
    // The longest that a timer can hold is 24 days.
    const timer = setTimeout(then, Math.min(ms, 0x7fffffff));
    this.#timers.add(timer);
    return timer;
  }
}

const failureOf = ({ code, message }: Frame): CavemanError => {
  const said = typeof message === "string" ? message.slice(0, 2_000).toWellFormed().replace(/\.$/, "") : "";
  const known = typeof code === "string" && /^cave_[a-z0-9_]{1,96}$/.test(code) ? code : "cave_sandbox_tool_failed";
  // The worker's message begins with the code when it was a coded error there.
  return new CavemanError(known, {
    message: said.startsWith(`${known}: `) ? said.slice(known.length + 2) : said || undefined,
  });
};
