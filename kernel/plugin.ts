/** A plugin: a value with a name, option schemas and `apply`. Here it is made, checked and put in order. */
import { type TObject, type TSchema, Type } from "@sinclair/typebox";
import type { Clock, Context, Run, RunOptions, Service, Tool } from "./contract.ts";
import { CavemanError, defineErrors, type ErrorRow, nearest } from "./errors.ts";
import type { HookFacades } from "./hooks.ts";
import { inOrder } from "./order.ts";
import { checkOptions } from "./schema.ts";

/** What `apply` is given. It lives until the kernel is frozen; state lives in perRun and perConversation. */
export interface PluginKernel {
  readonly hooks: HookFacades; readonly clock: Clock;
  /** State of one run, made when the run is made, in plugin order. */
  perRun<T>(init: (run: Run) => T): (run: Run) => T;
  /** Serialisable state that spans the runs of a conversation: committed when a run succeeds, dropped when it fails. */
  perConversation<T extends { toJSON(): unknown }>(name: string, schema: TSchema, init: (run: Run, saved: unknown) => T): (run: Run) => T;
  provide<T>(service: Service<T>, make: (run: Run) => T): void;
  /** All plugins of this kernel, for listings. */
  readonly plugins: readonly Plugin[];
}

export interface PluginSpec<O extends TObject = TObject> {
  readonly name: string; readonly version?: string; readonly description?: string;
  readonly options?: O;
  /** The RunOptions keys it owns. */
  readonly runOptions?: TObject;
  readonly facts?: Readonly<Record<string, TSchema>>;
  readonly errors?: Readonly<Record<string, ErrorRow>>;
  readonly requires?: readonly string[]; readonly before?: readonly string[]; readonly after?: readonly string[];
  /** What its options decide, a line each, for listings. */
  readonly describe?: (options: OptionsOf<O>) => readonly string[];
  readonly controls?: (run: Run) => Readonly<Record<string, string>>;
  readonly prepare?: (run: Run, signal: AbortSignal) => void | Promise<void>;
  readonly tools?: (run: Run) => readonly Tool[];
  readonly contexts?: (run: Run) => readonly Context[];
  readonly commands?: () => Promise<unknown>;
  readonly apply: (kernel: PluginKernel, options: OptionsOf<O>) => void;
}
type OptionsOf<O extends TObject> = O extends { static: infer S } ? S : never;

/** A plugin with its options bound. */
export interface Plugin { readonly kind: "plugin"; readonly name: string; readonly spec: PluginSpec; readonly options: unknown }
/** Called with options it gives the plugin; it also carries the plugin's own face. */
export interface PluginFactory<O extends TObject = TObject> { (options?: Partial<OptionsOf<O>>): Plugin; readonly spec: PluginSpec<O>; readonly pluginName: string }

const NO_OPTIONS = Type.Object({});
const NAME = /^[a-z@][a-z0-9@/_.-]{0,95}$/;

/**
 * Defines a plugin; call the result with options to get one for a kernel.
 * @throws CavemanError `cave_plugin_invalid`; with options that do not fit, `cave_option_invalid`.
 */
export function definePlugin<const O extends TObject>(spec: PluginSpec<O>): PluginFactory<O> {
  if (typeof spec?.name !== "string" || !NAME.test(spec.name)) throw new CavemanError("cave_plugin_invalid", { place: "definePlugin().name", expected: NAME.source, received: JSON.stringify(spec?.name) ?? "nothing" });
  if (typeof spec.apply !== "function") throw new CavemanError("cave_plugin_invalid", { place: `plugin ${spec.name}.apply`, expected: "a function", received: typeof spec.apply });
  if (spec.errors) defineErrors(spec.errors);
  const make = (options: unknown = {}): Plugin => {
    const checked = checkOptions(spec.options ?? NO_OPTIONS, options, `plugin ${spec.name} options`) as object;
    return Object.freeze({ kind: "plugin", name: spec.name, spec: spec as unknown as PluginSpec, options: Object.freeze(checked) });
  };
  return Object.assign(make, { spec, pluginName: spec.name }) as PluginFactory<O>;
}

export const isPlugin = (value: unknown): value is Plugin => typeof value === "object" && value !== null && (value as Plugin).kind === "plugin" && typeof (value as Plugin).spec?.apply === "function";

/** Checks a list of plugins and puts it in order: as listed, but for `before`, `after` and `requires`. */
export function orderPlugins(plugins: readonly (Plugin | PluginFactory)[]): Plugin[] {
  const list = plugins.map((entry, index) => {
    const plugin = typeof entry === "function" && "pluginName" in entry ? entry() : entry;
    if (!isPlugin(plugin)) throw new CavemanError("cave_plugin_invalid", { place: `plugins[${index}]`, expected: "a plugin made by definePlugin()", received: typeof entry });
    return plugin;
  });
  const byName = new Map<string, Plugin>();
  for (const plugin of list) {
    if (byName.has(plugin.name)) throw new CavemanError("cave_plugin_duplicate", { received: plugin.name });
    byName.set(plugin.name, plugin);
  }
  const after = new Map(list.map((plugin) => [plugin, new Set<Plugin>()]));
  for (const plugin of list) {
    for (const name of plugin.spec.requires ?? []) {
      const needed = byName.get(name);
      if (!needed) {
        const meant = nearest(name, byName.keys());
        throw new CavemanError("cave_plugin_missing", { place: `plugin ${plugin.name}`, expected: `plugin ${name}`, received: meant ? `${meant}` : "none of that name" });
      }
      after.get(plugin)?.add(needed);
    }
    for (const name of plugin.spec.after ?? []) if (byName.has(name)) after.get(plugin)?.add(byName.get(name) as Plugin);
    for (const name of plugin.spec.before ?? []) if (byName.has(name)) after.get(byName.get(name) as Plugin)?.add(plugin);
  }
  return inOrder(list, after, (left) => new CavemanError("cave_plugin_order", { place: "plugins", expected: "no circle of before, after and requires", received: left.map((plugin) => plugin.name).join(" → ") }));
}

/** The run options the kernel itself reads. */
export const KERNEL_RUN_OPTIONS = ["model", "signal", "rootDir", "conversation", "runId"] as const;

const ownersOf = new WeakMap<readonly Plugin[], Map<string, Plugin>>();

/** Checks run options against the plugins that own them; unknown keys are refused with the nearest valid name. */
export function checkRunOptions(plugins: readonly Plugin[], options: RunOptions): Readonly<RunOptions> {
  let owners = ownersOf.get(plugins);
  if (!owners) ownersOf.set(plugins, (owners = new Map(plugins.flatMap((plugin) => Object.keys(plugin.spec.runOptions?.properties ?? {}).map((key) => [key, plugin])))));
  const checked: Record<string, unknown> = { ...options };
  for (const key in checked) {
    if (checked[key] === undefined || (KERNEL_RUN_OPTIONS as readonly string[]).includes(key)) continue;
    const owner = owners.get(key);
    if (!owner?.spec.runOptions) {
      const known = [...KERNEL_RUN_OPTIONS, ...owners.keys()];
      const meant = nearest(key, known);
      throw new CavemanError("cave_option_invalid", { place: `run options`, expected: meant ? `"${meant}"` : known.join(", "), received: `"${key}"`, message: "No loaded plugin knows this run option" });
    }
    const property = owner.spec.runOptions.properties[key];
    if (property) checked[key] = checkOptions(property, checked[key], `run option ${key}`);
  }
  return checked as RunOptions;
}
