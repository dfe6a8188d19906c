/** read_file: numbered lines of a text file, in one pass that keeps no more than what is shown. */
import { createHash } from "node:crypto";
import { closeSync, readSync } from "node:fs";
import { type Boundary, type Opened, openFile } from "./boundary.ts";
import { characterEnd } from "./characters.ts";
import { FileFault, shown } from "./fault.ts";
import type { ReadAnswer, ReadRequest } from "./protocol.ts";
import { asUtf8, isValidUtf8, kindOf, wholeOf } from "./text.ts";

/** Files up to this many bytes are read to their end: their lines are counted and their digest is taken. */
export const WHOLE_BYTES = 8 * 1_024 * 1_024;
/** How far into a larger file the lines asked for may lie. */
const SCAN_BYTES = 64 * 1_024 * 1_024;
/** Bytes shown of one line. */
const LINE_BYTES = 2_000;
/** Bytes kept for the closing statement. */
const STATEMENT_BYTES = 400;
const CHUNK = 65_536;

export function readFile(
  boundary: Boundary,
  { path, offset = 1, limit = Number.MAX_SAFE_INTEGER, capBytes }: ReadRequest,
): ReadAnswer {
  const opened = openFile(boundary, path);
  const page = new Page(offset, limit, capBytes - STATEMENT_BYTES);
  const hash = createHash("sha256");
  let whole = opened.stat.size <= WHOLE_BYTES;
  let scanned = 0;
  let ended = true;
  for (const chunk of chunksOf(opened, path, (bytes) => whole && hash.update(bytes))) {
    scanned += chunk.length;
    if (scanned > WHOLE_BYTES) whole = false;
    page.take(chunk);
    if (page.binaryAt !== undefined || (!whole && (page.full || scanned > SCAN_BYTES))) {
      ended = false;
      break;
    }
  }
  if (ended) page.end();
  else if (!page.started && page.binaryAt === undefined) {
    throw new FileFault(
      "cave_file_too_large",
      `${shown(path)} has ${opened.stat.size} bytes; line ${offset} lies beyond the first ${SCAN_BYTES}`,
    );
  }
  const stamp = ended && whole ? { rel: opened.rel, digest: hash.digest("hex") } : undefined;
  return { text: page.text(ended, opened.stat.size), ...(stamp ? { stamp } : {}) };
}

/** The file as UTF-8, piece by piece; `raw` is told the bytes as they stand on disk. */
function* chunksOf(opened: Opened, path: string, raw: (bytes: Uint8Array) => unknown): Generator<Buffer> {
  let first = true;
  const chunk = Buffer.allocUnsafe(CHUNK);
  let at = 0;
  let open = true;
  try {
    for (;;) {
      const got = readSync(opened.fd, chunk, 0, CHUNK, at);
      if (got === 0) return;
      at += got;
      const bytes = chunk.subarray(0, got);
      const kind = first ? kindOf(bytes) : "utf8";
      if (kind === "binary")
        throw new FileFault("cave_file_binary", `${shown(path)} is binary, ${opened.stat.size} bytes`);
      if (kind === "utf16le" || kind === "utf16be") {
        open = false;
        const all = wholeOf(opened, WHOLE_BYTES);
        if (!all)
          throw new FileFault(
            "cave_file_too_large",
            `${shown(path)} is UTF-16 of ${opened.stat.size} bytes; at most ${WHOLE_BYTES} are decoded`,
          );
        raw(all);
        yield asUtf8(all, kind);
        return;
      }
      raw(bytes);
      yield first ? asUtf8(bytes, kind) : bytes;
      first = false;
    }
  } finally {
    if (open) closeSync(opened.fd);
  }
}

/** The lines from `offset` on that fit. */
class Page {
  readonly #offset: number;
  readonly #limit: number;
  readonly #cap: number;
  readonly #lines: string[] = [];
  #bytes = 0;
  #line = 1;
  /** The line being read: its first bytes, and how many there were in all. */
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #lineBytes = 0;
  #lastByte = 0;
  #crlf = false;
  #invalid = false;
  #cut = false;
  full = false;
  binaryAt: number | undefined;

  constructor(offset: number, limit: number, cap: number) {
    this.#offset = offset;
    this.#limit = limit;
    this.#cap = cap;
  }
  get started(): boolean {
    return this.#lines.length > 0;
  }
  take(chunk: Buffer): void {
    let from = 0;
    const nul = chunk.indexOf(0);
    const upTo = nul < 0 ? chunk.length : nul;
    for (;;) {
      const end = chunk.subarray(0, upTo).indexOf(10, from);
      this.#part(chunk, from, end < 0 ? upTo : end);
      if (end < 0) break;
      this.#close();
      from = end + 1;
    }
    if (nul >= 0) this.binaryAt = this.#line;
  }
  end(): void {
    if (this.#lineBytes > 0) this.#close();
  }
  #part(chunk: Buffer, from: number, to: number): void {
    if (to <= from) return;
    this.#lineBytes += to - from;
    this.#lastByte = chunk[to - 1] ?? 0;
    if (this.#line < this.#offset || this.full || this.#keptBytes > LINE_BYTES) return;
    const part = Buffer.from(chunk.subarray(from, Math.min(to, from + LINE_BYTES + 1 - this.#keptBytes + 3)));
    this.#kept.push(part);
    this.#keptBytes += part.length;
  }
  #close(): void {
    if (this.#line >= this.#offset && !this.full) this.#show();
    this.#line++;
    this.#kept = [];
    this.#keptBytes = this.#lineBytes = this.#lastByte = 0;
  }
  #show(): void {
    let bytes = Buffer.concat(this.#kept);
    let length = this.#lineBytes;
    if (this.#lastByte === 13) {
      this.#crlf = true;
      length--;
      if (bytes.length > length) bytes = bytes.subarray(0, length);
    }
    const end = length > LINE_BYTES ? characterEnd(bytes, LINE_BYTES) : bytes.length;
    if (!isValidUtf8(bytes.subarray(0, end))) this.#invalid = true;
    const rest = length > end ? `… [${length - end} more bytes in this line]` : "";
    const line = `${this.#line}\t${bytes.subarray(0, end).toString("utf8")}${rest}`;
    const cost = Buffer.byteLength(line) + 1;
    if (this.#lines.length >= this.#limit || this.#bytes + cost > this.#cap) {
      this.full = true;
      this.#cut = true;
      return;
    }
    this.#lines.push(line);
    this.#bytes += cost;
  }
  text(whole: boolean, size: number): string {
    const total = this.#line - 1;
    const notes: string[] = [];
    const last = this.#offset + this.#lines.length - 1;
    if (size === 0) return "[the file is empty]";
    if (!this.started && this.binaryAt === undefined)
      return `[the file has ${total} lines; line ${this.#offset} is past its end]`;
    if (this.#cut || this.#offset > 1 || !whole)
      notes.push(`lines ${this.#offset}–${last} of ${whole ? total : `more, ${size} bytes in all`}`);
    if (this.#cut) notes.push(`continue with offset ${last + 1}`);
    if (this.binaryAt !== undefined) notes.push(`binary from line ${this.binaryAt} on, not shown`);
    if (this.#crlf) notes.push("CRLF line ends");
    if (this.#invalid) notes.push("not valid UTF-8: � stands for the bytes that are not");
    return notes.length > 0 ? `${this.#lines.join("\n")}\n[${notes.join("; ")}]` : this.#lines.join("\n");
  }
}
