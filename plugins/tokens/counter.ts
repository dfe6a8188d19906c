/** Counts: split, look each piece up, merge what is no token, and remember what was merged. */
import { mergedCount } from "./merge.ts";
import { pieceEnd } from "./pieces.ts";
import type { Ranks } from "./ranks.ts";
import { hashOf, UnitTable } from "./unit-table.ts";

/** Most merged pieces that are remembered, about 5 MB in all; when they are full they are forgotten together. */
const REMEMBERED = 2 ** 16;
const REMEMBERED_UNITS = 2 ** 20;
/** A longer piece is seldom met twice. */
const LONGEST_REMEMBERED = 128;
/**
 * A piece of more UTF-16 units, one unbroken run of letters, spaces or signs, is merged in slices of this size, since a
 * merge needs some 40 bytes a character. Each cut can add a few tokens.
 */
const LONGEST_PIECE = 2 ** 20;

export class Counter {
  readonly #ranks: Ranks;
  readonly #merged: UnitTable;
  readonly #longestPiece: number;

  constructor(ranks: Ranks, { remembered = REMEMBERED, longestPiece = LONGEST_PIECE } = {}) {
    this.#ranks = ranks;
    this.#merged = new UnitTable(remembered, REMEMBERED_UNITS);
    this.#longestPiece = longestPiece;
  }

  /** Tokens of a text. Names of special tokens in it are text like any other. */
  count(text: string): number {
    const { length } = text;
    let tokens = 0;
    for (let at = 0; at < length; ) {
      const end = pieceEnd(text, at);
      tokens += end - at > this.#longestPiece ? this.#slices(text, at, end) : this.#piece(text, at, end);
      at = end;
    }
    return tokens;
  }

  #piece(text: string, from: number, to: number): number {
    const hash = hashOf(text, from, to);
    if (this.#ranks.ofHashed(text, from, to, hash) >= 0) return 1;
    if (to - from > LONGEST_REMEMBERED) return mergedCount(this.#ranks, text, from, to);
    const known = this.#merged.get(text, from, to, hash);
    if (known > 0) return known;
    const count = mergedCount(this.#ranks, text, from, to);
    if (!this.#merged.add(text, from, to, hash, count)) {
      this.#merged.clear();
      this.#merged.add(text, from, to, hash, count);
    }
    return count;
  }

  #slices(text: string, from: number, to: number): number {
    let tokens = 0;
    for (let at = from; at < to; at += this.#longestPiece)
      tokens += mergedCount(this.#ranks, text, at, Math.min(to, at + this.#longestPiece));
    return tokens;
  }
}
