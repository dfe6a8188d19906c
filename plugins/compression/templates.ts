/**
 * Lines grouped by their template: lines that differ in digits and identifiers only. One of a group stands for all, except
 * those whose numbers stand out or mark a change of level.
 */
import { keepNonRedundant, type RedundancyOptions, type UnitAt } from "./redundancy.ts";
import { outliers, seams } from "./statistics.ts";
import { Vocabulary } from "./vocabulary.ts";

/** Lines of one template from which its numbers are compared. */
const MIN_GROUP = 16;
/** Numbers of one line that are compared. */
const MAX_SLOTS = 6;
/** A number with a name or a unit, or one that is a word of its own; times at the beginning are neither. */
const MEASURE =
  /[=(]-?\d+(?:\.\d+)?(?![\d.:-])|(?<= )-?\d+(?:\.\d+)?(?=$|[ ,;])|\b\d+(?:\.\d+)?(?= ?(?:ms|s|us|µs|ns|min|sec|secs|seconds|%|[kKMGT]i?[bB]?|bytes|rows|items|retries|attempts|connections|requests)\b)/g;

/** The lines of every template, by its first line's place. */
export interface Templates {
  /** The template of each line, as a number from 0 on; -1 for a line without words. */
  readonly of: Int32Array;
  readonly groups: readonly (readonly number[])[];
}

export function templatesOf(lines: readonly string[]): Templates {
  const of = new Int32Array(lines.length).fill(-1);
  const groups: number[][] = [];
  const known = new Map<number, number>();
  const vocabulary = new Vocabulary();
  for (let i = 0; i < lines.length; i++) {
    vocabulary.scan(lines[i] ?? "");
    if (vocabulary.count === 0) continue;
    let group = known.get(vocabulary.template);
    if (group === undefined) {
      group = groups.length;
      known.set(vocabulary.template, group);
      groups.push([]);
    }
    groups[group]?.push(i);
    of[i] = group;
  }
  return { of, groups };
}

/** Keeps lines whose measures are far from those of their template's other lines, and the lines where a level changes. */
export function keepOutstanding(lines: readonly string[], { groups }: Templates, kept: Uint8Array): void {
  for (const group of groups) {
    if (group.length < MIN_GROUP || !/\d/.test(lines[group[0] ?? 0] ?? "")) continue;
    const slots = Array.from({ length: MAX_SLOTS }, () => new Float64Array(group.length).fill(Number.NaN));
    let used = 0;
    for (let i = 0; i < group.length; i++) {
      const found = (lines[group[i] ?? 0] ?? "").match(MEASURE);
      if (!found) {
        if (i === 0) break;
        continue;
      }
      for (let slot = 0; slot < found.length && slot < MAX_SLOTS; slot++) {
        const text = found[slot] ?? "";
        const column = slots[slot];
        if (column) column[i] = Number(/^[=(]/.test(text) ? text.slice(1) : text);
      }
      used = Math.max(used, Math.min(found.length, MAX_SLOTS));
    }
    for (const column of slots.slice(0, used)) {
      for (const i of outliers(column)) kept[group[i] ?? 0] = 1;
      for (const i of seams(column)) kept[group[i - 1] ?? 0] = kept[group[i] ?? 0] = 1;
    }
  }
}

/**
 * Keeps lines that no kept line stands for. `compared` gives what is compared of a line, by default all of it.
 * @returns false when the lines are a document.
 */
export function keepDistinct(
  lines: readonly string[],
  { of, groups }: Templates,
  kept: Uint8Array,
  compared: UnitAt = (index) => lines[index],
  options: RedundancyOptions = {},
): boolean {
  const standing = new Uint8Array(groups.length);
  for (let i = 0; i < lines.length; i++) if (kept[i] && (of[i] ?? -1) >= 0) standing[of[i] ?? 0] = 1;
  // A line of a template that is kept needs no comparing, and of the others the first stands for all.
  const unit = (i: number): string | undefined => {
    const template = of[i] ?? -1;
    if (template < 0) return undefined;
    if (kept[i]) return compared(i);
    return standing[template] || groups[template]?.[0] !== i ? undefined : compared(i);
  };
  return keepNonRedundant(unit, kept, options) !== undefined;
}
