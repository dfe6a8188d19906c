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
