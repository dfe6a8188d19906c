/**
 * Tells what an input is. A few searches run over all of it, because they cost next to nothing; everything else looks at a
 * bounded sample of lines. Stronger signs come first; what has none is text.
 */
import type { DetectedType } from "./content-type.ts";
import { isLockFile } from "./detect-lock-file.ts";
import { isHtml, isXml } from "./detect-markup.ts";
import { isAlignedTable, isDelimited, isPipeTable, isSqlResult } from "./detect-table.ts";
import * as line from "./line-kinds.ts";
import { type Sample, sampleOf } from "./sample.ts";

export function detect(input: string): DetectedType {
  if (isJson(input)) return isLockFile(input, []) ? "lock-file" : "json";
  if (isTerminal(input)) return "terminal";
  const sample = sampleOf(input);
  if (sample.lines.length === 0) return "text";
  const count = new Counts(sample);
  if (isDiff(input, count)) return "diff";
  if (isLockFile(input, sample.head)) return "lock-file";
  const markup = isXml(input) ? (/<testsuites?[\s>]/.test(input.slice(0, 2_000)) ? "test-report" : "xml") : undefined;
  if (markup) return markup;
  if (isHtml(input, count.share(line.isMarkdownLine), count.share(line.isStructure))) return "html";
  if (isJsonLines(sample)) return "json";
  if (isSqlResult(sample)) return "sql-result";
  if (isStackTrace(count)) return "stack-trace";
  if (isTestReport(count)) return "test-report";
  // A table may begin its rows with a time; its header does not.
  if (!line.isLogLine(sample.head[0] ?? "") && !isSearchResult(count) && isDelimited(sample)) return "tabular";
  const log = isLog(count);
  if (!log && isSearchResult(count)) return "search-result";
  if (isPipeTable(sample)) return "tabular";
  if (!log && isAlignedTable(sample)) return "aligned-table";
  const markdown = isMarkdown(input, count);
  if (!log && !markdown && isCode(input, count)) return "code";
  if (log) return "log";
  if (!markdown && isConfig(count)) return "config";
  return markdown ? "markdown" : "text";
}

/** Shares of the sampled lines, each counted once. */
class Counts {
  readonly lines: readonly string[];
  readonly head: readonly string[];
  readonly #counted = new Map<(line: string) => boolean, number>();

  constructor({ lines, head }: Sample) {
    this.lines = lines;
    this.head = head;
  }
  of(kind: (line: string) => boolean): number {
    let count = this.#counted.get(kind);
    if (count === undefined) {
      count = 0;
      for (const each of this.lines) if (kind(each)) count++;
      this.#counted.set(kind, count);
    }
    return count;
  }
  share(kind: (line: string) => boolean): number {
    return this.of(kind) / this.lines.length;
  }
}

