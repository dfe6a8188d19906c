/**
 * A stdio server as a process of its own group, spoken to over its pipes. The client package's own transport kills one
 * process; a server started through a launcher is two, so the group is what is ended here.
 */
import { type ChildProcess, spawn } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { describe } from "../../kernel/index.ts";

/** Harmless variables every server gets; whatever else it needs, the configuration names. */
const INHERITED =
  process.platform === "win32"
    ? [
        "APPDATA",
        "COMSPEC",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROGRAMDATA",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
      ]
    : ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/** The environment of a server: the allow-list, and what its configuration names. */
export function environmentOf(own: Readonly<Record<string, string>>): Record<string, string> {
  const env: Record<string, string> = {};
  for (const key of INHERITED) {
    const value = process.env[key];
    // A value that begins with `()` is a shell function of an old bash.
    if (value !== undefined && !value.startsWith("()")) env[key] = value;
  }
  return { ...env, ...own };
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Bytes of one message; a longer one ends the connection. */
export const MAX_MESSAGE_BYTES = 16 * 1_048_576;
/** Lines on stdout that are no message before the server counts as broken. */
const MAX_GARBAGE_LINES = 1_000;
const STDERR_TAIL = 8_192;
/** Milliseconds a server has after its input ends, and again after SIGTERM. */
const GRACE_MS = 500;

type Parse = (line: string) => JSONRPCMessage;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Its presence beside `pid` is how the client knows a stdio transport. */
  readonly stderr = null;
  readonly #program: Program;
  readonly #parse: Parse;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #lines: Buffer[] = [];
  #pending = 0;
  #garbage = 0;
  #said = "";

  constructor(program: Program, parse: Parse) {
    this.#program = program;
    this.#parse = parse;
  }

  get pid(): number | null {
    return this.#child?.pid ?? null;
  }
  /** The last of what the server wrote to stderr. */
  get tail(): string {
    return this.#said;
  }

  start(): Promise<void> {
    const { command, args, cwd, env } = this.#program;
    const child = spawn(command, [...args], {
      cwd,
      env: { ...env },
      stdio: ["pipe", "pipe", "pipe"],
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.#child = child;
    this.#exited = new Promise((resolve) => {
      child.once("exit", () => resolve());
      child.once("error", () => resolve());
    });
    void this.#exited.then(() => this.#gone(child));
    child.stdin?.on("error", (error) => this.onerror?.(error));
    child.stdout?.on("data", (chunk: Buffer) => this.#read(chunk));
    child.stderr
      ?.setEncoding("utf8")
      .on("data", (text: string) => (this.#said = (this.#said + text).slice(-STDERR_TAIL)));
    return new Promise((resolve, reject) => {
      child.once("error", (error) => {
        reject(error);
        this.onerror?.(error);
      });
      child.once("spawn", () => {
        live.add(child);
        resolve();
      });
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((resolve, reject) => {
      const stdin = this.#child?.stdin;
      if (!stdin?.writable) reject(new Error("the server's input is closed"));
      else stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Ends the input, then asks, then kills, and waits until the process is gone. */
  async close(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    child.stdin?.end();
    if (!(await this.#within(GRACE_MS))) signalGroup(child, "SIGTERM");
    if (!(await this.#within(GRACE_MS))) signalGroup(child, "SIGKILL");
    await this.#within(4 * GRACE_MS);
  }

  async #within(ms: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, ms, false)));
    const gone = await Promise.race([this.#exited.then(() => true), late]);
    clearTimeout(timer);
    return gone;
  }

  #gone(child: ChildProcess): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    live.delete(child);
    // What a launcher started lives on in its group.
    signalGroup(child, "SIGKILL");
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
    this.#lines = [];
    this.onclose?.();
  }

  #read(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#lines.push(chunk.subarray(start, end));
      start = end + 1;
      const line = this.#lines.length === 1 ? this.#lines[0] : Buffer.concat(this.#lines);
      this.#lines = [];
      this.#pending = 0;
      if (line && line.length > 0) this.#line(line);
      if (!this.#child) return;
    }
    this.#lines.push(chunk.subarray(start));
    this.#pending += chunk.length - start;
    if (this.#pending > MAX_MESSAGE_BYTES) this.#break(`a message of more than ${MAX_MESSAGE_BYTES} bytes`);
  }

  #line(line: Buffer): void {
    let message: JSONRPCMessage;
    try {
      message = this.#parse(line.toString("utf8"));
    } catch (error) {
      if (++this.#garbage > MAX_GARBAGE_LINES) this.#break(`more than ${MAX_GARBAGE_LINES} lines that are no messages`);
      else this.onerror?.(new Error(`a line that is no message: ${describe(error).slice(0, 200)}`));
      return;
    }
    this.onmessage?.(message);
  }

  #break(why: string): void {
    const child = this.#child;
    if (!child) return;
    this.#lines = [];
    this.onerror?.(new Error(why));
    signalGroup(child, "SIGKILL");
    this.#gone(child);
  }
}

/** The servers of this process: an exit in the middle of a run takes them with it. */
const live = new Set<ChildProcess>();
process.once("exit", () => {
  for (const child of live) signalGroup(child, "SIGKILL");
});

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  const { pid } = child;
  if (pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(signal);
    else process.kill(-pid, signal);
  } catch {
    // Nobody of the group is left.
  }
}
