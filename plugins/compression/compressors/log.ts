/** Logs: the edges, everything alarming with its stack, outliers and level changes, one line of each kind. */
import { Alarms, isAlarming } from "../alarm.ts";
import type { Compressor } from "../compressor.ts";
import { Invariants, summaryBudget } from "../invariants.ts";
import { isFrame } from "../line-kinds.ts";
import { elideLines, keepEdges, type Run } from "../lines.ts";
import { keepRelevant } from "../relevant.ts";
import { slotsOf } from "../slots.ts";
import { keepDistinct, keepOutstanding, type Templates, templatesOf } from "../templates.ts";

const EDGE = 2;
const MIN_RUN = 4;
const MAX_RELEVANT = 16;

export const log: Compressor = {
  type: "log",
  keeps:
    "first and last lines, warnings, errors and stacks, outliers, level changes, one line of every kind, matches of the query",
  compress(input, { query }) {
    const lines = input.split("\n");
    const kept = new Uint8Array(lines.length);
    keepEdges(lines, kept, EDGE, EDGE);
    const templates = templatesOf(lines);
    keepAlarming(lines, templates, kept);
    keepRelevant(lines.length, (index) => lines[index], query, kept, MAX_RELEVANT);
    keepOutstanding(lines, templates, kept);
    const alike = Uint8Array.from(kept);
    if (keepDistinct(lines, templates, alike)) {
      const summary = (runs: readonly Run[]): string => summarise(lines, runs);
      const elision = elideLines(lines, alike, { least: MIN_RUN, unit: "lines", summary });
      return elision && { ...elision, method: "log", unit: "lines" };
    }
    const slots = slotsOf(lines);
    if (!keepDistinct(lines, slots, kept, slots.unit)) return undefined;
    const summary = (runs: readonly Run[]): string => {
      const invariants = new Invariants();
      slots.state((index) => kept[index] === 0, invariants);
      return [summarise(lines, runs), invariants.summary(120)].filter((part) => part !== "").join("; ");
    };
    const elision = elideLines(lines, kept, { least: MIN_RUN, unit: "lines", summary });
    return elision && { ...elision, method: "log-slots", unit: "lines" };
  },
};

/** Keeps alarming lines and the frames under them; a frame that was shown before stands for its repetition. */
function keepAlarming(lines: readonly string[], { of }: Templates, kept: Uint8Array): void {
  const alarms = new Alarms();
  const shown = new Set<string>();
  let inStack = false;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    // Only an indented line, or one that begins like a frame, can be one.
    const first = line.charCodeAt(0);
    if ((first === 32 || first === 9 || inStack) && isFrame(line)) {
      if (!shown.has(line)) {
        shown.add(line);
        kept[i] = 1;
      }
      inStack = true;
    } else {
      inStack = isAlarming(line);
      if (inStack && alarms.take(of[i] ?? -1)) kept[i] = 1;
    }
  }
}

const LEVEL = /\b(TRACE|DEBUG|INFO|NOTICE)\b|[[("](trace|debug|info|notice)[\])"]/;

/** Levels and `key=value` fields of the lines that are left out. */
export function summarise(lines: readonly string[], runs: readonly Run[]): string {
  const invariants = new Invariants();
  let bytes = 0;
  for (const { from, to } of runs)
    for (let i = from; i < to; i++) {
      const line = lines[i] ?? "";
      bytes += line.length;
      if (line.trim() === "") continue;
      invariants.unit();
      const level = LEVEL.exec(line.slice(0, 80));
      if (level) invariants.add("level", level[1] ?? level[2] ?? "");
      addFields(line, invariants);
    }
  return invariants.summary(summaryBudget(bytes));
}

/** Fields written as `name=value`, found by their sign. */
function addFields(line: string, invariants: Invariants): void {
  for (let sign = line.indexOf("="); sign > 0; sign = line.indexOf("=", sign + 1)) {
    let from = sign;
    while (from > 0 && isName(line.charCodeAt(from - 1))) from--;
    if (from === sign || sign - from > 32) continue;
    const quoted = line.charCodeAt(sign + 1) === 34;
    let to = quoted ? line.indexOf('"', sign + 2) : sign + 1;
    if (to < 0) return;
    if (!quoted) while (to < line.length && !isEnd(line.charCodeAt(to))) to++;
    const value = quoted ? line.slice(sign + 2, to) : line.slice(sign + 1, to);
    if (value !== "" && value.length <= 64) invariants.add(line.slice(from, sign), value);
    if (to > sign) sign = to - 1;
  }
}
const isName = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 95 || code === 46;
const isEnd = (code: number): boolean =>
  code <= 32 || code === 44 || code === 59 || code === 41 || code === 93 || code === 125;
