/**
 * Whether one capsule may take the place of the one before, and a rewritten view the place of the view before. Every
 * claim is checked against what is really there; a summary that says otherwise is not believed in part.
 */
import { checkJson, illegality, type Message } from "../../kernel/index.ts";
import { type ContextSummary, ContextSummarySchema } from "./capsule-schema.ts";
import type { UserSource } from "./sources.ts";

/** A capsule that asks to take the place of the one before, and what it is checked against. */
export interface ContextSummaryTransition {
  /** The capsule that is superseded. */
  readonly prior?: ContextSummary | undefined;
  readonly candidate: ContextSummary;
  /** User messages that leave the view with this rewrite. */
  readonly required: readonly UserSource[];
  /** User messages that are still shown, oldest first. */
  readonly current: readonly UserSource[];
  /** Digests a citation may carry, by segment id. Without it citations are not checked. */
  readonly segments?: ReadonlyMap<string, string>;
  /** The rewrite itself; without it only the capsule is checked. */
  readonly rewrite?: {
    readonly before: readonly Message[];
    readonly after: readonly Message[];
    /** Messages that must be found again, content for content: the root intent, pinned messages. */
    readonly verbatim: readonly Message[];
    /** Newest messages that must end the rewritten view as they ended the one before. */
    readonly tail: number;
  };
}
export interface TransitionVerdict {
  readonly ok: boolean;
  readonly problems: readonly string[];
}

export function validateContextSummaryTransition(transition: ContextSummaryTransition): TransitionVerdict {
  const shape = checkJson(ContextSummarySchema, transition.candidate);
  const problems = shape.ok
    ? [...ofGeneration(transition), ...ofSources(transition), ...ofAnchors(transition), ...ofCitations(transition)]
    : [`the capsule does not fit its schema: ${shape.problem}`];
  if (transition.rewrite) problems.push(...ofRewrite(transition.rewrite));
  return { ok: problems.length === 0, problems };
}

function* ofGeneration({ prior, candidate }: ContextSummaryTransition): Iterable<string> {
  const expected = (prior?.generation ?? 0) + 1;
  if (candidate.generation !== expected) yield `generation ${candidate.generation} where ${expected} follows`;
}

function* ofSources({ prior, candidate, required, current }: ContextSummaryTransition): Iterable<string> {
  const known = new Map([...(prior?.sources ?? []), ...required, ...current].map(({ id, sha256 }) => [id, sha256]));
  const claimed = new Map(candidate.sources.map(({ id, sha256 }) => [id, sha256]));
  if (claimed.size < candidate.sources.length) yield "one source is named twice";
  for (const [id, sha256] of claimed) {
    const real = known.get(id);
    if (real === undefined) yield `source ${quoted(id)} does not exist`;
    else if (real !== sha256) yield `source ${quoted(id)} has another digest`;
  }
  for (const { id } of [...(prior?.sources ?? []), ...required])
    if (!claimed.has(id)) yield `source ${quoted(id)} is not covered`;
}

function* ofAnchors({ prior, candidate, required, current }: ContextSummaryTransition): Iterable<string> {
  const users = [...required, ...current];
  const texts = new Map(users.map(({ id, text }) => [id, text]));
  const before = new Map((prior?.critical_anchors ?? []).map((anchor) => [anchor.id, anchor]));
  const known = new Set((prior?.sources ?? []).map(({ id }) => id));
  const order = new Map(users.map(({ id }, at) => [id, at]));
  const replaced = new Set<string>();
  const ids = new Set<string>();
  for (const anchor of candidate.critical_anchors) {
    const { id, text, source_id, supersedes = [] } = anchor;
    if (ids.has(id)) yield `anchor ${quoted(id)} occurs twice`;
    ids.add(id);
    const old = before.get(id);
    if (old) {
      if (old.text !== text || old.source_id !== source_id) yield `anchor ${quoted(id)} was changed`;
      continue;
    }
    const source = texts.get(source_id);
    if (source === undefined) yield `anchor ${quoted(id)} rests on no user message`;
    else if (!source.includes(text)) yield `anchor ${quoted(id)} is not what the user message says`;
    for (const gone of supersedes) {
      const target = before.get(gone);
      const at = order.get(source_id);
      const since = target && order.get(target.source_id);
      if (!target) yield `anchor ${quoted(id)} supersedes ${quoted(gone)}, which does not exist`;
      else if (at === undefined || known.has(source_id) || (since !== undefined && at <= since))
        yield `anchor ${quoted(id)} supersedes ${quoted(gone)} without a later user message`;
      else replaced.add(gone);
    }
  }
  for (const id of before.keys())
    if (!ids.has(id) && !replaced.has(id)) yield `anchor ${quoted(id)} of the capsule before is lost`;
}

function* ofCitations({ candidate, segments, prior }: ContextSummaryTransition): Iterable<string> {
  if (!segments) return;
  const before = new Map((prior?.citations ?? []).map(({ segment_id, digest }) => [segment_id, digest]));
  for (const { segment_id, digest } of candidate.citations) {
    const real = segments.get(segment_id);
    if (real !== digest && before.get(segment_id) !== digest)
      yield `citation ${quoted(segment_id)} ${real === undefined ? "names no segment" : "has another digest"}`;
  }
}

function* ofRewrite({
  before,
  after,
  verbatim,
  tail,
}: NonNullable<ContextSummaryTransition["rewrite"]>): Iterable<string> {
  const illegal = illegality(after);
  if (illegal) yield `the rewritten view is not legal: ${illegal}`;
  const size = (messages: readonly Message[]): number => messages.reduce((sum, { bytes }) => sum + bytes, 0);
  if (size(after) >= size(before)) yield `the rewritten view is not smaller: ${size(after)} bytes for ${size(before)}`;
  const shown = new Set(after.map(({ digest }) => digest));
  for (const message of verbatim) if (!shown.has(message.digest)) yield `a pinned ${message.role} message is lost`;
  for (let at = 1; at <= tail; at++)
    if (before.at(-at)?.digest !== after.at(-at)?.digest) {
      yield "the recent tail was changed";
      break;
    }
}

const quoted = (id: string): string => JSON.stringify(id.slice(0, 80));
