/** What the file tools do: have a file worker do it, and put its answer into words. */
import type { ToolContext } from "../../../kernel/index.ts";
import type { Shell } from "../shell.ts";
import type { ChangeAnswer } from "./protocol.ts";

/** Paths that one list_files names. */
const LISTED = 1_000;

export async function readFile(
  shell: Shell,
  input: { path: string; offset?: number; limit?: number },
  { signal }: ToolContext,
): Promise<string> {
  const answer = await shell.files.ask({ kind: "read", ...input, capBytes: shell.options.caps.read_file }, signal);
  if (answer.stamp) shell.note(input, answer.stamp);
  return shell.deliver("read_file", input, answer.text);
}

export function writeFile(
  shell: Shell,
  input: { path: string; content: string },
  { signal, toolCallId }: ToolContext,
): Promise<string> {
  const asked = shell.files.ask({ kind: "write", ...input, seen: shell.seenBy(input) }, signal);
  return change(shell, "write_file", input, toolCallId, asked);
}

export function editFile(
  shell: Shell,
  input: { path: string; old_string: string; new_string: string; replace_all?: boolean },
  { signal, toolCallId }: ToolContext,
): Promise<string> {
  const { path, old_string: oldString, new_string: newString, replace_all: replaceAll = false } = input;
  const asked = shell.files.ask(
    { kind: "edit", path, oldString, newString, replaceAll, seen: shell.seenBy(input) },
    signal,
  );
  return change(shell, "edit_file", input, toolCallId, asked);
}

export async function listFiles(
  shell: Shell,
  input: { path?: string; glob?: string },
  { signal }: ToolContext,
): Promise<string> {
  const { path: from = ".", glob } = input;
  const { files, more, notes } = await shell.files.ask(
    { kind: "files", path: from, limit: LISTED, searchable: false, ...(glob === undefined ? {} : { glob }) },
    signal,
  );
  const said = [...(more ? [`only the first ${files.length}; narrow the path or the glob`] : []), ...notes];
  const text = files.length === 0 ? "[no files]" : files.map(oneLine).join("\n");
  return shell.deliver("list_files", input, said.length > 0 ? `${text}\n[${said.join("; ")}]` : text);
}

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
