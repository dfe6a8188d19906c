/** What may be set of context editing, checked field by field, so that a wrong value has its own error code. */
import { type TProperties, Type } from "@sinclair/typebox";
import { CavemanError } from "../../kernel/index.ts";
import type { ContextWindowOverlay } from "./geometry.ts";

/** Options of the plugin and of the run option `contextEditing`. */
export interface ContextEditingOptions extends ContextWindowOverlay {
  /** `cc` (default) clears at the frontier; `off` clears only when a call does not fit. */
  readonly machine?: "cc" | "off";
  /** Newest clearable results that keep their content; at least 1. Default 5. */
  readonly keepRecentToolResults?: number;
  /** Tools whose old results may be cleared, in place of the default set. */
  readonly tools?: readonly string[];
}

const key = (description: string) => Type.Optional(Type.Unsafe({ description }));
export const keys: TProperties = {
  machine: key("cc clears at the frontier; off only when a call does not fit"),
  keepRecentToolResults: key("newest clearable results that keep their content; default 5"),
  tools: key("tools whose old results may be cleared"),
  contextTokens: key("tokens of the context window, when the model states another"),
  autoCompactTokens: key("tokens of a lower window for the trigger alone"),
};

const refuse = (place: string, expected: string, received: unknown): never => {
  throw new CavemanError("cave_context_edit_option_invalid", {
    place,
    expected,
    received: typeof received === "string" ? JSON.stringify(received) : String(received),
  });
};

export const refuseKeep = (received: unknown): never =>
  refuse("keepRecentToolResults", "a whole number of at least 0", received);

/** @throws CavemanError `cave_context_edit_option_invalid`. */
export function checked(options: unknown, place: string): ContextEditingOptions {
  if (typeof options !== "object" || options === null) return refuse(place, "an object", options);
  const given = options as ContextEditingOptions & Readonly<Record<string, unknown>>;
  for (const key of Object.keys(given)) if (!Object.hasOwn(keys, key)) refuse(place, Object.keys(keys).join(", "), key);
  const { machine, keepRecentToolResults: keep, tools, contextTokens, autoCompactTokens } = given;
  if (machine !== undefined && machine !== "cc" && machine !== "off") refuse(`${place}.machine`, "cc or off", machine);
  if (keep !== undefined && (!Number.isSafeInteger(keep) || keep < 0)) refuseKeep(keep);
  if (tools !== undefined && !(Array.isArray(tools) && tools.every((name) => typeof name === "string")))
    refuse(`${place}.tools`, "a list of tool names", typeof tools);
  for (const [key, value] of Object.entries({ contextTokens, autoCompactTokens }))
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      refuse(`${place}.${key}`, "a positive whole number of tokens", value);
  return given;
}
