/**
 * The stage of one run: a folder with an immutable copy of the source graph, the worker and what Node itself needs, so
 * that it can be the whole file system of a worker. Made before provider traffic, removed when the run settles.
 */
import { execFile } from "node:child_process";
import { constants, existsSync, realpathSync } from "node:fs";
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { FRAMEWORK, type SourceGraph, type StagedFile, sourceGraph, stampOf, type VirtualEntry } from "./graph.ts";

export interface Stage {
  readonly dir: string;
  /** The entry's name under `app/`. */
  readonly entry: string;
  /** Identity of the sources: equal when nothing changed since they were last read. */
  readonly graph: SourceGraph;
  dispose(): Promise<void>;
}

/** Where the framework's own files are: an import that leads here is one of the framework. */
const FRAMEWORK_DIR = fileURLToPath(new URL("../../", import.meta.url));
const graphs = new Map<string, SourceGraph>();
/** Entries whose graphs are remembered; further ones push out the oldest. */
const MAX_GRAPHS = 16;

/** The graph of an entry, read anew when any of its files changed. */
export async function graphOf(entry: string | VirtualEntry, rootDir: string): Promise<SourceGraph> {
  const key = JSON.stringify([entry, rootDir]);
  const known = graphs.get(key);
  if (known?.sources.every(({ path, stamp }) => stampOf(path) === stamp)) return known;
  const graph = await sourceGraph(entry, rootDir, FRAMEWORK_DIR);
  graphs.delete(key);
  graphs.set(key, graph);
  for (const oldest of graphs.keys()) if (graphs.size > MAX_GRAPHS) graphs.delete(oldest);
  return graph;
}

/** Writes a stage. */
export async function stage(graph: SourceGraph): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), "caveman-sandbox-"));
  const dispose = (): Promise<void> => rm(dir, { recursive: true, force: true, maxRetries: 3 });
  try {
    const modules = [...graph.files, ...workerFiles(await (own ??= ownModules()), graph)];
    const files = modules.map(({ name, content }) => ({ name: `app/${name}`, content }));
    const folders = new Set([...files.map(({ name }) => dirname(name)), "bin", "tmp"]);
    await Promise.all([...folders].map((folder) => mkdir(join(dir, folder), { recursive: true })));
    await Promise.all([
      ...files.map(({ name, content }) => writeFile(join(dir, name), content, { mode: 0o400 })),
      writeFile(join(dir, "bin", "node"), "", { mode: 0o500 }),
      ...(process.platform === "linux"
        ? await libraries().then((list) => list.map((path) => copyLibrary(path, dir)))
        : []),
    ]);
    return { dir, entry: graph.entry, graph, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** The worker's own modules, linked as any sources are: built, they share chunks with each other. */
interface Own {
  readonly files: readonly StagedFile[];
  readonly worker: string;
  readonly definition: string;
  readonly probe: string;
  /** What the definition API has inside. */
  readonly has: ReadonlySet<string>;
}
let own: Promise<Own> | undefined;
async function ownModules(): Promise<Own> {
  const urls = [
    new URL("./inside/worker.ts", import.meta.url),
    new URL("./inside/definition.ts", import.meta.url),
    new URL("./inside/probe.ts", import.meta.url),
  ];
  const source = urls.map(({ href }) => `import ${JSON.stringify(href)};`).join("\n");
  // They are no part of the framework as a project imports it, so nothing here stands for it.
  const graph = await sourceGraph(
    { path: join(FRAMEWORK_DIR, "own.mjs"), source, trusted: true },
    FRAMEWORK_DIR,
    join(FRAMEWORK_DIR, "none"),
  );
  const [worker = "", definition = "", probe = ""] = urls.map(
    (url) => `own/${graph.names.get(realpathSync(fileURLToPath(url)))}`,
  );
  const files = graph.files.map(({ name, content }) => ({ name: `own/${name}`, content }));
  return { files, worker, definition, probe, has: new Set(Object.keys(await import("./inside/definition.ts"))) };
}

/** The stage of the containment probe, whose entry is a module of the worker's own. */
export async function probeStage(): Promise<Stage> {
  const { probe } = await (own ??= ownModules());
  return stage({ entry: probe, files: [], frameworkNames: [], sources: [], names: new Map() });
}

/** The modules that a worker starts with: its own, and the one that stands for the framework, with an absent part for every name that the definition API has not. */
function workerFiles({ files, worker, definition, has }: Own, { frameworkNames }: SourceGraph): StagedFile[] {
  const absent = frameworkNames
    .filter((name) => !has.has(name))
    .map((name) =>
      name === "default"
        ? `export default absent("default");`
        : `export const ${name} = absent(${JSON.stringify(name)});`,
    );
  const from = JSON.stringify(`./${definition}`);
  return [
    ...files,
    { name: "worker.mjs", content: `import ${JSON.stringify(`./${worker}`)};\n` },
    {
      name: FRAMEWORK,
      content: [`export * from ${from};`, `import { absent } from ${from};`, ...absent, ""].join("\n"),
    },
  ];
}

let found: Promise<readonly string[]> | undefined;
/** The shared libraries that Node is linked with, its loader among them; none for a static binary. */
const libraries = (): Promise<readonly string[]> => (found ??= linked());
async function linked(): Promise<readonly string[]> {
  const ldd = ["/usr/bin/ldd", "/bin/ldd"].find((path) => existsSync(path));
  if (!ldd) return [];
  const { stdout } = await promisify(execFile)(ldd, [process.execPath], { env: {} }).catch(() => ({ stdout: "" }));
  return [...stdout.matchAll(/(?:=>\s*|^\s*)(\/\S+)\s+\(0x/gm)].map((match) => match[1] ?? "");
}

async function copyLibrary(path: string, dir: string): Promise<void> {
  const target = join(dir, path);
  await mkdir(dirname(target), { recursive: true });
  await copyFile(path, target, constants.COPYFILE_FICLONE);
  await chmod(target, 0o500);
}
