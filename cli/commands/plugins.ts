/** `caveman plugins`: the six hooks with every tap in its real order, and the time each took in the last run. */
import { dirname } from "node:path";
import { createCaveman } from "../../index.ts";
import { HOOKS, type TapInfo } from "../../kernel/hooks.ts";
import { type Args, EXIT, text } from "../command.ts";
import { loadConfig } from "../config.ts";
import { table } from "../render/table.ts";
import type { Terminal } from "../render/terminal.ts";
import { lastTapTimes, type TapTime } from "../tap-times.ts";

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  const file = text(args, "config");
  const loaded = await loadConfig(file === undefined ? {} : { file });
  const { kernel } = createCaveman({ preset: [], plugins: [...loaded.plugins] });
  const taps = (hook: string): TapInfo[] => kernel.taps.filter((tap) => tap.hook === hook);
  const last = await lastTapTimes(loaded.file ? dirname(loaded.file) : process.cwd());
  const timeOf = ({ hook, name }: TapInfo) => last?.taps.find((tap) => tap.hook === hook && tap.name === name);
  if (args.json) {
    const row = (tap: TapInfo) => {
      const { name, plugin, stage, guard } = tap;
      const took = timeOf(tap);
      return { name, stage, plugin, guard, ...(took ? { lastRun: { calls: took.calls, totalMs: took.totalMs } } : {}) };
    };
    terminal.out(
      `${JSON.stringify(
        {
          preset: loaded.preset,
          config: loaded.file ?? null,
          lastRun: last?.runId ?? null,
          plugins: kernel.plugins.map(({ name, spec, options }) => ({
            name,
            version: spec.version ?? null,
            description: spec.description ?? null,
            decides: spec.describe?.(options as never) ?? [],
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
  for (const { name, spec, options } of kernel.plugins) {
    const lines = spec.describe?.(options as never) ?? [];
    if (lines.length > 0) terminal.out(`\n${name}\n${lines.map((line) => `  ${line}\n`).join("")}`);
  }
  for (const hook of HOOKS) {
    const rows = taps(hook).map((tap, index) => [
      `${index + 1}`,
      tap.name,
      tap.stage,
      tap.plugin,
      tap.guard ? "guard" : "",
      spent(timeOf(tap)),
    ]);
    terminal.out(
      `\n${hook}\n${rows.length > 0 ? table([["", "tap", "stage", "owner", "", last ? "last run" : ""], ...rows], "  ") : "  no taps\n"}`,
    );
  }
  if (!last) terminal.out("\nNo run here yet: `caveman run` keeps what each tap took.\n");
  return EXIT.done;
}

const spent = (time: TapTime | undefined): string =>
  time === undefined ? "" : `${time.totalMs.toFixed(2)} ms in ${time.calls} call${time.calls === 1 ? "" : "s"}`;
