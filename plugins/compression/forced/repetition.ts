/** Repetition: of identical neighbouring lines the first, and how many followed. */
import type { Compressor } from "../compressor.ts";
import { elideLines } from "../lines.ts";

const MIN_LENGTH = 200;
const MIN_RUN = 3;

export const repetition: Compressor = {
  type: "repetition",
  keeps: "the first of identical neighbouring lines, and how many followed",
  compress(input) {
    if (Buffer.byteLength(input) < MIN_LENGTH) return undefined;
    const lines = input.split("\n");
    const kept = new Uint8Array(lines.length).fill(1);
    for (let from = 0, to = 1; from < lines.length; from = to++) {
      while (to < lines.length && lines[to] === lines[from]) to++;
      if (to - from >= MIN_RUN) kept.fill(0, from + 1, to);
    }
    const elision = elideLines(lines, kept, { least: MIN_RUN - 1, unit: "identical lines" });
    return elision && { ...elision, method: "repetition", unit: "identical lines" };
  },
};
