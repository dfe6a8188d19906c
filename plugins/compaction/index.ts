/**
 * Compaction: a run outlives its context window, and a budget its history. The ladder is evict, summarise, clamp, stop.
 * Taps `compact` (evict, summarise), `beforeCall` (a summary's time limit), `reserve` (clamp to the window) and
 * `afterUsage` (a rejection's smaller view). Owns `compaction`.
 */
import { Type } from "@sinclair/typebox";
import { definePlugin, type Plugin, type Run } from "../../kernel/index.ts";
import { ContextGauge, Originals } from "../services.ts";
import { clampToWindow } from "./clamp.ts";
import { Compactor } from "./compactor.ts";
import { errors } from "./errors.ts";
import { type CompactionOptions, checked, keys, settingsOf } from "./options.ts";
import { Scales } from "./pressure.ts";
import { Purse } from "./purse.ts";
import { CompactionState, SavedState } from "./state.ts";
import { Summarizer } from "./summarizer.ts";

export type { CompactionOptions } from "./options.ts";
export * from "./public.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** How a view that is too full is made smaller; `false` leaves it as it is. Children inherit it. */
    compaction?: CompactionOptions | false;
  }
}
declare module "../../kernel/ledger.ts" {
  interface Facts {
    /** A rewrite that was looked for and not made, said once for each reason. */
    "compaction.declined": { reason: string };
    /** A summary that was asked for and not used. */
    "compaction.discarded": { reason: string; paid: boolean; summaryCall?: string };
  }
}

interface Live {
  readonly purse: Purse;
  compactor?: Compactor;
  summarizer?: Summarizer;
}

export const compaction = definePlugin({
  name: "compaction",
  description: "Evicts, then summarises what a full context or a short budget cannot carry.",
  options: Type.Object(keys),
  runOptions: Type.Object({
    compaction: Type.Optional(
      Type.Unsafe<CompactionOptions | false>({ description: "false leaves the view as it is; else as the options" }),
    ),
  }),
  errors,
  requires: ["context-editing"],
  after: ["budget", "pricing", "limits", "breakers"],
  controls: ({ options }) => ({ compaction: options.compaction === false ? "absent" : "active" }),
  apply(kernel, options) {
    const defaults = checked(options, "plugin compaction options");
    const liveOf = kernel.perRun((run): Live => {
      settingsOf(run.options, defaults); // a wrong option is refused before anything starts
      return { purse: new Purse(run, run.parent && liveOf(run.parent).purse) };
    });
    const stateOf = kernel.perConversation("compaction", SavedState, (_run, saved) => new CompactionState(saved));

    const compactorOf = (run: Run): Compactor => {
      const live = liveOf(run);
      if (live.compactor) return live.compactor;
      const settings = settingsOf(run.options, defaults);
      const gauge = run.service(ContextGauge);
      const summarizer = (live.summarizer = new Summarizer(run, gauge, settings));
      return (live.compactor = new Compactor({
        run,
        gauge,
        summarizer,
        settings,
        originals: run.service(Originals),
        scales: new Scales(run, gauge, live.purse),
        state: stateOf(run),
        callsLeft: () => callsLeft(run, kernel.plugins),
      }));
    };
    const off = (run: Run): boolean => run.options.compaction === false;

    // A summary has its own time limit, and a budget's handler may wait for a person.
    kernel.hooks.compact.tap({ name: "compaction:ladder", timeoutMs: Number.POSITIVE_INFINITY }, (payload) =>
      off(payload.run) ? undefined : compactorOf(payload.run).rewrite(payload),
    );
    kernel.hooks.beforeCall.tap({ name: "compaction:time-limit", stage: "guard" }, (call) =>
      liveOf(call.run).summarizer?.shape(call),
    );
    kernel.hooks.reserve.tap({ name: "compaction:clamp", stage: "check" }, (call) => {
      if (!off(call.run)) clampToWindow(call, call.run.service(ContextGauge));
    });
    kernel.hooks.afterUsage.tap({ name: "compaction:rejected", stage: "decide" }, (settled) => {
      if (settled.error && !off(settled.run)) compactorOf(settled.run).rejected(settled);
    });
  },
});

/** Model calls left under `maxModelCalls`. A summary that leaves no call to use it is money for nothing. */
function callsLeft(run: Run, plugins: readonly Plugin[]): number {
  const limits = plugins.find(({ name }) => name === "limits");
  if (!limits) return Number.POSITIVE_INFINITY;
  const own = (run.options as { readonly maxModelCalls?: unknown }).maxModelCalls;
  const most = own ?? (limits.options as { readonly maxModelCalls?: unknown }).maxModelCalls ?? 64;
  const made = new Set(run.ledger.of("call.intended").map(({ callId }) => callId)).size;
  return typeof most === "number" ? most - made : Number.POSITIVE_INFINITY;
}
