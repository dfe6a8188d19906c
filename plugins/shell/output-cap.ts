/** Caps a result at its source: head and tail are kept, cut at lines and never inside a character, the omission stated. */
import { characterEnd, characterStart } from "./files/characters.ts";

export interface Cap {
  readonly bytes: number;
  /** What there was in all, when more went by than `text` holds. */
  readonly total?: number;
  /** Where the whole text is kept, when it is. */
  readonly handle?: string;
}

/** The text itself when it fits, otherwise at most `bytes` bytes of it with a statement in the gap. */
export function capped(whole: Buffer, { bytes: cap, total, handle }: Cap): string {
  if (whole.length <= cap) return whole.toString("utf8");
  const all = Math.max(total ?? 0, whole.length);
  const where = handle === undefined ? "" : `; use read_tool_output with handle ${handle}`;
  const say = (left: number): string => `[output capped: ${left} of ${all} bytes left out here${where}]`;
  const room = Math.max(0, cap - Buffer.byteLength(say(all)) - 2);
  const head = headOf(whole, Math.floor(room / 2));
  const tail = tailOf(whole, room - head.length);
  const statement = say(all - head.length - tail.length);
  return [trimEnd(head.toString("utf8")), statement, tail.toString("utf8")].filter((part) => part !== "").join("\n");
}

const trimEnd = (text: string): string => (text.endsWith("\n") ? text.slice(0, -1) : text);

/** Up to a line end, if there is one in the second half; else up to a character. */
function headOf(whole: Buffer, room: number): Buffer {
  const end = characterEnd(whole, room);
  const line = whole.lastIndexOf(10, end - 1);
  return whole.subarray(0, line >= end / 2 ? line + 1 : end);
}

function tailOf(whole: Buffer, room: number): Buffer {
  let start = whole.length - room;
  start += characterStart(whole.subarray(start));
  const line = whole.indexOf(10, start);
  return whole.subarray(line >= 0 && line + 1 < start + room / 2 ? line + 1 : start);
}
