/** The error rows of the command line and of config files. */
import { CavemanError, defineErrors, nearest } from "../kernel/errors.ts";

defineErrors({
  cave_config_invalid: {
    meaning: "The config has an unknown key or a wrong value.",
    remedy: "Correct it; caveman.config.schema.json lists every key.",
  },
  cave_config_unreadable: {
    meaning: "The config file cannot be read, parsed or run.",
    remedy: "Open the file and correct what the message names.",
  },
  cave_config_plugin_missing: {
    meaning: "The config names a plugin that does not exist or does not load.",
    remedy: "Install the package beside the config, or correct the name.",
  },
  cave_node_unsupported: { meaning: "This Node.js is too old.", remedy: "Install Node.js 22.19 or newer." },
  cave_cli_usage: { meaning: "The command line is wrong.", remedy: "Run caveman --help." },
  cave_cli_agent_missing: {
    meaning: "No agent can be read from that path.",
    remedy: "Pass an agent directory, or a file that exports an agent as default or as agent.",
  },
  cave_cli_failed: {
    meaning: "The command failed in a way it did not expect.",
    remedy: "Run caveman doctor; if it is green, report the message.",
  },
  cave_init_not_empty: {
    meaning: "The target directory is not empty.",
    remedy: "Choose an empty or a new directory; nothing was written.",
  },
  cave_init_failed: {
    meaning: "The project could not be written.",
    remedy: "Check the permissions of the parent directory; nothing was left behind.",
  },
});

/** A wrong command line: exit code 2. */
export const usage = (message: string, remedy?: string): CavemanError =>
  new CavemanError("cave_cli_usage", { message, remedy });

/** `"a", did you mean "b"?`, or the known names when nothing is near. */
export function mistyped(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant ? `"${name}", did you mean "${meant}"?` : `"${name}"`;
}

const FAILURES: readonly string[] = ["cave_cli_failed", "cave_init_failed"];

/** Whether an error is the caller's to correct before anything ran, exit code 2: a coded refusal without a receipt. */
export const isUsageError = (error: unknown): boolean =>
  error instanceof CavemanError &&
  !("receipt" in error && error.receipt !== undefined) &&
  !FAILURES.includes(error.code);
