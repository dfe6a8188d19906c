/**
 * A command with all that it starts: one process group of its own, ended by TERM and, 250 ms later, KILL. What left the
 * group (`setsid`, a daemon) is found by marks it inherited, where the system shows them (Linux): a variable, and a resource
 * limit of its own, which stays with a process that clears its environment.
 */
import type { ChildProcess } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

/** Milliseconds between TERM and KILL. */
export const GRACE_MS = 250;
/** Milliseconds to wait for a process that was killed and cannot die, as one in an uninterruptible read. */
const GIVE_UP_MS = 2_000;
const MARK = "CAVEMAN_COMMAND";
/** The time in microseconds that a real-time process may run without a pause: a limit that no command comes near. */
const LIMIT = /^Max realtime timeout +\S+ +(\S+)/m;
/** 71 years. Marks lie between half of it, or half of this process's own limit, and the whole. */
const LONGEST_LIMIT = 2 ** 51;
const WINDOWS = process.platform === "win32";
const PROC = process.platform === "linux" && existsSync("/proc/self/environ");

/** Loaded with the first command: importing the package starts nothing. */
const processes = (): typeof import("node:child_process") => process.getBuiltinModule("node:child_process");
/** Waits; without `hold` the wait keeps no process alive. */
export const pause = (ms: number, hold = true): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    if (!hold) timer.unref();
  });

const live = new Set<Group>();
let watching = false;
/** Signals that end this process without a word to anybody, unless somebody listens. */
const ENDINGS: readonly NodeJS.Signals[] = WINDOWS ? ["SIGINT"] : ["SIGINT", "SIGTERM", "SIGHUP"];

/** A process that ends takes its commands with it. Where somebody else listens, it is theirs to say whether it ends. */
function ended(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  for (const group of live) group.kill();
  for (const each of ENDINGS) process.off(each, ended);
  process.kill(process.pid, signal);
}

export interface GroupOptions {
  readonly command: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: "ignore" | "pipe";
}

export class Group {
  readonly child: ChildProcess;
  /** Settles when the command itself is over, whatever it left behind. */
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  /** Settles when its output is closed as well. */
  readonly closed: Promise<void>;
  readonly #mark: string;
  readonly #limit: number | undefined;
  #ending: Promise<void> | undefined;

  /** @throws whatever the system says when nothing can be started. */
  constructor({ command, cwd, env, stdin }: GroupOptions) {
    this.#mark = crypto.randomUUID();
    this.#limit = limitMark();
    const [shell, args] = shellFor(command, this.#limit);
    this.child = processes().spawn(shell, args, {
      cwd,
      env: { ...env, [MARK]: this.#mark },
      stdio: [stdin, "pipe", "pipe"],
      detached: !WINDOWS,
      windowsHide: true,
      windowsVerbatimArguments: WINDOWS,
    });
    this.exited = new Promise((resolve, reject) => {
      this.child.once("exit", (code, signal) => resolve({ code, signal }));
      this.child.once("error", reject);
    });
    this.closed = new Promise((resolve) => {
      this.child.once("close", () => resolve());
      this.child.once("error", () => resolve());
    });
    // What never started has ended as well.
    this.exited.catch(() => void this.end());
    if (live.size === 0) for (const signal of ENDINGS) process.on(signal, ended);
    live.add(this);
    if (!watching) {
      watching = true;
      process.once("exit", () => {
        for (const group of live) group.#kill("SIGKILL");
      });
    }
  }

  /** Ends what still runs of it, and settles when nothing does. */
  end(): Promise<void> {
    return (this.#ending ??= this.#end());
  }
  /** At once and for all, as for a command that forks without end. */
  kill(): void {
    this.#kill("SIGKILL");
  }

  async #end(): Promise<void> {
    if (this.#alive()) {
      this.#kill("SIGTERM");
      await this.#gone(GRACE_MS);
      this.#kill("SIGKILL");
      await this.#gone(GIVE_UP_MS);
    }
    live.delete(this);
    if (live.size === 0) for (const signal of ENDINGS) process.off(signal, ended);
    this.child.stdin?.destroy();
    await Promise.race([this.closed, pause(GRACE_MS, false)]);
    this.child.stdout?.destroy();
    this.child.stderr?.destroy();
  }

  /** Waits until no process is left, at most so long. */
  async #gone(withinMs: number): Promise<void> {
    const until = Date.now() + withinMs;
    for (let ms = 1; this.#alive() && Date.now() < until; ms = Math.min(20, ms * 2)) await pause(ms);
  }
  #alive(): boolean {
    if (this.child.exitCode === null && this.child.signalCode === null && this.child.pid !== undefined) return true;
    return this.#groupAlive() || this.#strays().length > 0;
  }
  #groupAlive(): boolean {
    const { pid } = this.child;
    if (WINDOWS || pid === undefined || !tell(-pid, 0)) return false;
    // Where nobody reaps orphans, the dead stay in their group.
    return !PROC || processesSince(pid).some((id) => groupOf(id) === pid);
  }
  #kill(signal: NodeJS.Signals): void {
    const { pid } = this.child;
    if (pid === undefined) return;
    if (WINDOWS) {
      if (this.child.exitCode === null) processes().execFile("taskkill", ["/pid", String(pid), "/T", "/F"], () => {});
      return;
    }
    tell(-pid, signal);
    for (const stray of this.#strays()) tell(stray, signal);
  }

