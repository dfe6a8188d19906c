/** Diffs: headers, every changed line, two lines of context beside each change. */

import type { Compressor } from "../compressor.ts";
import { elideLines } from "../lines.ts";
import { terms } from "../relevant.ts";

const CONTEXT = 2;
const MIN_LINES = 12;
/** A marker costs about as much as two lines. */
const MIN_RUN = 3;

export const diff: Compressor = {
  type: "diff",
  keeps: "file and hunk headers, every changed line, two lines of context",
  compress(input, { query }) {
    const lines = input.split("\n");
    if (lines.length < MIN_LINES) return undefined;
    const wanted = terms(query);
    const kept = new Uint8Array(lines.length);
    let inHunk = false;
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i] ?? "";
      inHunk = line.startsWith("@@ ") || (inHunk && inside(line));
      if (inHunk && isContext(line)) {
        if (wanted.length > 0 && wanted.some((term) => line.toLowerCase().includes(term))) kept[i] = 1;
        continue;
      }
      kept[i] = 1;
      if (line.startsWith("+") || line.startsWith("-"))
        kept.fill(1, Math.max(0, i - CONTEXT), Math.min(lines.length, i + CONTEXT + 1));
    }
    const elision = elideLines(lines, kept, { least: MIN_RUN, unit: "context lines" });
    return elision && { ...elision, method: "diff", unit: "context lines" };
  },
};

/** Between hunks stand headers, the words of a commit, the numbers of changed lines by file: nothing stands for those. */
const inside = (line: string): boolean => isContext(line) || /^[+\-\\]/.test(line);

/** Context begins with a space; some tools cut the space of an empty line. Everything else is a header or a change. */
const isContext = (line: string): boolean => line.startsWith(" ") || line === "" || line === "\r";
