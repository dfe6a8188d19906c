/**
 * `npm run build`: the published package in dist/. One bundle with shared chunks for every entry point, because a
 * bundled TypeBox, Ajv and yargs load several times faster than from node_modules, and declarations beside it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { CATALOG_DATA, CATALOG_DATE, CATALOG_SHA256 } from "../catalog/generated.ts";

const root = resolve(import.meta.dirname, "..");
const dist = join(root, "dist");
const entryPoints = ["index.ts", "cli/main.ts"];
/**
 * Other doors to the package, to which every dynamic import of a part of it is added. They load the package first: what all
 * of them load is then one chunk and not ten.
 */
const doors = [
  "presets/index.ts",
  "plugins/index.ts",
  "plugins/testing.ts",
  "plugins/compaction/public.ts",
  "plugins/context-editing/index.ts",
  "cli/code/index.ts",
  "kernel/index.ts",
];
const DOOR = "door:";

/** Loaded only by what needs them, or shipping files of their own: they stay dependencies of the package. */
const external = ["yaml", "@ai-sdk/*", "cosmiconfig"];

/** CommonJS code inside an ES module bundle still asks for built-ins through require. */
const banner = `const require = (id) => process.getBuiltinModule("node:module").createRequire(import.meta.url)(id);`;

const options = {
  absWorkingDir: root,
  outdir: dist,
  outbase: root,
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node22",
  external,
  alias: { "string-width": "./scripts/string-width.ts" },
  chunkNames: "chunks/[name]-[hash]",
  banner: { js: banner },
  minify: true,
  legalComments: "linked",
  logLevel: "warning",
} as const satisfies BuildOptions;

/**
 * Code moves between chunks, so `import.meta.url` would name a chunk. Our sources get the URL of the place they would
 * have in dist/ without chunks, and the files they name with `new URL("./x", import.meta.url)` are put there: sources
 * as entry points of their own, anything else copied.
 */
class Placement {
  readonly sources = new Set<string>();
  readonly assets = new Set<string>();
  readonly #loading: Loading;

  constructor(loading: Loading = { now: new Set(), later: new Set() }) {
    this.#loading = loading;
  }

