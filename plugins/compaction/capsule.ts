/**
 * The capsule: what a summary must say, read strictly from whatever a model wrote. A summary is a record of what was; it
 * cannot give orders, which only the user's own words in `critical_anchors` carry on.
 */
import { type Static, Type } from "@sinclair/typebox";
import { type Check, checkJson } from "../../kernel/index.ts";

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

/** Characters of an answer that are read at all. */
const MOST = 262_144;

/** Reads the outermost `{…}` of a model's answer. A missing, mistyped or blank field is a problem, never a default. */
export function parseContextSummary(answer: string): Check<ContextSummary> {
  if (typeof answer !== "string") return { ok: false, problem: `expected text, received ${typeof answer}` };
  if (answer.length > MOST) return { ok: false, problem: `longer than ${MOST} characters` };
  const from = answer.indexOf("{");
  const to = answer.lastIndexOf("}");
  if (from < 0 || to < from) return { ok: false, problem: "no JSON object in the answer" };
  let value: unknown;
  try {
    value = JSON.parse(answer.slice(from, to + 1));
  } catch {
    return { ok: false, problem: "not valid JSON" };
  }
  const read = checkJson<ContextSummary>(ContextSummarySchema, value);
  return read.ok ? { ok: true, value: known(read.value) } : read;
}

/** The fields of the schema and no others: what else a model wrote goes nowhere. */
function known(from: ContextSummary): ContextSummary {
  return {
    schema: from.schema,
    generation: from.generation,
    objective: from.objective,
    constraints_restated: [...from.constraints_restated],
    decisions: from.decisions.map(({ decision, why }) => ({ decision, why })),
    artifacts: from.artifacts.map(({ path, change }) => ({ path, change })),
    facts: [...from.facts],
    state: {
      completed: [...from.state.completed],
      active: [...from.state.active],
      blocked: [...from.state.blocked],
    },
    next: [...from.next],
    citations: from.citations.map(({ segment_id, digest: of, what }) => ({ segment_id, digest: of, what })),
    lookup_hints: [...from.lookup_hints],
    sources: from.sources.map(({ id, sha256 }) => ({ id, sha256 })),
    critical_anchors: from.critical_anchors.map(({ id, text: words, source_id, supersedes }) => ({
      id,
      text: words,
      source_id,
      ...(supersedes && supersedes.length > 0 ? { supersedes: [...supersedes] } : {}),
    })),
  };
}

/**
 * The candidate with what the capsule before it had already established: its sources, and its anchors unless a new one
 * supersedes them. Carried over here, so that no commitment depends on a model repeating it.
 */
export function carriedOver(candidate: ContextSummary, prior: ContextSummary | undefined): ContextSummary {
  if (!prior) return candidate;
  const named = new Set(candidate.critical_anchors.map(({ id }) => id));
  const replaced = new Set(candidate.critical_anchors.flatMap(({ supersedes = [] }) => supersedes));
  const anchors = prior.critical_anchors.filter(({ id }) => !named.has(id) && !replaced.has(id));
  const sources = new Set(candidate.sources.map(({ id }) => id));
  return {
    ...candidate,
    critical_anchors: [...anchors, ...candidate.critical_anchors],
    sources: [...prior.sources.filter(({ id }) => !sources.has(id)), ...candidate.sources],
  };
}
