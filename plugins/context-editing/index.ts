/**
 * Context editing: the plugin `contextEditing`, and its algorithms for use without a kernel. Who needs the plugin alone
 * takes it from `plugin/`, which loads the editor on first use.
 */
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
export { type ClearedOccurrence, type ClearedProjectionLedger, createClearedProjectionLedger } from "./cleared.ts";
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
export { contextEditing } from "./plugin/index.ts";
export { replayClearedProjection } from "./projection-ledger.ts";
