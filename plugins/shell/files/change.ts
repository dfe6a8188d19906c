/**
 * write_file and edit_file. An edit works on bytes: what it does not replace stays as it is, line ends, byte order mark
 * and bytes that are no UTF-8 included.
 */
import { createHash } from "node:crypto";
import { type Boundary, openFile } from "./boundary.ts";
import { unifiedDiff } from "./diff.ts";
import { FileFault, shown } from "./fault.ts";
import { nearestLines, withoutNumbers } from "./nearest-lines.ts";
import type { ChangeAnswer, EditRequest, Seen, WriteRequest } from "./protocol.ts";
import { WHOLE_BYTES } from "./read.ts";
import { replaceFile, targetOf } from "./replace.ts";
import { isValidUtf8, kindOf, wholeOf } from "./text.ts";

const digestOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export async function writeFile(boundary: Boundary, { path, content, seen }: WriteRequest): Promise<ChangeAnswer> {
  wellFormed("content", content);
  const bytes = Buffer.from(content);
  if (bytes.length > WHOLE_BYTES) throw tooLarge(path, bytes.length);
  const { rel, existing } = targetOf(boundary, path);
  const readable = existing && existing.size <= WHOLE_BYTES && (existing.nlink === 1 || boundary.hardLinks === "read");
  const before = readable ? wholeOf(openFile(boundary, path), WHOLE_BYTES) : undefined;
  if (before) assertFresh(seen, rel, before, path, "");
  const stamp = { rel, digest: digestOf(bytes) };
  if (before?.equals(bytes)) return { summary: `${rel} already has this content`, diff: "", stamp };
  const old = before && kindOf(before) !== "binary" ? before.toString("utf8") : "";
  const diff = await unifiedDiff(rel, old, content);
  replaceFile(boundary, path, bytes, existing);
  return { summary: `${existing ? "replaced" : "created"} ${rel}, ${bytes.length} bytes`, diff, stamp };
}

export async function editFile(boundary: Boundary, request: EditRequest): Promise<ChangeAnswer> {
  const { path, oldString, newString, replaceAll, seen } = request;
  wellFormed("old_string", oldString);
  wellFormed("new_string", newString);
  if (oldString === newString) throw new FileFault("cave_edit_no_change", "old_string and new_string are the same");
  const { rel, existing } = targetOf(boundary, path);
  const opened = openFile(boundary, path);
  const before = wholeOf(opened, WHOLE_BYTES);
  if (!before || !existing) throw tooLarge(path, opened.stat.size);
  const kind = kindOf(before);
  if (kind === "binary" || kind.startsWith("utf16")) {
    throw new FileFault(
      "cave_file_binary",
      `${shown(path)} is ${kind === "binary" ? "binary" : "UTF-16"}; it is not edited`,
    );
  }
  const needle = needleOf(before, oldString, newString);
  const places = needle ? occurrences(before, needle.find) : [];
  assertFresh(seen, rel, before, path, found(before, oldString, places));
  if (!needle)
    throw new FileFault(
      "cave_edit_text_absent",
      `old_string is not in ${shown(path)}. ${found(before, oldString, places)}`,
    );
  if (places.length > 1 && !replaceAll) {
    throw new FileFault(
      "cave_edit_text_ambiguous",
      `old_string is in ${shown(path)} ${places.length} times. ${found(before, oldString, places)}`,
    );
  }
  if (!isValidUtf8(before) && needle.put.some((byte) => byte > 0x7f)) {
    throw new FileFault("cave_file_binary", `${shown(path)} is not UTF-8; only ASCII text can be put into it`);
  }
  const after = spliced(before, places, needle);
  if (after.length > WHOLE_BYTES) throw tooLarge(path, after.length);
  if (after.equals(before))
    throw new FileFault("cave_edit_no_change", "with the file's own line ends, old and new text are the same");
  const diff = await unifiedDiff(rel, before.toString("utf8"), after.toString("utf8"));
  replaceFile(boundary, path, after, opened.stat);
  const times = places.length === 1 ? "once" : `${places.length} times`;
  return { summary: `replaced ${times} in ${rel}`, diff, stamp: { rel, digest: digestOf(after) } };
}

interface Needle {
  readonly find: Buffer;
  readonly put: Buffer;
}

const lf = (text: string): string => text.replaceAll("\r\n", "\n");
const crlf = (text: string): string => lf(text).replaceAll("\n", "\r\n");

/** The text to find in the line ends the file has there, and the new text in the same; undefined when it is absent. */
function needleOf(file: Buffer, oldString: string, newString: string): Needle | undefined {
  const forms = oldString.includes("\n") ? [oldString, lf(oldString), crlf(oldString)] : [oldString];
  const form = forms.find((text) => file.includes(text));
  if (form === undefined) return undefined;
  const windows = form.includes("\n") ? form.includes("\r\n") : usesCrlf(file);
  return {
    find: Buffer.from(form),
    put: Buffer.from(windows ? crlf(newString) : form.includes("\n") ? lf(newString) : newString),
  };
}

function usesCrlf(file: Buffer): boolean {
  const end = file.indexOf(10);
  return end > 0 && file[end - 1] === 13;
}

function occurrences(file: Buffer, find: Buffer): number[] {
  const places: number[] = [];
  for (let at = file.indexOf(find); at >= 0; at = file.indexOf(find, at + find.length)) places.push(at);
  return places;
}

function spliced(file: Buffer, places: readonly number[], { find, put }: Needle): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const place of places) {
    parts.push(file.subarray(from, place), put);
    from = place + find.length;
  }
  parts.push(file.subarray(from));
  return Buffer.concat(parts);
}

/** What the file does have of the text. */
function found(file: Buffer, oldString: string, places: readonly number[]): string {
  if (places.length > 0) {
    const lines = places.slice(0, 20).map((place) => lineOf(file, place));
    return `It is at line${places.length > 1 ? "s" : ""} ${lines.join(", ")}${places.length > 20 ? ` and ${places.length - 20} more` : ""}.`;
  }
  const text = file.toString("utf8");
  const bare = withoutNumbers(oldString);
  if (bare !== undefined && needleOf(file, bare, "")) return "It is there without the line numbers: leave them out.";
  return nearestLines(text, oldString) ?? `Nothing in its ${text.split("\n").length} lines is like it.`;
}

function lineOf(file: Buffer, place: number): number {
  let line = 1;
  for (let at = file.indexOf(10); at >= 0 && at < place; at = file.indexOf(10, at + 1)) line++;
  return line;
}

function assertFresh(seen: Seen, rel: string, now: Buffer, path: string, foundNow: string): void {
  const known = Object.hasOwn(seen, rel) ? seen[rel] : undefined;
  if (known === undefined || known === digestOf(now)) return;
  throw new FileFault(
    "cave_file_stale",
    `${shown(path)} changed since it was read; it has ${now.length} bytes now. ${foundNow}`.trim(),
  );
}

function wellFormed(name: string, text: string): void {
  if (!text.isWellFormed()) throw new FileFault("cave_file_operation_failed", `${name} is not well-formed Unicode`);
}

const tooLarge = (path: string, size: number): FileFault =>
  new FileFault("cave_file_too_large", `${shown(path)} has ${size} bytes; at most ${WHOLE_BYTES} are changed`);
