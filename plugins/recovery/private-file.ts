/** A file that only its owner can read, in a folder that nobody else can put another file into. */
import {
  chmodSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { CavemanError } from "../../kernel/index.ts";

const unsafe = (place: string, expected: string, received: string): CavemanError =>
  new CavemanError("cave_recovery_store_unsafe", { place, expected, received });

const GROUP_OR_OTHERS = 0o077;
const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/**
 * Makes the file and its folder when they are missing, and checks both. Companions are files that are used beside it.
 * @throws CavemanError `cave_recovery_store_unsafe`; errors of the file system as they come.
 */
export function preparePrivateFile(path: string, companions: readonly string[]): void {
  const folder = dirname(path);
  makeFolder(folder);
  checkFolder(folder);
  if (present(path) === undefined) {
    try {
      closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600));
    } catch (error) {
      // Another process was quicker; its file is checked like any other.
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  checkPrivateFile(path, companions);
}

/** @throws CavemanError `cave_recovery_store_unsafe`. */
export function checkPrivateFile(path: string, companions: readonly string[]): void {
  checkFolder(dirname(path));
  for (const each of [path, ...companions]) {
    const found = present(each);
    if (found === undefined) continue;
    if (!found.isFile())
      throw unsafe(each, "a regular file", found.isSymbolicLink() ? "a symbolic link" : "another kind");
    if (found.nlink > 1) throw unsafe(each, "a file with one name", `${found.nlink} hard links`);
    if (!own(found)) throw unsafe(each, "a file of this user", `owner ${found.uid}`);
    if (hasModes && (found.mode & GROUP_OR_OTHERS) !== 0) chmodSync(each, 0o600);
  }
}

/** Level by level: where a file system takes no folders at all, as /proc, the recursive call of Node never ends. */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  if (dirname(folder) !== folder) makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function checkFolder(folder: string): void {
  const found = statSync(folder);
  if (!found.isDirectory()) throw unsafe(folder, "a folder", "another kind of file");
  if (!hasModes) return;
  // In a sticky folder such as /tmp others can add files, but not replace ours.
  if ((found.mode & WRITABLE_BY_OTHERS) !== 0 && (found.mode & STICKY) === 0)
    throw unsafe(folder, "a folder only its owner can write", `mode ${(found.mode & 0o777).toString(8)}`);
}

const hasModes = process.platform !== "win32";
const own = ({ uid }: Stats): boolean => process.getuid === undefined || uid === process.getuid();

function present(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
