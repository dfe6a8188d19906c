/** Tells the kinds of tables: delimited, drawn with pipes, aligned by spaces, answered by a database. */
import type { Sample } from "./sample.ts";

const MIN_ROWS = 8;

/** Comma, tab, semicolon or pipe separated values: every row with the same number of cells, read with their quotes. */
export function isDelimited({ lines, head }: Sample): boolean {
  if (lines.length < MIN_ROWS) return false;
  const first = head.find((line) => line.trim() !== "") ?? "";
  return [",", "\t", ";", "|"].some((delimiter) => {
    const cells = cellsOf(first, delimiter);
    if (cells === undefined || cells.length < 2 || cells.length > 128) return false;
    // Prose has commas too: a header is short words, and no cell of it is a sentence.
    if (cells.some((cell) => cell.length > 64) || cells.filter((cell) => cell.trim() === "").length > 1) return false;
    let same = 0;
    let filled = 0;
    for (const line of lines) {
      const row = cellsOf(line, delimiter);
      if (row?.length === cells.length) same++;
      if (row && row.length > 1) filled++;
    }
    if (same < lines.length * 0.97 || filled < MIN_ROWS) return false;
    return cells.length > 2 || delimiter === "\t" || !looksLikeProse(lines, delimiter);
  });
}

/** With two columns a comma may as well be one of a sentence or of code. */
const looksLikeProse = (lines: readonly string[], delimiter: string): boolean =>
  lines.filter((line) => line.includes(`${delimiter} `) || /[(){}=;<>]|\S+:\d+:/.test(line)).length >
  lines.length * 0.2;

/** The cells of a row, or undefined when its quotes do not close or stand where no quote may. */
export function cellsOf(line: string, delimiter: string): string[] | undefined {
  if (!line.includes('"')) return line.split(delimiter);
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (line.charCodeAt(at) === 34) {
      let end = at + 1;
      for (;;) {
        end = line.indexOf('"', end);
        if (end < 0) return undefined;
        if (line.charCodeAt(end + 1) !== 34) break;
        end += 2;
      }
      cells.push(line.slice(at + 1, end).replaceAll('""', '"'));
      at = end + 1;
      if (at === line.length) return cells;
      if (!line.startsWith(delimiter, at)) return undefined;
      at += delimiter.length;
    } else {
      const end = line.indexOf(delimiter, at);
      const cell = end < 0 ? line.slice(at) : line.slice(at, end);
      if (delimiter !== "\t" && cell.includes('"')) return undefined;
      cells.push(cell);
      if (end < 0) return cells;
      at = end + delimiter.length;
    }
  }
}

/** A Markdown table and nothing else. */
export function isPipeTable({ lines }: Sample): boolean {
  if (lines.length < MIN_ROWS) return false;
  const rows = lines.filter((line) => /^\s*\|.*\|\s*$/.test(line)).length;
  return rows >= lines.length * 0.95 && /^\s*\|(?:\s*:?-{3,}:?\s*\|)+\s*$/.test(lines[1] ?? "");
}

/** What psql, mysql, sqlite and their like answer. */
export function isSqlResult({ lines, head }: Sample): boolean {
  if (lines.length < 4) return false;
  const rule = head.findIndex((line) => /^\s*(?:-{2,}(?:\+-{2,})+-*|\+(?:-{2,}\+)+|[┌├╭][─┬┼]+[┐┤╮])\s*$/.test(line));
  if (rule < 0 || rule > 6) return false;
  const border = /^\s*[+┌├╭]/.test(head[rule] ?? "");
  const bar = border ? /^\s*[|│].*[|│]\s*$/ : /\S.*\|/;
  const rows = lines.filter((line) => bar.test(line)).length;
  if (rows < lines.length * 0.6) return false;
  return border || (rule > 0 && (head[rule - 1] ?? "").includes("|"));
}

/** Columns held apart by two or more spaces, under a header, at the same places in every row. */
export function isAlignedTable({ lines, head }: Sample): boolean {
  if (lines.length < 6) return false;
  const header = head.find((line) => line.trim() !== "") ?? "";
  const titles = header.trim().split(/\s{2,}|\t+/);
  const shouting = header
    .trim()
    .split(/\s+/)
    .filter((word) => /^[A-Z%][A-Z0-9_%()/#.+-]*$/.test(word)).length;
  const words = header.trim().split(/\s+/).length;
  if (words < 2 || header.length > 400 || (titles.length < 3 && shouting < Math.max(3, words * 0.7))) return false;
  if (!/^[\w%#]/.test(header.trim()) || /[.:;,{(]$/.test(header.trim())) return false;
  const starts = startsOf(header);
  const rows = lines.slice(1, 60);
  const aligned = rows.filter((line) => {
    if (starts.length < 2 || line.length < (starts[1] ?? 0)) return false;
    const at = starts.slice(1).filter((start) => start < line.length + 1);
    const hits = at.filter((start) => line[start - 1] === " " || line[start - 2] === " ").length;
    return hits >= Math.max(1, at.length * 0.7) && / {2,}|\t/.test(line.trim());
  }).length;
  return aligned >= rows.length * 0.8;
}

const startsOf = (line: string): number[] =>
  [...line.matchAll(/(?:^|\s)(?=\S)/g)].map(({ index }, place) => index + (place === 0 && !/^\s/.test(line) ? 0 : 1));
