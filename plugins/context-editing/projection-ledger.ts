/**
 * Repaints what was cleared, so that a view which is built again from the originals gets the same bytes the provider has
 * cached. An entry is painted only on the very content it was recorded for; anything else lets the full text stand, which
 * is always the safe direction.
 */
import type { Message } from "../../kernel/index.ts";
import { paint } from "./clear.ts";
import type { ClearedOccurrence, ClearedProjectionLedger } from "./cleared.ts";
import {
  fingerprintToolResultOccurrence,
  indexOccurrences,
  keyFor,
  type OccurrenceIndex,
  partsOf,
  textOfResult,
} from "./occurrences.ts";

/**
 * Paints the recorded clears onto a view. Entries whose result is gone or says something else are dropped; the others are
 * renamed to their place in this view. The same array when nothing had to be painted.
 */
export function replayClearedProjection(
  messages: readonly Message[],
  ledger: ClearedProjectionLedger,
): { readonly messages: readonly Message[]; readonly index: OccurrenceIndex } {
  const index = indexOccurrences(messages);
  if (ledger.entries.size === 0) return { messages, index };
  const kept = new Map<string, ClearedOccurrence>();
  const clears: { index: number; part: number; marker: string }[] = [];
  for (const [key, entry] of ledger.entries) {
    const parts = partsOf(key);
    if (!parts) continue;
    const groupCount = index.countOf(parts.toolCallId);
    // History is cut from its beginning: of a group that shrank, the oldest are the ones that are gone.
    const moved = keyFor(parts.toolCallId, parts.ordinal - Math.max(0, entry.groupCount - groupCount));
    const found = index.find(moved);
    if (!found) continue;
    const painted = textOfResult(found.result) === entry.marker;
    if (!painted && fingerprintToolResultOccurrence(found.result) !== entry.fp) continue;
    kept.set(moved, { ...entry, groupCount });
    if (!painted) clears.push({ index: found.index, part: found.part, marker: entry.marker });
  }
  ledger.entries = kept;
  if (clears.length === 0) return { messages, index };
  const repainted = paint(messages, clears);
  return { messages: repainted, index: indexOccurrences(repainted) };
}
