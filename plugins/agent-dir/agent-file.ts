/** `agent.ts` of an agent directory: a plain object whose every key is known. */
import { join } from "node:path";
import type { RunOptions } from "../../kernel/contract.ts";
import type { Context, ModelSpec } from "../../kernel/definition.ts";
import { CavemanError, nearest } from "../../kernel/errors.ts";
import type { Reasoning } from "../../kernel/model.ts";
import { refuse } from "./errors.ts";
import { defaultExport, modulesIn } from "./files.ts";

/** What the default export of `agent.ts` may say. */
export interface AgentFile {
  /** Default: `auto()`. */
  readonly model?: ModelSpec;
  /** Default: `low`. */
  readonly reasoning?: Reasoning;
  /** Default: `required`. */
  readonly sandbox?: "required" | "fixture" | "host";
  /** Segments built by `context()`, beside the index of skills. */
  readonly context?: readonly Context[];
  /** Run option `budget`, as its plugin takes it. */
  readonly budget?: unknown;
  /** Run option `breakers`, as its plugin takes it. */
  readonly breakers?: unknown;
  /** Further run options. They are checked when the run starts, by the plugins that own them. */
  readonly run?: Readonly<Record<string, unknown>>;
  /** Tells the parent's model when to call this agent. Needed when it is a subagent. */
  readonly description?: string;
  /** Limits as a subagent, as `subagent()` takes them. */
  readonly maxInputChars?: number;
  readonly maxCalls?: number;
  readonly maxCostUsd?: number;
  readonly maxTokens?: number;
  readonly maxContextTokens?: number;
}

const RUN = ["budget", "breakers", "run"] as const;
export const LIMITS = ["maxInputChars", "maxCalls", "maxCostUsd", "maxTokens", "maxContextTokens"] as const;
const KEYS: readonly string[] = ["model", "reasoning", "sandbox", "context", ...RUN, "description", ...LIMITS];

/** Reads `agent.ts` (or `.mts`, `.js`, `.mjs`) of a directory; an empty one when there is none. */
export async function readAgentFile(dir: string, depth: number): Promise<{ file: string; spec: AgentFile }> {
  const found = (await modulesIn(dir)).filter((entry) => entry.stem === "agent");
  const file = found[0]?.path ?? join(dir, "agent.ts");
  if (found.length > 1)
    refuse("cave_agent_dir_invalid", dir, "one agent.ts", found.map((entry) => entry.path).join(" and "));
  if (found.length === 0) return { file, spec: {} };
  const spec = await defaultExport(file);
  if (!isPlain(spec))
    refuse("cave_agent_dir_config_invalid", file, "a plain object", Array.isArray(spec) ? "an array" : typeof spec);
  for (const key of Object.keys(spec)) {
    if (KEYS.includes(key)) continue;
    const meant = nearest(key, KEYS);
    refuse("cave_agent_dir_config_invalid", file, meant ? `"${meant}"` : KEYS.join(", "), `"${key}"`);
  }
  if (spec.run !== undefined && !isPlain(spec.run))
    refuse("cave_agent_dir_config_invalid", `${file} run`, "an object of run options", typeof spec.run);
  if (spec.context !== undefined && !Array.isArray(spec.context)) {
    refuse("cave_agent_dir_config_invalid", `${file} context`, "an array of context() segments", typeof spec.context);
  }
  for (const key of RUN) {
    if (depth > 0 && spec[key] !== undefined)
      refuse(
        "cave_agent_dir_config_invalid",
        file,
        `subagent limits (${LIMITS.join(", ")})`,
        `"${key}"`,
        "A subagent runs under the options of the run that starts it: declare them in the root's agent.ts.",
      );
  }
  return { file, spec: spec as AgentFile };
}

/** The run options an `agent.ts` declares. @throws CavemanError when one is declared in two places. */
export function runOptionsOf({ file, spec }: { file: string; spec: AgentFile }): Readonly<RunOptions> {
  const { budget, breakers, run = {} } = spec;
  const own: Record<string, unknown> = {
    ...(budget === undefined ? {} : { budget }),
    ...(breakers === undefined ? {} : { breakers }),
  };
  for (const key of Object.keys(own))
    if (key in run) refuse("cave_agent_dir_config_invalid", file, `"${key}" in one place`, `"${key}" and "run.${key}"`);
  // Which keys exist depends on the plugins of the run, so they are checked there.
  return Object.freeze({ ...run, ...own }) as Readonly<RunOptions>;
}

/** Runs a definition call and names the file in what it refuses. */
export function inFile<T>(file: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof CavemanError)) throw error;
    throw new CavemanError(error.code, {
      ...error.detail,
      place: error.detail.place ? `${file} (${error.detail.place})` : file,
      cause: error,
    });
  }
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" &&
  value !== null &&
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);
