/** The files of a folder in byte order of their names, folder by folder. Links are not followed. */
import { closeSync, type Dirent, lstatSync, readdirSync } from "node:fs";
import { type Boundary, canonical, inFolder, type Opened, openFile, openFolder } from "../files/boundary.ts";
import { FileFault, faultOf, shown } from "../files/fault.ts";
import type { FilesAnswer, FilesRequest } from "../files/protocol.ts";
import { type Glob, parseGlob } from "./glob.ts";
import { IgnoreRules } from "./ignore-rules.ts";

/** Larger files are not searched. */
export const SEARCHED_BYTES = 16 * 1_024 * 1_024;
const MAX_DEPTH = 128;
/** Names that are looked at in one walk. */
const MAX_NAMES = 500_000;

export function files(boundary: Boundary, request: FilesRequest, deadline: number): FilesAnswer {
  const walk = new Walk(boundary, request, deadline);
  walk.from(request.path);
  return { files: walk.files, more: walk.more, notes: walk.notes() };
}

interface Entry {
  readonly name: string;
  readonly folder: boolean;
  readonly searchable: boolean;
}

class Walk {
  readonly files: string[] = [];
  more = false;
  readonly #boundary: Boundary;
  readonly #request: FilesRequest;
  readonly #deadline: number;
  readonly #glob: Glob | undefined;
  #start = "";
  #names = 0;
  #left = { large: 0, linked: 0, unreadable: 0, unnamed: 0, deep: 0 };

  constructor(boundary: Boundary, request: FilesRequest, deadline: number) {
    this.#boundary = boundary;
    this.#request = request;
    this.#deadline = deadline;
    this.#glob = request.glob === undefined ? undefined : parseGlob(request.glob);
  }

  from(path: string): void {
    const { real, missing } = canonical(this.#boundary, path);
    if (missing.length > 0) throw new FileFault("cave_path_not_found", `there is nothing at ${shown(path)}`);
    if (!lstatSync(real).isDirectory()) {
      const opened = openFile(this.#boundary, path);
      closeSync(opened.fd);
      this.files.push(opened.rel);
      return;
    }
    const start = openFolder(this.#boundary, path);
    closeSync(start.fd);
    this.#start = start.rel === "." ? "" : start.rel;
    // The rules of the folders above apply; whether the start itself is ignored does not.
    let rules: IgnoreRules | undefined;
    const parts = this.#start === "" ? [] : this.#start.split("/");
    for (let depth = 0; depth < parts.length; depth++) rules = this.#rulesIn(parts.slice(0, depth).join("/"), rules);
    this.#folder(this.#start, rules, 0);
  }

  #rulesIn(folder: string, above: IgnoreRules | undefined): IgnoreRules | undefined {
    return IgnoreRules.in(this.#boundary, folder, new Set([".rgignore", ".ignore", ".gitignore", ".git"]), above);
  }

  #folder(rel: string, above: IgnoreRules | undefined, depth: number): void {
    if (this.more) return;
    if (depth > MAX_DEPTH) {
      this.#left.deep++;
      return;
    }
    if (Date.now() > this.#deadline)
      throw new FileFault(
        "cave_search_timeout",
        `looking through the files of ${shown(this.#request.path)} took too long`,
      );
    let entries: readonly Entry[];
    try {
      entries = this.#entries(rel);
    } catch (error) {
      if (depth === 0) throw faultOf(error, this.#request.path);
      this.#left.unreadable++;
      return;
    }
    const rules = IgnoreRules.in(this.#boundary, rel, new Set(entries.map(({ name }) => name)), above);
    for (const { name, folder, searchable } of entries) {
      if (this.more) return;
      const path = rel === "" ? name : `${rel}/${name}`;
      if (name === ".git" || rules?.ignores(path, folder)) continue;
      if (folder) this.#folder(path, rules, depth + 1);
      else if (searchable) this.#file(path);
    }
  }

  #entries(rel: string): Entry[] {
    const opened = openFolder(this.#boundary, rel === "" ? "." : rel);
    try {
      // A folder that became a link meanwhile is another folder now.
      if (opened.rel !== (rel === "" ? "." : rel))
        throw new FileFault("cave_file_changed", `${shown(rel)} was replaced`);
      const found: Entry[] = [];
      for (const entry of readdirSync(inFolder(opened, "."), { withFileTypes: true })) {
        if (++this.#names > MAX_NAMES) {
          this.more = true;
          break;
        }
        const known = this.#entry(opened, entry);
        if (known) found.push(known);
      }
      return found.sort((a, b) => byBytes(a.name, b.name));
    } finally {
      closeSync(opened.fd);
    }
  }

  #entry(folder: Opened, entry: Dirent): Entry | undefined {
    const { name } = entry;
    if (name.includes("\uFFFD")) {
      this.#left.unnamed++;
      return undefined;
    }
    if (entry.isDirectory()) return { name, folder: true, searchable: false };
    if (!entry.isFile()) return undefined;
    return { name, folder: false, searchable: !this.#request.searchable || this.#searchable(inFolder(folder, name)) };
  }

  #searchable(path: string): boolean {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat?.isFile()) return false;
    if (stat.size > SEARCHED_BYTES) this.#left.large++;
    else if (stat.nlink > 1 && this.#boundary.hardLinks === "refuse") this.#left.linked++;
    else return true;
    return false;
  }

  #file(path: string): void {
    const glob = this.#glob;
    if (glob) {
      const within = this.#start === "" ? path : path.slice(this.#start.length + 1);
      if ((glob.matches(path) || glob.matches(within)) === glob.negated) return;
    }
    if (this.files.length >= this.#request.limit) this.more = true;
    else this.files.push(path);
  }

  notes(): string[] {
    const { large, linked, unreadable, unnamed, deep } = this.#left;
    const say = (count: number, what: string): string[] => (count > 0 ? [`${count} ${what}`] : []);
    return [
      ...say(large, `over ${SEARCHED_BYTES} bytes not searched`),
      ...say(linked, "with other names (hard links) not searched"),
      ...say(unreadable, "unreadable folders"),
      ...say(unnamed, "whose names are not UTF-8 left out"),
      ...say(deep, `folders deeper than ${MAX_DEPTH} not entered`),
    ];
  }
}

/** Code points sort as their UTF-8 bytes do. */
export function byBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const [x, y] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (x === y) continue;
    const surrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff;
    if (surrogate(x) !== surrogate(y)) return surrogate(x) ? 1 : -1;
    return x - y;
  }
  return a.length - b.length;
}
