/** Files of the user alone: no link, no other owner, in folders that nobody else can put a file into. */
import { chmodSync, closeSync, existsSync, lstatSync, mkdirSync, openSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";

const GROUP_OR_OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/** The owner's coded error for a place that is not private. */
export type Unsafe = (place: string, expected: string, received: string) => Error;

/**
 * Makes the file and its folder when they are missing, and checks both. Companions are files that are used beside it.
 * @throws what `unsafe` gives; errors of the file system as they come.
 */
export function preparePrivateFile(path: string, companions: readonly string[], unsafe: Unsafe): void {
  const folder = dirname(path);
  makeFolder(folder);
  checkFolder(folder, unsafe);
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    // There already, or another process was quicker: it is checked like any other.
    if (systemCode(error) !== "EEXIST") throw error;
  }
  for (const each of [path, ...companions]) checkFile(each, unsafe);
}

/** Checks the file, its folder and its companions, and makes none of them. @throws what `unsafe` gives. */
export function checkPrivateFile(path: string, companions: readonly string[], unsafe: Unsafe): void {
  checkFolder(dirname(path), unsafe);
  for (const each of [path, ...companions]) checkFile(each, unsafe);
}

/**
 * Makes a folder and those above it, private unless told otherwise. Level by level: where a file system takes no folders
 * at all, as /proc, the recursive call of Node never ends.
 */
export function makeFolder(folder: string, mode = 0o700): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder), mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

/** The code of an error of the system, as ENOENT. */
export const systemCode = (error: unknown): string | undefined =>
  typeof error === "object" && error !== null && "code" in error && typeof error.code === "string"
    ? error.code
    : undefined;

function checkFolder(folder: string, unsafe: Unsafe): void {
  const found = statSync(folder);
  if (!found.isDirectory()) throw unsafe(folder, "a folder", "another kind of file");
  // In a sticky folder such as /tmp others can add files, but not replace ours.
  if (hasModes && (found.mode & WRITABLE_BY_OTHERS) !== 0 && (found.mode & STICKY) === 0)
    throw unsafe(folder, "a folder only its owner can write", `mode ${(found.mode & 0o777).toString(8)}`);
}

function checkFile(path: string, unsafe: Unsafe): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isFile())
    throw unsafe(path, "a regular file", found.isSymbolicLink() ? "a symbolic link" : "another kind");
  if (found.nlink > 1) throw unsafe(path, "a file with one name", `${found.nlink} hard links`);
  if (!own(found)) throw unsafe(path, "a file of this user", `owner ${found.uid}`);
  if (hasModes && (found.mode & GROUP_OR_OTHERS) !== 0) chmodSync(path, 0o600);
}

const hasModes = process.platform !== "win32";
const own = ({ uid }: Stats): boolean => process.getuid === undefined || uid === process.getuid();
