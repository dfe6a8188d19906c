/** bash: one command to its end, its output capped. */
import { Type } from "@sinclair/typebox";
import { type Tool, tool } from "../../../kernel/index.ts";
import type { LazyShell } from "../lazy-shell.ts";
import { BACKEND_GRACE_MS, BASH_MS } from "../limits.ts";

const Input = Type.Object(
  {
    command: Type.String({ minLength: 1, description: "shell command; runs in the workspace, without input" }),
    timeoutMs: Type.Optional(
      Type.Integer({ minimum: 1, maximum: BASH_MS, description: "milliseconds; default 120000" }),
    ),
  },
  { additionalProperties: false },
);

export const bashTool = (shell: LazyShell): Tool =>
  tool({
    name: "bash",
    description:
      "Runs a shell command in the workspace and returns its output and exit code. Long output is cut in the middle. What it leaves in the background is ended.",
    input: Input,
    effect: "external",
    result: shell.cut,
    timeoutMs: BASH_MS + 2 * BACKEND_GRACE_MS,
    execute: (input, context) => shell.tracked(input, ({ bash }, at) => bash(at, input, context)),
  });
