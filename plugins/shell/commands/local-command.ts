/** A command of the local backend: watched to its end, and ended when it passes a limit. */
import type { ExecRequest, ExecResult } from "./backend.ts";
import { Group, pause, release, threadsOfMachine } from "./group.ts";

export interface LocalLimits {
  /** Bytes of output after which a command is ended. */
  readonly maxStreamBytes: number;
  /** Processes after which a command is ended; counted on Linux. */
  readonly maxProcesses: number;
}

/** Milliseconds that a finished command's output may still take to arrive. */
const DRAIN_MS = 100;
const WATCH_MS = 100;

export async function execute(
  request: ExecRequest,
  { maxStreamBytes, maxProcesses }: LocalLimits,
): Promise<ExecResult> {
  const { signal, timeoutMs } = request;
  if (signal.aborted) return { ended: "aborted" };
  const group = new Group({ ...request, stdin: "ignore" });
  let ended: ExecResult["ended"];
  const end = (why: NonNullable<ExecResult["ended"]>): void => {
    ended ??= why;
    if (why === "forked") group.kill();
    void group.end();
  };
  let bytes = 0;
  for (const stream of [group.child.stdout, group.child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxStreamBytes) end("flooded");
      else request.output(chunk);
      release(chunk);
    });
    stream?.on("error", () => {});
  }
  const timer = setTimeout(end, timeoutMs, "timed_out");
  const onAbort = (): void => end("aborted");
  signal.addEventListener("abort", onAbort, { once: true });
  const before = threadsOfMachine();
  const watch = setInterval(() => {
    if (threadsOfMachine() - before > maxProcesses / 2 && group.count() > maxProcesses) end("forked");
  }, WATCH_MS);
  try {
    const { code, signal: killedBy } = await group.exited;
    // What the command itself wrote has arrived within this; children that it left behind are not waited for.
    await Promise.race([group.closed, pause(DRAIN_MS, false)]);
    await group.end();
    return {
      ...(code === null ? {} : { exitCode: code }),
      ...(killedBy === null ? {} : { signal: killedBy }),
      ...(ended ? { ended } : {}),
    };
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    signal.removeEventListener("abort", onAbort);
  }
}
