/**
 * Config files: what a config may say, how it is found, read and checked. Only the command line and `loadConfig()` read
 * one; `run()` from the library never does.
 */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire, findPackageJSON } from "node:module";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Static, Type } from "@sinclair/typebox";
import type { RunOptions } from "../kernel/contract.ts";
import { CavemanError, describe, nearest } from "../kernel/errors.ts";
import { checkRunOptions, isPlugin, orderPlugins, type Plugin, type PluginFactory } from "../kernel/plugin.ts";
import { checkOptions } from "../kernel/schema.ts";
import "./errors.ts";

/** A plugin in a config: a value, the name of a built-in plugin or package, or a name with options. */
export type PluginEntry =
  | Plugin
  | PluginFactory
  | string
  | readonly [name: string, options: Readonly<Record<string, unknown>>];

/** What a config file may say. */
export interface CavemanConfig {
  /** Where editors find the schema of this file; not read here. */
  readonly $schema?: string;
  /** The preset the plugins are added to. Default: `standard`. */
  readonly preset?: string;
  /** Options of the preset. */
  readonly presetOptions?: Readonly<Record<string, unknown>>;
  /** Plugins after those of the preset. One with the name of a preset's plugin takes its place. */
  readonly plugins?: readonly PluginEntry[];
  /** Run options that apply unless a run says otherwise. */
  readonly run?: Omit<RunOptions, "signal" | "conversation">;
  /** `provider/model`; the same as `run.model`. */
  readonly model?: string;
}

/** A config, checked and resolved. */
export interface LoadedConfig {
  /** The file it was read from; undefined when there is none and the defaults apply. */
  readonly file: string | undefined;
  readonly config: CavemanConfig;
  readonly preset: string;
  /** The preset's plugins with the config's put in, ready for `createCaveman`. */
  readonly plugins: readonly Plugin[];
  readonly run: RunOptions;
}

const DEFAULT_PRESET = "standard";

/** Where a config is looked for, in this order, from a directory upwards to the nearest package. */
const CONFIG_PLACES: readonly string[] = [
  "package.json",
  ...["ts", "mts", "js", "mjs", "json", "yaml", "yml"].map((ending) => `caveman.config.${ending}`),
];

const Name = Type.String({ minLength: 1 });
const Keys = Type.Object({
  $schema: Type.Optional(Type.String({ description: "Where editors find the schema of this file." })),
  preset: Type.Optional(
    Type.String({ minLength: 1, description: "The preset the plugins are added to. Default: standard." }),
  ),
  presetOptions: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: "Options of the preset." })),
  plugins: Type.Optional(
    Type.Array(Type.Unknown(), {
      description: "Plugins after those of the preset. One with the name of a preset's plugin takes its place.",
    }),
  ),
  run: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), { description: "Run options that apply unless a run says otherwise." }),
  ),
  model: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9][A-Za-z0-9_.-]*/\\S+$",
      description: "provider/model; the same as run.model.",
    }),
  ),
});
const NamedWithOptions = Type.Tuple([Name, Type.Record(Type.String(), Type.Unknown())]);

/** The schema of a config's keys, without what presets and plugins add. */
export const configKeys = Keys;

/** Gives a config back unchanged, with its type: for editors. */
export const defineConfig = <const T extends CavemanConfig>(config: T): T => config;

/**
 * Finds, reads and checks the config for a directory. Without `file` it looks in `cwd` and upwards; without any config
 * the defaults apply.
 * @throws CavemanError `cave_config_unreadable`, `cave_config_invalid`, `cave_config_plugin_missing`; each names the file and the path in it.
 */
export async function loadConfig(options: { cwd?: string; file?: string } = {}): Promise<LoadedConfig> {
  const cwd = resolve(options.cwd ?? process.cwd());
  const found = await find(cwd, options.file);
  return resolveConfig(found?.config ?? {}, found?.file, found ? dirname(found.file) : cwd);
}

