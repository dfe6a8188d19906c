/** What may be set of the breakers. */
import { type Static, Type } from "@sinclair/typebox";

const whole = (minimum: number, value: number, description: string) =>
  Type.Optional(Type.Integer({ minimum, default: value, description }));

export const keys = {
  repeatedToolCalls: whole(2, 3, "rounds of equal tool calls with equal results that make a loop"),
  repeatedToolCallWindowTurns: whole(1, 8, "most turns between a call and its repetition"),
  noProgressTurns: whole(2, 3, "equal turns in a row before the model is warned"),
  maxToolCallsPerTurn: whole(1, 8, "tool calls that one answer of the model may ask for"),
};
const Options = Type.Object(keys);
export type BreakerOptions = Static<typeof Options>;
export const RunBreakers = Type.Optional(
  Type.Union([Type.Literal(false), Type.Object(keys, { additionalProperties: false })], {
    description: "false turns the breakers off",
  }),
);

export interface Limits {
  readonly times: number;
  readonly turns: number;
  readonly noProgress: number;
  readonly perTurn: number;
}

export function limitsOf(own: BreakerOptions | false | undefined, defaults: BreakerOptions): Limits | undefined {
  if (own === false) return undefined;
  const {
    repeatedToolCalls = 3,
    repeatedToolCallWindowTurns = 8,
    noProgressTurns = 3,
    maxToolCallsPerTurn = 8,
  } = { ...defaults, ...own };
  return {
    times: repeatedToolCalls,
    turns: repeatedToolCallWindowTurns,
    noProgress: noProgressTurns,
    perTurn: maxToolCallsPerTurn,
  };
}