  /** How many processes the command has become. */
  count(): number {
    const { pid } = this.child;
    if (!PROC || pid === undefined) return 0;
    let count = 0;
    for (const id of processesSince(pid)) if (groupOf(id) === pid || this.#marked(id)) count++;
    return count;
  }
  /** Its processes outside its group. */
  #strays(): number[] {
    const { pid } = this.child;
    if (!PROC || pid === undefined) return [];
    return processesSince(pid).filter((id) => groupOf(id) !== pid && this.#marked(id));
  }
  #marked(id: number): boolean {
    if (id === process.pid) return false;
    if (fileOf(`/proc/${id}/environ`).includes(`${MARK}=${this.#mark}`)) return true;
    // The dead keep their limits until somebody reaps them.
    return this.#limit !== undefined && hardLimitOf(id) === this.#limit && groupOf(id) !== undefined;
  }
}

/** A limit by which processes are known; undefined where there is no room for one. */
function limitMark(): number | undefined {
  const own = PROC ? hardLimitOf("self") : undefined;
  if (own === undefined) return undefined;
  const half = Math.floor(Math.min(own, LONGEST_LIMIT) / 2);
  return half < 2 ** 40 ? undefined : half + Math.floor(Math.random() * half);
}
function hardLimitOf(id: number | "self"): number | undefined {
  const said = LIMIT.exec(fileOf(`/proc/${id}/limits`))?.[1];
  return said === "unlimited" ? Number.POSITIVE_INFINITY : said === undefined ? undefined : Number(said);
}

/** Standard error goes where standard output goes, so that their order is kept. */
function shellFor(command: string, limit: number | undefined): [string, string[]] {
  if (WINDOWS) return [process.env.ComSpec ?? "cmd.exe", ["/d", "/s", "/c", `"${command}" 2>&1`]];
  // A shell that knows no such limit goes on without.
  const marked = limit === undefined ? "" : `ulimit -R ${limit} 2>/dev/null; `;
  const merged = `${marked}exec 2>&1; ${command}`;
  return existsSync("/bin/bash") ? ["/bin/bash", ["--noprofile", "--norc", "-c", merged]] : ["/bin/sh", ["-c", merged]];
}

/** False when there is nobody to tell. */
function tell(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    // Somebody is there who may not be told: a program that took another user's rights.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The processes that may have been started since one was: numbers rise until they begin again. */
function processesSince(pid: number): number[] {
  const newest = Number(fileOf("/proc/loadavg").trim().split(" ").at(-1));
  const all = readdirSync("/proc")
    .map(Number)
    .filter((id) => id > 0);
  return newest >= pid ? all.filter((id) => id >= pid) : all;
}

/** The process group, from /proc/<id>/stat: the third field after the name, which may hold spaces and brackets. A zombie has none. */
function groupOf(id: number): number | undefined {
  const stat = fileOf(`/proc/${id}/stat`);
  const [state, , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return state === "Z" ? undefined : Number(group);
}

function fileOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

/** How many threads the machine has: a cheap look before the processes of a group are counted. */
export function threadsOfMachine(): number {
  return PROC ? Number(/\/(\d+)/.exec(fileOf("/proc/loadavg"))?.[1] ?? 0) : 0;
}

/**
 * Gives back the memory of a piece of output that was copied or counted. Left to the garbage collector, up to 64 MiB of
 * such pieces pile up while a command floods.
 */
export function release(chunk: Buffer): void {
  const { buffer } = chunk;
  // Small pieces share a buffer with others.
  if (chunk.byteLength >= 8_192 && buffer.byteLength === chunk.byteLength && "transfer" in buffer) buffer.transfer(0);
}
