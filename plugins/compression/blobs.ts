/** Encoded bytes inside text: nobody reads them, so of a long run the beginning and the end are enough. */
import { elided } from "./markers.ts";

const MIN_BLOB = 512;
const HEAD = 48;
const TAIL = 16;
const BLOB = /[A-Za-z0-9+/_=-]{512,}/g;

/** Shortens base64 and hexadecimal runs. */
export function shortenBlobs(input: string): { readonly text: string; readonly cut: number } {
  if (input.length < MIN_BLOB) return { text: input, cut: 0 };
  let cut = 0;
  const text = input.replace(BLOB, (run) => {
    if (!isEncoded(run)) return run;
    cut++;
    return `${run.slice(0, HEAD)}${elided(run.length - HEAD - TAIL, "characters")}${run.slice(-TAIL)}`;
  });
  return { text, cut };
}

/** Hexadecimal, or base64 with its mixture of cases and digits; a long run of one letter or of words is neither. */
function isEncoded(run: string): boolean {
  const sample = run.slice(0, 1_024);
  const different = new Set(sample).size;
  if (/^[0-9a-fA-F]+$/.test(sample)) return different >= 10;
  return (
    different >= 32 &&
    /\d/.test(sample) &&
    /[a-z]/.test(sample) &&
    /[A-Z]/.test(sample) &&
    !/[-_=]{2,}[A-Za-z]/.test(sample)
  );
}
