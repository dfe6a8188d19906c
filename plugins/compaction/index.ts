/**
 * Compaction: a run outlives its context window, and a budget its history. The ladder is evict, summarise, clamp, stop.
 * Taps `compact` (evict, summarise), `beforeCall` (a summary's time limit), `reserve` (clamp to the window) and
 * `afterUsage` (a rejection's smaller view). Owns `compaction`.
 */
import { type Static, Type } from "@sinclair/typebox";
import { definePlugin, type Run } from "../../kernel/index.ts";
import { ContextGauge, Originals, sharedFacts } from "../services.ts";
import { clampToWindow } from "./clamp.ts";
import type { Compactor } from "./compactor.ts";
import { errors } from "./errors.ts";
import { type CompactionOptions, checked, keys, settingsOf } from "./options.ts";
import { Scales } from "./pressure.ts";
import { Purse } from "./purse.ts";
import { isRejection } from "./rejection.ts";
import { CompactionState, SavedState } from "./state.ts";

export type { CompactionOptions } from "./options.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** How a view that is too full is made smaller; `false` leaves it as it is. Children inherit it. */
    compaction?: CompactionOptions | false;
  }
}
declare module "../../kernel/ledger.ts" {
  interface Facts {
    /** A rewrite that was looked for and not made, said once for each reason. */
    "compaction.declined": Static<typeof Declined>;
    /** A summary that was asked for and not used. */
    "compaction.discarded": Static<typeof Discarded>;
  }
}

const closed = { additionalProperties: false };
const Declined = Type.Object({ reason: Type.String() }, closed);
const Discarded = Type.Object(
  { reason: Type.String(), paid: Type.Boolean(), summaryCall: Type.Optional(Type.String()) },
  closed,
);

interface Live {
  readonly purse: Purse;
  scales?: Scales;
  compactor?: Compactor;
}

/** The ladder's code, once a view was first found too full. */
let code: Code | undefined;
type Code = typeof import("./compactor.ts");

export const compaction = definePlugin({
  name: "compaction",
  description: "Evicts, then summarises what a full context or a short budget cannot carry.",
  options: Type.Object(keys),
  runOptions: Type.Object({
    compaction: Type.Optional(
      Type.Unsafe<CompactionOptions | false>({ description: "false leaves the view as it is; else as the options" }),
    ),
  }),
  facts: { ...sharedFacts.compaction, "compaction.declined": Declined, "compaction.discarded": Discarded },
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

    const scalesOf = (run: Run): Scales => {
      const live = liveOf(run);
      return (live.scales ??= new Scales(run, run.service(ContextGauge), live.purse));
    };
    const compactorOf = (run: Run, { Compactor }: Code): Compactor =>
      (liveOf(run).compactor ??= new Compactor({
        run,
        gauge: run.service(ContextGauge),
        settings: settingsOf(run.options, defaults),
        originals: run.service(Originals),
        scales: scalesOf(run),
        state: stateOf(run),
        plugins: kernel.plugins,
      }));
    /** Uses a run's compactor: at once when its code is there, else when it is loaded and the run still goes on. */
    const compact = <T>(run: Run, use: (compactor: Compactor) => T | Promise<T>): T | Promise<T | undefined> =>
      code
        ? use(compactorOf(run, code))
        : import("./compactor.ts").then((loaded) => {
            code = loaded;
            return run.stopping || run.signal.aborted ? undefined : use(compactorOf(run, code));
          });
    const off = (run: Run): boolean => run.options.compaction === false;

    // A summary has its own time limit, and a budget's handler may wait for a person.
    kernel.hooks.compact.tap({ name: "compaction:ladder", timeoutMs: Number.POSITIVE_INFINITY }, (payload) => {
      const { run, view } = payload;
      const due = off(run) ? undefined : scalesOf(run).due(payload, liveOf(run).compactor?.quietUntil ?? 0);
      return due && compact(run, (compactor) => compactor.rewrite(view, due));
    });
    kernel.hooks.beforeCall.tap({ name: "compaction:time-limit", stage: "guard" }, (call) =>
      liveOf(call.run).compactor?.shape(call),
    );
    kernel.hooks.reserve.tap({ name: "compaction:clamp", stage: "check" }, (call) => {
      if (!off(call.run)) clampToWindow(call, call.run.service(ContextGauge));
    });
    kernel.hooks.afterUsage.tap({ name: "compaction:rejected", stage: "decide" }, (settled) => {
      if (settled.error && !off(settled.run) && isRejection(settled))
        return compact(settled.run, (compactor) => compactor.rejected(settled));
    });
  },
});
