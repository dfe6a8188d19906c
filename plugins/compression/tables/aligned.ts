/**
 * Tables whose columns are kept apart by spaces, as `docker ps`, `kubectl get` and `ps` print them. A column border is
 * where hardly any line has a character. Several tables may follow each other, parted by empty lines.
 */
import type { Compressed, Compressor } from "../compressor.ts";
import { shorten } from "./elide.ts";
import { LEAST_ROWS, type Row, type Table } from "./rows.ts";

/** Lines that borders are looked for in. */
const SAMPLED = 512;
/** Share of them that may cross a border. */
const CROSSING = 0.06;
const WIDEST = 4096;

export const alignedTable: Compressor = {
  type: "aligned-table",
  keeps: "The header, the first and last rows, rows of trouble, extremes, rows of rare kinds.",
  compress: (input, { query }) => {
    const parts = input.split(/(?<=\n)(?=[ \t]*\r?\n)/);
    let kept = 0;
    let dropped = 0;
    const text = parts.map((part) => {
      const lead = /^(?:[ \t]*\r?\n)+/.exec(part)?.[0] ?? "";
      const shorter = shorterPart(part.slice(lead.length), query);
      kept += shorter?.kept ?? part.split("\n").length - 1;
      dropped += shorter?.dropped ?? 0;
      return shorter ? lead + shorter.text : part;
    });
    if (dropped === 0) return undefined;
    return { text: text.join(""), method: "aligned", unit: "rows", kept, dropped } satisfies Compressed;
  },
};

function shorterPart(part: string, query: string): { text: string; kept: number; dropped: number } | undefined {
  const lines = part.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  if (lines.length <= LEAST_ROWS) return undefined;
  const table = readAligned(lines);
  const shorter = table && shorten(table, query, "rows", (marker) => `${marker}\n`);
  return shorter && { ...shorter, text: (lines[0] ?? "") + shorter.text };
}

/** Reads lines under a header; undefined when they have no columns in common. */
export function readAligned(lines: readonly string[]): Table | undefined {
  const [header = "", ...body] = lines;
  const names = header.trimEnd();
  if (names.length === 0 || names.length > WIDEST) return undefined;
  const borders = bordersOf(names, body);
  if (borders.length === 0) return undefined;
  const starts = [0, ...borders];
  const cut = (line: string): string[] => starts.map((start, column) => line.slice(start, starts[column + 1]).trim());
  const rows: Row[] = body.map((text) => ({ text, cells: cut(text.trimEnd()) }));
  return { columns: cut(names), rows };
}

/** Where columns begin, but for the first. */
function bordersOf(header: string, body: readonly string[]): number[] {
  const sample =
    body.length <= SAMPLED ? body : body.filter((_, index) => index % Math.ceil(body.length / SAMPLED) === 0);
  const crossing = new Uint32Array(header.length + 1);
  for (const line of sample) {
    for (let at = 0; at < header.length; at++) {
      const code = line.charCodeAt(at);
      if (code > 32) crossing[at] = (crossing[at] ?? 0) + 1;
    }
  }
  const most = sample.length * CROSSING;
  const free = (at: number): boolean => header.charCodeAt(at) <= 32 && (crossing[at] ?? 0) <= most;
  const borders: number[] = [];
  let named = false;
  for (let at = 0; at < header.length; at++) {
    if (free(at) && named) {
      // The border is after the last free place, so that a number pushed to the right stays in its column.
      while (at + 1 < header.length && free(at + 1)) at++;
      borders.push(at + 1);
      named = false;
    } else if (header.charCodeAt(at) > 32) named = true;
  }
  return borders.filter((border) => border < header.length);
}
