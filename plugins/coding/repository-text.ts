/**
 * Reading text of a repository. Its files are untrusted input: only regular files inside the repository are opened,
 * a bounded part of each is read, and what is shown of them is fenced and said to be theirs.
 */
import { constants } from "node:fs";
import { open, realpath, stat } from "node:fs/promises";
import { dirname, join, sep } from "node:path";
import { sha256 } from "../../kernel/index.ts";

/** Levels that are searched upwards for the root of the repository. */
const LEVELS = 32;

/** The nearest folder with a `.git`, from the workspace upwards; the workspace itself when there is none. */
export async function repositoryRoot(workspace: string): Promise<string> {
  let folder = workspace;
  for (let level = 0; level < LEVELS; level++) {
    if (await stat(join(folder, ".git")).catch(() => undefined)) return folder;
    if (dirname(folder) === folder) break;
    folder = dirname(folder);
  }
  return workspace;
}

export const isInside = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

export type Read =
  | { readonly text: string; readonly size: number; readonly cut: boolean }
  | { readonly problem: "missing" | "outside" | "not a file" | "unreadable" };

/** At most `maxBytes` of a text file, cut at a line end; only when its real path is inside `root`. */
export async function readInside(root: string, path: string, maxBytes: number): Promise<Read> {
  let real: string;
  try {
    real = await realpath(path);
  } catch {
    return { problem: "missing" };
  }
  if (!isInside(root, real)) return { problem: "outside" };
  // Not blocking, so that a pipe in the place of a file cannot hold the session.
  const handle = await open(real, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0)).catch(
    () => undefined,
  );
  if (!handle) return { problem: "unreadable" };
  try {
    const found = await handle.stat();
    if (!found.isFile()) return { problem: "not a file" };
    const buffer = Buffer.alloc(Math.min(found.size, maxBytes));
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
    const cut = found.size > maxBytes;
    const text = buffer.toString("utf8", 0, bytesRead);
    const end = cut ? text.lastIndexOf("\n") + 1 : text.length;
    return { text: end > 0 ? text.slice(0, end) : text, size: found.size, cut };
  } catch {
    return { problem: "unreadable" };
  } finally {
    await handle.close();
  }
}

/** A text between marks that it cannot have written itself: they carry its digest. */
export function fenced(label: string, text: string): string {
  const mark = sha256(text).slice(0, 12);
  return `<${label} ${mark}>\n${text.trimEnd()}\n</${label} ${mark}>`;
}
