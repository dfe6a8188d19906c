/** `caveman plugins`: the six hooks with every tap in its real order. */
import { createCaveman } from "../../index.ts";
import { HOOKS, type TapInfo } from "../../kernel/hooks.ts";
import { type Args, EXIT, text } from "../command.ts";
import { loadConfig } from "../config.ts";
import { table } from "../render/table.ts";
import type { Terminal } from "../render/terminal.ts";

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  const file = text(args, "config");
  const loaded = await loadConfig(file === undefined ? {} : { file });
  const { kernel } = createCaveman({ preset: [], plugins: [...loaded.plugins] });
  const taps = (hook: string): TapInfo[] => kernel.taps.filter((tap) => tap.hook === hook);
  if (args.json) {
    const row = ({ name, plugin, stage, guard }: TapInfo) => ({ name, stage, plugin, guard });
    terminal.out(
      `${JSON.stringify(
        {
          preset: loaded.preset,
          config: loaded.file ?? null,
          plugins: kernel.plugins.map(({ name, spec }) => ({
            name,
            version: spec.version ?? null,
            description: spec.description ?? null,
          })),
          hooks: Object.fromEntries(HOOKS.map((hook) => [hook, taps(hook).map(row)])),
        },
        null,
        2,
      )}\n`,
    );
    return EXIT.done;
  }
  terminal.out(
    `preset ${loaded.preset}, ${loaded.file ? `config ${loaded.file}` : "no config"}\nplugins ${kernel.plugins.map((plugin) => plugin.name).join(", ")}\n`,
  );
  for (const hook of HOOKS) {
    const rows = taps(hook).map((tap, index) => [
      `${index + 1}`,
      tap.name,
      tap.stage,
      tap.plugin,
      tap.guard ? "guard" : "",
    ]);
    terminal.out(
      `\n${hook}\n${rows.length > 0 ? table([["", "tap", "stage", "owner", ""], ...rows], "  ") : "  no taps\n"}`,
    );
  }
  return EXIT.done;
}
