/** Encoded bytes inside text: nobody reads them, so of a long run the beginning and the end are enough. */
import { elided } from "./markers.ts";

const MIN_BLOB = 512;
const HEAD = 48;
const TAIL = 16;
const SAMPLE = 1_024;

/** Shortens base64 and hexadecimal runs. */
export function shortenBlobs(input: string): { readonly text: string; readonly cut: number } {
  const out: string[] = [];
  let [at, cut] = [0, 0];
  for (let from = 0; from + MIN_BLOB <= input.length; ) {
    // Only a line that is long enough can hold a run that is.
    const end = input.indexOf("\n", from);
    const to = end < 0 ? input.length : end;
    for (let start = from; to - start >= MIN_BLOB; ) {
      let stop = start;
      while (stop < to && isCode(input.charCodeAt(stop))) stop++;
      if (stop - start >= MIN_BLOB && isEncoded(input.slice(start, start + SAMPLE))) {
        out.push(input.slice(at, start + HEAD), elided(stop - start - HEAD - TAIL, "characters"));
        at = stop - TAIL;
        cut++;
      }
      start = stop + 1;
    }
    from = to + 1;
  }
  if (cut === 0) return { text: input, cut };
  out.push(input.slice(at));
  return { text: out.join(""), cut };
}

/** The letters of base64, of its form for addresses, and of hexadecimal. */
const isCode = (code: number): boolean =>
  (code >= 97 && code <= 122) ||
  (code >= 65 && code <= 90) ||
  (code >= 47 && code <= 57) ||
  code === 43 ||
  code === 45 ||
  code === 61 ||
  code === 95;

/** Hexadecimal, or base64 with its mixture of cases and digits; a long run of one letter or of words is neither. */
function isEncoded(sample: string): boolean {
  const different = new Set(sample).size;
  if (/^[0-9a-fA-F]+$/.test(sample)) return different >= 10;
  return different >= 32 && /\d/.test(sample) && /[a-z]/.test(sample) && /[A-Z]/.test(sample);
}
