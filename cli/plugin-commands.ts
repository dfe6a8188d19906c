/** The commands that plugins bring. Their modules export `commands`, in the form of `CommandSpec` with `execute` beside it. */

import type { Plugin, PluginSpec } from "../kernel/plugin.ts";
import { builtinPlugins } from "../plugins/index.ts";
import type { Command, CommandHost, CommandModule, CommandSpec } from "./command.ts";
import { loadConfig } from "./config.ts";

/** Reads the commands of the built-in plugins and of those the config adds. A config that cannot be read adds none. */
export async function pluginCommands(): Promise<Record<string, Command>> {
  const configured = await loadConfig().then(
    (loaded) => loaded.plugins,
    (): readonly Plugin[] => [],
  );
  const host = hostOf(configured);
  const builtins: readonly { readonly spec: object }[] = Object.values(builtinPlugins);
  const specs = new Set([...builtins, ...configured].map((plugin) => plugin.spec as PluginSpec));
  const found: Record<string, Command> = {};
  for (const spec of specs) {
    const module: unknown = await spec.commands?.();
    if (!isCommands(module)) continue;
    for (const [name, command] of Object.entries(module.commands))
      found[name] ??= {
        ...command,
        load: async () => ({ execute: (args, terminal) => command.execute(args, terminal, host) }),
      };
  }
  return found;
}

/** What commands may ask services of: the tokenizer, the store of originals and the engine, as the config has them. */
const SERVING = ["tokens", "recovery", "compression"];

const hostOf = (configured: readonly Plugin[]): CommandHost => ({
  async open() {
    const { agent, createKernel } = await import("../kernel/index.ts");
    const plugins = SERVING.map((name) => configured.find((plugin) => plugin.name === name) ?? builtinPlugins[name]);
    const kernel = createKernel({ plugins: plugins.filter((plugin) => plugin !== undefined) });
    return kernel.open(agent({ id: "caveman", instructions: "A command of the command line." }));
  },
});

const isCommands = (
  module: unknown,
): module is { readonly commands: Readonly<Record<string, CommandSpec & CommandModule>> } =>
  typeof module === "object" &&
  module !== null &&
  "commands" in module &&
  typeof module.commands === "object" &&
  module.commands !== null;
