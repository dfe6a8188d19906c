/** Where an import leads, by Node's own rules: relative paths, packages with `exports`, imports of a package. */
import { existsSync, readFileSync, realpathSync, statSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** A package on disk. */
export interface Package {
  readonly dir: string;
  readonly name: string | undefined;
  readonly type: "module" | "commonjs" | undefined;
  readonly manifest: Readonly<Record<string, unknown>>;
}
export type How = "import" | "require";

/** Lookups of one walk, so that a folder is asked once. */
export class Resolver {
  readonly #packages = new Map<string, Package | undefined>();

  /** The real path of the file, or undefined when it leads nowhere. */
  resolve(specifier: string, from: string, how: How): string | undefined {
    const path = this.#path(specifier, from, how);
    const file = path === undefined ? undefined : how === "require" ? probed(path) : isFile(path) ? path : undefined;
    return file === undefined ? undefined : realpathSync(file);
  }

  #path(specifier: string, from: string, how: How): string | undefined {
    if (specifier.startsWith("file:")) return fileURLToPath(specifier);
    if (/^\.{0,2}\//.test(specifier) || specifier === "." || specifier === "..")
      return resolve(
        dirname(from),
        /[?#]/.test(specifier) && how === "import" ? specifier.replace(/[?#].*$/, "") : specifier,
      );
    const own = this.packageOf(from);
    if (specifier.startsWith("#")) {
      const target = own && matched(own.manifest.imports, specifier, how);
      if (!own || target === undefined) return undefined;
      return target.startsWith("./") ? join(own.dir, target) : this.#path(target, join(own.dir, "package.json"), how);
    }
    const [, name, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(specifier) ?? [];
    if (name === undefined) return undefined;
    const found = own?.name === name && own.manifest.exports !== undefined ? own : this.#installed(name, from);
    return found && within(found, rest, how);
  }

  #installed(name: string, from: string): Package | undefined {
    for (let dir = dirname(from); ; dir = dirname(dir)) {
      const candidate = join(dir, "node_modules", name);
      if (existsSync(join(candidate, "package.json"))) return this.#read(realpathSync(candidate));
      if (dir === dirname(dir)) return undefined;
    }
  }

  /** The package that a file belongs to. */
  packageOf(file: string): Package | undefined {
    const dir = dirname(file);
    if (this.#packages.has(dir)) return this.#packages.get(dir);
    const found = existsSync(join(dir, "package.json"))
      ? this.#read(dir)
      : dir === dirname(dir) || dir.endsWith(`${sep}node_modules`)
        ? undefined
        : this.packageOf(dir);
    this.#packages.set(dir, found);
    return found;
  }

  #read(dir: string): Package {
    let manifest: Record<string, unknown> = {};
    try {
      const read: unknown = JSON.parse(readFileSync(join(dir, "package.json"), "utf8"));
      if (typeof read === "object" && read !== null) manifest = read as Record<string, unknown>;
    } catch {
      // An unreadable manifest says nothing, as Node takes it for a folder without one.
    }
    const { name, type } = manifest;
    return {
      dir,
      manifest,
      name: typeof name === "string" ? name : undefined,
      type: type === "module" || type === "commonjs" ? type : undefined,
    };
  }
}

function within({ dir, manifest }: Package, rest: string | undefined, how: How): string | undefined {
  if (manifest.exports !== undefined) {
    const target = matched(subpaths(manifest.exports), `.${rest ?? ""}`, how);
    return target === undefined ? undefined : join(dir, target);
  }
  if (rest !== undefined) return join(dir, rest);
  const main = typeof manifest.main === "string" ? join(dir, manifest.main) : join(dir, "index.js");
  return probed(main) ?? probed(join(dir, "index.js"));
}

/** `exports` in its long form. */
const subpaths = (exports: unknown): unknown =>
  typeof exports === "object" &&
  exports !== null &&
  !Array.isArray(exports) &&
  Object.keys(exports).every((key) => key.startsWith("."))
    ? exports
    : { ".": exports };

/** The target that a table of `exports` or `imports` gives for a key; patterns by their longest prefix. */
function matched(table: unknown, key: string, how: How): string | undefined {
  if (typeof table !== "object" || table === null) return undefined;
  const entries = Object.entries(table);
  const exact = entries.find(([name]) => name === key && !name.includes("*"));
  if (exact) return conditioned(exact[1], how);
  const patterns = entries
    .filter(([name]) => name.includes("*"))
    .map(([name, target]) => ({
      before: name.slice(0, name.indexOf("*")),
      after: name.slice(name.indexOf("*") + 1),
      target,
    }))
    .sort((a, b) => b.before.length - a.before.length || b.after.length - a.after.length);
  for (const { before, after, target } of patterns)
    if (key.startsWith(before) && key.endsWith(after) && key.length >= before.length + after.length)
      return conditioned(target, how)?.replaceAll("*", key.slice(before.length, key.length - after.length));
  return undefined;
}

function conditioned(target: unknown, how: How): string | undefined {
  if (typeof target === "string") return target;
  if (Array.isArray(target)) return target.map((each) => conditioned(each, how)).find((each) => each !== undefined);
  if (typeof target !== "object" || target === null) return undefined;
  for (const [condition, value] of Object.entries(target))
    if (["node", how, "module-sync", "default"].includes(condition)) {
      const found = conditioned(value, how);
      if (found !== undefined) return found;
    }
  return undefined;
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** A path as `require` takes it: with its ending left out, or a folder. */
function probed(path: string): string | undefined {
  for (const ending of ["", ".js", ".json", ".cjs", `${sep}index.js`, `${sep}index.json`])
    if (isFile(path + ending)) return path + ending;
  const manifest = join(path, "package.json");
  if (!isFile(manifest)) return undefined;
  try {
    const { main } = JSON.parse(readFileSync(manifest, "utf8")) as { main?: unknown };
    return typeof main === "string" && main !== "." ? probed(join(path, main)) : undefined;
  } catch {
    return undefined;
  }
}