  plugin(): Plugin {
    return {
      name: "placement",
      setup: (esbuild) => {
        esbuild.onResolve({ filter: new RegExp(`^${DOOR}`) }, ({ path }) => ({ path, namespace: "door" }));
        esbuild.onResolve({ filter: /^\./ }, ({ path, kind, resolveDir }) => {
          const target = resolve(resolveDir, path);
          return kind === "dynamic-import" && this.#loading.now.has(target)
            ? { path: DOOR + relative(root, target), namespace: "door" }
            : undefined;
        });
        esbuild.onLoad({ filter: /./, namespace: "door" }, ({ path }) => {
          const [index, door] = ["index.ts", path.slice(DOOR.length)].map((file) => JSON.stringify(join(root, file)));
          return { loader: "js", contents: `import ${index}; export * from ${door};`, resolveDir: root };
        });
        esbuild.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
          if (path.includes(`${sep}node_modules${sep}`)) return undefined;
          const source = path === join(root, CATALOG) ? lazyCatalog() : await readFile(path, "utf8");
          const placed = await this.#place(path, source);
          // They come after the package, and saying so keeps its files together in few chunks: a chunk costs half a millisecond.
          const after = this.#loading.later.has(path) ? `import ${JSON.stringify(join(root, "index.ts"))};\n` : "";
          return { loader: "ts", contents: after + placed };
        });
      },
    };
  }

  async #place(path: string, source: string): Promise<string> {
    if (!source.includes("import.meta")) return source;
    if (/import\.meta\.(dirname|filename)\b/.test(source)) {
      throw new Error(`${path}: expected import.meta.url, because dirname and filename name a chunk once bundled`);
    }
    let placed = source;
    for (const [whole, reference] of source.matchAll(/new URL\(\s*["'](\.[^"']*)["'],\s*import\.meta\.url,?\s*\)/g)) {
      const target = resolve(dirname(path), reference ?? "");
      if (!(await isFile(target))) continue;
      if (target.endsWith(".ts")) {
        this.sources.add(relative(root, target));
        placed = placed.replaceAll(whole, whole.replace(/\.ts(["'])/, ".js$1"));
      } else if (!target.includes(`${sep}node_modules${sep}`)) {
        this.assets.add(relative(root, target));
      }
    }
    const place = relative(root, path).split(sep).join("/").replace(/\.ts$/, ".js");
    const url = `(import.meta.url.slice(0, import.meta.url.lastIndexOf("/dist/") + 6) + ${JSON.stringify(place)})`;
    return placed.replaceAll("import.meta.url", url);
  }
}

const CATALOG = join("catalog", "generated.ts");
const CATALOG_ROWS = "generated.json";

/** The generated catalog without its rows: a quarter of a megabyte that the first price reads, and not every import. */
function lazyCatalog(): string {
  const { groups: _, ...head } = CATALOG_DATA;
  return `
    let groups;
    export const CATALOG_SHA256 = ${JSON.stringify(CATALOG_SHA256)};
    export const CATALOG_DATE = ${JSON.stringify(CATALOG_DATE)};
    export const CATALOG_DATA = {
      ...${JSON.stringify(head)},
      get groups() {
        const { readFileSync } = process.getBuiltinModule("node:fs");
        return (groups ??= JSON.parse(readFileSync(new URL("./${CATALOG_ROWS}", import.meta.url), "utf8")));
      },
    };`;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() === true;
}

/** What the package loads, and what its sources import dynamically beside that. */
interface Loading {
  readonly now: ReadonlySet<string>;
  readonly later: ReadonlySet<string>;
}
async function loading(): Promise<Loading> {
  const { metafile } = await build({
    ...options,
    entryPoints: ["index.ts"],
    write: false,
    metafile: true,
    plugins: [new Placement().plugin()],
  });
  const loaded = new Set<string>();
  const queue = Object.keys(metafile.outputs).filter((name) => metafile.outputs[name]?.entryPoint === "index.ts");
  for (const name of queue) {
    const output = metafile.outputs[name];
    for (const input of Object.keys(output?.inputs ?? {})) loaded.add(resolve(root, input));
    for (const { path, kind } of output?.imports ?? [])
      if (kind === "import-statement" && metafile.outputs[path] && !queue.includes(path)) queue.push(path);
  }
  const later = new Set<string>();
  /** Entries of workers: they run without the package. */
  const alone = new Set<string>();
  for (const folder of ["plugins", "cli", "catalog"])
    for (const name of await readdir(join(root, folder), { recursive: true })) {
      if (!name.endsWith(".ts")) continue;
      const path = join(root, folder, name);
      const source = await readFile(path, "utf8");
      const named = (pattern: RegExp): string[] =>
        [...source.matchAll(pattern)].map(([, target = ""]) => resolve(dirname(path), target));
      for (const found of named(/\bimport\(\s*"(\.[^"]+\.ts)"\s*\)/g)) if (!loaded.has(found)) later.add(found);
      for (const found of named(/new URL\(\s*"(\.[^"]+\.ts)",\s*import\.meta\.url/g)) alone.add(found);
    }
  for (const path of alone) later.delete(path);
  return { now: loaded, later };
}

/** A bundle may discover new entry points (workers, sandbox stages); then it is made once more with them. */
async function bundle(placement: Placement): Promise<void> {
  const entries = [...new Set([...entryPoints, ...placement.sources])];
  const named = (file: string, prefix = "") => ({ in: prefix + file, out: file.replace(/\.ts$/, "") });
  await build({
    ...options,
    entryPoints: [...entries.map((file) => named(file)), ...doors.map((file) => named(file, DOOR))],
    plugins: [placement.plugin()],
  });
  if ([...placement.sources].some((source) => !entries.includes(source))) {
    await rm(join(dist, "chunks"), { recursive: true, force: true });
    await bundle(placement);
  }
}

async function declarations(): Promise<void> {
  const tsc = spawn("tsc", ["-p", "tsconfig.build.json"], {
    cwd: root,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  const [code] = await once(tsc, "exit");
  if (code !== 0) throw new Error("tsc could not emit the declarations");
}

async function copyAssets(assets: Iterable<string>): Promise<void> {
  for (const asset of assets) {
    await mkdir(dirname(join(dist, asset)), { recursive: true });
    await cp(join(root, asset), join(dist, asset));
  }
}

/**
 * An ES module's import of `node:fs` reads every export of it, and one of them loads the streams; `node:fs/promises` loads
 * the watchers and the line editor. That is ten milliseconds of which an import needs none: in the bundle the functions of
 * the first are taken from the module itself, and those of the second when they are first called.
 */
async function withoutFacade(): Promise<void> {
  const sync = /import\{([^}]*)\}from"node:fs";/g;
  const promises = /import\{([^}]*)\}from"node:fs\/promises";/g;
  const lazily = (_: string, names: string): string =>
    names
      .split(",")
      .map((entry) => {
        const [name, alias = name] = entry.split(" as ");
        return `const ${alias}=(...a)=>process.getBuiltinModule("node:fs/promises").${name}(...a);`;
      })
      .join("");
  for (const name of await readdir(dist, { recursive: true })) {
    if (!name.endsWith(".js")) continue;
    const path = join(dist, name);
    const text = await readFile(path, "utf8");
    const taken = text
      .replace(
        sync,
        (_, names: string) => `const{${names.replaceAll(" as ", ":")}}=process.getBuiltinModule("node:fs");`,
      )
      .replace(promises, lazily);
    if (taken !== text) await writeFile(path, taken);
  }
}

/** The grammars of the code compressor: they come from packages that a user does not install. */
async function copyGrammars(): Promise<void> {
  const { grammarFiles } = await import("../plugins/compression/code/grammars.ts");
  const to = join(dist, "grammars");
  await mkdir(to, { recursive: true });
  await Promise.all(grammarFiles.map(([from, file]) => cp(join(root, "node_modules", from, file), join(to, file))));
}

const started = performance.now();
const placement = new Placement(await loading());
await rm(dist, { recursive: true, force: true });
await Promise.all([bundle(placement), declarations()]);
await withoutFacade();
await copyAssets(placement.assets);
await writeFile(join(dist, "catalog", CATALOG_ROWS), JSON.stringify(CATALOG_DATA.groups));
await copyGrammars();
await chmod(join(dist, "cli", "main.js"), 0o755);
console.log(`built dist/ in ${((performance.now() - started) / 1000).toFixed(1)} s`);
