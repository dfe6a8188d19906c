import { readdirSync, readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, join, posix, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "@jest/globals";
import { init, parse } from "es-module-lexer";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const folders = ["kernel", "catalog", "plugins", "presets", "cli", "examples"];

/** The kernel from the roof down: a file imports only files that stand after it. */
const kernelLayers = [
  "index",
  "kernel",
  "loop",
  "run",
  "call",
  "send",
  "request",
  "tool",
  "plugin",
  "hooks",
  "holds",
  "contract",
  "transcript",
  "definition",
  "ledger",
  "model",
  "schema",
  "race",
  "order",
  "errors",
  "digest",
];
const kernelPackages = ["tapable", "@sinclair/typebox", "ajv"];
/** Packages the kernel may take types from, and nothing that runs. */
const kernelTypePackages = ["@ai-sdk/provider"];

interface Import {
  readonly from: string;
  /** A file of the repository, or the bare name as written. */
  readonly to: string;
  readonly local: boolean;
  /** Gone once types are stripped. */
  readonly typeOnly: boolean;
}

function typescriptFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return /^(node_modules|dist|\.caveman)$/.test(entry.name) ? [] : typescriptFiles(path);
    return path.endsWith(".ts") && !path.endsWith(".d.ts") ? [path] : [];
  });
}

/** Every literal specifier, static or dynamic; the lexer reads TypeScript, type imports included. */
function lexed(source: string, file: string): string[] {
  return parse(source, file)[0].flatMap((found) =>
    "specifier" in found && typeof found.specifier === "string" ? [found.specifier] : [],
  );
}

/** Specifiers written as `import("…").Name` in a type position. */
function inlineTypes(source: string): string[] {
  return [...source.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g)].flatMap(([, name]) => name ?? []);
}

/** Import statements whose every name is marked `type` leave an empty import behind, which names nothing that runs. */
function running(source: string, file: string): string[] {
  const stripped = stripTypeScriptTypes(source).replace(/\b(import|export)\s*\{[\s,]*\}\s*from\s*["'][^"']+["']/g, "");
  return lexed(stripped, file);
}

function importsOf(file: string): Import[] {
  const source = readFileSync(join(root, file), "utf8");
  const runs = new Set(running(source, file));
  const all = new Set([...runs, ...lexed(source, file), ...inlineTypes(source)]);
  return [...all].map((name) => {
    const local = name.startsWith(".");
    const to = local ? posix.normalize(posix.join(posix.dirname(file), name)) : name;
    return { from: file, to, local, typeOnly: !runs.has(name) };
  });
}

let files: string[] = [];
let imports: Import[] = [];

beforeAll(async () => {
  await init();
  files = folders.flatMap(typescriptFiles);
  imports = ["index.ts", ...files].flatMap(importsOf);
});

const inFolder = (path: string, folder: string) => path.startsWith(`${folder}/`);
const packageOf = (name: string) =>
  name
    .split("/")
    .slice(0, name.startsWith("@") ? 2 : 1)
    .join("/");

/** Arrows out of `folder` that `allowed` does not accept, as readable lines. */
function wrong(folder: string, allowed: (arrow: Import) => boolean): string[] {
  return imports
    .filter((arrow) => inFolder(arrow.from, folder) && !allowed(arrow))
    .map((arrow) => `${arrow.from} -> ${arrow.to}${arrow.typeOnly ? " (type)" : ""}`);
}

/** Names of files on circles: Tarjan's strongly connected components with more than one member, or a self-import. */
function circles(edges: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const found: string[][] = [];
  const visit = (file: string): number => {
    const own = index.size;
    let lowest = own;
    index.set(file, own);
    stack.push(file);
    for (const next of edges.get(file) ?? []) {
      if (!index.has(next)) lowest = Math.min(lowest, visit(next));
      else if (stack.includes(next)) lowest = Math.min(lowest, low.get(next) ?? index.get(next) ?? own);
    }
    low.set(file, lowest);
    if (lowest === own) {
      const circle = stack.splice(stack.indexOf(file));
      if (circle.length > 1 || edges.get(file)?.includes(file)) found.push(circle);
    }
    return lowest;
  };
  for (const file of edges.keys()) if (!index.has(file)) visit(file);
  return found;
}

