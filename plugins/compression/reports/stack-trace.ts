/**
 * Stack traces: what was said (errors, causes, panics) and the program's own frames stay. Rounds of a recursion and the
 * inside of long walks through libraries become counts, and a trace that was shown already is named by what differs.
 */
import { isAlarming } from "../alarm.ts";
import type { Compressed, Compressor } from "../compressor.ts";
import { elided } from "../markers.ts";
import { type Frame, frameAt, masked } from "./frames.ts";

/** Library frames in a row that may lose their inside, and what stays of them at each end. */
const LEAST_LIBRARY = 4;
const EDGE = 1;
/** Longest round of a recursion, and how often it must repeat. */
const LONGEST_ROUND = 12;
const LEAST_ROUNDS = 3;
/** Traces alike, the first of which stands for the others. */
const LEAST_ALIKE = 2;

export const stackTrace: Compressor = {
  type: "stack-trace",
  keeps:
    "Errors, causes, panics and the program's own frames; recursions, library frames and repeated traces are counted.",
  compress: (input) => {
    const view = new Traces();
    const text = view.write(input);
    if (view.dropped === 0) return undefined;
    return { text, method: "frames", unit: "frames", kept: view.kept, dropped: view.dropped } satisfies Compressed;
  },
};

class Traces {
  kept = 0;
  dropped = 0;

  write(input: string): string {
    // An empty line parts one thread, goroutine or report from the next.
    const blocks = input.split(/(?<=\n)(?=[ \t]*\r?\n(?=[^\s]))/);
    const shapes = blocks.map(shapeOf);
    const out: string[] = [];
    for (let at = 0; at < blocks.length; ) {
      const block = blocks[at] ?? "";
      let end = at + 1;
      while (end < blocks.length && shapes[end] === shapes[at] && shapes[at] !== "") end++;
      out.push(this.#block(block));
      const alike = blocks.slice(at + 1, end);
      if (alike.length >= LEAST_ALIKE) out.push(this.#alike(alike));
      else out.push(...alike.map((other) => this.#block(other)));
      at = end;
    }
    return out.join("");
  }

  /** Traces that repeat the one before them. */
  #alike(blocks: readonly string[]): string {
    const heads = blocks.map((block) => (block.trimStart().split("\n", 1)[0] ?? "").trim().slice(0, 80));
    const count = blocks.reduce((sum, block) => sum + frameCount(block), 0);
    this.dropped += count;
    const ids = heads.length < 3 ? heads.join(", ") : `${heads[0]} … ${heads[heads.length - 1]}`;
    return `\n${elided(count, "frames", `${blocks.length} traces like the one above, ${ids}`)}\n`;
  }

  #block(block: string): string {
    const lines = block.split("\n");
    const out: string[] = [];
    for (let at = 0; at < lines.length; ) {
      const frames = framesFrom(lines, at);
      if (frames.length === 0) {
        out.push(lines[at++] ?? "");
        continue;
      }
      this.#walk(lines, frames, out);
      at = frames[frames.length - 1]?.to ?? at + 1;
    }
    return out.join("\n");
  }

  /** Frames that follow each other. */
  #walk(lines: readonly string[], frames: readonly Frame[], out: string[]): void {
    for (let at = 0; at < frames.length; ) {
      const round = roundAt(frames, at);
      if (round) {
        const shown = at + round.length;
        for (; at < shown; at++) this.#show(lines, frames[at], out);
        const end = shown + round.length * (round.times - 1);
        this.#drop(
          frames.slice(shown, end),
          out,
          `the ${round.length === 1 ? "frame" : `${round.length} frames`} above, ${round.times - 1} times more`,
        );
        at = end;
        continue;
      }
      let end = at;
      while (end < frames.length && frames[end]?.library !== undefined && !roundAt(frames, end)) end++;
      if (end - at < LEAST_LIBRARY) {
        this.#show(lines, frames[at++], out);
        continue;
      }
      const inside = frames.slice(at + EDGE, end - EDGE);
      for (let edge = 0; edge < EDGE; edge++) this.#show(lines, frames[at + edge], out);
      this.#drop(inside, out, librariesOf(inside));
      for (let edge = EDGE; edge > 0; edge--) this.#show(lines, frames[end - edge], out);
      at = end;
    }
  }

  #show(lines: readonly string[], frame: Frame | undefined, out: string[]): void {
    if (!frame) return;
    out.push(...lines.slice(frame.from, frame.to));
    this.kept++;
  }

  #drop(frames: readonly Frame[], out: string[], said: string): void {
    out.push(`    ${elided(frames.length, "frames", said)}`);
    this.dropped += frames.length;
  }
}

function frameCount(block: string): number {
  const lines = block.split("\n");
  return lines.filter((_, index) => frameAt(lines, index) !== undefined).length;
}

/** What two traces must share to be alike; empty for a block that is none, or that says more than frames do. */
function shapeOf(block: string): string {
  const text = block.trim();
  return frameCount(text) < 2 || isAlarming(text.split("\n", 1)[0] ?? "") ? "" : masked(text);
}

function framesFrom(lines: readonly string[], from: number): Frame[] {
  const frames: Frame[] = [];
  for (let at = from, frame = frameAt(lines, at); frame; frame = frameAt(lines, at)) {
    frames.push(frame);
    at = frame.to;
  }
  return frames;
}

/** A round of frames that repeats at once, the shortest there is. */
function roundAt(frames: readonly Frame[], at: number): { length: number; times: number } | undefined {
  for (let length = 1; length <= LONGEST_ROUND && at + length * LEAST_ROUNDS <= frames.length; length++) {
    let same = 0;
    while (at + length + same < frames.length && frames[at + same]?.shape === frames[at + length + same]?.shape) same++;
    const times = 1 + Math.floor(same / length);
    if (times >= LEAST_ROUNDS) return { length, times };
  }
  return undefined;
}

function librariesOf(frames: readonly Frame[]): string {
  const counts = new Map<string, number>();
  for (const { library = "" } of frames) counts.set(library, (counts.get(library) ?? 0) + 1);
  const ordered = [...counts].sort((a, b) => b[1] - a[1]);
  const named = ordered.slice(0, 4).map(([library, count]) => `${library} ×${count}`);
  return named.join(" ") + (ordered.length > 4 ? ` and ${ordered.length - 4} more` : "");
}
