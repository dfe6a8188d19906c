/**
 * Context editing: old tool results leave the model's view before it is full, each replaced by a pointer that reads it
 * back. Taps `compact` (repaint, heal, clear) and `afterUsage` (gauge, a rejection's smaller view). Owns
 * `contextEditing`; provides `ContextGauge`, the one measure of how full a context is, and `Originals`.
 */
import { Type } from "@sinclair/typebox";
import { checkJson, definePlugin, type Run } from "../../kernel/index.ts";
import { ContextGauge, Originals } from "../services.ts";
import { Editor, type Trigger } from "./editor.ts";
import { errors } from "./errors.ts";
import { Gauge } from "./gauge.ts";
import { type ContextEditingOptions, checked, keys } from "./options.ts";
import { RunOriginals } from "./originals.ts";
import {
  type ClearedOccurrence,
  type ClearedProjectionLedger,
  createClearedProjectionLedger,
  SavedLedger,
  saveLedger,
} from "./projection-ledger.ts";

export {
  CC_DEFAULT_KEEP_RECENT_TOOL_RESULTS,
  COMPACTABLE_TOOLS,
  type ContextEditOptions,
  clearStaleToolResults,
  MICRO_COMPACT_MACHINES,
  MIN_CLEAR_SAVINGS_TOKENS,
  MIN_KEEP_RECENT_TOOL_RESULTS,
  type MicroCompactMachine,
  planRejectionClears,
  type RejectionClearPlan,
} from "./clear.ts";
export {
  COMPACTION_TRIGGER_BUFFER_TOKENS,
  CONTEXT_OUTPUT_RESERVE_TOKENS,
  type ContextWindowOverlay,
  contextEditFrontier,
  EDIT_FRACTION,
  editBudget,
  resolveTriggerWindow,
  type TriggerWindowResolution,
} from "./geometry.ts";
export { dropEmptyFailureAssistants } from "./heal.ts";
export {
  fingerprintToolResultOccurrence,
  indexOccurrences,
  type OccurrenceFingerprint,
  type OccurrenceIndex,
  type OccurrenceKey,
} from "./occurrences.ts";
export type { ContextEditingOptions } from "./options.ts";
export {
  type ClearedOccurrence,
  type ClearedProjectionLedger,
  createClearedProjectionLedger,
  replayClearedProjection,
} from "./projection-ledger.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** When old tool results leave the view; `false` keeps them all. Children inherit it. */
    contextEditing?: ContextEditingOptions | false;
  }
}
declare module "../../kernel/ledger.ts" {
  interface Facts {
    /** Results that left the view; `tokensSaved` is an estimate, `digests` are the originals' fingerprints. */
    "context.cleared": {
      trigger: Trigger;
      results: number;
      tokensSaved: number;
      basis: "estimate";
      digests: string[];
    };
    "context.clear_declined": { trigger: Trigger; reason: string };
  }
}

export const contextEditing = definePlugin({
  name: "context-editing",
  description: "Clears old tool results from a filling context; each can be read back.",
  options: Type.Object(keys),
  runOptions: Type.Object({
    contextEditing: Type.Optional(
      Type.Unsafe<ContextEditingOptions | false>({ description: "false keeps every result; else as the options" }),
    ),
  }),
  errors,
  after: ["recovery", "results", "compression"],
  controls: ({ options }) => ({ context_editing: options.contextEditing === false ? "absent" : "active" }),
  apply(kernel, options) {
    const defaults = checked(options, "plugin context-editing options");
    const settingsOf = (run: Run): ContextEditingOptions => {
      const own = run.options.contextEditing;
      return own ? { ...defaults, ...checked(own, "run option contextEditing") } : defaults;
    };
    const ledgerOf = kernel.perConversation("context-editing", SavedLedger, (_run, saved) => ledgerFrom(saved));
    const gaugeOf = kernel.perRun((run) => new Gauge(run, settingsOf(run)));
    const liveOf = kernel.perRun((): { editor?: Editor } => ({}));
    const editorOf = (run: Run): Editor =>
      (liveOf(run).editor ??= new Editor(run, settingsOf(run), gaugeOf(run), ledgerOf(run), run.service(Originals)));
    kernel.provide(ContextGauge, gaugeOf);
    kernel.provide(Originals, (run) => new RunOriginals(run));

    kernel.hooks.compact.tap("context-editing:clear", (compaction) =>
      compaction.run.options.contextEditing === false ? undefined : editorOf(compaction.run).rewrite(compaction),
    );
    kernel.hooks.afterUsage.tap({ name: "context-editing:gauge", stage: "count" }, (settled) =>
      gaugeOf(settled.run).settled(settled),
    );
    kernel.hooks.afterUsage.tap({ name: "context-editing:rejected", stage: "decide" }, (settled) => {
      if (settled.error && settled.run.options.contextEditing !== false) editorOf(settled.run).rejected(settled);
    });
  },
});

type Ledger = ClearedProjectionLedger & { toJSON(): unknown };

function ledgerFrom(saved: unknown): Ledger {
  const ledger = createClearedProjectionLedger();
  const read = saved === undefined ? undefined : checkJson<(ClearedOccurrence & { key: string })[]>(SavedLedger, saved);
  if (read?.ok)
    for (const { key, marker, groupCount, fp } of read.value) ledger.entries.set(key, { marker, groupCount, fp });
  return Object.assign(ledger, { toJSON: () => saveLedger(ledger) });
}
