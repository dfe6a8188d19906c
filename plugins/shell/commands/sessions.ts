/**
 * Commands that run on while the agent does other things: started, read from a cursor, written to, killed. The
 * environment is given, never inherited.
 */
import { asCaveman, CavemanError } from "../../../kernel/index.ts";
import { GRACE_MS, Group, release } from "./group.ts";
import { Tape } from "./tape.ts";

export type CommandState = "running" | "exited" | "timed_out" | "killed" | "unknown_after_restart";

/** Commands that may run at a time. */
export const MAX_COMMANDS = 8;
/** Longest wait of one read, in milliseconds. */
export const MAX_WAIT_MS = 30_000;
/** Most bytes of one write, and of what a command has not read yet. */
export const MAX_INPUT_BYTES = 65_536;
/** Output kept of one command; older bytes go first. */
export const KEPT_BYTES = 1_048_576;
/** Commands that are remembered once they are over. */
const MAX_ENDED = 32;
const ID = /^cmd_[0-9a-f]{12}$/;

export interface SessionOptions {
  readonly env: Readonly<Record<string, string>>;
  readonly output?: (id: string, chunk: Uint8Array) => void;
}
export interface CommandRead {
  readonly state: CommandState;
  readonly text: string;
  /** Where the next read goes on, in bytes. */
  readonly cursor: number;
  /** Bytes between the cursor asked for and the oldest that are kept. */
  readonly lostBytes: number;
  /** Whether there is more after `cursor` already. */
  readonly more: boolean;
  /** Whether `waitFor` was found; undefined when nothing was waited for. */
  readonly found?: boolean;
  readonly exitCode?: number;
  readonly signal?: string;
}
export interface ReadOptions {
  readonly cursor: number;
  readonly maxBytes: number;
  /** Waits until there are bytes, or `waitFor`, or the command ends. */
  readonly waitMs: number;
  readonly waitFor?: string;
  readonly abort?: AbortSignal;
}

interface Session {
  readonly id: string;
  readonly group: Group;
  readonly tape: Tape;
  state: CommandState;
  exit: { exitCode?: number; signal?: string };
  readonly waiting: Set<() => void>;
}