describe("who may import whom", () => {
  test("the kernel imports its own files, built-ins, tapable, TypeBox and Ajv, and takes types from the model port", () => {
    const allowed = ({ to, local, typeOnly }: Import) => {
      if (local) return inFolder(to, "kernel");
      if (to.startsWith("node:") || kernelPackages.includes(packageOf(to))) return true;
      return typeOnly && kernelTypePackages.includes(packageOf(to));
    };
    expect(wrong("kernel", allowed)).toEqual([]);
  });

  test("the catalog imports nothing above the kernel", () => {
    expect(wrong("catalog", ({ to, local }) => !local || inFolder(to, "catalog") || inFolder(to, "kernel"))).toEqual(
      [],
    );
  });

  test("a plugin imports the kernel, the catalog, the shared services and its own folder", () => {
    const faces = ["plugins/index.ts", "plugins/testing.ts"];
    const allowed = ({ from, to, local, typeOnly }: Import) => {
      if (!local) return packageOf(to) !== "caveman-agent";
      // Services are where plugins meet; a conversation is what any run may carry; what is private is so in one way, what
      // answers a query is found by one formula, and what a caller gave is shown in one.
      const shared = ["services.ts", "conversation/index.ts", "private-file.ts", "bm25.ts", "given.ts"].map(
        (file) => `plugins/${file}`,
      );
      if (inFolder(to, "kernel") || inFolder(to, "catalog") || shared.includes(to)) return true;
      const [, owner = ""] = from.split("/");
      if (faces.includes(from)) return /^plugins\/.+\/index\.ts$/.test(to);
      // A service speaks of what it gives: the shape of it, as a type.
      if (from === "plugins/services.ts") return typeOnly && /^plugins\/[^/]+\/schema\.ts$/.test(to);
      return from.split("/").length > 2 && inFolder(to, `plugins/${owner}`);
    };
    expect(wrong("plugins", allowed)).toEqual([]);
  });

  test("a preset imports plugins, the kernel and other presets", () => {
    const homes = ["presets", "plugins", "kernel"];
    expect(wrong("presets", ({ to, local }) => local && homes.some((home) => inFolder(to, home)))).toEqual([]);
  });

  test("nothing but the command line and the package's face imports the command line", () => {
    const intruders = imports
      .filter(({ from, to, local }) => local && inFolder(to, "cli") && !inFolder(from, "cli") && from !== "index.ts")
      .map(({ from, to }) => `${from} -> ${to}`);
    expect(intruders).toEqual([]);
  });

  test("an example imports the package by its public names, its own files and other packages", () => {
    const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { exports: object };
    const names = Object.keys(exports).map((path) => posix.join("caveman-agent", path));
    const allowed = ({ from, to, local }: Import) => {
      if (local) return inFolder(to, from.split("/").slice(0, 2).join("/"));
      return packageOf(to) !== "caveman-agent" || names.includes(to);
    };
    expect(wrong("examples", allowed)).toEqual([]);
  });

  test("no import leads in a circle, types included", () => {
    const edges = new Map<string, string[]>();
    for (const { from, to, local } of imports) if (local) edges.set(from, [...(edges.get(from) ?? []), to]);
    expect(circles(edges)).toEqual([]);
  });
});

describe("the kernel stays small and layered", () => {
  const kernelFiles = () => files.filter((file) => inFolder(file, "kernel"));
  const layer = (file: string) =>
    kernelLayers.indexOf(relative("kernel", file).split(sep).join("/").replace(/\.ts$/, ""));

  test("every kernel file has its place in the order", () => {
    expect(kernelFiles().filter((file) => layer(file) < 0)).toEqual([]);
  });

  test("a kernel file imports only files below it", () => {
    expect(wrong("kernel", ({ from, to, local }) => !local || layer(from) < layer(to))).toEqual([]);
  });

  test("the kernel has at most 3,000 lines, and no file more than 400", () => {
    const lines = kernelFiles().map((file) => ({
      file,
      lines: readFileSync(join(root, file), "utf8").trimEnd().split("\n").length,
    }));
    expect(lines.filter((counted) => counted.lines > 400)).toEqual([]);
    expect(lines.reduce((sum, counted) => sum + counted.lines, 0)).toBeLessThanOrEqual(3000);
  });
});

describe("the reader of imports itself", () => {
  test("sees running, type, inline, dynamic and re-exported imports, and tells types from the rest", () => {
    const source = [
      `import type { A } from "types-only";`,
      `import { type B } from "names-only";`,
      `import { type C, d } from "mixed";`,
      `export type { E } from "re-exported-type";`,
      `export * from "re-exported";`,
      `const f = await import("dynamic");`,
      `type G = import("inline").G;`,
      `// import "comment";`,
    ].join("\n");
    expect(running(source, "x.ts")).toEqual(["mixed", "re-exported", "dynamic"]);
    const all = lexed(source, "x.ts");
    expect(all).toEqual(["types-only", "names-only", "mixed", "re-exported-type", "re-exported", "dynamic"]);
    expect(inlineTypes(source)).toContain("inline");
  });

  test("finds a circle", () => {
    const edges = new Map([
      ["a", ["b"]],
      ["b", ["c"]],
      ["c", ["a", "d"]],
      ["d", []],
    ]);
    expect(circles(edges)).toEqual([["a", "b", "c"]]);
  });
});
