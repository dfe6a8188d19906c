/** What a command is: plain data and one function, so that the help text loads neither kernel nor plugins. */
import type { Terminal } from "./render/terminal.ts";

export interface Option {
  readonly type: "string" | "boolean" | "number";
  readonly describe: string;
  readonly alias?: string;
  readonly default?: string | boolean | number;
  readonly choices?: readonly string[];
}
export type Args = Readonly<Record<string, unknown>>;

export interface CommandSpec {
  /** As yargs reads it: `run <agent> [input]`. */
  readonly usage: string;
  readonly describe: string;
  readonly positionals: Readonly<Record<string, string>>;
  readonly options: Readonly<Record<string, Option>>;
}
/** A command's own module: gives the exit code. */
export interface CommandModule { readonly execute: (args: Args, terminal: Terminal) => Promise<number> }
export interface Command extends CommandSpec { readonly load: () => Promise<CommandModule> }

/** The exit codes. */
export const EXIT = { done: 0, failed: 1, usage: 2, stopped: 3, interrupted: 130 } as const;

/** What a lone `-` becomes on its way through the parser, which would read it as an option without a name. */
export const STDIN = "\u0000-";

/** A text option or positional, when it was given. */
export const text = (args: Args, name: string): string | undefined => {
  const value = args[name];
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined;
};
