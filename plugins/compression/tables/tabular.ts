/** CSV, TSV and Markdown tables: the header, the rows that say something of their own, a marker for the rest. */
import type { Compressed, Compressor } from "../compressor.ts";
import { readDelimited } from "./delimited.ts";
import { shorten } from "./elide.ts";
import type { Table } from "./rows.ts";

export const tabular: Compressor = {
  type: "tabular",
  keeps: "The header, the first and last rows, errors, the extremes of every column of numbers, rows of rare kinds.",
  compress: (input, { query }) => {
    const markdown = readMarkdown(input);
    const table = markdown ?? readDelimited(input);
    const [header] = table?.rows ?? [];
    if (!table || !header) return undefined;
    const body = { columns: table.columns, rows: table.rows.slice(1) };
    const shorter = shorten(body, query, "rows", (marker) => (markdown ? `| ${marker} |\n` : `${marker}\n`));
    if (!shorter) return undefined;
    const { text, kept, dropped } = shorter;
    return {
      text: header.text + text,
      method: markdown ? "markdown-table" : "delimited",
      unit: "rows",
      kept,
      dropped,
    } satisfies Compressed;
  },
};

/** A text that is one Markdown table; its first row holds the header and the line below it. */
function readMarkdown(input: string): Table | undefined {
  if (!/^\s{0,3}\|.*\|\s*\n\s{0,3}\|[\s|:-]+\|\s*\n/.test(input)) return undefined;
  const lines = input.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const cellsOf = (line: string): string[] =>
    line
      .trim()
      .replace(/^\||\|$/g, "")
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim());
  if (lines.some((line) => line.trim() !== "" && !line.trimStart().startsWith("|"))) return undefined;
  const [names = "", rule = "", ...body] = lines;
  const columns = cellsOf(names);
  return {
    columns,
    rows: [{ text: names + rule, cells: columns }, ...body.map((text) => ({ text, cells: cellsOf(text) }))],
  };
}