/** Checks a config value and resolves its preset and plugins; names resolve from `folder`. */
export async function resolveConfig(value: unknown, file: string | undefined, folder: string): Promise<LoadedConfig> {
  const at = file ?? "config";
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalid(
      at,
      "an object of config keys",
      value === null ? "null" : Array.isArray(value) ? "an array" : typeof value,
    );
  const config = readKeys(value, at);
  const { presets } = await import("../presets/index.ts");
  const preset = config.preset ?? DEFAULT_PRESET;
  const makePreset = Object.hasOwn(presets, preset)
    ? (presets as Readonly<Record<string, (options?: never) => readonly (Plugin | PluginFactory)[]>>)[preset]
    : undefined;
  if (!makePreset) throw invalid(`${at} preset`, "the name of a preset", nearName(preset, Object.keys(presets)));
  const unknown = Object.keys(config.presetOptions ?? {});
  if (makePreset.length === 0 && unknown.length > 0)
    throw invalid(
      `${at} presetOptions`,
      `nothing: the preset ${preset} has no options`,
      unknown.map((key) => `"${key}"`).join(", "),
    );
  const fromPreset = guard(at, "presetOptions", () => orderPlugins(makePreset((config.presetOptions ?? {}) as never)));
  const own: Plugin[] = [];
  for (const [index, entry] of (config.plugins ?? []).entries())
    own.push(await resolvePlugin(entry, `${at} plugins[${index}]`, folder));
  const plugins = guard(at, "plugins", () => orderPlugins(merge(fromPreset, own)));
  const run: RunOptions = { ...config.run, ...(config.model === undefined ? {} : { model: config.model }) };
  guard(at, "run", () => checkRunOptions(plugins, run));
  return { file, config, preset, plugins, run };
}

/** The preset's plugins, each replaced where the config has one of the same name, then the others. */
function merge(fromPreset: readonly Plugin[], own: readonly Plugin[]): Plugin[] {
  const replaced = fromPreset.map((plugin) => own.find((other) => other.name === plugin.name) ?? plugin);
  return [...replaced, ...own.filter((plugin) => !replaced.includes(plugin))];
}

function readKeys(value: object, at: string): CavemanConfig {
  const { plugins, run, ...plain } = value as Record<string, unknown>;
  checkOptions(Keys, plain, at, "cave_config_invalid");
  if (plugins !== undefined && !Array.isArray(plugins)) throw invalid(`${at} plugins`, "an array", typeof plugins);
  if (run !== undefined && (typeof run !== "object" || run === null || Array.isArray(run)))
    throw invalid(`${at} run`, "an object of run options", Array.isArray(run) ? "an array" : typeof run);
  for (const key of ["signal", "conversation"])
    if (run && Object.hasOwn(run, key))
      throw invalid(`${at} run.${key}`, "run options that outlive one run", `"${key}"`);
  return value as CavemanConfig;
}

async function resolvePlugin(entry: unknown, at: string, folder: string): Promise<Plugin> {
  if (isPlugin(entry)) return entry;
  if (isFactory(entry)) return guard(at, "", () => entry());
  if (typeof entry === "string" && entry !== "") return make(await factoryOf(entry, at, folder), {}, at);
  if (Array.isArray(entry)) {
    const [name, options] = checkOptions(NamedWithOptions, entry, at, "cave_config_invalid") as Static<
      typeof NamedWithOptions
    >;
    return make(await factoryOf(name, at, folder), options, at);
  }
  throw invalid(at, "a plugin, a plugin's name, or [name, options]", entry === null ? "null" : typeof entry);
}

const make = (found: Plugin | PluginFactory, options: Record<string, unknown>, at: string): Plugin => {
  if (!isPlugin(found)) return guard(at, "", () => found(options as never));
  if (Object.keys(options).length > 0)
    throw invalid(at, "no options: the package exports a finished plugin", Object.keys(options).join(", "));
  return found;
};

/** A built-in plugin by its name, else the default export of a package as seen from the config's folder. */
async function factoryOf(name: string, at: string, folder: string): Promise<Plugin | PluginFactory> {
  const { builtinPlugins } = await import("../plugins/index.ts");
  const builtins: Readonly<Record<string, unknown>> = builtinPlugins;
  if (Object.hasOwn(builtins, name)) return builtins[name] as PluginFactory;
  let path: string;
  try {
    path = /^\.{1,2}\//.test(name)
      ? resolve(folder, name)
      : createRequire(resolve(folder, "caveman.config.js")).resolve(name);
  } catch {
    path = importOnly(name, folder) ?? missing(name, at, Object.keys(builtins));
  }
  let module: { readonly default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
  } catch (cause) {
    throw new CavemanError("cave_config_plugin_missing", {
      place: at,
      expected: "a package that loads",
      received: `"${name}": ${describe(cause)}`,
      cause,
    });
  }
  if (isPlugin(module.default) || isFactory(module.default)) return module.default;
  throw new CavemanError("cave_config_plugin_missing", {
    place: at,
    expected: "a plugin made by definePlugin() as default export",
    received: `"${name}" exports ${module.default === undefined ? "no default" : `a ${typeof module.default}`}`,
  });
}

