/** Query results as psql, mysql and sqlite print them: tables with borders, and one field a line. */
import type { Compressed, Compressor } from "../compressor.ts";
import { readAligned } from "./aligned.ts";
import { shorten } from "./elide.ts";
import { LEAST_ROWS, type Row, type Table } from "./rows.ts";

/** `----+----`, `+----+`, `├───┼───┤`, and the dashes of a column mode. */
const RULE = /^[-─═+┼╪|├┤╞╡│ ]{3,}$/;
const BORDER = /^\s*[+┌└╔╚╭╰][-─═+┬┴╦╩]*[+┐┘╗╝╮╯]?\s*$/;
const RECORD = /^(?:-\[ RECORD \d+ \][-+]*|\*{3,} \d+\. row \*{3,})\s*$/;

export const sqlResult: Compressor = {
  type: "sql-result",
  keeps: "The header, the row count, the first and last rows, extremes, rows of rare kinds.",
  compress: (input, { query }) => {
    const lines = input.match(/[^\n]*\n|[^\n]+$/g) ?? [];
    return lines.some((line) => RECORD.test(line)) ? records(lines, query) : grids(lines, query);
  },
};

/** Every table of the output; what stands between them stays. */
function grids(lines: readonly string[], query: string): Compressed | undefined {
  const out: string[] = [];
  let kept = 0;
  let dropped = 0;
  for (let at = 0; at < lines.length; ) {
    const rule = lines[at + 1] ?? "";
    if (!RULE.test(rule.trim()) || !/[-─═]{2}/.test(rule) || RULE.test((lines[at] ?? "").trim())) {
      out.push(lines[at++] ?? "");
      continue;
    }
    const header = lines[at] ?? "";
    let end = at + 2;
    while (end < lines.length && isRow(lines[end] ?? "", header)) end++;
    const table = readGrid(header, rule, lines.slice(at + 2, end));
    const shorter =
      table && table.rows.length >= LEAST_ROWS && shorten(table, query, "rows", (marker) => `${marker}\n`);
    out.push(header, rule);
    if (shorter) {
      out.push(shorter.text);
      kept += shorter.kept;
      dropped += shorter.dropped;
    } else {
      out.push(...lines.slice(at + 2, end));
      kept += end - at - 2;
    }
    at = end;
  }
  return dropped > 0 ? { text: out.join(""), method: "grid", unit: "rows", kept, dropped } : undefined;
}

const SEPARATOR = /\s?[|│]\s?/;
const separated = (line: string): boolean => /[|│]/.test(line);

function isRow(line: string, header: string): boolean {
  const text = line.trim();
  if (text === "" || /^\(\d+ rows?\)/.test(text) || BORDER.test(line)) return false;
  return separated(header) ? separated(line) : true;
}

function readGrid(header: string, rule: string, body: readonly string[]): Table | undefined {
  const cut = (line: string): string[] =>
    line
      .trimEnd()
      .replace(/^[|│]|[|│]$/g, "")
      .split(SEPARATOR)
      .map((cell) => cell.trim());
  if (separated(header)) {
    const columns = cut(header);
    const rows: Row[] = body.map((text) => ({ text, cells: cut(text) }));
    const odd = rows.filter(({ cells }) => cells.length !== columns.length).length;
    return odd > rows.length * 0.05 ? undefined : { columns, rows };
  }
  return readAligned([header, ...body].map((line) => (line === rule ? "" : line)));
}

/** `-[ RECORD 1 ]-` and `*** 1. row ***`: each record is a row whose columns are the names on its lines. */
function records(lines: readonly string[], query: string): Compressed | undefined {
  const first = lines.findIndex((line) => RECORD.test(line));
  const groups: string[][] = [];
  for (const line of lines.slice(first)) {
    if (RECORD.test(line)) groups.push([]);
    groups[groups.length - 1]?.push(line);
  }
  const columns: string[] = [];
  const places = new Map<string, number>();
  const rows = groups.map((group): Row => {
    const cells: string[] = [];
    for (const line of group.slice(1)) {
      const [name, value] = fieldOf(line);
      if (!name) continue;
      let place = places.get(name);
      if (place === undefined) {
        place = columns.push(name) - 1;
        places.set(name, place);
      }
      cells[place] = value;
    }
    return { text: group.join(""), cells: Array.from(cells, (cell) => cell ?? "") };
  });
  const shorter = shorten({ columns, rows }, query, "records", (marker) => `${marker}\n`);
  if (!shorter) return undefined;
  const { text, kept, dropped } = shorter;
  return { text: lines.slice(0, first).join("") + text, method: "records", unit: "records", kept, dropped };
}

/** `name | value` or `name: value`. */
function fieldOf(line: string): [name: string, value: string] {
  const bar = line.indexOf("|");
  const end = bar < 0 ? line.indexOf(":") : bar;
  return end < 0 ? ["", ""] : [line.slice(0, end).trim(), line.slice(end + 1).trim()];
}
