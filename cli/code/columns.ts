/** How many columns text takes on a terminal, and cutting it to them. */

/** East Asian wide and fullwidth blocks, and what a terminal shows as a picture. */
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|.\ufe0f)/u;
const INVISIBLE = /^[\p{Control}\p{Format}\p{Mark}]+$/u;
const PLAIN = /^[\x20-\x7e]*$/;
let segmenter: Intl.Segmenter | undefined;

/** What a reader sees as one character each. */
export const graphemes = (text: string): string[] =>
  PLAIN.test(text)
    ? [...text]
    : Array.from((segmenter ??= new Intl.Segmenter()).segment(text), ({ segment }) => segment);

const columnsOfGrapheme = (grapheme: string): number => (INVISIBLE.test(grapheme) ? 0 : WIDE.test(grapheme) ? 2 : 1);

export const columnsOf = (text: string): number =>
  PLAIN.test(text) ? text.length : graphemes(text).reduce((sum, grapheme) => sum + columnsOfGrapheme(grapheme), 0);

/** A line cut to a number of columns, with `…` where something is left out. */
export function fitted(line: string, columns: number): string {
  if (columnsOf(line) <= columns) return line;
  let kept = "";
  let width = 0;
  for (const grapheme of graphemes(line)) {
    width += columnsOfGrapheme(grapheme);
    if (width > columns - 1) break;
    kept += grapheme;
  }
  return columns < 1 ? "" : `${kept}…`;
}

/** A line as rows of at most `columns`; an empty line is one empty row. */
export function rowsOf(line: string, columns: number): string[] {
  const room = Math.max(2, columns);
  const rows: string[] = [];
  let row = "";
  let width = 0;
  for (const grapheme of graphemes(line)) {
    const wide = columnsOfGrapheme(grapheme);
    if (width + wide > room) {
      rows.push(row);
      row = "";
      width = 0;
    }
    row += grapheme;
    width += wide;
  }
  return [...rows, row];
}

/** A line broken between words, so that no row is longer than `columns`; the rows after the first begin with `indent`. */
export function folded(line: string, columns: number, indent = "  "): string[] {
  const lead = /^ */.exec(line)?.[0] ?? "";
  const rows: string[] = [];
  let row = lead;
  for (const word of line.slice(lead.length).split(" ")) {
    const next = row.trim() === "" ? row + word : `${row} ${word}`;
    if (columnsOf(next) <= columns) {
      row = next;
      continue;
    }
    if (row.trim() !== "") rows.push(row);
    const [first = "", ...rest] = rowsOf(word, columns - columnsOf(lead + indent)).reverse();
    for (const part of rest.reverse()) rows.push(lead + indent + part);
    row = lead + indent + first;
  }
  return [...rows, row];
}