/** Packages that export for `import` alone do not resolve through require: their manifest is read here. */
function importOnly(name: string, folder: string): string | undefined {
  try {
    const manifest = findPackageJSON(name, pathToFileURL(resolve(folder, "caveman.config.js")));
    if (manifest === undefined) return undefined;
    const { exports } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly exports?: unknown };
    const target = importTarget(
      typeof exports === "object" && exports !== null && "." in exports ? exports["."] : exports,
    );
    return target === undefined ? undefined : resolve(dirname(manifest), target);
  } catch {
    return undefined;
  }
}

function importTarget(entry: unknown): string | undefined {
  if (typeof entry === "string") return entry;
  if (typeof entry !== "object" || entry === null) return undefined;
  for (const [condition, target] of Object.entries(entry))
    if (["import", "node", "default"].includes(condition)) return importTarget(target);
  return undefined;
}

function missing(name: string, at: string, known: readonly string[]): never {
  throw new CavemanError("cave_config_plugin_missing", {
    place: at,
    expected: "a built-in plugin or an installed package",
    received: nearName(name, known),
  });
}

const isFactory = (value: unknown): value is PluginFactory => typeof value === "function" && "pluginName" in value;

async function find(cwd: string, file: string | undefined): Promise<{ config: unknown; file: string } | undefined> {
  const { cosmiconfig } = await import("cosmiconfig");
  const load = async (path: string): Promise<unknown> => importConfig(path);
  const explorer = cosmiconfig("caveman", {
    searchPlaces: [...CONFIG_PLACES],
    loaders: { ".ts": load, ".mts": load, ".js": load, ".mjs": load },
    searchStrategy: "project",
    cache: false,
  });
  if (file !== undefined) {
    const path = resolve(cwd, file);
    await readFile(path).catch((cause: unknown) => unreadable(path, cause));
    const result = await explorer.load(path).catch((cause: unknown) => unreadable(path, cause));
    return { config: result?.isEmpty ? {} : result?.config, file: path };
  }
  const result = await explorer.search(cwd).catch((cause: unknown) => unreadable(pathIn(cause) ?? cwd, cause));
  return result ? { config: result.config, file: result.filepath } : undefined;
}

/** Runs a config module under Node's type stripping. */
async function importConfig(path: string): Promise<unknown> {
  let module: { readonly default?: unknown };
  try {
    module = (await import(pathToFileURL(path).href)) as { readonly default?: unknown };
  } catch (cause) {
    return unreadable(path, cause);
  }
  if (module.default === undefined)
    throw new CavemanError("cave_config_unreadable", {
      place: path,
      expected: "a default export: export default defineConfig({ … })",
      received: Object.keys(module).join(", ") || "no export",
    });
  return module.default;
}

function unreadable(path: string, cause: unknown): never {
  if (cause instanceof CavemanError)
    throw cause.code.startsWith("cave_config_")
      ? cause
      : new CavemanError("cave_config_unreadable", { place: path, received: cause.message, cause });
  throw new CavemanError("cave_config_unreadable", { place: path, received: describe(cause).split("\n")[0], cause });
}

const pathIn = (cause: unknown): string | undefined =>
  typeof cause === "object" && cause !== null && "filepath" in cause && typeof cause.filepath === "string"
    ? cause.filepath
    : undefined;

const nearName = (name: string, known: readonly string[]): string => {
  const meant = nearest(name, known);
  return `"${name}"${meant ? `, did you mean "${meant}"?` : `; known: ${known.join(", ")}`}`;
};

const invalid = (place: string, expected: string, received: string): CavemanError =>
  new CavemanError("cave_config_invalid", { place, expected, received });

/** Names the file on any coded refusal of a part of the config. */
function guard<T>(file: string, path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const place = [file, path].filter(Boolean).join(" ");
    if (!(cause instanceof CavemanError))
      throw new CavemanError("cave_config_invalid", { place, received: describe(cause), cause });
    if (cause.code.startsWith("cave_config_")) throw cause;
    const { place: within, expected, received, message } = cause.detail;
    throw new CavemanError("cave_config_invalid", {
      place: within ? `${place} (${within})` : place,
      expected,
      received: received ?? message ?? cause.code,
      cause,
    });
  }
}
