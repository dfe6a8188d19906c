/** An error as a person reads it: code, what happened, what to do. Never a stack trace. */
import { CavemanError, describe, errorRow } from "../../kernel/errors.ts";
import type { Terminal } from "./terminal.ts";

export interface ErrorJson {
  readonly code: string;
  readonly message: string;
  readonly remedy?: string;
}

interface Coded {
  readonly code: string;
  readonly message: string;
  readonly remedy: string | undefined;
}

/** The code, message and remedy of anything thrown; a foreign value gets `fallback`. */
export function coded(error: unknown, fallback = "cave_cli_failed"): Coded {
  if (error instanceof CavemanError) return { code: error.code, message: sentence(error), remedy: error.remedy };
  const code = hasCode(error) ? error.code : fallback;
  return { code, message: describe(error).split("\n")[0] ?? "", remedy: errorRow(code)?.remedy };
}

const hasCode = (error: unknown): error is { readonly code: string } =>
  typeof error === "object" &&
  error !== null &&
  "code" in error &&
  typeof error.code === "string" &&
  error.code.startsWith("cave_");

/** The message without its code in front and its remedy behind, which are printed on their own. */
function sentence(error: CavemanError): string {
  const { message, remedy } = error;
  const body = message.startsWith(`${error.code}: `) ? message.slice(error.code.length + 2) : message;
  const alone = remedy && body.endsWith(` ${remedy}`) ? body.slice(0, -remedy.length - 1) : body;
  return alone.replace(/\.;/g, ";").replace(/([.?!])\.$/, "$1");
}

export function errorJson(error: unknown): ErrorJson {
  const { code, message, remedy } = coded(error);
  return { code, message, ...(remedy === undefined ? {} : { remedy }) };
}

export function printError(error: unknown, terminal: Terminal): void {
  const { code, message, remedy } = coded(error);
  terminal.err(`${terminal.style(["red", "bold"], code)}: ${message}\n`);
  if (remedy) terminal.err(`  ${terminal.style("dim", "→")} ${remedy}\n`);
}
