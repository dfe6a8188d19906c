/** `caveman config`: the config that applies here, and where it comes from. */
import { type Args, EXIT, text } from "../command.ts";
import { loadConfig } from "../config.ts";
import { table } from "../render/table.ts";
import type { Terminal } from "../render/terminal.ts";

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  const file = text(args, "config");
  const loaded = await loadConfig(file === undefined ? {} : { file });
  const view = {
    file: loaded.file ?? null,
    preset: loaded.preset,
    presetOptions: loaded.config.presetOptions ?? {},
    plugins: loaded.plugins.map(({ name, options }) => ({ name, options })),
    run: loaded.run,
  };
  if (args.json) terminal.out(`${JSON.stringify(view, plain, 2)}\n`);
  else {
    terminal.out(
      table([
        ["file", loaded.file ?? "none: the defaults apply"],
        ["preset", view.preset],
        ["preset options", inline(view.presetOptions)],
        ["run", inline(view.run)],
      ]),
    );
    terminal.out(
      `plugins\n${table(
        view.plugins.map(({ name, options }) => [name, inline(options)]),
        "  ",
      )}`,
    );
  }
  return EXIT.done;
}

const inline = (value: unknown): string => JSON.stringify(value, plain) ?? "";

/** Functions and models have no JSON form: they are named by what they are. */
const plain = (_key: string, value: unknown): unknown =>
  typeof value === "function"
    ? "(a function)"
    : typeof value === "symbol"
      ? "auto"
      : typeof value === "bigint"
        ? String(value)
        : typeof value === "object" && value !== null && "doStream" in value
          ? "(a model)"
          : value;
