/** Changes of files for a person: unified diffs, and what an edit would do before it is made. */

import { printable } from "../render/printable.ts";
import type { Terminal } from "../render/terminal.ts";

type Style = Terminal["style"];

/** Lines of a change that are shown. */
const DIFF_LINES = 60;

/** A unified diff in colour, at most `limit` lines of it. */
export function diffLines(diff: string, style: Style, limit = DIFF_LINES): string[] {
  const lines = printable(diff).trimEnd().split("\n");
  const shown = lines.slice(0, limit).map((line, index) => painted(line, index, style));
  return lines.length > limit ? [...shown, style("dim", `… ${lines.length - limit} more lines of this change`)] : shown;
}

function painted(line: string, index: number, style: Style): string {
  // Only the first two lines name the files; a removed line may begin with dashes as well.
  if (index < 2 && /^(---|\+\+\+) /.test(line)) return style("bold", line);
  if (line.startsWith("@@")) return style("cyan", line);
  if (line.startsWith("+")) return style("green", line);
  if (line.startsWith("-")) return style("red", line);
  return line;
}

/** Text with a sign before each line; long text keeps its head and its tail and says what is between. */
export function signed(sign: "+" | "-" | " ", text: string, style: Style, limit = DIFF_LINES): string[] {
  const paint = (line: string): string => (sign === " " ? line : style(sign === "+" ? "green" : "red", line));
  const lines = printable(text).replace(/\n$/, "").split("\n");
  if (lines.length <= limit) return lines.map((line) => paint(`${sign}${sign === " " ? "" : " "}${line}`));
  const head = Math.ceil(limit * 0.7);
  const tail = limit - head;
  return [
    ...signed(sign, lines.slice(0, head).join("\n"), style, limit),
    style("yellow", `… ${lines.length - limit} lines of this are not shown`),
    ...signed(sign, lines.slice(-tail).join("\n"), style, limit),
  ];
}
