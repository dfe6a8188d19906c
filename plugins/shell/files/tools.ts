/** read_file, write_file, edit_file, list_files. */
import { Type } from "@sinclair/typebox";
import { type Tool, tool } from "../../../kernel/index.ts";
import type { Shell } from "../shell.ts";
import { FILE_MS } from "./file-worker.ts";
import type { ChangeAnswer } from "./protocol.ts";

/** Paths that one list_files names. */
const LISTED = 1_000;

const path = Type.String({ minLength: 1, description: "relative to the workspace" });
const closed = { additionalProperties: false };
const timeoutMs = FILE_MS + 10_000;

export const fileTools = (
  shell: Shell,
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
    async execute(input, { signal }) {
      const answer = await shell.files.ask({ kind: "read", ...input, capBytes: shell.options.caps.read_file }, signal);
      if (answer.stamp) shell.note(input, answer.stamp);
      return shell.deliver("read_file", input, answer.text);
    },
  }),
  write_file: tool({
    name: "write_file",
    description: "Creates a file, with the folders it needs, or replaces all of its content.",
    input: Type.Object({ path, content: Type.String() }, closed),
    effect: "write",
    result: shell.cut,
    timeoutMs,
    execute: (input, { signal, toolCallId }) =>
      shell.track(
        input,
        change(
          shell,
          "write_file",
          input,
          toolCallId,
          shell.files.ask({ kind: "write", ...input, seen: shell.seenBy(input) }, signal),
        ),
      ),
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
    execute(input, { signal, toolCallId }) {
      const { old_string: oldString, new_string: newString, replace_all: replaceAll = false } = input;
      const asked = shell.files.ask(
        { kind: "edit", path: input.path, oldString, newString, replaceAll, seen: shell.seenBy(input) },
        signal,
      );
      return shell.track(input, change(shell, "edit_file", input, toolCallId, asked));
    },
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
    async execute(input, { signal }) {
      const { path: from = ".", glob } = input;
      const { files, more, notes } = await shell.files.ask(
        { kind: "files", path: from, limit: LISTED, searchable: false, ...(glob === undefined ? {} : { glob }) },
        signal,
      );
      const said = [...(more ? [`only the first ${files.length}; narrow the path or the glob`] : []), ...notes];
      const text = files.length === 0 ? "[no files]" : files.map(oneLine).join("\n");
      return shell.deliver("list_files", input, said.length > 0 ? `${text}\n[${said.join("; ")}]` : text);
    },
  }),
});

/** A name may hold a line end; then it is shown quoted. */
export const oneLine = (file: string): string => (/[\p{Cc}]/u.test(file) ? JSON.stringify(file) : file);

async function change(
  shell: Shell,
  name: "write_file" | "edit_file",
  input: object,
  toolCallId: string,
  asked: Promise<ChangeAnswer>,
): Promise<string> {
  const { summary, diff, stamp } = await asked;
  shell.note(input, stamp);
  try {
    shell.options.onChange?.({ toolCallId, tool: name, summary, diff });
  } catch {
    // Who watches may fail; the file is written.
  }
  return shell.deliver(name, input, diff === "" ? summary : `${summary}\n${diff}`);
}
