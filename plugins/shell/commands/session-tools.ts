/** command_start, command_read, command_write, command_kill: commands that run on. */
import { Type } from "@sinclair/typebox";
import { type Tool, tool } from "../../../kernel/index.ts";
import { boundOf } from "../binding.ts";
import type { Shell } from "../shell.ts";
import { assertCommand } from "./bash-tool.ts";
import { type CommandRead, type CommandState, MAX_COMMANDS, MAX_INPUT_BYTES, MAX_WAIT_MS } from "./sessions.ts";

/** How long a command may run on, in milliseconds: an hour unless told otherwise, a day at most. */
const DEFAULT_MS = 3_600_000;
const MAX_MS = 86_400_000;

const id = Type.String({ minLength: 1, maxLength: 100, description: "from command_start" });
const closed = { additionalProperties: false };

export const commandTools = (
  shell: Shell,
): Readonly<Record<`command_${"start" | "read" | "write" | "kill"}`, Tool>> => ({
  command_start: tool({
    name: "command_start",
    description: `Starts a command that runs on, as a server or a watcher, and returns its id. At most ${MAX_COMMANDS} at a time.`,
    input: Type.Object(
      {
        command: Type.String({ minLength: 1 }),
        timeoutMs: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: MAX_MS,
            description: "ends it after so many milliseconds; default one hour",
          }),
        ),
      },
      closed,
    ),
    effect: "external",
    execute: (input, { signal, toolCallId }) => start(shell, input, signal, toolCallId),
  }),
  command_read: tool({
    name: "command_read",
    description:
      "Reads the output of a started command from a cursor, waiting for new output or for a text if asked to.",
    input: Type.Object(
      {
        id,
        cursor: Type.Optional(Type.Integer({ minimum: 0, description: "byte to read from; default 0" })),
        waitFor: Type.Optional(
          Type.String({ minLength: 1, maxLength: 1_000, description: "literal text to wait for, after the cursor" }),
        ),
        waitMs: Type.Optional(
          Type.Integer({
            minimum: 0,
            maximum: MAX_WAIT_MS,
            description: "longest wait; default 0, or 30000 with waitFor",
          }),
        ),
      },
      closed,
    ),
    effect: "read",
    allowRepeat: true,
    timeoutMs: MAX_WAIT_MS + 5_000,
    async execute(input, { signal }) {
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
    },
  }),
  command_write: tool({
    name: "command_write",
    description: `Writes to the standard input of a started command, at most ${MAX_INPUT_BYTES} bytes at a time. A line needs its newline.`,
    input: Type.Object(
      { id, text: Type.String(), close: Type.Optional(Type.Boolean({ description: "ends the input afterwards" })) },
      closed,
    ),
    effect: "external",
    allowRepeat: true,
    execute: (input) => `[${input.id} ${plain(shell.sessions.write(input.id, input.text, input.close ?? false))}]`,
  }),
  command_kill: tool({
    name: "command_kill",
    description: "Ends a started command and all it started.",
    input: Type.Object({ id }, closed),
    effect: "external",
    execute: async (input) => `[${input.id} ${plain(await shell.sessions.kill(input.id))}]`,
  }),
});

async function start(
  shell: Shell,
  input: { command: string; timeoutMs?: number },
  signal: AbortSignal,
  toolCallId: string,
): Promise<string> {
  assertCommand(input.command);
  const cwd = await shell.root();
  signal.throwIfAborted();
  const started = shell.sessions.start(input.command, cwd, input.timeoutMs ?? DEFAULT_MS);
  shell.show(started, toolCallId);
  if (!shell.options.keepCommands) boundOf(input)?.unfinished.endWith(() => shell.sessions.kill(started));
  return `[${started} running; read it with command_read]`;
}

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
