/** The shape of a capsule: what a conversation saves of one, and what a model is asked to write. */
import { type Static, Type } from "@sinclair/typebox";

/** Names the capsule's format. */
export const CONTEXT_SUMMARY_SCHEMA = "cave.context-summary.v2";
/** The number in that name, as facts and receipts carry it. */
export const CONTEXT_SUMMARY_SCHEMA_VERSION = 2;

const text = (maxLength = 8_000) => Type.String({ maxLength });
const said = (maxLength?: number) => Type.String({ maxLength: maxLength ?? 8_000, pattern: "\\S" });
const list = <T extends Parameters<typeof Type.Array>[0]>(of: T) => Type.Array(of, { maxItems: 500 });
const digest = Type.String({ pattern: "^[0-9a-f]{64}$" });

const Anchor = Type.Object({
  id: said(128),
  /** The user's own words, byte for byte. */
  text: said(),
  source_id: said(128),
  /** Anchors of the capsule before that these words replace. */
  supersedes: Type.Optional(list(said(128))),
});
/** The capsule. Unknown fields are dropped when one is read. */
export const ContextSummarySchema = Type.Object({
  schema: Type.Literal(CONTEXT_SUMMARY_SCHEMA),
  generation: Type.Integer({ minimum: 1 }),
  objective: said(),
  constraints_restated: list(text()),
  decisions: list(Type.Object({ decision: text(), why: text() })),
  artifacts: list(Type.Object({ path: text(), change: text() })),
  facts: list(text()),
  state: Type.Object({ completed: list(text()), active: list(text()), blocked: list(text()) }),
  next: list(text()),
  citations: list(Type.Object({ segment_id: said(128), digest, what: text() })),
  lookup_hints: list(text()),
  sources: list(Type.Object({ id: said(128), sha256: digest })),
  critical_anchors: list(Anchor),
});
/** A capsule that was read. */
export type ContextSummary = Static<typeof ContextSummarySchema>;
/** What the user committed the work to, in the user's own words. */
export type ContextAnchor = Static<typeof Anchor>;
