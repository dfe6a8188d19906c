/**
 * Terminal output: control sequences go, of a line drawn over and over the last state stays, and what is left is
 * compressed as what it is.
 */

import { Alarms, isAlarming } from "../alarm.ts";
import type { Compressor } from "../compressor.ts";
import { elideLines, keepEdges } from "../lines.ts";
import { elided } from "../markers.ts";
import { keepRelevant } from "../relevant.ts";
import { keepDistinct, keepOutstanding, templatesOf } from "../templates.ts";

const EDGE = 3;
const MIN_RUN = 4;
const MAX_RELEVANT = 16;

export const terminal: Compressor = {
  type: "terminal",
  keeps: "the last state of every line, first and last lines, errors, stacks and exit codes, one line of every kind",
  async compress(input, context) {
    const { text, overwritten } = settled(input);
    const inside = (await context.inner(text)) ?? outline(text, context.query);
    const view = inside?.text ?? text;
    const lines = text.split("\n").length;
    if (overwritten === 0 && !inside)
      return { text: view, method: "terminal-plain", unit: "lines", kept: lines, dropped: 0, lossless: true };
    return {
      text:
        overwritten > 0 ? `${view}${view.endsWith("\n") ? "" : "\n"}${elided(overwritten, "overwritten lines")}` : view,
      method: inside ? `terminal-${inside.method}` : "terminal",
      unit: inside?.unit ?? "lines",
      kept: inside?.kept ?? lines,
      dropped: (inside?.dropped ?? 0) + overwritten,
      ...(overwritten === 0 && inside?.lossless ? { lossless: true } : {}),
    };
  },
};

/** CSI, OSC and the other escape sequences of ECMA-48, bounded so that a broken one swallows nothing. */
const ESCAPE = String.fromCharCode(27);
const BELL = String.fromCharCode(7);
const SEQUENCE = new RegExp(
  `${ESCAPE}(?:\\[[0-?]{0,64}[ -/]{0,8}[@-~]|\\][^${BELL}${ESCAPE}]{0,2048}(?:${BELL}|${ESCAPE}\\\\)|[PX^_][^${ESCAPE}]{0,2048}${ESCAPE}\\\\|[ -/]{0,4}[0-Z\\\\^-~])`,
  "g",
);

interface Settled {
  readonly text: string;
  /** Earlier states that differ in more than their digits, of lines that were drawn over. */
  readonly overwritten: number;
}

function settled(input: string): Settled {
  let overwritten = 0;
  const out: string[] = [];
  for (const raw of input.split("\n")) {
    const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
    const plain = line.includes(ESCAPE) ? line.replace(SEQUENCE, "") : line;
    const at = plain.lastIndexOf("\r");
    if (at < 0) {
      out.push(plain);
      continue;
    }
    const frames = plain.split("\r").filter((frame) => frame.trim() !== "");
    overwritten += Math.max(0, frames.length - 1);
    out.push((frames.at(-1) ?? "").trimEnd());
    // What went wrong is said even when something was drawn over it.
    for (const frame of frames.slice(0, -1)) {
      if (!isAlarming(frame)) continue;
      out.push(frame.trimEnd());
      overwritten--;
    }
  }
  return { text: out.join("\n"), overwritten };
}

const NOTABLE = /:\d+:\d+|\b(?:exit(?:ed)?|status|code|signal)\b.{0,24}\d|^\s*(?:✗|✘|✕|×|⨯|❌)/i;

/** Of text of no other kind: edges, alarming and notable lines, one line of each kind. */
function outline(text: string, query: string) {
  const lines = text.split("\n");
  const kept = new Uint8Array(lines.length);
  keepEdges(lines, kept, EDGE, EDGE);
  const templates = templatesOf(lines);
  const alarms = new Alarms();
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? "";
    if (NOTABLE.test(line) || (isAlarming(line) && alarms.take(templates.of[i] ?? -1))) kept[i] = 1;
  }
  keepRelevant(lines.length, (index) => lines[index], query, kept, MAX_RELEVANT);
  keepOutstanding(lines, templates, kept);
  if (!keepDistinct(lines, templates, kept)) return undefined;
  const elision = elideLines(lines, kept, { least: MIN_RUN, unit: "lines" });
  return elision && { ...elision, method: "lines", unit: "lines", lossless: false };
}
