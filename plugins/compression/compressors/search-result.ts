/**
 * Search results: the first and the last hits, the first of every file, what is alarming, a hit of every kind. Hits that
 * say too many different things for one to stand for another leave their places behind: file and line of every one.
 */
import { isAlarming } from "../alarm.ts";
import type { Compressor } from "../compressor.ts";
import { Invariants } from "../invariants.ts";
import { elideLines, keepEdges, type Run } from "../lines.ts";
import { bracedPaths } from "../paths.ts";
import { keepRelevant } from "../relevant.ts";
import { slotsOf } from "../slots.ts";
import { keepDistinct, templatesOf } from "../templates.ts";

const HEAD = 8;
const TAIL = 4;
const MIN_LINES = 18;
const MIN_RUN = 3;
const MAX_RELEVANT = 24;
const SECURITY = /security|secret|credential|password|private.?key|vulnerab|CVE-\d|\b(?:FIXME|HACK|XXX|BUG)\b/i;
/** Above this share alarming words are what was searched for, and tell nothing. */
const COMMON = 0.3;
/** Files whose number of hits a marker names. */
const MAX_FILES = 6;
/** Hits from which their text may go and their places stay. */
const MIN_PLACES = 60;
/** Files whose first hit is shown. */
const MAX_FIRST = 24;

export const searchResult: Compressor = {
  type: "search-result",
  keeps:
    "first and last hits, errors and security words, one hit of every kind, the place or the number of the others by file, matches of the query",
  compress(input, { query }) {
    const lines = input.split("\n");
    if (lines.length < MIN_LINES) return undefined;
    const paths = bracedPaths(lines);
    if (paths)
      return {
        text: paths.text,
        method: "paths",
        unit: "paths",
        kept: lines.length,
        dropped: 0,
        lossless: paths.inOrder,
      };
    const kept = new Uint8Array(lines.length);
    keepEdges(lines, kept, HEAD, TAIL);
    keepAlarming(lines, kept);
    keepRelevant(lines.length, (index) => lines[index], query, kept, MAX_RELEVANT);
    const unit = "search result lines";
    const alike = Uint8Array.from(kept);
    if (keepDistinct(lines, templatesOf(lines), alike)) {
      const elision = elideLines(lines, alike, { least: MIN_RUN, unit, summary: (runs) => byFile(lines, runs) });
      return elision && { ...elision, method: "search-result", unit };
    }
    const varying = Uint8Array.from(kept);
    const slots = slotsOf(lines, lines.length / 4);
    if (keepDistinct(lines, slots, varying, slots.unit)) {
      const elision = elideLines(lines, varying, {
        least: MIN_RUN,
        unit,
        summary: (runs) => {
          const invariants = new Invariants();
          slots.state((index) => varying[index] === 0, invariants);
          return [byFile(lines, runs), invariants.summary(120)].filter((part) => part !== "").join("; ");
        },
      });
      if (elision) return { ...elision, method: "search-slots", unit };
    }
    return places(lines, kept, unit);
  },
};

function keepAlarming(lines: readonly string[], kept: Uint8Array): void {
  for (const kind of [isAlarming, (line: string) => SECURITY.test(line)]) {
    const found = lines.flatMap((line, index) => (kind(line) ? [index] : []));
    if (found.length <= lines.length * COMMON) for (const index of found) kept[index] = 1;
  }
}

const PLACE = /^(.{1,300}?)[:-](\d{1,7})[:-]/;

/** How many of the left-out hits are in which file. */
function byFile(lines: readonly string[], runs: readonly Run[]): string {
  const hits = new Map<string, number>();
  for (const { from, to } of runs)
    for (let i = from; i < to; i++) {
      const path = PLACE.exec(lines[i] ?? "")?.[1];
      if (path !== undefined) hits.set(path, (hits.get(path) ?? 0) + 1);
    }
  if (hits.size === 0) return "";
  const named = [...hits].sort((a, b) => b[1] - a[1]).slice(0, MAX_FILES);
  const rest = hits.size - named.length;
  return `${named.map(([path, count]) => `${path}×${count}`).join(" ")}${rest > 0 ? ` and ${rest} more files` : ""}`;
}

/** The first hits of files, and of all the others the file and the line. */
function places(lines: readonly string[], kept: Uint8Array, unit: string) {
  if (lines.length < MIN_PLACES) return undefined;
  const seen = new Set<string>();
  for (let i = 0; i < lines.length; i++) {
    const path = PLACE.exec(lines[i] ?? "")?.[1];
    // What is no hit is something the tool says.
    if (path === undefined) kept[i] = 1;
    else if (!seen.has(path) && seen.size < MAX_FIRST) {
      seen.add(path);
      kept[i] = 1;
    }
  }
  const elision = elideLines(lines, kept, { least: MIN_RUN, unit, summary: (runs) => everyPlace(lines, runs) });
  return elision && { ...elision, method: "search-places", unit };
}

function everyPlace(lines: readonly string[], runs: readonly Run[]): string {
  const hits = new Map<string, string[]>();
  for (const { from, to } of runs)
    for (let i = from; i < to; i++) {
      const found = PLACE.exec(lines[i] ?? "");
      if (!found) continue;
      const numbers = hits.get(found[1] ?? "");
      if (numbers) numbers.push(found[2] ?? "");
      else hits.set(found[1] ?? "", [found[2] ?? ""]);
    }
  return [...hits].map(([path, numbers]) => `${path}:${numbers.join(",")}`).join(" ");
}
