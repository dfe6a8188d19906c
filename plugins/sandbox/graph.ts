/**
 * The source graph of an entry module: every file its tools can load, with types stripped, each import rewritten to
 * the staged name of its target. Edges of types vanish with the types. What is computed, missing, outside the root or
 * no regular file is refused here, before anything runs.
 */
import { readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { isBuiltin } from "node:module";
import { extname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import type { Import } from "es-module-lexer";
import { CavemanError, describe } from "../../kernel/index.ts";
import { type How, Resolver } from "./resolve.ts";
import { lineOf, type Reference, references } from "./scan.ts";
import { stripTypes } from "./strip-types.ts";

/** More than this is no tool any more, and staging it would outlast the call. */
export const MAX_FILES = 5_000;
export const MAX_BYTES = 64 * 1024 * 1024;

/** A file as it is staged. */
export interface StagedFile {
  /** Where it stands in the stage, with `/`. */
  readonly name: string;
  readonly content: string | Uint8Array;
}

export interface SourceGraph {
  /** The staged name of the entry. */
  readonly entry: string;
  readonly files: readonly StagedFile[];
  /** Names that the sources import from the framework. */
  readonly frameworkNames: readonly string[];
  /** What was read, to see later whether it changed. */
  readonly sources: readonly SourceStamp[];
  /** The staged name of a module by its real path. */
  readonly names: ReadonlyMap<string, string>;
}
export interface SourceStamp {
  readonly path: string;
  readonly stamp: string;
}

/** An entry that is no file of the project: written for an agent directory, standing at `path`. */
export interface VirtualEntry {
  readonly path: string;
  readonly source: string;
  /** Whether what its modules compute is left as it is, as in packages. */
  readonly trusted?: boolean;
}

/** The staged name of the module that stands for the framework. */
export const FRAMEWORK = "framework.mjs";
const PROJECT = "src";

type Format = "esm" | "cjs" | "json" | "asset";
interface Node {
  readonly path: string;
  readonly name: string;
  readonly format: Format;
  /** The folder it may not leave: the project's root, or that of its package. */
  readonly within: string;
  readonly project: boolean;
}
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}
type Lexer = { readonly parse: (source: string) => readonly [readonly Import[], unknown, boolean, boolean] };

/** Of the same form and time, the same file. */
export function stampOf(path: string): string {
  const stat = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stat ? `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}` : "gone";
}

/** Walks from the entry. @throws CavemanError `cave_tool_sandbox_*_escapes_root`, `cave_sandbox_source_*`. */
export async function sourceGraph(
  entry: string | VirtualEntry,
  rootDir: string,
  framework: string,
): Promise<SourceGraph> {
  const lexer = await import("es-module-lexer");
  await lexer.init();
  return new Walk(rootDir, framework, lexer).run(entry);
}

class Walk {
  readonly #root: string;
  readonly #framework: string;
  readonly #lexer: Lexer;
  readonly #resolver = new Resolver();
  readonly #nodes = new Map<string, Node>();
  readonly #packages = new Map<string, string>();
  readonly #queue: Node[] = [];
  readonly #files: StagedFile[] = [];
  readonly #sources: SourceStamp[] = [];
  readonly #names = new Set<string>();
  #bytes = 0;
  #trusted = false;

  constructor(rootDir: string, framework: string, lexer: Lexer) {
    this.#root = realpathSync(rootDir);
    this.#framework = framework;
    this.#lexer = lexer;
  }

  run(entry: string | VirtualEntry): SourceGraph {
    const first = typeof entry === "string" ? this.#entry(entry) : this.#virtual(entry);
    for (let node = this.#queue.shift(); node; node = this.#queue.shift()) this.#read(node);
    return {
      entry: first.name,
      files: this.#files,
      frameworkNames: [...this.#names].sort(),
      sources: this.#sources,
      names: new Map([...this.#nodes].map(([path, { name }]) => [path, name])),
    };
  }

  #entry(path: string): Node {
    const stat = statSync(path, { throwIfNoEntry: false });
    const real = stat?.isFile() ? realpathSync(path) : undefined;
    if (real === undefined || !inside(this.#root, real))
      throw new CavemanError("cave_tool_sandbox_entry_escapes_root", {
        place: path,
        expected: `a module inside ${this.#root}`,
        received: real === undefined ? (stat ? "no regular file" : "nothing") : "a file outside of it",
      });
    return this.#node(real, "import");
  }

  #virtual({ path, source, trusted = false }: VirtualEntry): Node {
    this.#trusted = trusted;
    const node: Node = { path, name: `${PROJECT}/entry.mjs`, format: "esm", within: this.#root, project: true };
    this.#keep(node.name, this.#linked(node, source));
    return node;
  }

  /** The node of a real path, queued when it is new. */
  #node(path: string, how: How | "asset"): Node {
    const key = how === "asset" ? `asset:${path}` : path;
    const known = this.#nodes.get(key);
    if (known) return known;
    const owner =
      path.includes(`${sep}node_modules${sep}`) || !inside(this.#root, path)
        ? this.#resolver.packageOf(path)
        : undefined;
    const within = owner?.dir ?? this.#root;
    const format = how === "asset" ? "asset" : this.#format(path);
    const base = owner ? this.#packageName(owner.dir) : PROJECT;
    const ending = { esm: ".mjs", cjs: ".cjs", json: "", asset: "" }[format];
    const name = `${base}/${relative(within, path).split(sep).join("/")}${ending}`;
    const node: Node = { path, name, format, within, project: owner === undefined && !this.#trusted };
    this.#nodes.set(key, node);
    this.#queue.push(node);
    return node;
  }

  #packageName(dir: string): string {
    const name = this.#packages.get(dir) ?? `packages/${this.#packages.size}`;
    this.#packages.set(dir, name);
    return name;
  }

  #format(path: string): Format {
    const ending = extname(path);
    if (ending === ".json") return "json";
    if (ending === ".mjs" || ending === ".mts") return "esm";
    if (ending === ".cjs" || ending === ".cts") return "cjs";
    if (ending !== ".js" && ending !== ".ts" && ending !== "")
      throw new CavemanError("cave_sandbox_source_unsupported", {
        place: path,
        expected: "JavaScript, TypeScript or JSON",
        received: ending === ".node" ? "a native addon" : ending,
      });
    const type = this.#resolver.packageOf(path)?.type;
    if (type !== undefined) return type === "module" ? "esm" : "cjs";
    // Without a type Node looks at the source, and so does this.
    const [, , , syntax] = this.#parse(this.#stripped(path, regular(path).toString("utf8")), path);
    return syntax ? "esm" : "cjs";
  }

  #read(node: Node): void {
    const bytes = regular(node.path);
    this.#sources.push({ path: node.path, stamp: stampOf(node.path) });
    if (node.format === "asset" || node.format === "json") this.#keep(node.name, bytes);
    else this.#keep(node.name, this.#linked(node, this.#stripped(node.path, bytes.toString("utf8"))));
  }

  #keep(name: string, content: string | Uint8Array): void {
    this.#files.push({ name, content });
    this.#bytes += content.length;
    if (this.#files.length > MAX_FILES || this.#bytes > MAX_BYTES)
      throw new CavemanError("cave_sandbox_source_limit", {
        place: name,
        expected: `at most ${MAX_FILES} files and ${MAX_BYTES} bytes`,
        received: `${this.#files.length} files, ${this.#bytes} bytes`,
      });
  }

  #stripped(path: string, source: string): string {
    if (!/\.[mc]?ts$/.test(path)) return source;
    try {
      return stripTypes(source);
    } catch (cause) {
      throw new CavemanError("cave_sandbox_source_unsupported", {
        place: path,
        expected: "TypeScript whose types can be erased",
        received: describe(cause).split("\n").slice(-1)[0],
        cause,
      });
    }
  }

  #parse(source: string, path: string): ReturnType<Lexer["parse"]> {
    try {
      return this.#lexer.parse(source);
    } catch (cause) {
      // CommonJS may hold what a module may not; then it has no imports either, but for require.
      if (!/\.c?js$/.test(path))
        throw new CavemanError("cave_sandbox_source_unsupported", {
          place: path,
          expected: "a module that parses",
          received: describe(cause).split("\n")[0],
          cause,
        });
      return [[], [], false, false];
    }
  }

  /** The source with every edge rewritten. */
  #linked(node: Node, source: string): string {
    const edits: Edit[] = [];
    const [imports] = this.#parse(source, node.path);
    for (const each of imports) {
      if (each.type === "import-meta" || (each.type !== "dynamic" && each.typeOnly)) continue;
      const { specifier } = each;
      const glob = each.type === "dynamic" && each.glob;
      if (specifier === undefined || glob) {
        if (node.project) throw this.#computed(node, source, each.start, "import()");
        continue;
      }
      const target = this.#edge(node, source, specifier, each.start, "import", each.type === "dynamic");
      if (target === undefined) continue;
      if (target === FRAMEWORK)
        for (const name of importedNames(source.slice(each.importStart, each.start))) this.#names.add(name);
      const text = pathFrom(node.name, target);
      edits.push({ start: each.start, end: each.end, text: each.type === "dynamic" ? JSON.stringify(text) : text });
    }
    for (const reference of references(source)) {
      const edit = this.#reference(node, source, reference);
      if (edit) edits.push(edit);
    }
    let text = source;
    for (const edit of edits.sort((a, b) => b.start - a.start))
      text = text.slice(0, edit.start) + edit.text + text.slice(edit.end);
    return text;
  }

  #reference(node: Node, source: string, { kind, literal, start, end }: Reference): Edit | undefined {
    if (literal === undefined) {
      // `require` in a module is a name like any other, unless the module makes it the loader with createRequire.
      if (node.project && (node.format === "cjs" || kind === "url" || /^createRequire/.test(source.slice(start, end))))
        throw this.#computed(node, source, start, kind === "url" ? "new URL()" : "require()");
      return undefined;
    }
    if (kind === "require") {
      if (node.format !== "cjs") return undefined;
      const target = this.#edge(node, source, literal, start, "require", true);
      return target === undefined ? undefined : { start, end, text: JSON.stringify(pathFrom(node.name, target)) };
    }
    if (!/^\.{1,2}\//.test(literal)) return undefined;
    const path = fileURLToPath(new URL(literal, `file://${node.path}`));
    if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return undefined;
    const target = this.#contained(node, realpathSync(path));
    return { start, end, text: JSON.stringify(pathFrom(node.name, this.#node(target, "asset").name)) };
  }

  /** The staged name of what an import leads to; undefined when it is left as it is. */
  #edge(node: Node, source: string, specifier: string, at: number, how: How, optional: boolean): string | undefined {
    if (isBuiltin(specifier) || specifier.startsWith("data:")) return undefined;
    if (/^caveman-agent(?:\/|$)/.test(specifier)) return FRAMEWORK;
    const path = this.#resolver.resolve(specifier, node.path, how);
    if (path === undefined) {
      // A package may try for what is not installed; a project that names what is not there is mistaken.
      if (!node.project && optional) return undefined;
      throw new CavemanError("cave_sandbox_source_unresolved", {
        place: `${node.path}:${lineOf(source, at)}`,
        received: JSON.stringify(specifier),
      });
    }
    if (this.#isFramework(path)) return FRAMEWORK;
    const relativeImport = /^(?:\.{0,2}\/|\.{1,2}$|file:|#)/.test(specifier);
    return this.#node(relativeImport ? this.#contained(node, path) : path, how).name;
  }

  #contained(node: Node, path: string): string {
    if (inside(node.within, path)) return path;
    throw new CavemanError("cave_tool_sandbox_source_escapes_root", {
      place: node.path,
      expected: `a file inside ${node.within}`,
      received: path,
    });
  }

  #isFramework(path: string): boolean {
    if (!inside(this.#framework, path)) return false;
    const [top = ""] = relative(this.#framework, path).split(sep);
    return ["kernel", "plugins", "presets", "cli", "catalog", "chunks", "index.ts", "index.js"].includes(top);
  }

  #computed(node: Node, source: string, at: number, what: string): CavemanError {
    return new CavemanError("cave_sandbox_source_computed", {
      place: `${node.path}:${lineOf(source, at)}`,
      expected: `${what} of a literal string`,
      received: "an expression",
    });
  }
}

/** The bytes of a regular file; the path is a real one. */
function regular(path: string): Buffer {
  const stat: Stats | undefined = statSync(path, { throwIfNoEntry: false });
  if (!stat?.isFile())
    throw new CavemanError("cave_sandbox_source_unsupported", {
      place: path,
      expected: "a regular file",
      received: stat ? "something else" : "nothing",
    });
  if (stat.size > MAX_BYTES)
    throw new CavemanError("cave_sandbox_source_limit", {
      place: path,
      expected: `at most ${MAX_BYTES} bytes`,
      received: `${stat.size} bytes`,
    });
  return readFileSync(path);
}

export const inside = (root: string, path: string): boolean => {
  const way = relative(resolve(root), path);
  return way !== "" && way !== ".." && !way.startsWith(`..${sep}`) && !way.startsWith(sep);
};

/** A relative specifier from one staged file to another. */
function pathFrom(from: string, to: string): string {
  const up = from.split("/").length - 1;
  return (up === 0 ? "./" : "../".repeat(up)) + to.split("/").map(encodeURIComponent).join("/");
}

/** The names in `import a, { b as c } from` or `export { d } from`; none for a namespace, which needs no names. */
export function importedNames(clause: string): string[] {
  const bare = clause.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ");
  const braces = /\{([^}]*)\}/.exec(bare)?.[1] ?? "";
  const names = braces.split(",").map(
    (part) =>
      part
        .trim()
        .split(/\s+as\s+/)[0]
        ?.trim() ?? "",
  );
  if (/^\s*import\s+(?!type\b)[\p{ID_Start}$_]/u.test(bare)) names.push("default");
  return names.filter((name) => /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name));
}
