/** command_start, command_read, command_write, command_kill: commands that run on. */
import { Type } from "@sinclair/typebox";
import { type Tool, tool } from "../../../kernel/index.ts";
import type { LazyShell } from "../lazy-shell.ts";
import { MAX_COMMANDS, MAX_INPUT_BYTES, MAX_WAIT_MS } from "./sessions.ts";

/** How long a command may run on at most, in milliseconds: a day. */
const MAX_MS = 86_400_000;

const id = Type.String({ minLength: 1, maxLength: 100, description: "from command_start" });
const closed = { additionalProperties: false };

export const commandTools = (
  shell: LazyShell,
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
    execute: (input, context) => shell.call(({ startCommand }, at) => startCommand(at, input, context)),
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
    execute: (input, context) => shell.call(({ readCommand }, at) => readCommand(at, input, context)),
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
    execute: (input) => shell.call(({ writeCommand }, at) => writeCommand(at, input)),
  }),
  command_kill: tool({
    name: "command_kill",
    description: "Ends a started command and all it started.",
    input: Type.Object({ id }, closed),
    effect: "external",
    execute: (input) => shell.call(({ killCommand }, at) => killCommand(at, input)),
  }),
});
