/** What may be set of retries. */
import { Type } from "@sinclair/typebox";

/** Attempts of one call when nothing else bounds them. */
export const DEFAULT_MAX_ATTEMPTS = 6;

/** How failed model calls are repeated. */
export interface RetryOptions {
  /** Most that the repeated attempts of one call may reserve together, in the unit of the run's budget: dollars or tokens. */
  readonly maxSpend?: number;
  /** Milliseconds before the first retry; doubled each time, with jitter, up to 30,000. Default 250. */
  readonly backoffMs?: number;
  /** Attempts of one call, the first included. Default 6; with a budget and `maxSpend` money bounds them instead. */
  readonly maxAttempts?: number;
  /** `provider/model`, in the order they are tried. Default: none. */
  readonly fallbackModels?: readonly string[];
  /** Repeats also what may have been billed; each attempt is booked. Default false. */
  readonly repeatBilled?: boolean;
}

export type Plan = Required<Pick<RetryOptions, "backoffMs" | "fallbackModels" | "repeatBilled">> &
  Pick<RetryOptions, "maxSpend" | "maxAttempts">;

export const keys = {
  maxSpend: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      description: "most that repeated attempts of a call may reserve, in the unit of the budget",
    }),
  ),
  backoffMs: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 30_000, default: 250, description: "milliseconds before the first retry" }),
  ),
  maxAttempts: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: `attempts of one call; default ${DEFAULT_MAX_ATTEMPTS}, or as many as maxSpend pays for`,
    }),
  ),
  fallbackModels: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { description: "provider/model, in order" })),
  repeatBilled: Type.Optional(Type.Boolean({ default: false, description: "repeat also what may have been billed" })),
};