export class CommandSessions {
  readonly #options: SessionOptions;
  readonly #sessions = new Map<string, Session>();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Ids of the commands that run. */
  get running(): string[] {
    return [...this.#sessions.values()].filter(({ state }) => state === "running").map(({ id }) => id);
  }

  /** @throws CavemanError `cave_command_limit`, `cave_execution_backend_failed`. */
  start(command: string, cwd: string, timeoutMs: number): string {
    if (this.running.length >= MAX_COMMANDS) {
      throw new CavemanError("cave_command_limit", {
        message: `${MAX_COMMANDS} commands are running: ${this.running.join(", ")}`,
      });
    }
    const id = `cmd_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`;
    let group: Group;
    try {
      group = new Group({ command, cwd, env: this.#options.env, stdin: "pipe" });
    } catch (error) {
      throw asCaveman(error, "cave_execution_backend_failed", { place: "command" });
    }
    const session: Session = { id, group, tape: new Tape(KEPT_BYTES), state: "running", exit: {}, waiting: new Set() };
    this.#sessions.set(id, session);
    this.#listen(session, timeoutMs);
    this.#forgetOld();
    return id;
  }

  #listen(session: Session, timeoutMs: number): void {
    const { group, tape, id } = session;
    const { stdin, stdout, stderr } = group.child;
    stdin?.on("error", () => {});
    for (const stream of [stdout, stderr]) {
      stream?.on("error", () => {});
      stream?.on("data", (chunk: Buffer) => {
        tape.push(chunk);
        this.#options.output?.(id, chunk);
        release(chunk);
        wake(session);
      });
    }
    // A command that runs on does not keep the process alive; it is ended with it.
    group.child.unref();
    for (const stream of [stdin, stdout, stderr])
      if (stream && "unref" in stream) (stream as { unref(): void }).unref();
    const timer = setTimeout(() => void this.#end(session, "timed_out"), timeoutMs).unref();
    void group.exited
      .then(
        ({ code, signal }) => ({
          ...(code === null ? {} : { exitCode: code }),
          ...(signal === null ? {} : { signal }),
        }),
        () => ({ exitCode: 127 }),
      )
      .then(async (exit) => {
        clearTimeout(timer);
        session.exit = exit;
        await Promise.race([group.closed, new Promise((resolve) => setTimeout(resolve, GRACE_MS).unref())]);
        if (session.state === "running") session.state = "exited";
        wake(session);
        await group.end();
      });
  }

  async #end(session: Session, state: "killed" | "timed_out"): Promise<void> {
    if (session.state === "running") session.state = state;
    await session.group.end();
    wake(session);
  }

  #forgetOld(): void {
    const ended = [...this.#sessions.values()].filter(({ state }) => state !== "running");
    for (const { id } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) this.#sessions.delete(id);
  }

  /** Undefined for an id of an earlier process. @throws CavemanError `cave_command_unknown` for what is no id at all. */
  #find(id: string): Session | undefined {
    const session = this.#sessions.get(id);
    if (!session && !ID.test(id)) {
      const known = [...this.#sessions.keys()];
      throw new CavemanError("cave_command_unknown", {
        message: `${JSON.stringify(id.slice(0, 40))} is no command; known: ${known.join(", ") || "none"}`,
      });
    }
    return session;
  }

  /** @throws CavemanError `cave_command_unknown`. Rejects with the reason of `abort`. */
  async read(id: string, { cursor, maxBytes, waitMs, waitFor, abort }: ReadOptions): Promise<CommandRead> {
    const session = this.#find(id);
    if (!session) return { state: "unknown_after_restart", text: "", cursor, lostBytes: 0, more: false };
    const { tape } = session;
    const literal = waitFor === undefined ? undefined : Buffer.from(waitFor);
    let searched = cursor;
    let at = -1;
    const satisfied = (): boolean => {
      if (literal) {
        at = tape.indexOf(literal, searched);
        searched = Math.max(cursor, tape.end - literal.length + 1);
        return at >= 0;
      }
      return tape.end > cursor;
    };
    const until = Date.now() + Math.min(waitMs, MAX_WAIT_MS);
    while (!satisfied() && session.state === "running") {
      const left = until - Date.now();
      if (left <= 0) break;
      await woken(session, left, abort);
    }
    const read = tape.read(cursor, maxBytes, session.state !== "running");
    return {
      state: session.state,
      ...read,
      ...(literal ? { found: at >= 0 } : {}),
      ...(session.state === "running" ? {} : session.exit),
    };
  }

  /** Writes to the standard input; `close` ends it. @throws CavemanError `cave_command_*`. */
  write(id: string, text: string, close: boolean): CommandState {
    const session = this.#find(id);
    if (!session) return "unknown_after_restart";
    const { stdin } = session.group.child;
    if (session.state !== "running" || !stdin?.writable) {
      throw new CavemanError("cave_command_not_running", {
        message: session.state === "running" ? `${id} takes no more input` : `${id} has ended: ${session.state}`,
      });
    }
    const bytes = Buffer.byteLength(text);
    if (bytes + stdin.writableLength > MAX_INPUT_BYTES) {
      throw new CavemanError("cave_command_input_limit", {
        message: `${bytes} bytes, and ${stdin.writableLength} that ${id} has not read yet; at most ${MAX_INPUT_BYTES}`,
      });
    }
    if (text !== "") stdin.write(text);
    if (close) stdin.end();
    return session.state;
  }

  /** Ends a command and all it started; settles when they are gone. */
  async kill(id: string): Promise<CommandState> {
    const session = this.#find(id);
    if (!session) return "unknown_after_restart";
    await this.#end(session, "killed");
    return session.state;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => this.#end(session, "killed")));
  }
}

function wake(session: Session): void {
  for (const tell of [...session.waiting]) tell();
}

/** Settles when something happened or the time is over; rejects on an abort. */
function woken(session: Session, ms: number, abort: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (): void => {
      clearTimeout(timer);
      session.waiting.delete(done);
      abort?.removeEventListener("abort", done);
      if (abort?.aborted) reject(abort.reason);
      else resolve();
    };
    const timer = setTimeout(done, ms);
    session.waiting.add(done);
    abort?.addEventListener("abort", done, { once: true });
    if (abort?.aborted) done();
  });
}
