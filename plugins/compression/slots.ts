/**
 * Lines grouped by what does not vary: where lines of one shape have many different words in one place, that place is a slot,
 * and what it holds is stated as a range. Used when lines have too many words to stand for each other otherwise.
 */
import type { Invariants } from "./invariants.ts";
import type { Templates } from "./templates.ts";

/** Lines of one shape from which places are compared. */
const MIN_GROUP = 8;
/** Different words in one place from which it is a slot. */
const MIN_VARIETY = 9;
const MAX_WORDS = 48;
/** Share of its words that a line must have outside of slots: what is mostly names is a list, and lists are content. */
const MIN_CONSTANT = 0.4;

const COMMON = 8;
const PLAIN = /^[\p{L}_]+[:,.;]?$/u;

interface Shape {
  readonly lines: number[];
  readonly words: string[][];
}

export interface Slotted extends Templates {
  /** What is compared of a line: its words outside of slots. */
  readonly unit: (index: number) => string | undefined;
  /** States what the slots of left-out lines hold. */
  state(dropped: (index: number) => boolean, invariants: Invariants): void;
}

/** `common`: lines that a plain word must stand in to tell one kind of line from another. */
export function slotsOf(lines: readonly string[], common = COMMON): Slotted {
  const split = lines.map((line) => line.trim().split(/\s+/));
  const times = new Map<string, number>();
  for (const words of split)
    if (words.length <= MAX_WORDS)
      for (const word of words) if (PLAIN.test(word)) times.set(word, (times.get(word) ?? 0) + 1);
  const shapes = new Map<string, Shape>();
  for (const [i, words] of split.entries()) {
    if (words.length > MAX_WORDS || (words.length === 1 && words[0] === "")) continue;
    const key = words.map((word) => kindOf(word, (times.get(word) ?? 0) >= common)).join(" ");
    const shape = shapes.get(key);
    if (shape) {
      shape.lines.push(i);
      shape.words.push(words);
    } else shapes.set(key, { lines: [i], words: [words] });
  }
  const of = new Int32Array(lines.length).fill(-1);
  const groups: number[][] = [];
  const units: (string | undefined)[] = [];
  const slotted: { readonly shape: Shape; readonly slots: readonly number[] }[] = [];
  for (const [key, shape] of shapes) {
    const slots = slotPlaces(shape);
    if (slots.length > 0) slotted.push({ shape, slots });
    const known = new Map<string, number>();
    for (let i = 0; i < shape.lines.length; i++) {
      const unit = (shape.words[i] ?? [])
        .filter((_, place) => !slots.includes(place))
        .map(masked)
        .join(" ");
      let group = known.get(unit);
      if (group === undefined) {
        group = groups.length;
        known.set(unit, group);
        groups.push([]);
        units.push(unit === "" ? key : unit);
      }
      const line = shape.lines[i] ?? 0;
      groups[group]?.push(line);
      of[line] = group;
    }
  }
  // A line too long for slots, or without words, stands for itself.
  for (let i = 0; i < lines.length; i++)
    if (of[i] === -1 && (lines[i] ?? "").trim() !== "") {
      of[i] = groups.length;
      groups.push([i]);
      units.push(lines[i]);
    }
  return {
    of,
    groups,
    unit: (index) => units[of[index] ?? -1],
    state(dropped, invariants) {
      const largest = slotted.sort((a, b) => b.shape.lines.length - a.shape.lines.length)[0];
      if (!largest) return;
      const { shape, slots } = largest;
      for (let i = 0; i < shape.lines.length; i++) {
        if (!dropped(shape.lines[i] ?? 0)) continue;
        invariants.unit();
        for (const place of slots.slice(0, 4))
          invariants.add(nameOf(shape, slots, place), shape.words[i]?.[place] ?? "");
      }
    },
  };
}

/** What a word is by its form; a common plain word is itself, for it tells one kind of line from another. */
function kindOf(word: string, common: boolean): string {
  if (PLAIN.test(word)) return common ? word : "a";
  const sign = word.indexOf("=");
  if (sign > 0) return word.slice(0, sign + 1);
  return /\p{L}/u.test(word) ? "p" : "0";
}

/** Digits of a word count for nothing. */
const masked = (word: string): string =>
  /\d/.test(word) ? (/^\d+$/.test(word) ? "0" : word.replace(/\d+/g, "0")) : word;

function slotPlaces({ lines, words }: Shape): number[] {
  if (lines.length < MIN_GROUP) return [];
  const width = words[0]?.length ?? 0;
  const slots: number[] = [];
  let lettered = 0;
  for (let place = 0; place < width; place++) {
    const seen = new Set<string>();
    for (const row of words) {
      seen.add(masked(row[place] ?? ""));
      if (seen.size >= MIN_VARIETY) break;
    }
    if (seen.size >= MIN_VARIETY) slots.push(place);
    if (/\p{L}/u.test(words[0]?.[place] ?? "")) lettered++;
  }
  const constant = lettered - slots.filter((place) => /\p{L}/u.test(words[0]?.[place] ?? "")).length;
  return constant >= 2 && constant >= lettered * MIN_CONSTANT ? slots : [];
}

/** A slot is named after the last word before it that does not vary. */
function nameOf({ words }: Shape, slots: readonly number[], place: number): string {
  for (let at = place - 1; at >= 0; at--) {
    const word = words[0]?.[at] ?? "";
    if (!slots.includes(at) && /^\p{L}/u.test(word))
      return place - at === 1 ? `after ${word}` : `${place - at} after ${word}`;
  }
  return `word ${place + 1}`;
}
