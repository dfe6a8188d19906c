/** Records that stand in relation to what was found: a bounded walk along links, never through one record twice. */
import type { Candidate } from "./recall.ts";
import type { MemoryStorage } from "./storage.ts";

export const DEFAULT_DEPTH = 1;
const MOST_DEPTH = 3;
/** Records that relations may add to one recall. */
const MOST_RELATED = 8;
/** A relation counts half of what it leads from. */
const DECAY = 0.5;

export async function related(
  storage: MemoryStorage,
  found: readonly Candidate[],
  depth: number,
  at: number,
): Promise<Candidate[]> {
  const seen = new Set(found.map(({ record }) => record.id));
  const added: Candidate[] = [];
  let edge = found;
  for (let step = 0; step < Math.min(depth, MOST_DEPTH) && edge.length > 0; step++) {
    const next: Candidate[] = [];
    for (const { record, score } of edge) {
      for (const { from, relation, to } of await storage.links(record.id)) {
        const id = from === record.id ? to : from;
        if (seen.has(id) || added.length === MOST_RELATED) continue;
        seen.add(id);
        const neighbour = await storage.get(id, at);
        if (neighbour?.state !== "active") continue;
        const candidate = { record: neighbour, score: score * DECAY, via: { relation, id: record.id } };
        added.push(candidate);
        next.push(candidate);
      }
    }
    edge = next;
  }
  return added;
}
