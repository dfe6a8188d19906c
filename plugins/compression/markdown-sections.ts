/** Sections of a Markdown document that repeat one form, as references do: one call, one option, one error each. */
import { isAlarming } from "./alarm.ts";
import { runsOf } from "./lines.ts";
import { elided } from "./markers.ts";
import { keepRelevant } from "./relevant.ts";
import { keepDistinct, templatesOf } from "./templates.ts";

/** Sections of one level from which some may go. */
const MIN_SECTIONS = 8;
const MIN_RUN = 2;
const MAX_RELEVANT = 12;
const EDGE = 2;

interface Section {
  readonly heading: string;
  readonly level: number;
  readonly from: number;
  readonly to: number;
}

/** Leaves out sections that a kept one stands for; their headings stay, in the marker. */
export function thinSections(
  lines: readonly string[],
  query: string,
): { readonly text: string; readonly dropped: number } | undefined {
  const sections = commonestLevel(sectionsOf(lines));
  if (sections.length < MIN_SECTIONS) return undefined;
  const bodies = sections.map(({ from, to }) => lines.slice(from + 1, to).join("\n"));
  const kept = new Uint8Array(sections.length);
  kept.fill(1, 0, EDGE).fill(1, -EDGE);
  for (let i = 0; i < bodies.length; i++)
    if (isAlarming(sections[i]?.heading ?? "") || MARKED.test(bodies[i] ?? "")) kept[i] = 1;
  keepRelevant(sections.length, (index) => `${sections[index]?.heading} ${bodies[index]}`, query, kept, MAX_RELEVANT);
  if (!keepDistinct(bodies, templatesOf(bodies), kept)) return undefined;
  const out: string[] = [];
  let [at, dropped] = [0, 0];
  for (const run of runsOf(kept, MIN_RUN)) {
    const gone = sections.slice(run.from, run.to);
    // Sections of one level may have others between them: those stay.
    for (const [index, section] of gone.entries()) {
      out.push(...lines.slice(at, section.from));
      if (index === 0) out.push(elided(gone.length, "sections", gone.map(({ heading }) => heading).join("; ")), "");
      at = section.to;
    }
    dropped += gone.length;
  }
  if (dropped === 0) return undefined;
  out.push(...lines.slice(at));
  return { text: out.join("\n"), dropped };
}

const MARKED = /\b(?:IMPORTANT|NOTE|WARNING|CAUTION|DANGER|TODO|FIXME|MUST|NEVER|BREAKING)\b/;

/** Every heading with the lines up to the next one of its level or above. */
function sectionsOf(lines: readonly string[]): Section[] {
  const headings: { readonly level: number; readonly at: number; readonly text: string }[] = [];
  let fence = "";
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    const mark = /^\s*(```|~~~)/.exec(line)?.[1];
    if (mark && (fence === "" || fence === mark)) fence = fence === "" ? mark : "";
    const heading = fence === "" ? /^(#{1,6}) +(.*)$/.exec(line) : null;
    if (heading) headings.push({ level: heading[1]?.length ?? 1, at: i, text: heading[2] ?? "" });
  }
  const sections: Section[] = [];
  // From the end: where the next heading of each level or above stands.
  const next = new Array<number>(7).fill(lines.length);
  for (const { level, at, text } of headings.toReversed()) {
    sections.push({ heading: text, level, from: at, to: next[level] ?? lines.length });
    next.fill(at, level);
  }
  return sections.reverse();
}

function commonestLevel(sections: readonly Section[]): Section[] {
  const counts = new Map<number, number>();
  for (const { level } of sections) counts.set(level, (counts.get(level) ?? 0) + 1);
  const commonest = [...counts].sort((a, b) => b[1] - a[1] || b[0] - a[0])[0]?.[0];
  return sections.filter(({ level }) => level === commonest);
}
