/**
 * Prose and whatever else: sections, which are paragraphs, or lines where there are none. Headings, marked and alarming
 * sections stay; others go only when one that stays has their words. Long encoded runs are cut in the middle.
 */
import { Alarms, isAlarming } from "../alarm.ts";
import { shortenBlobs } from "../blobs.ts";
import type { Compressor } from "../compressor.ts";
import { runsOf } from "../lines.ts";
import { elided } from "../markers.ts";
import { keepRelevant } from "../relevant.ts";
import { keepDistinct, keepOutstanding, templatesOf } from "../templates.ts";

const MIN_LENGTH = 1_600;
const MIN_SECTIONS = 6;
const EDGE = 2;
const MAX_RELEVANT = 12;
const MIN_RUN = 2;

export const text: Compressor = {
  type: "text",
  keeps:
    "headings, first and last sections, sections marked important or alarming, outliers, one section of every kind, matches of the query",
  compress(input, { query }) {
    const { text: short, cut } = shortenBlobs(input);
    const plain = cut > 0 ? { text: short, method: "blobs", unit: "encoded runs", kept: 0, dropped: cut } : undefined;
    if (short.length < MIN_LENGTH) return plain;
    const { sections, separator } = sectionsOf(short);
    if (sections.length <= MIN_SECTIONS) return plain;
    const kept = new Uint8Array(sections.length);
    kept.fill(1, 0, EDGE).fill(1, -EDGE);
    const templates = templatesOf(sections);
    const alarms = new Alarms();
    for (let i = 0; i < sections.length; i++) {
      const section = sections[i] ?? "";
      if (isHeading(section) || MARKED.test(section)) kept[i] = 1;
      else if (isAlarming(section) && alarms.take(templates.of[i] ?? -1)) kept[i] = 1;
    }
    keepRelevant(sections.length, (index) => sections[index], query, kept, MAX_RELEVANT);
    keepOutstanding(sections, templates, kept);
    if (!keepDistinct(sections, templates, kept)) return plain;
    const runs = runsOf(kept, MIN_RUN);
    if (runs.length === 0) return plain;
    const out: string[] = [];
    let [at, dropped] = [0, 0];
    for (const { from, to } of runs) {
      for (; at < from; at++) out.push(sections[at] ?? "");
      out.push(elided(to - from, separator === "\n" ? "lines" : "sections"));
      dropped += to - from;
      at = to;
    }
    for (; at < sections.length; at++) out.push(sections[at] ?? "");
    return {
      text: out.join(separator),
      method: separator === "\n" ? "lines" : "sections",
      unit: separator === "\n" ? "lines" : "sections",
      kept: sections.length - dropped,
      dropped: dropped + cut,
    };
  },
};

/** Paragraphs when blank lines divide the text into enough of them, else lines. A fenced block is one section. */
function sectionsOf(input: string): { sections: string[]; separator: string } {
  const paragraphs = input.includes("\n\n") ? joinFences(input.split("\n\n")) : [];
  const lines = input.split("\n");
  // Paragraphs of very many lines are lists: their lines are the units.
  if (paragraphs.length > MIN_SECTIONS && lines.length < paragraphs.length * 12)
    return { sections: paragraphs, separator: "\n\n" };
  return { sections: lines, separator: "\n" };
}

function joinFences(parts: readonly string[]): string[] {
  const out: string[] = [];
  let open: string[] | undefined;
  for (const part of parts) {
    const odd = ((part.match(/^\s*(?:```|~~~)/gm)?.length ?? 0) & 1) === 1;
    if (open) open.push(part);
    else if (odd) open = [part];
    else out.push(part);
    if (open && odd && open.length > 1) {
      out.push(open.join("\n\n"));
      open = undefined;
    }
  }
  return open ? [...out, ...open] : out;
}

const MARKED = /\b(?:IMPORTANT|NOTE|WARNING|CAUTION|DANGER|TODO|FIXME|MUST NOT|MUST|NEVER|DEADLINE|DECISION|ACTION)\b/;
/** Short, in title form, and not a sentence. */
const isHeading = (section: string): boolean =>
  section.length <= 96 &&
  !section.includes("\n") &&
  /^#{1,6} \S|^[\p{Lu}\d][^.!?,;]*:?$/u.test(section) &&
  section.trim().split(/\s+/).length <= 8 &&
  /\p{L}{3}/u.test(section) &&
  !/\d{3}|[=|/\\{}]/.test(section);
