/**
 * Cutting a text to a number of UTF-8 bytes: its head and its tail stay, the gap between them is stated. A cut falls at
 * a line end, or, in a line longer than half of the room, between two characters as a reader sees them.
 */

/** Where a text was cut. */
export interface Gap {
  readonly bytes: number;
  readonly lines: number;
  /** Line and column, from 1, of the first thing left out. */
  readonly line: number;
  readonly column: number;
  /** Bytes of the whole text. */
  readonly total: number;
}

/** Whether a text has more than so many bytes. Short texts are not looked into. */
export function exceeds(text: string, cap: number): boolean {
  if (text.length * 3 <= cap) return false;
  return text.length > cap || Buffer.byteLength(text) > cap;
}

/** A text of more than `cap` bytes, cut to at most `cap` with `note` in the gap; a cap too small for it leaves the note alone. */
export function capText(text: string, cap: number, note: (gap: Gap) => string): string {
  const total = Buffer.byteLength(text);
  const widest = note({ bytes: total, lines: total, line: total, column: total, total });
  const room = Math.max(0, cap - Buffer.byteLength(widest) - 2);
  const cut = headEnd(text, Math.floor(room / 2));
  // The line end that is put after the head anyway, when the text has it there.
  const end = cut > 0 && text[cut] === "\n" ? cut + 1 : cut;
  const start = tailStart(text, room - Math.floor(room / 2), end);
  const gap = text.slice(end, start);
  const breaks = countLines(gap);
  const lineStart = text.lastIndexOf("\n", end - 1) + 1;
  const said = note({
    bytes: Buffer.byteLength(gap),
    lines: breaks + (gap.endsWith("\n") ? 0 : 1),
    line: countLines(text.slice(0, end)) + 1,
    column: end === 0 ? 1 : end - lineStart + 1,
    total,
  });
  const head = detached(text.slice(0, end));
  return `${head}${head === "" || head.endsWith("\n") ? "" : "\n"}${said}\n${detached(text.slice(start))}`;
}

/** A copy that does not keep the text it was cut from in memory. Half characters become the replacement character. */
export const detached = (text: string): string => Buffer.from(text).toString();

/** The largest index at which the text before it has at most `budget` bytes and the cut is a clean one. */
export function headEnd(text: string, budget: number, from = 0): number {
  const window = text.slice(from, from + budget);
  const fits =
    Buffer.byteLength(window) <= budget
      ? window.length
      : new TextEncoder().encodeInto(window, new Uint8Array(budget)).read;
  const end = from + fits;
  if (end >= text.length) return text.length;
  const line = text.lastIndexOf("\n", end - 1) + 1;
  if (end > from && line - from >= fits / 2) return line;
  return boundary(text, end, from, -1);
}

/** The smallest index from which the text has at most `budget` bytes and the cut is a clean one. */
function tailStart(text: string, budget: number, from: number): number {
  const plain = Math.max(from, text.length - budget);
  let at = Buffer.byteLength(text.slice(plain)) <= budget ? plain : text.length;
  for (let left = budget; at > plain; ) {
    const pair = at - from >= 2 && isLow(text.charCodeAt(at - 1)) && isHigh(text.charCodeAt(at - 2));
    const unit = text.charCodeAt(at - 1);
    left -= pair ? 4 : unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
    if (left < 0) break;
    at -= pair ? 2 : 1;
  }
  if (at === from || text[at - 1] === "\n") return at;
  const line = text.indexOf("\n", at) + 1;
  if (line > 0 && line - at <= (text.length - at) / 2) return line;
  return boundary(text, at, from, 1);
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** Code units around a cut that are looked at for characters of several code points. */
const WINDOW = 64;
let segmenter: Intl.Segmenter | undefined;

/** The nearest boundary between characters at or before (-1) or after (1) an index. */
function boundary(text: string, at: number, from: number, way: -1 | 1): number {
  const whole =
    at > from && at < text.length && isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1)) ? at + way : at;
  if (whole <= from || whole >= text.length) return Math.min(Math.max(whole, from), text.length);
  let start = Math.max(from, whole - WINDOW);
  if (start > from && isLow(text.charCodeAt(start))) start--;
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const found = segmenter.segment(text.slice(start, whole + WINDOW)).containing(whole - start);
  if (!found || found.index === whole - start) return whole;
  // A character without end is cut between code points.
  if (way < 0) return found.index === 0 ? whole : start + found.index;
  return found.segment.length >= WINDOW ? whole : start + found.index + found.segment.length;
}

/** Line ends in a text. Unit by unit: a search for each would be slow where lines are short. */
export function countLines(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === 10) count++;
  return count;
}
