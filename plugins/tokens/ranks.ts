/**
 * The ranks of `o200k_base`, from a packed file beside this one. Packed, they load in a third of the time that the same
 * list takes as JavaScript, and synchronously, when the first text is counted: a run that counts nothing reads nothing.
 */
import { readFileSync } from "node:fs";
import { hashOf, UnitTable } from "./unit-table.ts";

/** The package whose list of ranks is packed. */
export const REVISION = "gpt-tokenizer@4.0.0";
/** SHA-256 over every token in rank order and the split pattern; a test makes it anew from the package. */
export const DIGEST = "abe41d840afc36ff7abf556b4ed51b0b189fd0597248b9671e06c63d9e685e46";

export interface Ranks {
  /** The rank of the token `text[from, to)`, or -1; both ends stand between characters. */
  ofText(text: string, from: number, to: number): number;
  /** As `ofText`, with the hash at hand. */
  ofHashed(text: string, from: number, to: number, hash: number): number;
  /** The rank of a token that begins or ends inside a character, by its bytes as Latin-1 text; -1 for none. */
  ofBytes(bytes: string): number;
  /** The rank of two bytes, whatever they are part of; -1 for none. A merge begins with these, so they are at hand. */
  ofPair(first: number, second: number): number;
}

/**
 * Packed: three little-endian 32-bit counts (whole tokens, UTF-8 bytes of their text, split tokens); the length of each
 * whole token in UTF-16 units, one byte each; their text; then each split token as a 32-bit rank, a length and its bytes.
 * Whole tokens stand in rank order, and take the ranks that no split token has.
 */
export function unpackRanks(packed: Buffer): Ranks {
  const whole = packed.readUInt32LE(0);
  const bytes = packed.readUInt32LE(4);
  const lengths = packed.subarray(12, 12 + whole);
  const text = packed.toString("utf8", 12 + whole, 12 + whole + bytes);
  const split = new Map<string, number>();
  let offset = 12 + whole + bytes;
  for (let left = packed.readUInt32LE(8); left > 0; left--) {
    const length = packed.readUInt8(offset + 4);
    split.set(packed.toString("latin1", offset + 5, offset + 5 + length), packed.readUInt32LE(offset));
    offset += 5 + length;
  }
  const taken = new Set(split.values());
  const pairs = new Int32Array(2 ** 16).fill(-1);
  for (const [bytes, rank] of split)
    if (bytes.length === 2) pairs[(bytes.charCodeAt(0) << 8) | bytes.charCodeAt(1)] = rank;
  const table = new UnitTable(whole, text.length);
  let at = 0;
  let rank = 0;
  let longest = 0;
  for (const length of lengths) {
    while (taken.has(rank)) rank++;
    if (!table.add(text, at, at + length, hashOf(text, at, at + length), rank)) throw new RangeError("damaged ranks");
    if (length > longest) longest = length;
    const pair = pairOf(text, at, length);
    if (pair >= 0) pairs[pair] = rank;
    at += length;
    rank++;
  }
  const ofHashed = (within: string, from: number, to: number, hash: number): number =>
    to - from > longest ? -1 : table.get(within, from, to, hash);
  return {
    ofHashed,
    ofText: (within, from, to) => (to - from > longest ? -1 : ofHashed(within, from, to, hashOf(within, from, to))),
    ofBytes: (latin1) => split.get(latin1) ?? -1,
    ofPair: (first, second) => pairs[(first << 8) | second] ?? -1,
  };
}

/** The two bytes of a token that has two: an ASCII pair, or one character of two bytes; else -1. */
function pairOf(text: string, at: number, length: number): number {
  const first = text.charCodeAt(at);
  if (length === 1) return first >= 0x80 && first < 0x800 ? ((0xc0 | (first >> 6)) << 8) | 0x80 | (first & 0x3f) : -1;
  const second = text.charCodeAt(at + 1);
  return length === 2 && first < 0x80 && second < 0x80 ? (first << 8) | second : -1;
}

let loaded: Ranks | undefined;
/** The ranks, read once a process. @throws when the file is missing or damaged. */
export const o200kRanks = (): Ranks =>
  (loaded ??= unpackRanks(readFileSync(new URL("./o200k_base.ranks", import.meta.url))));
