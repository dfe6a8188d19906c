/**
 * Puts new content under a name: written to a temporary file in the verified folder, then renamed over the name. A link
 * at the name is replaced and never written through; a hard link is broken, so the file's other names keep their bytes.
 */
import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  type Stats,
  unlinkSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  assertRegular,
  type Boundary,
  canonical,
  guarded,
  inFolder,
  isInside,
  type Opened,
  openFolder,
  pathOf,
} from "./boundary.ts";
import { errnoOf, FileFault, leadsAway, shown } from "./fault.ts";

const { O_CREAT, O_EXCL, O_WRONLY, O_RDONLY, O_NOFOLLOW = 0, O_DIRECTORY = 0 } = constants;

/** Where a write will go, before anything is made. */
export interface Target {
  /** Relative to the workspace. */
  readonly rel: string;
  readonly existing: Stats | undefined;
}

/** @throws FileFault when the path is outside, a folder, a device, or marked read-only. */
export function targetOf(boundary: Boundary, path: string): Target {
  return guarded(path, () => {
    const { real, missing } = canonical(boundary, path);
    const full = join(real, ...missing);
    const rel = full.slice(boundary.root.length + 1).replaceAll("\\", "/");
    if (/[/\\]$/.test(path) || rel === "") throw new FileFault("cave_path_not_file", `${shown(path)} names a folder`);
    if (missing.length > 0) return { rel, existing: undefined };
    const existing = lstatSync(real);
    assertRegular(existing, path);
    if ((existing.mode & 0o222) === 0) throw new FileFault("cave_path_denied", `${shown(path)} is read-only`);
    return { rel, existing };
  });
}

/**
 * Writes all or nothing. `seen` is the file the caller worked from, undefined when there was none; if another is there
 * by now, nothing is written.
 */
export function replaceFile(boundary: Boundary, path: string, content: Uint8Array, seen: Stats | undefined): Stats {
  return guarded(path, () => {
    const { real, missing } = canonical(boundary, path);
    const names = missing.length > 0 ? missing : [basename(real)];
    const name = names.at(-1) ?? "";
    const folder = makeFolders(boundary, missing.length > 0 ? real : dirname(real), names.slice(0, -1), path);
    try {
      return renameInto(boundary, folder, name, content, seen, path);
    } finally {
      closeSync(folder.fd);
    }
  });
}

function makeFolders(boundary: Boundary, base: string, names: readonly string[], path: string): Opened {
  let folder = openFolder(boundary, base);
  for (const name of names) {
    const next = inFolder(folder, name);
    let fd: number;
    try {
      try {
        mkdirSync(next);
      } catch (error) {
        if (errnoOf(error) !== "EEXIST") throw error;
      }
      fd = openSync(next, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    } catch (error) {
      closeSync(folder.fd);
      throw errnoOf(error) === "ENOTDIR"
        ? new FileFault("cave_path_not_folder", `${shown(name)} in ${shown(path)} is no folder`)
        : error;
    }
    closeSync(folder.fd);
    folder = { ...folder, fd, real: join(folder.real, name) };
  }
  return folder;
}

function renameInto(
  boundary: Boundary,
  folder: Opened,
  name: string,
  content: Uint8Array,
  seen: Stats | undefined,
  path: string,
): Stats {
  const temporary = inFolder(folder, `.caveman-${crypto.randomUUID()}.tmp`);
  const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, seen ? 0o600 : 0o666);
  try {
    try {
      for (let at = 0; at < content.length; ) at += writeSync(fd, content, at);
      if (seen) keepOwner(fd, seen);
    } finally {
      closeSync(fd);
    }
    if (!isInside(boundary.root, pathOf(folder, path)))
      throw new FileFault("cave_path_outside_workspace", leadsAway(path));
    const target = inFolder(folder, name);
    if (!same(seen, lookAt(target)))
      throw new FileFault("cave_file_changed", `${shown(path)} changed while it was written`);
    renameSync(temporary, target);
    return lstatSync(target);
  } catch (error) {
    try {
      unlinkSync(temporary);
    } catch {
      // Renamed already, or its folder is gone.
    }
    throw error;
  }
}

function keepOwner(fd: number, seen: Stats): void {
  try {
    fchownSync(fd, seen.uid, seen.gid);
  } catch {
    // Only root may give a file away; the mode below is kept all the same.
  }
  fchmodSync(fd, seen.mode & 0o7777);
}

function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

const same = (a: Stats | undefined, b: Stats | undefined): boolean =>
  a === b ||
  (a !== undefined &&
    b !== undefined &&
    a.ino === b.ino &&
    a.dev === b.dev &&
    a.mtimeMs === b.mtimeMs &&
    a.size === b.size);
