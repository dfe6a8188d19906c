/** What may be set of compaction, checked field by field, so that a wrong value has its own error code. */
import { type TProperties, Type } from "@sinclair/typebox";
import { CavemanError, type RunOptions } from "../../kernel/index.ts";

export interface CompactionOptions {
  /**
   * Paid summaries of a run at most. Without it one is made for a budget's sake; those that the context window forces are
   * bounded by what they free.
   */
  readonly maxCompactions?: number;
  /** Tokens of the newest messages that stay as they are. Default 8,000. */
  readonly keepRecentTokens?: number;
  /** Output tokens of a summary. Default 2,048. */
  readonly summaryMaxTokens?: number;
  /** Tokens a rewrite must free. Default 20,000, or a fifth of a smaller window. */
  readonly minYieldTokens?: number;
  /** Calls that must still be affordable after a summary. Default 3. */
  readonly headroomCalls?: number;
  /** Tokens of user messages that stay as they are, newest first. Default 20,000. */
  readonly pinnedUserTokens?: number;
  /** `provider/model` that writes summaries. Default: the run's own. */
  readonly summarizerModel?: string;
  /** Keeps the first user message as it is. Default true. */
  readonly preserveFirstUserMessage?: boolean;
  /** Milliseconds a summary may take. Default 60,000. */
  readonly summaryTimeoutMs?: number;
}

/** Options with every default but `maxCompactions`, whose absence means something. */
export type Settings = Required<Omit<CompactionOptions, "maxCompactions" | "summarizerModel">> &
  Pick<CompactionOptions, "maxCompactions" | "summarizerModel">;

export const DEFAULTS: Settings = Object.freeze({
  keepRecentTokens: 8_000,
  summaryMaxTokens: 2_048,
  minYieldTokens: 20_000,
  headroomCalls: 3,
  pinnedUserTokens: 20_000,
  preserveFirstUserMessage: true,
  summaryTimeoutMs: 60_000,
});
/** Paid summaries for a budget's sake when nothing else is said. */
export const DEFAULT_MAX_COMPACTIONS = 1;

const count = (description: string) => Type.Optional(Type.Unsafe<number>({ description }));
export const keys: TProperties = {
  maxCompactions: count("paid summaries of a run at most; default 1 for a budget's sake"),
  keepRecentTokens: count("tokens of the newest messages that stay; default 8000"),
  summaryMaxTokens: count("output tokens of a summary; default 2048"),
  minYieldTokens: count("tokens a rewrite must free; default 20000, or a fifth of a smaller window"),
  headroomCalls: count("calls that must still be affordable after a summary; default 3"),
  pinnedUserTokens: count("tokens of user messages that stay, newest first; default 20000"),
  summarizerModel: Type.Optional(
    Type.Unsafe<string>({ description: "provider/model that writes summaries; default the run's own" }),
  ),
  preserveFirstUserMessage: Type.Optional(
    Type.Unsafe<boolean>({ description: "keeps the first user message as it is; default true" }),
  ),
  summaryTimeoutMs: count("milliseconds a summary may take; default 60000"),
};

const refuse = (place: string, expected: string, received: unknown): never => {
  throw new CavemanError("cave_compaction_option_invalid", {
    place,
    expected,
    received: typeof received === "string" ? JSON.stringify(received) : String(received),
  });
};

/** @throws CavemanError `cave_compaction_option_invalid`. */
export function checked(options: unknown, place: string): CompactionOptions {
  if (typeof options !== "object" || options === null || Array.isArray(options))
    return refuse(place, "an object", options);
  for (const [key, value] of Object.entries(options)) {
    if (!Object.hasOwn(keys, key)) refuse(place, Object.keys(keys).join(", "), key);
    if (value === undefined) continue;
    if (key === "summarizerModel") {
      if (typeof value !== "string" || !/^[^/\s]+\/\S+$/.test(value))
        refuse(`${place}.${key}`, "provider/model", value);
    } else if (key === "preserveFirstUserMessage") {
      if (typeof value !== "boolean") refuse(`${place}.${key}`, "true or false", value);
    } else if (!Number.isSafeInteger(value) || value <= 0) refuse(`${place}.${key}`, "a positive whole number", value);
  }
  return options;
}

/** `budget.compaction`, when the budget of this run has one. */
const inBudget = ({ budget }: { readonly budget?: object | undefined }): unknown =>
  typeof budget === "object" && budget !== null && "compaction" in budget ? budget.compaction : undefined;

/** The run option stands before the budget's, and that before the plugin's. */
export function settingsOf(run: Readonly<RunOptions>, plugin: CompactionOptions): Settings {
  const nested = inBudget(run as { readonly budget?: object });
  const own = run.compaction;
  return {
    ...DEFAULTS,
    ...plugin,
    ...(nested === undefined ? {} : checked(nested, "budget.compaction")),
    ...(own ? checked(own, "run option compaction") : {}),
  };
}
