/**
 * The vocabulary of markers. Wherever something was left out, one of these says how much, and no text that carries one
 * is ever compressed again or stored as an original.
 */

/** `… 42 lines elided (caveman) …`, with what is true of all of them after a colon. */
export const elided = (count: number, unit: string, summary = ""): string =>
  `… ${count} ${unit} elided (caveman)${summary ? `: ${summary}` : ""} …`;

/** The words of a marker inside a comment of a language: `caveman: 12 lines elided`. */
export const elidedIn = (count: number, unit: string): string => `caveman: ${count} ${unit} elided`;

/** Keys of the element that stands for left-out elements of a JSON array or entries of an object. */
export const JSON_ELIDED = "__caveman_elided__";
export const JSON_INVARIANTS = "__caveman_invariants__";

/** Where the exact original can be fetched: the last line of a compressed text. */
export const pointer = (handle: string): string => `<<ccr:${handle}>>`;

const MARK = /elided \(caveman\)|caveman: \d+ [\p{L} -]{1,40} elided|"__caveman_elided__"|<<ccr:ccr_[0-9a-f]{32}>>/u;

/** Whether a text carries a marker or a pointer. */
export const isMarked = (text: string): boolean =>
  (text.includes("caveman") || text.includes("<<ccr:")) && MARK.test(text);
