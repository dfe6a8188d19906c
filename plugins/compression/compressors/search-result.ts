/** Search results and lists of paths: the first and the last hits, what is alarming, a hit of every kind, hits by file. */
import { isAlarming } from "../alarm.ts";
import { keepRelevant } from "../bm25.ts";
import type { Compressor } from "../compressor.ts";
import { elideLines, keepEdges, type Run } from "../lines.ts";
import { keepDistinct, templatesOf } from "../templates.ts";

const HEAD = 8;
const TAIL = 4;
const MIN_LINES = 18;
const MIN_RUN = 3;
const MAX_RELEVANT = 24;
const SECURITY = /security|secret|credential|password|private.?key|vulnerab|CVE-\d|\b(?:TODO|FIXME|HACK|XXX|BUG)\b/i;
/** Above this share alarming words are what was searched for, and tell nothing. */
const COMMON = 0.3;
/** Files whose number of hits a marker names. */
const MAX_FILES = 6;

export const searchResult: Compressor = {
  type: "search-result",
  keeps:
    "first and last hits, errors and security words, one hit of every kind, how many hits each file has, matches of the query",
  compress(input, { query }) {
    const lines = input.split("\n");
    if (lines.length < MIN_LINES) return undefined;
    const kept = new Uint8Array(lines.length);
    keepEdges(lines, kept, HEAD, TAIL);
    for (const kind of [isAlarming, (line: string) => SECURITY.test(line)]) {
      const found = lines.flatMap((line, index) => (kind(line) ? [index] : []));
      if (found.length <= lines.length * COMMON) for (const index of found) kept[index] = 1;
    }
    keepRelevant(lines.length, (index) => lines[index], query, kept, MAX_RELEVANT);
    if (!keepDistinct(lines, templatesOf(lines), kept)) return undefined;
    const elision = elideLines(lines, kept, {
      least: MIN_RUN,
      unit: "search result lines",
      summary: (runs) => byFile(lines, runs),
    });
    return elision && { ...elision, method: "search-result", unit: "search result lines" };
  },
};

const FILE = /^(.{1,300}?)[:-]\d{1,7}[:-]/;

/** How many of the left-out hits are in which file. */
function byFile(lines: readonly string[], runs: readonly Run[]): string {
  const hits = new Map<string, number>();
  for (const { from, to } of runs)
    for (let i = from; i < to; i++) {
      const path = FILE.exec(lines[i] ?? "")?.[1];
      if (path !== undefined) hits.set(path, (hits.get(path) ?? 0) + 1);
    }
  if (hits.size === 0) return "";
  const named = [...hits].sort((a, b) => b[1] - a[1]).slice(0, MAX_FILES);
  const rest = hits.size - named.length;
  return `${named.map(([path, count]) => `${path}×${count}`).join(" ")}${rest > 0 ? ` and ${rest} more files` : ""}`;
}
