/**
 * Retry: another attempt, or another model, for a call that failed before anything was billed. Taps `afterUsage` (ask
 * again). Owns `retry`. Each attempt is held and priced like any other; what may have been billed is never repeated
 * silently.
 */
import { Type } from "@sinclair/typebox";
import { type CallId, definePlugin, defineService } from "../../kernel/index.ts";
import { sharedFacts } from "../services.ts";
import { Attempts } from "./attempts.ts";
import { errors } from "./errors.ts";
import { keys, type Plan, type RetryOptions } from "./options.ts";
import { denominationOf, unitsOf } from "./spend.ts";

export type { RetryOptions } from "./options.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** How failed model calls are repeated; `false` leaves every failure as it is. */
    retry?: RetryOptions | false;
  }
}

/** What a run may repeat, for what is asked outside of `apply`. */
const Retries = defineService<Plan | undefined>("retry.plan");

export const retry = definePlugin({
  name: "retry",
  description: "Tries a failed model call again, or another model, when nothing was billed.",
  options: Type.Object(keys),
  runOptions: Type.Object({
    retry: Type.Optional(
      Type.Union([Type.Literal(false), Type.Object(keys, { additionalProperties: false })], {
        description: "false leaves every failure as it is",
      }),
    ),
  }),
  facts: sharedFacts.breakers,
  errors,
  // The budget's unit is known once its meter is open, and an amount that it cannot hold is said before the first call.
  after: ["budget"],
  prepare(run) {
    const maxSpend = run.parent ? undefined : run.find(Retries)?.maxSpend;
    const unit = maxSpend === undefined ? undefined : denominationOf(run);
    if (maxSpend !== undefined && unit) unitsOf(maxSpend, unit);
  },
  controls: ({ options }) => ({ retry: options.retry === false ? "absent" : "active" }),
  apply(kernel, options) {
    const callsOf = kernel.perRun((run) => {
      const own = run.options.retry;
      const plan: Plan | undefined =
        own === false ? undefined : { backoffMs: 250, fallbackModels: [], repeatBilled: false, ...options, ...own };
      return { plan, open: new Map<CallId, Attempts>() };
    });

    kernel.provide(Retries, (run) => callsOf(run).plan);

    kernel.hooks.afterUsage.tap({ name: "retry", stage: "decide" }, (settled) => {
      const { plan, open } = callsOf(settled.run);
      const { callId, error } = settled;
      if (!plan || (!error && (open.size === 0 || !open.has(callId)))) return undefined;
      let attempts = open.get(callId);
      if (!attempts) open.set(callId, (attempts = new Attempts(plan)));
      if (!error) open.delete(callId);
      return attempts.settled(settled);
    });
  },
});
