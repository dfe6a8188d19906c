/**
 * The lines of files that match. The text of a match always comes from here, through the workspace boundary, also when
 * ripgrep found it: ripgrep only says which lines.
 */
import { type Boundary, openFile } from "../files/boundary.ts";
import { characterEnd } from "../files/characters.ts";
import { FileFault } from "../files/fault.ts";
import type { GrepAnswer, GrepRequest, LinesRequest, Match } from "../files/protocol.ts";
import { asUtf8, isValidUtf8, kindOf, wholeOf } from "../files/text.ts";
import { searchRequest } from "./search-request.ts";
import { files, SEARCHED_BYTES } from "./walk.ts";

/** Longer lines are not searched: they are no text a person wrote. */
const LINE_BYTES = 1_048_576;
/** Bytes shown of a line. */
const SHOWN_BYTES = 500;
export function grep(boundary: Boundary, request: GrepRequest, deadline: number): GrepAnswer {
  const listed = files(boundary, searchRequest(request), deadline);
  const pattern = new RegExp(request.source, request.flags);
  const found = new Matches(request.limit);
  for (const file of listed.files) {
    if (found.more) break;
    if (Date.now() > deadline) throw new FileFault("cave_search_timeout", "the search took too long");
    for (const line of linesOf(boundary, file)) {
      if (pattern.test(decoded(line.bytes)) && !found.add(file, line)) break;
    }
  }
  return found.answer([...listed.notes, ...(listed.more ? ["more files than one search looks at"] : [])]);
}

/** The texts of lines that were found elsewhere, without those this boundary or this reader leaves out. */
export function lines(boundary: Boundary, { hits, limit }: LinesRequest): GrepAnswer {
  const found = new Matches(limit);
  for (const hit of hits) {
    if (found.more) break;
    const wanted = new Set(hit.lines);
    let left = wanted.size;
    for (const line of linesOf(boundary, hit.file)) {
      if (!wanted.has(line.number)) continue;
      if (!found.add(hit.file, line) || --left === 0) break;
    }
  }
  return found.answer([]);
}

interface Line {
  readonly number: number;
  readonly bytes: Buffer;
}

class Matches {
  readonly #matches: Match[] = [];
  readonly #limit: number;
  more = false;

  constructor(limit: number) {
    this.#limit = limit;
  }
  /** False once there are enough. */
  add(file: string, { number, bytes }: Line): boolean {
    if (this.#matches.length >= this.#limit) {
      this.more = true;
      return false;
    }
    this.#matches.push({ file, line: number, text: shownLine(bytes) });
    return true;
  }
  answer(notes: readonly string[]): GrepAnswer {
    return { matches: this.#matches, more: this.more, notes };
  }
}

/** The searched lines of a text file; none of a binary one, and none from the first NUL on. */
function* linesOf(boundary: Boundary, file: string): Generator<Line> {
  let whole: Buffer | undefined;
  try {
    whole = wholeOf(openFile(boundary, file), SEARCHED_BYTES);
  } catch {
    // Gone, replaced or not permitted since it was listed: there is nothing to search.
    return;
  }
  if (!whole) return;
  const kind = kindOf(whole);
  if (kind === "binary") return;
  const text = asUtf8(whole, kind);
  const nul = text.indexOf(0);
  let number = 1;
  for (let from = 0; from < text.length; number++) {
    const end = text.indexOf(10, from);
    const to = end < 0 ? text.length : end;
    if (nul >= 0 && nul < to) return;
    if (to - from <= LINE_BYTES) yield { number, bytes: text.subarray(from, to) };
    from = to + 1;
  }
}

function shownLine(bytes: Buffer): string {
  const line = bytes.at(-1) === 13 ? bytes.subarray(0, -1) : bytes;
  const end = characterEnd(line, SHOWN_BYTES);
  return end < line.length
    ? `${line.subarray(0, end).toString("utf8")}… [${line.length - end} more bytes]`
    : line.toString("utf8");
}

/** UTF-8, each byte that is none as the lone surrogate U+DC00 + byte. */
function decoded(bytes: Buffer): string {
  if (isValidUtf8(bytes)) return bytes.toString("utf8");
  let out = "";
  for (let at = 0; at < bytes.length; ) {
    const lead = bytes[at] ?? 0;
    const length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    const part = bytes.subarray(at, at + length);
    const valid = part.length === length && isValidUtf8(part);
    out += valid ? part.toString("utf8") : String.fromCharCode(0xdc00 + lead);
    at += valid ? length : 1;
  }
  return out;
}
