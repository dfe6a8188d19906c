/** What the session tools do: start, read, write and kill commands that run on, and say how they stand. */
import type { ToolContext } from "../../../kernel/index.ts";
import { boundOf } from "../binding.ts";
import type { Shell } from "../shell.ts";
import { assertCommand } from "./bash.ts";
import { type CommandRead, type CommandState, MAX_WAIT_MS } from "./sessions.ts";

/** How long a command may run on unless told otherwise, in milliseconds: an hour. */
const DEFAULT_MS = 3_600_000;

export async function startCommand(
  shell: Shell,
  input: { command: string; timeoutMs?: number },
  { signal, toolCallId }: ToolContext,
): Promise<string> {
  assertCommand(input.command);
  const cwd = await shell.root();
  signal.throwIfAborted();
  const started = shell.sessions.start(input.command, cwd, input.timeoutMs ?? DEFAULT_MS);
  shell.show(started, toolCallId);
  if (!shell.options.keepCommands) boundOf(input)?.unfinished.endWith(() => shell.sessions.kill(started));
  return `[${started} running; read it with command_read]`;
}

export async function readCommand(
  shell: Shell,
  input: { id: string; cursor?: number; waitFor?: string; waitMs?: number },
  { signal }: ToolContext,
): Promise<string> {
  const { cursor = 0, waitFor, waitMs = waitFor === undefined ? 0 : MAX_WAIT_MS } = input;
  // Room for the line in front.
  const maxBytes = shell.options.caps.command_read - 400;
  const read = await shell.sessions.read(input.id, {
    cursor,
    maxBytes,
    waitMs,
    abort: signal,
    ...(waitFor === undefined ? {} : { waitFor }),
  });
  return `[${input.id} ${said(read, waitFor !== undefined)}]\n${read.text}`.trimEnd();
}

export const writeCommand = (
  shell: Shell,
  { id, text, close }: { id: string; text: string; close?: boolean },
): string => `[${id} ${plain(shell.sessions.write(id, text, close ?? false))}]`;

export const killCommand = async (shell: Shell, { id }: { id: string }): Promise<string> =>
  `[${id} ${plain(await shell.sessions.kill(id))}]`;

const plain = (state: CommandState): string =>
  state === "unknown_after_restart"
    ? "unknown_after_restart: not of this process, or over long ago; start it again"
    : state;

function said({ state, cursor, lostBytes, more, found, exitCode, signal }: CommandRead, waited: boolean): string {
  const parts = [plain(state)];
  if (state === "unknown_after_restart") return parts[0] ?? state;
  if (state === "exited")
    parts.push(signal === undefined ? `exit code ${exitCode ?? "unknown"}` : `ended by ${signal}`);
  if (waited) parts.push(found ? "the text came" : "the text did not come");
  if (lostBytes > 0) parts.push(`${lostBytes} older bytes are no longer kept`);
  parts.push(`next cursor ${cursor}${more ? ", more is there" : ""}`);
  return parts.join("; ");
}
