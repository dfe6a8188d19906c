/** For those who write summarisers: the capsule, its validator, and a harness that tries a summariser many times. */
export { carriedOver, parseContextSummary } from "./capsule.ts";
export {
  CONTEXT_SUMMARY_SCHEMA,
  CONTEXT_SUMMARY_SCHEMA_VERSION,
  type ContextAnchor,
  type ContextSummary,
  ContextSummarySchema,
} from "./capsule-schema.ts";
export { contextCompactionFixture } from "./fixture.ts";
export {
  type CompactionFixture,
  type ContextCompactionReport,
  type ContextCompactionSummarizer,
  type HarnessOptions,
  runContextCompactionHarness,
  type SummarizerRequest,
} from "./harness.ts";
export { type SummaryRequest, summarizationInstruction } from "./instruction.ts";
export { type UserSource, userSource } from "./sources.ts";
export {
  type ContextSummaryTransition,
  type TransitionVerdict,
  validateContextSummaryTransition,
} from "./transition.ts";
