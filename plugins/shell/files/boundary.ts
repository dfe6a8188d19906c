/**
 * The workspace boundary. A path is canonicalised and compared with the workspace's real path; then the file is opened
 * without following links, and it is the descriptor's own path that decides, so that a swap between check and use gains
 * nothing. Everything here is synchronous: it runs in a file worker.
 */
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statfsSync,
  statSync,
} from "node:fs";
import { dirname, isAbsolute, join, normalize, parse, relative, resolve, sep } from "node:path";
import { errnoOf, FileFault, faultOf, leadsAway, shown } from "./fault.ts";

export type HardLinks = "refuse" | "read";

export interface Boundary {
  /** Real path of the workspace. */
  readonly root: string;
  /** The workspace as it was named; absolute. */
  readonly named: string;
  readonly device: number;
  readonly hardLinks: HardLinks;
}

/** An open descriptor that was proved to lie inside. Close it. */
export interface Opened {
  readonly fd: number;
  readonly real: string;
  /** Relative to the workspace, with `/`. */
  readonly rel: string;
  readonly stat: Stats;
}

/** The limits of a path in bytes: PATH_MAX with its NUL is 4,096, NAME_MAX is 255. */
const PATH_BYTES = 4_095;
const NAME_BYTES = 255;
/** File systems that show the kernel and other processes: proc, sysfs, debugfs, tracefs, securityfs, cgroup, bpf. */
const KERNEL_FS: ReadonlySet<number> = new Set([
  0x9fa0, 0x62656572, 0x64626720, 0x74726163, 0x73636673, 0x27e0eb, 0x63677270, 0xcafe4a11,
]);
/** Linux names a descriptor's own path; elsewhere identity by device and inode has to do. */
const PROC_FD = process.platform === "linux" && existsSync("/proc/self/fd");
const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_NOCTTY = 0, O_DIRECTORY = 0 } = constants;

/** @throws FileFault `cave_workspace_invalid`. */
export function boundaryOf(named: string, hardLinks: HardLinks): Boundary {
  let root: string;
  let stat: Stats;
  try {
    root = realpathSync.native(named);
    stat = statSync(root);
  } catch (error) {
    throw new FileFault("cave_workspace_invalid", `${shown(named)}: ${errnoOf(error) || "unreadable"}`);
  }
  const wrong = !stat.isDirectory()
    ? "is not a folder"
    : dirname(root) === root
      ? "is the root of the file system"
      : isKernelFs(root)
        ? "lies on a file system of the kernel"
        : undefined;
  if (wrong) throw new FileFault("cave_workspace_invalid", `${shown(named)} ${wrong}`);
  return { root, named: resolve(named), device: stat.dev, hardLinks };
}

function isKernelFs(path: string): boolean {
  try {
    return KERNEL_FS.has(statfsSync(path).type);
  } catch {
    return true;
  }
}

export const isInside = (root: string, path: string): boolean =>
  path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);

const relOf = (boundary: Boundary, real: string): string => relative(boundary.root, real).split(sep).join("/") || ".";

/** What a path stands for: the real path of the part that exists, and the names after it that do not. */
export interface Canonical {
  readonly real: string;
  readonly missing: readonly string[];
}

/** @throws FileFault `cave_path_invalid`, `cave_path_outside_workspace`, `cave_path_denied`. */
export function canonical(boundary: Boundary, path: string): Canonical {
  checkText(path);
  const { root, named } = boundary;
  const absolute = isAbsolute(path) ? normalize(path) : resolve(root, path);
  const full = isInside(named, absolute) ? join(root, relative(named, absolute)) : absolute;
  const start = isInside(root, full) ? root : parse(full).root;
  const names = relative(start, full)
    .split(sep)
    .filter((name) => name !== "");
  const found = descend(root, start, names, path);
  // Whatever lies outside gets one answer, whether it is there or not.
  if (!isInside(root, found.real)) throw new FileFault("cave_path_outside_workspace", leadsAway(path));
  return found;
}

/** Follows a path name by name, down to the first that is not there. */
function descend(root: string, start: string, names: readonly string[], path: string): Canonical {
  let real = start;
  for (const [index, name] of names.entries()) {
    const next = join(real, name);
    try {
      const stat = look(next);
      if (!stat) return { real: realpathSync.native(real), missing: names.slice(index) };
      real = stat.isSymbolicLink() ? target(next, path) : next;
    } catch (error) {
      throw isInside(root, real) ? faultOf(error, path) : new FileFault("cave_path_outside_workspace", leadsAway(path));
    }
  }
  return { real: realpathSync.native(real), missing: [] };
}

