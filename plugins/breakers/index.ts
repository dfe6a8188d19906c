/**
 * Breakers: an agent cannot loop unseen. Repeated tool calls and turns without progress are first answered with a nudge
 * the model can read, then end the run; tool calls past the fan-out cap are denied. Taps `admitTool` (repeats, fan-out),
 * `afterUsage` (turns), `reserve` (refuse once tripped). Owns `breakers`.
 */
import { Type } from "@sinclair/typebox";
import { definePlugin, type RunOptions } from "../../kernel/index.ts";
import { sharedFacts } from "../services.ts";
import { errors } from "./errors.ts";
import { type BreakerOptions, keys, limitsOf, RunBreakers } from "./options.ts";
import { SavedWatch, Watch } from "./watch.ts";

export type { BreakerOptions } from "./options.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** When a loop is a loop; `false` turns the breakers off. Children inherit it. */
    breakers?: BreakerOptions | false;
  }
}

const off = ({ breakers: own }: Readonly<RunOptions>): boolean => own === false;

export const breakers = definePlugin({
  name: "breakers",
  description: "Warns a model that repeats itself, then stops its run; caps the tool calls of one turn.",
  options: Type.Object(keys),
  runOptions: Type.Object({ breakers: RunBreakers }),
  facts: sharedFacts.breakers,
  errors,
  controls: ({ options }) => {
    const state = off(options) ? "absent" : "active";
    return { repeated_tool_calls: state, no_progress: state, turn_fanout: state };
  },
  apply(kernel, options) {
    const watchOf = kernel.perConversation(
      "breakers",
      SavedWatch,
      (run, saved) => new Watch(run, limitsOf(run.options.breakers, options), saved),
    );
    kernel.hooks.admitTool.tap({ name: "breakers:repeat", stage: "count" }, (call) => watchOf(call.run).admit(call));
    kernel.hooks.afterUsage.tap({ name: "breakers:turn", stage: "count" }, (settled) =>
      watchOf(settled.run).answered(settled),
    );
    kernel.hooks.reserve.tap({ name: "breakers:tripped", stage: "check" }, (call) => watchOf(call.run).refusal());
  },
});
