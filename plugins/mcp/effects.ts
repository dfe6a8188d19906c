/** What calling a tool of a server does to the world, as far as anybody trusted says. */
import type { Effect } from "../../kernel/index.ts";
import type { ServerOptions } from "./options.ts";

/** What the server says of a tool. Untrusted: it counts only when the configuration says so. */
export interface Hints {
  readonly readOnlyHint?: unknown;
  readonly idempotentHint?: unknown;
  readonly openWorldHint?: unknown;
}

/** Configured, else hinted where hints are trusted, else `external`. */
export function effectOf(options: ServerOptions, tool: string, hints: Hints): Effect {
  const { effects = {} } = options;
  const configured = Object.hasOwn(effects, tool) ? effects[tool] : undefined;
  if (configured) return configured;
  if (options.trustAnnotations === true) {
    if (hints.readOnlyHint === true) return "read";
    if (hints.idempotentHint === true) return "idempotent";
    if (hints.openWorldHint === false) return "write";
  }
  return effects["*"] ?? "external";
}
