/** grep: lines that match a regular expression, found by ripgrep or by the file worker, the same either way. */
import { Type } from "@sinclair/typebox";
import { type Tool, tool } from "../../../kernel/index.ts";
import type { LazyShell } from "../lazy-shell.ts";
import { FILE_MS, MAX_MATCHES } from "../limits.ts";

const Input = Type.Object(
  {
    pattern: Type.String({ minLength: 1, description: "regular expression, without look-around and back-references" }),
    path: Type.Optional(Type.String({ minLength: 1, description: "file or folder; default the workspace" })),
    glob: Type.Optional(Type.String({ minLength: 1, description: "as *.ts or src/**/*.json; a leading ! excludes" })),
    ignoreCase: Type.Optional(Type.Boolean()),
    literal: Type.Optional(Type.Boolean({ description: "takes the pattern as plain text" })),
  },
  { additionalProperties: false },
);

export const grepTool = (shell: LazyShell): Tool =>
  tool({
    name: "grep",
    description: `Searches files line by line, without what ignore files leave out. Lines come as path:line:text, at most ${MAX_MATCHES}.`,
    input: Input,
    effect: "read",
    result: shell.cut,
    timeoutMs: FILE_MS + 10_000,
    execute: (input, context) => shell.call(({ grep }, at) => grep(at, input, context)),
  });
