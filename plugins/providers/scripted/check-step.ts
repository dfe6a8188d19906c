/** Refuses a step of the wrong shape before it is played: a field misspelt would otherwise be a test that tests nothing. */

import { ScriptError } from "./script-error.ts";
import type { ScriptStep, ScriptUsage } from "./step.ts";

const finishes: readonly string[] = ["stop", "length", "content-filter", "tool-calls", "error", "other"];
const moments: readonly string[] = ["before", "mid-stream", "cut"];

type Check = (value: unknown, place: string) => void;

const text: Check = (value, place) => {
  if (typeof value !== "string") throw refuse(place, "a string", value);
};
const within =
  (least: number, most: number, what: string): Check =>
  (value, place) => {
    if (!Number.isSafeInteger(value) || Number(value) < least || Number(value) > most) throw refuse(place, what, value);
  };
const count = within(0, Number.MAX_SAFE_INTEGER, "a whole number of at least 0");
const oneOf =
  (allowed: readonly string[]): Check =>
  (value, place) => {
    if (typeof value !== "string" || !allowed.includes(value))
      throw refuse(place, `one of ${allowed.join(", ")}`, value);
  };

const faultChecks: Readonly<Record<string, Check>> = {
  status: within(400, 599, "an HTTP status from 400 to 599"),
  code: text,
  message: text,
  when: oneOf(moments),
  retryAfterMs: count,
};
const usageChecks: Readonly<Record<string, Check>> = {
  input: count,
  output: count,
  cacheRead: count,
  cacheWrite: count,
  reasoning: count,
};
const callChecks: Readonly<Record<string, Check>> = {
  id: text,
  name: text,
  input: (value, place) => {
    if (typeof value !== "string" && (typeof value !== "object" || value === null)) {
      throw refuse(place, "an object, or a string sent as it is", value);
    }
  },
};
const stepChecks: Readonly<Record<string, Check>> = {
  text,
  reasoning: text,
  finish: oneOf(finishes),
  delayMs: within(0, 2 ** 31 - 1, "milliseconds from 0 to 2147483647"),
  chunks: within(1, Number.MAX_SAFE_INTEGER, "a whole number of at least 1"),
  usage: (value, place) => {
    checkFields(value, place, usageChecks, ["input", "output"]);
    const { input, output, cacheRead = 0, cacheWrite = 0, reasoning = 0 } = value as ScriptUsage;
    if (cacheRead + cacheWrite > input) throw refuse(place, "input to include cacheRead and cacheWrite", value);
    if (reasoning > output) throw refuse(place, "output to include reasoning", value);
  },
  error: (value, place) => checkFields(value, place, faultChecks),
  toolCalls: (value, place) => {
    if (!Array.isArray(value)) throw refuse(place, "a list of tool calls", value);
    for (const [at, call] of value.entries()) checkFields(call, `${place}[${at}]`, callChecks, ["name", "input"]);
  },
};

/** @throws ScriptError `cave_script_invalid`, naming the place, what was expected and what came. */
export function checkStep(step: ScriptStep, place: string): ScriptStep {
  checkFields(step, place, stepChecks);
  return step;
}

function checkFields(
  value: unknown,
  place: string,
  checks: Readonly<Record<string, Check>>,
  required: readonly string[] = [],
): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refuse(place, "an object", value);
  for (const [key, field] of Object.entries(value)) {
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
    if (!check) throw refuse(`${place}.${key}`, `one of ${Object.keys(checks).join(", ")}`, key);
    if (field !== undefined) check(field, `${place}.${key}`);
  }
  for (const key of required) {
    if ((value as Readonly<Record<string, unknown>>)[key] === undefined)
      throw refuse(`${place}.${key}`, "a value", undefined);
  }
}

export function refuse(place: string, expected: string, received: unknown): ScriptError {
  return new ScriptError("cave_script_invalid", { place, expected, received: shown(received) });
}

function shown(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value === "object" && value !== null)
    return Array.isArray(value) ? "a list" : `an object with ${Object.keys(value).join(", ") || "nothing"}`;
  return typeof value === "string" ? JSON.stringify(value.slice(0, 80)) : String(value);
}
