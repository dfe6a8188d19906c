/**
 * A folder of a person's own inside a workspace. A repository may have put anything there, so nothing is followed and
 * only what this user wrote privately is believed: no links, no files of others, none that others can read.
 */
import { constants } from "node:fs";
import { lstat, mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

const MODE = 0o600;
/** Kept out of version control: what is in it holds source and prompts. */
const IGNORE = "*\n";

const own = (uid: number): boolean => process.getuid === undefined || uid === process.getuid();

/** Makes `<workspace>/.caveman/sessions`. @throws Error with what stands in the way. */
export async function privateFolder(workspace: string): Promise<string> {
  const folder = join(workspace, ".caveman", "sessions");
  for (const path of [dirname(folder), folder]) {
    await mkdir(path, { mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code !== "EEXIST") throw cause;
    });
    const found = await lstat(path);
    if (!found.isDirectory()) throw new Error(`${path} is not a folder`);
    if (!own(found.uid)) throw new Error(`${path} belongs to another user`);
  }
  const ignore = join(folder, ".gitignore");
  if (!(await lstat(ignore).catch(() => undefined))) await writePrivately(ignore, IGNORE);
  return folder;
}

/** Writes a file whole or not at all: beside it first, flushed, then in its place. */
export async function writePrivately(path: string, text: string): Promise<void> {
  const beside = `${path}.${process.pid}.tmp`;
  await rm(beside, { force: true });
  try {
    const handle = await open(beside, "wx", MODE);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(beside, path);
  } catch (cause) {
    await rm(beside, { force: true });
    throw cause;
  }
}

/** A file of at most `maxBytes` that only this user can have written. @throws Error with what is wrong with it. */
export async function readPrivately(path: string, maxBytes: number): Promise<{ text: string; mtimeMs: number }> {
  const handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new Error("it is not a file");
    if (!own(found.uid)) throw new Error("it belongs to another user");
    if (process.platform !== "win32" && (found.mode & 0o077) !== 0)
      throw new Error("others may read or write it; a session this program saved is its owner's alone");
    if (found.size > maxBytes) throw new Error(`it has ${found.size} bytes; at most ${maxBytes} are read`);
    return { text: await handle.readFile("utf8"), mtimeMs: found.mtimeMs };
  } finally {
    await handle.close();
  }
}
