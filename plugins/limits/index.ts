/**
 * Limits: a deadline and ceilings on model and tool calls. Taps `reserve` and `admitTool` (refuse), `settle` (clear the
 * timer). Owns `deadlineMs`, `maxModelCalls`, `maxToolCalls`. A child inherits the deadline as an instant, and counts
 * its own calls.
 */
import { Type } from "@sinclair/typebox";
import { CavemanError, definePlugin, defineService, type Run, type RunOptions } from "../../kernel/index.ts";
import { either, shown } from "../given.ts";
import { Deadline } from "./deadline.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** Milliseconds until the run stops with `deadline`. Default: none. */
    deadlineMs?: number;
    /** Model calls of one run, summaries included, attempts of one call counted once. Default 64. */
    maxModelCalls?: number;
    /** Tool calls of one run, nested and denied ones included. Default 64. */
    maxToolCalls?: number;
  }
}

export const MAX_MODEL_CALLS = 64;
export const MAX_TOOL_CALLS = 64;

interface State {
  readonly maxModelCalls: number;
  readonly maxToolCalls: number;
  readonly deadline: Deadline | undefined;
  /** The call that was counted last: its further attempts are not counted again. */
  lastCall: string | undefined;
  modelCalls: number;
  toolCalls: number;
  /** Tool calls made ahead of their turn: they run, so there may be no more of them than of others. */
  ahead: number;
}
type Options = Pick<RunOptions, "deadlineMs" | "maxModelCalls" | "maxToolCalls">;

// Values are checked by the code that reads them, so that each mistake has its own error code.
const keys = {
  deadlineMs: Type.Optional(Type.Unsafe<number>({ description: "milliseconds until the run stops" })),
  maxModelCalls: Type.Optional(
    Type.Unsafe<number>({ description: "model calls of one run", default: MAX_MODEL_CALLS }),
  ),
  maxToolCalls: Type.Optional(Type.Unsafe<number>({ description: "tool calls of one run", default: MAX_TOOL_CALLS })),
};
/** The state of a run, for what is asked outside of `apply`. */
const Limits = defineService<State>("limits.state");

function positive(value: unknown, code: string, place: string): number {
  if (Number.isSafeInteger(value) && (value as number) > 0) return value as number;
  throw new CavemanError(code, { place, expected: "a positive whole number", received: shown(value) });
}

function stateFor(run: Run, defaults: Options): State {
  const { options } = run;
  const deadlineMs = either(options.deadlineMs, defaults.deadlineMs);
  const inherited = run.parent?.find(Limits)?.deadline;
  const at =
    inherited?.at ??
    (deadlineMs === undefined
      ? undefined
      : run.clock.now() + positive(deadlineMs, "cave_run_deadline_invalid", "deadlineMs"));
  return {
    maxModelCalls: positive(
      either(options.maxModelCalls, either(defaults.maxModelCalls, MAX_MODEL_CALLS)),
      "cave_max_model_calls_invalid",
      "maxModelCalls",
    ),
    maxToolCalls: positive(
      either(options.maxToolCalls, either(defaults.maxToolCalls, MAX_TOOL_CALLS)),
      "cave_max_tool_calls_invalid",
      "maxToolCalls",
    ),
    deadline: at === undefined ? undefined : new Deadline(run, at),
    lastCall: undefined,
    modelCalls: 0,
    toolCalls: 0,
    ahead: 0,
  };
}

export const limits = definePlugin({
  name: "limits",
  description: "Stops a run at its deadline, or when it has made too many calls.",
  options: Type.Object(keys),
  runOptions: Type.Object(keys),
  errors: {
    cave_run_deadline_invalid: {
      meaning: "deadlineMs is not a positive whole number.",
      remedy: "Give milliseconds, for example 60000.",
    },
    cave_run_deadline_exceeded: {
      meaning: "The run's deadline has passed.",
      remedy: "Raise deadlineMs, or give the agent less to do.",
    },
    cave_max_model_calls_invalid: {
      meaning: "maxModelCalls is not a positive whole number.",
      remedy: "Give a positive whole number; the default is 64.",
    },
    cave_max_tool_calls_invalid: {
      meaning: "maxToolCalls is not a positive whole number.",
      remedy: "Give a positive whole number; the default is 64.",
    },
    cave_call_budget_exhausted: {
      meaning: "The run has made as many model calls as it may.",
      remedy: "Raise maxModelCalls.",
    },
    cave_tool_call_budget_exceeded: {
      meaning: "The run has made as many tool calls as it may.",
      remedy: "Answer with what is known, or raise maxToolCalls.",
    },
  },
  controls: (run) => ({
    model_calls: "active",
    tool_calls: "active",
    deadline: run.find(Limits)?.deadline ? "active" : "absent",
  }),
  prepare: (run) => run.find(Limits)?.deadline?.start(),
  apply(kernel, options) {
    const stateOf = kernel.perRun((run) => stateFor(run, options));
    kernel.provide(Limits, stateOf);

    kernel.hooks.reserve.tap({ name: "limits", stage: "check" }, (call) => {
      const state = stateOf(call.run);
      if (state.deadline?.passed(call.at))
        return {
          refuse: { code: "cave_run_deadline_exceeded", message: "The run's deadline has passed.", stop: "deadline" },
        };
      if (call.attempt > 1 && state.lastCall === call.callId) return undefined;
      if (state.modelCalls >= state.maxModelCalls)
        return {
          refuse: {
            code: "cave_call_budget_exhausted",
            message: `The run has made its ${state.maxModelCalls} model calls.`,
            stop: "call_budget_exhausted",
          },
        };
      state.lastCall = call.callId;
      state.modelCalls++;
      return undefined;
    });

    kernel.hooks.admitTool.tap({ name: "limits", stage: "count" }, (call) => {
      const state = stateOf(call.run);
      if (state.deadline?.passed())
        return {
          deny: {
            code: "cave_run_deadline_exceeded",
            message: "The run's deadline has passed; answer with what is known.",
          },
        };
      if (Math.max(state.toolCalls, call.speculative ? state.ahead : 0) >= state.maxToolCalls)
        return {
          deny: {
            code: "cave_tool_call_budget_exceeded",
            message: `The run has made its ${state.maxToolCalls} tool calls; answer with what is known.`,
          },
        };
      // A call made ahead of its turn is counted among the others when the turn asks for it.
      if (call.speculative) state.ahead++;
      else state.toolCalls++;
      return undefined;
    });

    kernel.hooks.settle.tap({ name: "limits", stage: "work" }, ({ run }) => stateOf(run).deadline?.clear());
  },
});