/** What a link leads to; one that cannot be followed, for whatever reason, leads away. */
function target(link: string, path: string): string {
  try {
    return realpathSync.native(link);
  } catch {
    throw new FileFault("cave_path_outside_workspace", leadsAway(path));
  }
}

function look(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes(errnoOf(error))) return undefined;
    throw error;
  }
}

function checkText(path: string): void {
  const refuse = (why: string): never => {
    throw new FileFault("cave_path_invalid", `${shown(path)} ${why}`);
  };
  if (typeof path !== "string" || path.trim() === "") throw new FileFault("cave_path_invalid", "the path is empty");
  if (path.includes("\0")) refuse("holds a NUL character");
  if (!path.isWellFormed()) refuse("is not well-formed Unicode");
  const bytes = Buffer.byteLength(path);
  if (bytes > PATH_BYTES) refuse(`has ${bytes} bytes; a path has at most ${PATH_BYTES}`);
  for (const name of path.split(/[/\\]/)) {
    if (Buffer.byteLength(name) > NAME_BYTES) refuse(`has a name of more than ${NAME_BYTES} bytes`);
  }
}

/** Opens a regular file for reading; it never waits on a pipe or a device. */
export function openFile(boundary: Boundary, path: string): Opened {
  return guarded(path, () => {
    const { real, missing } = canonical(boundary, path);
    if (missing.length > 0) throw new FileFault("cave_path_not_found", `there is no file ${shown(path)}`);
    // Looked at before it is opened: opening a device or a pipe may already do something.
    assertRegular(lstatSync(real), path);
    const opened = verified(boundary, real, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    try {
      assertRegular(opened.stat, path);
      if (boundary.hardLinks === "refuse" && opened.stat.nlink > 1) {
        throw new FileFault("cave_file_hard_linked", `${shown(path)} is one of ${opened.stat.nlink} names of one file`);
      }
      return opened;
    } catch (error) {
      closeSync(opened.fd);
      throw error;
    }
  });
}

/** Opens a folder. */
export function openFolder(boundary: Boundary, path: string): Opened {
  return guarded(path, () => {
    const { real, missing } = canonical(boundary, path);
    if (missing.length > 0) throw new FileFault("cave_path_not_found", `there is no folder ${shown(path)}`);
    if (!lstatSync(real).isDirectory()) throw new FileFault("cave_path_not_folder", `${shown(path)} is a file`);
    return verified(boundary, real, path, O_RDONLY | O_NOFOLLOW | O_DIRECTORY | O_NONBLOCK);
  });
}

function verified(boundary: Boundary, real: string, path: string, flags: number): Opened {
  const fd = openSync(real, flags);
  try {
    const stat = fstatSync(fd);
    const now = pathOf({ fd, real, stat }, path);
    if (!isInside(boundary.root, now)) throw new FileFault("cave_path_outside_workspace", leadsAway(path));
    if (stat.dev !== boundary.device && isKernelFs(PROC_FD ? `/proc/self/fd/${fd}` : now)) {
      throw new FileFault("cave_path_outside_workspace", `${shown(path)} lies on a file system of the kernel`);
    }
    return { fd, real: now, rel: relOf(boundary, now), stat };
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Where an open descriptor is now. @throws FileFault `cave_file_changed` when it is nowhere any more. */
export function pathOf({ fd, real, stat }: Pick<Opened, "fd" | "real" | "stat">, path: string): string {
  const gone = (): FileFault => new FileFault("cave_file_changed", `${shown(path)} was moved or replaced meanwhile`);
  if (PROC_FD) {
    const now = readlinkSync(`/proc/self/fd/${fd}`);
    if (now.endsWith(" (deleted)") && !look(now)) throw gone();
    return now;
  }
  const now = realpathSync.native(real);
  const there = statSync(now);
  if (there.ino !== stat.ino || there.dev !== stat.dev) throw gone();
  return now;
}

/** The path of a name inside an open folder: on Linux through the descriptor, as openat does. */
export const inFolder = (folder: Pick<Opened, "fd" | "real">, name: string): string =>
  PROC_FD ? `/proc/self/fd/${folder.fd}/${name}` : join(folder.real, name);

export function assertRegular(stat: Stats, path: string): void {
  if (stat.isFile()) return;
  const kind = stat.isDirectory()
    ? "a folder; look with list_files"
    : stat.isFIFO()
      ? "a named pipe"
      : stat.isSocket()
        ? "a socket"
        : stat.isSymbolicLink()
          ? "a link"
          : "a device";
  throw new FileFault("cave_path_not_file", `${shown(path)} is ${kind}`);
}

export function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw faultOf(error, path);
  }
}
