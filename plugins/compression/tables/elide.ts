/** Writes a table with only its chosen rows, a marker in place of each gap. */
import { elided } from "../markers.ts";
import { selectRows, type Table } from "./rows.ts";

export interface ShorterTable {
  readonly text: string;
  readonly kept: number;
  readonly dropped: number;
}

/** How a marker stands among the rows of a notation; with the line break it needs. */
export type MarkerLine = (marker: string) => string;

/**
 * A shorter table, without what stands around its rows; undefined when there is none.
 * @param unit what the rows are called, in the plural
 * @param shown how a row that stays is written; default: as it was
 */
export function shorten(
  table: Table,
  query: string,
  unit: string,
  line: MarkerLine,
  shown: (row: number) => string = (row) => table.rows[row]?.text ?? "",
): ShorterTable | undefined {
  const { rows } = table;
  const selection = selectRows(table, query, line(elided(100, unit)).length);
  if (!selection) return undefined;
  const { gaps, summary } = selection;
  const dropped = gaps.reduce((sum, [from, to]) => sum + to - from, 0);
  const parts: string[] = [];
  let at = 0;
  gaps.forEach(([from, to], index) => {
    for (; at < from; at++) parts.push(shown(at));
    const said = index > 0 || !summary ? "" : gaps.length > 1 ? `of all ${dropped} elided here: ${summary}` : summary;
    parts.push(line(elided(to - from, to - from === 1 ? unit.slice(0, -1) : unit, said)));
    at = to;
  });
  for (; at < rows.length; at++) parts.push(shown(at));
  return { text: parts.join(""), kept: rows.length - dropped, dropped };
}