/** An object or an array that parses: validity is what tells JSON from a line that begins with a bracket. */
function isJson(input: string): boolean {
  const first = /^\s{0,64}([[{])/.exec(input)?.[1];
  const last = /[\]}]\s{0,64}$/.test(input.slice(-65));
  if (first === undefined || !last || /^\s*\{\s*[^"}\s]/.test(input.slice(0, 256))) return false;
  try {
    JSON.parse(input);
    return true;
  } catch {
    return false;
  }
}

const parses = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
};

/** Nearly every line an object or array of its own. The last sampled lines may be cut. */
function isJsonLines({ lines }: Sample): boolean {
  if (lines.length < 3) return false;
  const candidates = lines.filter((each) => each.startsWith("{") || each.startsWith("["));
  if (candidates.length < lines.length * 0.95) return false;
  const whole = candidates.filter((each) => each.length < 512).slice(0, 24);
  return whole.length > 0 ? whole.every(parses) : candidates.every((each) => /^[[{]\s*["{[\d]/.test(each));
}

const ESCAPE = String.fromCharCode(27);
/** A control sequence that is whole; a stray escape is none. */
const SEQUENCE = new RegExp(`${ESCAPE}(?:\\[[0-?]{0,64}[ -/]{0,8}[@-~]|\\][0-9]{1,4};)`);

/** Control sequences, or lines drawn over. */
function isTerminal(input: string): boolean {
  if (input.includes(ESCAPE) && SEQUENCE.test(input)) return true;
  let bare = 0;
  for (let at = input.indexOf("\r"); at >= 0; at = input.indexOf("\r", at + 1)) {
    // A file that ends its lines with both characters is no terminal.
    if (input.charCodeAt(at + 1) === 10) {
      if (bare === 0 && at > 4_096) return false;
    } else if (at + 1 < input.length && ++bare >= 3) return true;
  }
  return false;
}

function isDiff(input: string, count: Counts): boolean {
  if (count.of(line.isDiffLine) < 4) return false;
  if (/^(?:diff --git |diff -[a-zA-Z]|Index: )/m.test(input.slice(0, 8_192))) return true;
  return (
    (/^@@ -\d/m.test(input.slice(0, 16_384)) || input.includes("\n@@ -")) &&
    /(?:^|\n)--- .*\n\+\+\+ /.test(input.slice(0, 16_384))
  );
}

function isStackTrace(count: Counts): boolean {
  const frames = count.of(line.isFrame);
  if (frames < 3) return false;
  const starts = count.of(line.isFrameStart);
  return (
    count.of(line.isLogLine) < Math.max(3, count.lines.length * 0.1) &&
    (starts > 0 || frames >= 6) &&
    frames + starts >= count.lines.length * 0.35 &&
    !hasCodeShape(count)
  );
}

/** Python alternates frames and source lines, so frames alone may be a third; real code has many more keywords. */
const hasCodeShape = (count: Counts): boolean =>
  count.share(line.isStructure) > 0.6 && count.share(line.isKeyword) > 0.25;

function isTestReport(count: Counts): boolean {
  const tests = count.of(line.isTestLine);
  return (
    tests >= 3 &&
    (tests >= count.lines.length * 0.3 || (tests >= 6 && tests >= count.lines.length * 0.1)) &&
    count.share(line.isMarkdownLine) < 0.3
  );
}

const isLog = (count: Counts): boolean =>
  count.lines.length >= 4 && count.of(line.isLogLine) >= 3 && count.share(line.isLogLine) >= 0.5;

function isSearchResult(count: Counts): boolean {
  const hits = count.of(line.isSearchLine);
  if (count.lines.length < 6) return false;
  return (hits >= 4 && hits >= count.lines.length * 0.5) || count.share(line.isPath) >= 0.9;
}

function isMarkdown(input: string, count: Counts): boolean {
  const headings = headingsOf(count.head);
  const marked = count.share(line.isMarkdownLine) + headings / count.lines.length;
  const fences = count.of(isFence);
  const structured = count.share(line.isStructure);
  const settings = count.share(line.isSetting);
  if (input.startsWith("---\n") && headings > 0 && marked > 0.15) return true;
  // A `#` is a comment in many languages: headings alone prove nothing where lines are settings or statements.
  if (headings > 0 && (fences >= 2 || count.of(isLink) >= 2 || count.of(isStrong) >= 2))
    return structured < 0.6 || fences >= 2;
  if (settings >= 0.3 || structured >= 0.3 || count.share(line.isKeyword) >= 0.2) return false;
  return (headings >= 3 || marked > 0.3) && count.share(isSentence) >= 0.1;
}
/** Headings stand alone; a `#` at the beginning of neighbouring lines is a comment. */
function headingsOf(head: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < head.length; i++)
    if (line.isHeading(head[i] ?? "") && !/^#(?:\s|$)/.test(head[i - 1] ?? "") && !/^#(?:\s|$)/.test(head[i + 1] ?? ""))
      count++;
  return count;
}
const isSentence = (text: string): boolean => /(?:[\p{L}',]+ ){5}/u.test(text);
const isFence = (text: string): boolean => /^\s*(?:```|~~~)/.test(text);
const isLink = (text: string): boolean => /\[[^\]\n]{1,200}\]\([^)\n]{1,400}\)/.test(text);
const isStrong = (text: string): boolean => /\*\*[^*\n]{1,200}\*\*/.test(text);

function isCode(input: string, count: Counts): boolean {
  if (/^#!.{0,80}\b(?:sh|bash|zsh|python\d?|node|ruby|perl|deno|bun)\b/.test(input.slice(0, 128))) return true;
  // Python ends hardly any line with punctuation, and much of it may be docstrings: its declarations and indentation tell it.
  if (count.of(line.isPython) >= 4 && count.share(line.isIndented) >= 0.5) return true;
  const keywords = count.of(line.isKeyword);
  if (keywords < 3) return false;
  return count.share(line.isStructure) >= 0.25 && keywords + count.of(line.isStructure) >= count.lines.length * 0.35;
}

function isConfig(count: Counts): boolean {
  const settings = count.of(line.isSetting);
  return (
    count.lines.length >= 12 &&
    settings >= 8 &&
    settings >= count.lines.length * 0.5 &&
    count.share(line.isConfigLine) >= 0.75 &&
    count.of(line.isSpeech) < settings * 0.3
  );
}
