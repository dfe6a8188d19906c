/**
 * The paths a tool call names, as the file system has them. A path that does not exist yet is resolved through the
 * nearest folder that does, and through a link that points at nothing.
 */
import { lstatSync, readlinkSync, realpathSync, type Stats } from "node:fs";
import { dirname, isAbsolute, join, parse, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** A path argument, read every way a tool may read it. */
export interface NamedPath {
  /** As the model wrote it. */
  readonly written: string;
  /** Where it leads; empty when that cannot be told. More than one when `..` after a link can be read two ways. */
  readonly real: readonly string[];
  /** As written, with the links left as they are. */
  readonly lexical: string | undefined;
}

const NAMES = new Set(
  "path paths file files filename filenames dir dirs directory directories folder folders cwd workdir root source destination target src dest dst from to".split(
    " ",
  ),
);
const ENDING = /(path|paths|file|files|filename|dir|directory|folder)$/;
const MAX_PATHS = 256;
const MAX_DEPTH = 8;
const MAX_LINKS = 40;
/** Bytes of a path that any system takes. */
const MAX_PATH = 4_096;

const plainName = (key: string): string => key.toLowerCase().replaceAll(/[_-]/g, "");

/** The path arguments of a call; undefined when there are more than can be looked at. */
export function pathArguments(args: unknown, more: ReadonlySet<string>): string[] | undefined {
  const found: string[] = [];
  const walk = (value: unknown, named: boolean, depth: number): boolean => {
    if (typeof value === "string") return !named || found.push(value) <= MAX_PATHS;
    if (typeof value !== "object" || value === null) return true;
    if (depth > MAX_DEPTH) return false;
    if (Array.isArray(value)) return value.every((entry) => walk(entry, named, depth + 1));
    return Object.entries(value).every(([key, entry]) => walk(entry, isPathName(key, more), depth + 1));
  };
  return walk(args, false, 0) ? found : undefined;
}

const isPathName = (key: string, more: ReadonlySet<string>): boolean => {
  const name = plainName(key);
  return NAMES.has(name) || ENDING.test(name) || more.has(key);
};

/** Resolves a path argument against a folder. */
export function namedPath(written: string, base: string): NamedPath {
  try {
    const local = written.startsWith("file:") ? fileURLToPath(written) : written;
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(local) || local.includes("\0") || Buffer.byteLength(local) > MAX_PATH)
      return { written, real: [], lexical: undefined };
    const lexical = resolve(base, local);
    const readings = [realPath(lexical), ...(local.split(/[\\/]/).includes("..") ? [walked(base, local)] : [])];
    // A shell takes ~ for the home folder, a file tool for a name.
    const sure = readings.every((path) => path !== undefined) && !local.startsWith("~");
    return { written, real: sure ? [...new Set(readings as string[])] : [], lexical };
  } catch {
    return { written, real: [], lexical: undefined };
  }
}

/** The segments of an absolute path. */
export const segmentsOf = (path: string): string[] => path.split(sep).filter((segment) => segment !== "");
/** The segments of a path below a folder; undefined when it lies elsewhere. */
export function segmentsBelow(folder: string, path: string): string[] | undefined {
  const way = relative(folder, path);
  return way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way) ? undefined : segmentsOf(way);
}

/** The real path of what exists, or will when it is made. Undefined when it cannot be told. */
export function realPath(path: string, links = 0): string | undefined {
  if (links > MAX_LINKS) return undefined;
  try {
    if (there(path)) return realpathSync.native(path);
    // From the top down: what is missing has nothing below it that would have to be looked at.
    let at: string | undefined = parse(path).root;
    const segments = path.slice(at.length).split(sep);
    for (const [index, segment] of segments.entries()) {
      if (at === undefined) return undefined;
      const next: string = join(at, segment);
      const found = there(next);
      if (!found) return join(at, ...segments.slice(index));
      at = found.isSymbolicLink() ? realPath(resolve(at, readlinkSync(next)), links + 1) : next;
    }
    return at;
  } catch (error) {
    // A link that points at nothing: it is there, and has no real path yet.
    return isAbsent(error) && there(path)?.isSymbolicLink() ? beyond(path, links) : undefined;
  }
}

/** Where a link at the end of a path leads. */
function beyond(path: string, links: number): string | undefined {
  const folder = realPath(dirname(path), links + 1);
  return folder && realPath(resolve(folder, readlinkSync(path)), links + 1);
}

function there(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}
const isAbsent = (error: unknown): boolean =>
  ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");

/** As the file system walks a path: `..` leaves the folder a link led to. */
function walked(base: string, path: string): string | undefined {
  const { root } = parse(path);
  let at: string | undefined = root === "" ? realPath(base) : root;
  for (const segment of path.slice(root.length).split(/[\\/]/)) {
    if (at === undefined) return undefined;
    if (segment === "" || segment === ".") continue;
    at = segment === ".." ? dirname(at) : realPath(join(at, segment));
  }
  return at;
}
