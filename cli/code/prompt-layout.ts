/** Where the rows and the cursor of a prompt stand on a terminal of some size. */

import { printable } from "../render/printable.ts";
import { columnsOf, rowsOf } from "./columns.ts";

export interface Layout {
  readonly rows: readonly string[];
  readonly cursorRow: number;
  readonly cursorColumn: number;
}

/**
 * Rows of at most `columns - 1`, so that no row makes the terminal wrap by itself; at most `height` of them, those
 * around the cursor. `lead` stands before the first line, as many blanks before the others.
 */
export function layout(text: string, cursor: number, lead: string, columns: number, height: number): Layout {
  const room = Math.max(2, columns - 1 - columnsOf(lead));
  const indent = " ".repeat(columnsOf(lead));
  const rows: string[] = [];
  let at = 0;
  let cursorRow = 0;
  let cursorColumn = 0;
  for (const line of text.split("\n")) {
    const inside = cursor >= at && cursor <= at + line.length;
    const before = inside ? rowsOf(shown(line.slice(0, cursor - at)), room) : [];
    if (inside) {
      cursorRow = rows.length + before.length - 1;
      cursorColumn = columnsOf(lead) + columnsOf(before.at(-1) ?? "");
    }
    for (const row of rowsOf(shown(line), room)) rows.push((rows.length === 0 ? lead : indent) + row);
    at += line.length + 1;
  }
  const from = Math.max(0, Math.min(cursorRow - Math.floor(height / 2), rows.length - height));
  return { rows: rows.slice(from, from + Math.max(1, height)), cursorRow: cursorRow - from, cursorColumn };
}

const shown = (line: string): string => printable(line).replaceAll("\t", "  ");
