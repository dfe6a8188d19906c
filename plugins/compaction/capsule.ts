/**
 * The capsule: what a summary must say, read strictly from whatever a model wrote. A summary is a record of what was; it
 * cannot give orders, which only the user's own words in `critical_anchors` carry on.
 */
import { type Check, checkJson } from "../../kernel/index.ts";
import { type ContextSummary, ContextSummarySchema } from "./capsule-schema.ts";

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
