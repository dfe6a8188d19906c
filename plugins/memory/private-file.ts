/** A file of the user alone: no link, no other owner, in folders that others cannot write. */
import { chmodSync, closeSync, lstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { CavemanError } from "../../kernel/index.ts";

const STICKY = 0o1000;

/** @throws CavemanError `cave_memory_storage_unsafe`; errors of the file system as they come. */
export function preparePrivateFile(path: string): void {
  const refuse = (place: string, expected: string, received: string): never => {
    throw new CavemanError("cave_memory_storage_unsafe", { place, expected, received });
  };
  const folder = dirname(path);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const { mode } = statSync(folder);
  if (process.platform !== "win32" && (mode & 0o022) !== 0 && (mode & STICKY) === 0)
    refuse(folder, "a folder only its owner can write", `mode ${(mode & 0o777).toString(8)}`);
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  for (const each of [path, `${path}-wal`, `${path}-shm`, `${path}-journal`]) {
    const found = lstatSync(each, { throwIfNoEntry: false });
    if (found === undefined) continue;
    if (!found.isFile() || found.nlink > 1)
      refuse(each, "a regular file with one name", found.isFile() ? "a hard link" : "a link or another kind");
    if (process.getuid && found.uid !== process.getuid()) refuse(each, "a file of this user", `owner ${found.uid}`);
    if (process.platform !== "win32" && (found.mode & 0o077) !== 0) chmodSync(each, 0o600);
  }
}
