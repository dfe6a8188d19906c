/**
 * Markdown: every heading and the first block under it; blocks and list items go only when one that stays has their
 * words; fenced blocks and tables are compressed as what they are.
 */
import { isAlarming } from "../alarm.ts";
import { shortenBlobs } from "../blobs.ts";
import type { CompressContext, Compressor } from "../compressor.ts";
import { runsOf } from "../lines.ts";
import { thinSections } from "../markdown-sections.ts";
import { elided } from "../markers.ts";
import { keepRelevant } from "../relevant.ts";
import { keepDistinct, templatesOf } from "../templates.ts";

const MIN_LENGTH = 1_600;
const MIN_INSIDE = 600;
const MAX_RELEVANT = 12;
/** Items of one list from which some may go. */
const MIN_ITEMS = 12;

/** In a document every word counts: a block or an item goes only when another has all of its words. */
const ALIKE = { standsFor: 1 };

type Kind = "heading" | "fence" | "table" | "list" | "paragraph";
interface Part {
  readonly kind: Kind;
  readonly lines: string[];
}

export const markdown: Compressor = {
  type: "markdown",
  keeps:
    "headings, the first block under each, alarming and marked blocks, one block and one list item of every kind, fenced blocks and tables as what they are",
  async compress(input, context) {
    const { text: short, cut } = shortenBlobs(input);
    if (short.length < MIN_LENGTH && cut === 0) return undefined;
    const repeated = thinSections(short.split("\n"), context.query);
    const parts = partsOf(repeated?.text.split("\n") ?? short.split("\n"));
    let [kept, dropped] = [0, cut + (repeated?.dropped ?? 0)];
    const texts: string[] = [];
    for (const part of parts) {
      const smaller = await inside(part, context);
      kept += smaller?.kept ?? 0;
      dropped += smaller?.dropped ?? 0;
      texts.push(smaller?.text ?? part.lines.join("\n"));
    }
    const chosen = choose(parts, texts, context.query);
    const out: string[] = [];
    let at = 0;
    for (const { from, to } of runsOf(chosen, 2)) {
      out.push(...texts.slice(at, from), elided(to - from, "sections"), "");
      dropped += to - from;
      at = to;
    }
    out.push(...texts.slice(at));
    if (dropped === 0) return undefined;
    return { text: out.join("\n"), method: "markdown", unit: "sections", kept: kept + parts.length, dropped };
  },
};

/** Blocks with the blank lines that follow them. */
function partsOf(lines: readonly string[]): Part[] {
  const parts: Part[] = [];
  let current: Part | undefined;
  let fence: string | undefined;
  for (const line of lines) {
    if (current && fence) {
      current.lines.push(line);
      if (line.trimStart().startsWith(fence)) [fence, current] = [undefined, undefined];
      continue;
    }
    const kind = kindOf(line);
    if (kind === undefined) {
      const last = parts.at(-1);
      if (last) last.lines.push(line);
      else parts.push({ kind: "paragraph", lines: [line] });
      // A list goes on after a blank line.
      if (current?.kind !== "list") current = undefined;
      continue;
    }
    const goesOn =
      current &&
      (current.kind === kind || (current.kind === "list" && /^\s+\S/.test(line))) &&
      kind !== "heading" &&
      kind !== "fence";
    if (current && goesOn) {
      current.lines.push(line);
      continue;
    }
    current = { kind, lines: [line] };
    parts.push(current);
    if (kind === "fence") fence = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (kind === "heading") current = undefined;
  }
  return parts;
}

function kindOf(line: string): Kind | undefined {
  if (line.trim() === "") return undefined;
  if (/^#{1,6} /.test(line)) return "heading";
  if (/^\s*(?:```|~~~)/.test(line)) return "fence";
  if (/^\s*\|.*\|\s*$/.test(line)) return "table";
  return /^\s{0,12}(?:[-*+]|\d{1,3}[.)])\s+\S/.test(line) ? "list" : "paragraph";
}

/** The smaller view of a block's own content. */
async function inside({ kind, lines }: Part, context: CompressContext) {
  if (kind === "list") return thinList(lines, context.query);
  if (kind !== "fence" && kind !== "table") return undefined;
  const blank = lines.length - [...lines].reverse().findIndex((line) => line.trim() !== "");
  const [from, to] = kind === "fence" ? [1, blank - 1] : [0, blank];
  const content = lines.slice(from, to).join("\n");
  if (content.length < MIN_INSIDE) return undefined;
  const smaller = await (kind === "table" ? context.inner(content, "tabular") : context.inner(content));
  if (!smaller || smaller.dropped === 0) return undefined;
  return { ...smaller, text: [...lines.slice(0, from), smaller.text, ...lines.slice(to)].join("\n") };
}

function thinList(lines: readonly string[], query: string) {
  const starts = lines.flatMap((line, index) => (/^(?:[-*+]|\d{1,3}[.)])\s/.test(line) ? [index] : []));
  if (starts.length < MIN_ITEMS) return undefined;
  const items = starts.map((start, index) => lines.slice(start, starts[index + 1] ?? lines.length).join("\n"));
  const kept = new Uint8Array(items.length);
  kept.fill(1, 0, 3).fill(1, -2);
  for (let i = 0; i < items.length; i++) if (isAlarming(items[i] ?? "") || /\[ \]/.test(items[i] ?? "")) kept[i] = 1;
  keepRelevant(items.length, (index) => items[index], query, kept, MAX_RELEVANT);
  if (!keepDistinct(items, templatesOf(items), kept, undefined, ALIKE)) return undefined;
  const runs = runsOf(kept, 3);
  if (runs.length === 0) return undefined;
  const out: string[] = lines.slice(0, starts[0]);
  let [at, dropped] = [0, 0];
  for (const { from, to } of runs) {
    out.push(...items.slice(at, from), `- ${elided(to - from, "list items")}`);
    dropped += to - from;
    at = to;
  }
  out.push(...items.slice(at));
  return { text: out.join("\n"), kept: items.length - dropped, dropped };
}

const MARKED = /\b(?:IMPORTANT|NOTE|WARNING|CAUTION|DANGER|TODO|FIXME|MUST|NEVER|BREAKING)\b|^> \[!/m;

/** Blocks that stay: all, when they are a document. */
function choose(parts: readonly Part[], texts: readonly string[], query: string): Uint8Array {
  const kept = new Uint8Array(parts.length);
  kept.fill(1, 0, 2).fill(1, -2);
  for (let i = 0; i < parts.length; i++) {
    const kind = parts[i]?.kind;
    if (kind === "heading" || parts[i - 1]?.kind === "heading" || kind === "table" || kind === "fence") kept[i] = 1;
    else if (MARKED.test(texts[i] ?? "") || isAlarming(texts[i] ?? "")) kept[i] = 1;
  }
  keepRelevant(texts.length, (index) => texts[index], query, kept, MAX_RELEVANT);
  return keepDistinct(texts, templatesOf(texts), kept, undefined, ALIKE) ? kept : kept.fill(1);
}
