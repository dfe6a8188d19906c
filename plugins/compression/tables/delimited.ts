/** Reads CSV, TSV and their like, strictly: what does not read as one table of one width is none. */
import type { Row, Table } from "./rows.ts";

const DELIMITERS = [",", "\t", ";", "|"] as const;
const MOST_COLUMNS = 128;
/** Shares of rows that may have another width than the header: a comment or a total at the end. */
const ODD = 0.02;
/** `path:12:` and `path:12-` at the start of a line are search results, whatever they contain. */
const HIT = /^(?:[\w./@-]+)[:-]\d+[:-]/;

export function readDelimited(input: string): Table | undefined {
  const end = input.indexOf("\n");
  const first = end < 0 ? input : input.slice(0, end);
  const delimiter = DELIMITERS.map((char) => ({ char, count: first.split(char).length - 1 }))
    .filter(({ count }) => count > 0 && count < MOST_COLUMNS)
    .sort((a, b) => b.count - a.count)[0]?.char;
  if (!delimiter || HIT.test(first)) return undefined;
  const rows = rowsOf(input, delimiter);
  const [header, ...body] = rows ?? [];
  if (!header || !isHeader(header.cells)) return undefined;
  const width = header.cells.length;
  const odd = body.reduce((sum, { cells, text }) => sum + (cells.length === width || text.trim() === "" ? 0 : 1), 0);
  if (odd > body.length * ODD) return undefined;
  return { columns: header.cells.map((cell) => cell.trim()), rows: rows ?? [] };
}

/** Names, all different, none of them a number. */
function isHeader(cells: readonly string[]): boolean {
  const names = cells.map((cell) => cell.trim());
  return (
    names.every((name) => name.length <= 64 && !/^-?\d+(?:\.\d+)?$/.test(name)) && new Set(names).size === names.length
  );
}

/** The rows of a table, with quotes read as RFC 4180 has them; undefined where a quote never ends. */
function rowsOf(input: string, delimiter: string): Row[] | undefined {
  const rows: Row[] = [];
  let at = 0;
  while (at < input.length) {
    const start = at;
    const cells: string[] = [];
    for (;;) {
      if (input[at] === '"') {
        const close = closingQuote(input, at + 1);
        if (close < 0) return undefined;
        cells.push(input.slice(at + 1, close).replaceAll('""', '"'));
        at = close + 1;
      } else {
        const from = at;
        while (at < input.length && input[at] !== delimiter && input[at] !== "\n") at++;
        cells.push(input.slice(from, input[at - 1] === "\r" && input[at] !== delimiter ? at - 1 : at));
      }
      if (input[at] !== delimiter) break;
      at++;
    }
    // Whatever follows a closing quote belongs to no cell but stays in the row.
    while (at < input.length && input[at] !== "\n") at++;
    at++;
    rows.push({ text: input.slice(start, at), cells });
  }
  return rows;
}

function closingQuote(input: string, from: number): number {
  for (let at = input.indexOf('"', from); at >= 0; at = input.indexOf('"', at + 2))
    if (input[at + 1] !== '"') return at;
  return -1;
}
