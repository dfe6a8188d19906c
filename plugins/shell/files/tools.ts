/** read_file, write_file, edit_file, list_files. */
import { Type } from "@sinclair/typebox";
import { type Tool, tool } from "../../../kernel/index.ts";
import type { LazyShell } from "../lazy-shell.ts";
import { FILE_MS } from "../limits.ts";

const path = Type.String({ minLength: 1, description: "relative to the workspace" });
const closed = { additionalProperties: false };
const timeoutMs = FILE_MS + 10_000;

export const fileTools = (
  shell: LazyShell,
): Readonly<Record<"read_file" | "write_file" | "edit_file" | "list_files", Tool>> => ({
  read_file: tool({
    name: "read_file",
    description: "Reads a text file. Lines come as number, tab, text.",
    input: Type.Object(
      {
        path,
        offset: Type.Optional(Type.Integer({ minimum: 1, description: "first line; default 1" })),
        limit: Type.Optional(Type.Integer({ minimum: 1, description: "number of lines" })),
      },
      closed,
    ),
    effect: "read",
    // An edit quotes what was read, so nothing may shorten or rewrite it on its way.
    result: "inline",
    timeoutMs,
    execute: (input, context) => shell.call(({ readFile }, at) => readFile(at, input, context)),
  }),
  write_file: tool({
    name: "write_file",
    description: "Creates a file, with the folders it needs, or replaces all of its content.",
    input: Type.Object({ path, content: Type.String() }, closed),
    effect: "write",
    result: shell.cut,
    timeoutMs,
    execute: (input, context) => shell.tracked(input, ({ writeFile }, at) => writeFile(at, input, context)),
  }),
  edit_file: tool({
    name: "edit_file",
    description:
      "Replaces a text in a file. old_string has to be in it exactly once, copied exactly and without line numbers, unless replace_all is set.",
    input: Type.Object(
      {
        path,
        old_string: Type.String({ minLength: 1 }),
        new_string: Type.String(),
        replace_all: Type.Optional(Type.Boolean({ description: "replaces every occurrence" })),
      },
      closed,
    ),
    effect: "write",
    result: shell.cut,
    timeoutMs,
    execute: (input, context) => shell.tracked(input, ({ editFile }, at) => editFile(at, input, context)),
  }),
  list_files: tool({
    name: "list_files",
    description: "Lists the files of a folder and below, without what ignore files leave out.",
    input: Type.Object(
      {
        path: Type.Optional(Type.String({ minLength: 1, description: "folder; default the workspace" })),
        glob: Type.Optional(
          Type.String({ minLength: 1, description: "as *.ts or src/**/*.json; a leading ! excludes" }),
        ),
      },
      closed,
    ),
    effect: "read",
    result: shell.cut,
    timeoutMs,
    execute: (input, context) => shell.call(({ listFiles }, at) => listFiles(at, input, context)),
  }),
});
