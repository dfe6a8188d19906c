/** An original as whole units, so that a part of it can be shown without cutting one: records, rows, paragraphs or lines. */

export interface Units {
  /** Stands above every selection: the header of a table. */
  readonly header?: string;
  /** Exact stretches of the original, in its order. */
  readonly units: readonly string[];
  /** What stands between neighbours that are shown. */
  readonly joint: string;
}

export function unitsOf(text: string): Units {
  return jsonRecords(text) ?? jsonLines(text) ?? table(text) ?? paragraphs(text) ?? lines(text);
}

/** Fewer are not worth a selection. */
const FEWEST_RECORDS = 3;
const WHITE = /\s/;

/** The array of objects that takes the most of a JSON text: its elements, as they are written. */
function jsonRecords(text: string): Units | undefined {
  const start = text.search(/\S/);
  if (start < 0 || !"[{".includes(text[start] ?? "")) return undefined;
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const best = largestArray(text, start);
  return best && best.length >= FEWEST_RECORDS
    ? { units: best.map(([from, to]) => text.slice(from, to)), joint: "\n" }
    : undefined;
}

type Span = readonly [from: number, to: number];
interface Open {
  /** Where the current element of an array began; undefined in an object. */
  element?: number;
  readonly records?: Span[];
}

/** Walks valid JSON without recursion, however deep it is, and gives the element spans of its largest array of objects. */
function largestArray(text: string, start: number): readonly Span[] | undefined {
  const open: Open[] = [];
  let best: readonly Span[] | undefined;
  let size = 0;
  const ends = (array: Open, at: number): void => {
    if (array.records === undefined || array.element === undefined) return;
    let from = array.element;
    let to = at;
    while (from < to && WHITE.test(text[from] ?? "")) from++;
    while (to > from && WHITE.test(text[to - 1] ?? "")) to--;
    if (text[from] === "{") array.records.push([from, to]);
  };
  for (let at = start; at < text.length; at++) {
    const top = open.at(-1);
    switch (text[at]) {
      case '"':
        for (at++; text[at] !== '"' && at < text.length; at++) if (text[at] === "\\") at++;
        break;
      case "[":
        open.push({ element: at + 1, records: [] });
        break;
      case "{":
        open.push({});
        break;
      case ",":
        if (top?.records) {
          ends(top, at);
          top.element = at + 1;
        }
        break;
      case "]":
      case "}": {
        open.pop();
        if (top?.records === undefined) break;
        ends(top, at);
        const [first] = top.records;
        const taken = first === undefined ? 0 : at - first[0];
        if (taken > size) [best, size] = [top.records, taken];
        break;
      }
      default:
    }
  }
  return best;
}

function jsonLines(text: string): Units | undefined {
  const all = text.split("\n").filter((line) => line.trim() !== "");
  const objects = all.length >= FEWEST_RECORDS && all.every((line) => /^\s*\{.*\}\s*$/.test(line));
  return objects ? { units: all, joint: "\n" } : undefined;
}

const DELIMITERS = [",", "\t", ";", "|"];

/** Rows of separated values under a header; a quoted field may hold line breaks. */
function table(text: string): Units | undefined {
  const firstLine = text.slice(0, text.indexOf("\n") + 1 || text.length);
  for (const delimiter of DELIMITERS) {
    const columns = fieldCount(firstLine, delimiter);
    if (columns < 2) continue;
    const rows = rowsOf(text);
    const [header, ...body] = rows;
    if (header === undefined || body.length < FEWEST_RECORDS) return undefined;
    if (body.every((row) => fieldCount(row, delimiter) === columns)) return { header, units: body, joint: "\n" };
  }
  return undefined;
}

function fieldCount(row: string, delimiter: string): number {
  let quoted = false;
  let fields = 1;
  for (const sign of row) {
    if (sign === '"') quoted = !quoted;
    else if (sign === delimiter && !quoted) fields++;
  }
  return fields;
}

function rowsOf(text: string): string[] {
  const rows: string[] = [];
  let quoted = false;
  let from = 0;
  for (let at = 0; at <= text.length; at++) {
    if (text[at] === '"') quoted = !quoted;
    if (at < text.length && (text[at] !== "\n" || quoted)) continue;
    const row = text.slice(from, at).replace(/\r$/, "");
    if (row !== "") rows.push(row);
    from = at + 1;
  }
  return rows;
}

function paragraphs(text: string): Units | undefined {
  const all = text.split(/\n[ \t\r]*\n(?:[ \t\r]*\n)*/).filter((part) => part.trim() !== "");
  const longest = all.reduce((most, part) => Math.max(most, part.length), 0);
  // One paragraph that is most of the text would be all or nothing: its lines select better.
  return all.length >= FEWEST_RECORDS && longest * 2 <= text.length ? { units: all, joint: "\n\n" } : undefined;
}

const lines = (text: string): Units => ({ units: text.split("\n").filter((line) => line.trim() !== ""), joint: "\n" });
