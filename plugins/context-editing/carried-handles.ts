/**
 * The handles a text carries. What compression shortened names its exact original in its last line; whatever takes the
 * place of that text must name it too, or nothing would lead to the original any more.
 */

/** Handles that a marker spells out; with more it would be as long as what it replaces. */
const MOST_SHOWN = 3;

export interface CarriedHandles {
  /** What a marker says of them; empty for a text that carries none. */
  readonly words: string;
  /** Whether the words name every one of them. If not, only the text itself leads to the others. */
  readonly complete: boolean;
}

const NONE: CarriedHandles = Object.freeze({ words: "", complete: true });

/** The same text gives the same words. A pointer stands at the end of what it points out of, so the last are named. */
export function carriedHandles(text: string): CarriedHandles {
  if (!text.includes("ccr_")) return NONE;
  const handles = [...new Set(text.match(/ccr_[0-9a-f]{32}/g))];
  if (handles.length === 0) return NONE;
  const more = Math.max(0, handles.length - MOST_SHOWN);
  const shown = handles.slice(-MOST_SHOWN).join(", ");
  return { words: ` Handles it carried: ${shown}${more > 0 ? `, and ${more} more in it` : ""}.`, complete: more === 0 };
}
