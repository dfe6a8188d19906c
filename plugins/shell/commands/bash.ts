/** What bash does: one command to its end on the backend, and the ends of its output with how it ended. */
import { asCaveman, CavemanError, type ToolContext } from "../../../kernel/index.ts";
import { BACKEND_GRACE_MS, BASH_MS } from "../limits.ts";
import type { Shell } from "../shell.ts";
import type { ExecResult } from "./backend.ts";
import { environment } from "./environment.ts";
import { HeadTail } from "./head-tail.ts";
import { LiveOutput } from "./live-output.ts";

/** Bytes of output that are captured. */
const CAPTURE_BYTES = 4 * 1_024 * 1_024;
/** Longest command, in bytes: under the 128 KiB that Linux takes as one argument. */
const COMMAND_BYTES = 100_000;

export async function bash(
  shell: Shell,
  input: { command: string; timeoutMs?: number },
  { signal, toolCallId }: ToolContext,
): Promise<string> {
  const timeoutMs = input.timeoutMs ?? BASH_MS;
  assertCommand(input.command);
  const capture = new HeadTail(CAPTURE_BYTES);
  const live = new LiveOutput(toolCallId, shell.options.onOutput);
  const cwd = await shell.root();
  signal.throwIfAborted();
  const executing = shell.backend.exec({
    command: input.command,
    cwd,
    env: environment(shell.options.env),
    timeoutMs,
    signal,
    output(chunk) {
      capture.push(chunk);
      live.push(chunk);
    },
  });
  const result = resultOf(await within(executing, timeoutMs + BACKEND_GRACE_MS));
  live.flush();
  // Who aborted does not want a result.
  signal.throwIfAborted();
  const status = statusOf(result, timeoutMs, capture.total);
  const output = capture.bytes();
  const parts = [output];
  if (capture.total === 0) parts.push(Buffer.from(status ?? "[no output]"));
  else if (status) parts.push(Buffer.from(output.at(-1) === 10 ? status : `\n${status}`));
  return shell.deliver("bash", input, parts.length === 1 ? output : Buffer.concat(parts), capture.total);
}

/** @throws CavemanError `cave_tool_arguments_invalid`. */
export function assertCommand(command: string): void {
  const bytes = Buffer.byteLength(command);
  const wrong =
    command.trim() === ""
      ? "is empty"
      : command.includes("\0")
        ? "holds a NUL character"
        : bytes > COMMAND_BYTES
          ? `has ${bytes} bytes; at most ${COMMAND_BYTES}, write longer scripts to a file`
          : undefined;
  if (wrong) throw new CavemanError("cave_tool_arguments_invalid", { message: `The command ${wrong}` });
}

/** No duration: the same command with the same output is the same result. */
function statusOf({ exitCode, signal, ended }: ExecResult, timeoutMs: number, total: number): string | undefined {
  if (ended === "timed_out") return `[timed out after ${timeoutMs} ms; the command and what it started were ended]`;
  if (ended === "flooded") return `[ended after ${total} bytes of output: no command may write so much]`;
  if (ended === "forked") return "[ended: it started too many processes]";
  if (signal !== undefined) return `[ended by ${signal}]`;
  return exitCode === 0 ? undefined : `[exit code ${exitCode ?? "unknown"}]`;
}

async function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new CavemanError("cave_execution_backend_failed", { message: `the backend gave no answer in ${ms} ms` }),
        ),
      ms,
    );
  });
  try {
    return await Promise.race([work, late]);
  } catch (error) {
    throw asCaveman(error, "cave_execution_backend_failed");
  } finally {
    clearTimeout(timer);
  }
}

const ENDED: readonly unknown[] = [undefined, "timed_out", "aborted", "flooded", "forked"];

/** A backend is code from elsewhere: its answer is read and not believed. */
function resultOf(answer: unknown): ExecResult {
  const shape = answer as Partial<Record<keyof ExecResult, unknown>> | null | undefined;
  const fits =
    typeof shape === "object" &&
    shape !== null &&
    ENDED.includes(shape.ended) &&
    (shape.exitCode === undefined || Number.isSafeInteger(shape.exitCode)) &&
    (shape.signal === undefined || typeof shape.signal === "string");
  if (!fits)
    throw new CavemanError("cave_execution_backend_failed", {
      expected: "{ exitCode?, signal?, ended? }",
      received: JSON.stringify(answer)?.slice(0, 200) ?? typeof answer,
    });
  return shape as ExecResult;
}
