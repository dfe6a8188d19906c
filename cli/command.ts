/** What a command is: plain data and one function, so that the help text loads neither kernel nor plugins. */
import type { Run } from "../kernel/contract.ts";
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
/** A run without a model, on the plugins that keep and shorten text: for the commands of plugins that need their services. */
export interface CommandHost {
  open(): Promise<{ readonly run: Run; close(): Promise<unknown> }>;
}
/** A command's own module: gives the exit code. `host` is there for commands that plugins bring. */
export interface CommandModule {
  readonly execute: (args: Args, terminal: Terminal, host?: CommandHost) => Promise<number>;
}
export interface Command extends CommandSpec {
  readonly load: () => Promise<CommandModule>;
}

/** The exit codes. */
export const EXIT = { done: 0, failed: 1, usage: 2, stopped: 3, interrupted: 130 } as const;

const SHIELD = "\u0000";

/**
 * Shields words that are no options from a parser that would read them as some: a lone `-`, a text that begins with a
 * dash, and everything after `--`.
 */
export function shielded(words: readonly string[]): string[] {
  const end = words.indexOf("--");
  return words.flatMap((word, index) => {
    if (index === end) return [];
    return word === "-" || /^-[^-]\S*\s/.test(word) || (end >= 0 && index > end) ? [SHIELD + word] : [word];
  });
}

/** A text option or positional, when it was given. */
export const text = (args: Args, name: string): string | undefined => {
  const value = args[name];
  return typeof value === "string" ? value : undefined;
};

/** A word as it was typed. */
export const plainText = (word: string): string => (word.startsWith(SHIELD) ? word.slice(SHIELD.length) : word);
