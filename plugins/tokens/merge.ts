/**
 * Byte-pair merging of one piece: of all neighbours that form a token, the pair of the lowest rank is joined, the
 * leftmost of equals first, until no neighbours form one. What is left are the tokens.
 */
import type { Ranks } from "./ranks.ts";

const NONE = 0x7fffffff;
/** Up to here the lowest pair is looked for along the piece; beyond, a heap keeps pieces of megabytes from being quadratic. */
const SHORT = 96;
/** A split token has at most this many bytes; more cannot be one. */
const LONGEST_SPLIT = 64;

/** The rank of the bytes from one offset to another of a piece. */
type RankOf = (from: number, to: number) => number;

/** How many tokens `text[from, to)` becomes, a piece that is no token itself. */
export function mergedCount(ranks: Ranks, text: string, from: number, to: number): number {
  let ascii = true;
  for (let at = from; at < to && ascii; at++) ascii = text.charCodeAt(at) < 0x80;
  if (ascii)
    return merge(to - from, (start, end) => {
      const rank =
        end - start === 2
          ? ranks.ofPair(text.charCodeAt(from + start), text.charCodeAt(from + start + 1))
          : ranks.ofText(text, from + start, from + end);
      return rank < 0 ? NONE : rank;
    });
  return mergeUnicode(ranks, text.slice(from, to).toWellFormed());
}

function mergeUnicode(ranks: Ranks, piece: string): number {
  const bytes = Buffer.from(piece);
  // Where in the piece a byte begins a character; -1 inside one.
  const unitAt = new Int32Array(bytes.length + 1).fill(-1);
  let unit = 0;
  for (let at = 0; at < bytes.length; ) {
    unitAt[at] = unit;
    const lead = bytes[at] ?? 0;
    at += lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    unit += lead < 0xf0 ? 1 : 2;
  }
  unitAt[bytes.length] = unit;
  return merge(bytes.length, (start, end) => {
    if (end - start === 2) {
      const pair = ranks.ofPair(bytes[start] ?? 0, bytes[start + 1] ?? 0);
      return pair < 0 ? NONE : pair;
    }
    const first = unitAt[start] ?? -1;
    const last = unitAt[end] ?? -1;
    const rank =
      first >= 0 && last >= 0
        ? ranks.ofText(piece, first, last)
        : end - start > LONGEST_SPLIT
          ? -1
          : ranks.ofBytes(bytes.toString("latin1", start, end));
    return rank < 0 ? NONE : rank;
  });
}

const merge = (length: number, rankOf: RankOf): number =>
  length <= SHORT ? mergeShort(length, rankOf) : mergeLong(length, rankOf);

const starts = new Int32Array(SHORT + 1);
const pairs = new Int32Array(SHORT + 1);

function mergeShort(length: number, rankOf: RankOf): number {
  let parts = length;
  for (let part = 0; part <= length; part++) starts[part] = part;
  for (let part = 0; part + 1 < length; part++) pairs[part] = rankOf(part, part + 2);
  const pair = (part: number): number => {
    const end = starts[part + 2];
    return part + 2 > parts || end === undefined ? NONE : rankOf(starts[part] ?? 0, end);
  };
  while (parts > 1) {
    let lowest = NONE;
    let at = -1;
    for (let part = 0; part + 1 < parts; part++) {
      const rank = pairs[part] ?? NONE;
      if (rank < lowest) {
        lowest = rank;
        at = part;
      }
    }
    if (at < 0) break;
    starts.copyWithin(at + 1, at + 2, parts + 1);
    pairs.copyWithin(at, at + 1, parts);
    parts--;
    pairs[at] = pair(at);
    if (at > 0) pairs[at - 1] = pair(at - 1);
  }
  return parts;
}

/** Entries of the heap are rank × POSITIONS + position, so that the smallest is the lowest rank, leftmost. */
const POSITIONS = 2 ** 32;

function mergeLong(length: number, rankOf: RankOf): number {
  const next = new Int32Array(length + 1);
  const previous = new Int32Array(length + 1);
  const rank = new Int32Array(length).fill(NONE);
  const heap = new MinHeap(length);
  for (let at = 0; at <= length; at++) {
    next[at] = at + 1;
    previous[at] = at - 1;
  }
  const look = (at: number): void => {
    const middle = next[at] ?? length;
    const found = middle < length ? rankOf(at, next[middle] ?? length) : NONE;
    rank[at] = found;
    if (found !== NONE) heap.push(found * POSITIONS + at);
  };
  for (let at = 0; at + 1 < length; at++) look(at);
  let parts = length;
  for (let lowest = heap.pop(); lowest !== undefined; lowest = heap.pop()) {
    const at = lowest % POSITIONS;
    // An entry is out of date when its pair was joined to another or now ends elsewhere.
    if (rank[at] !== (lowest - at) / POSITIONS) continue;
    const gone = next[at] ?? length;
    const after = next[gone] ?? length;
    rank[gone] = NONE;
    next[at] = after;
    previous[after] = at;
    parts--;
    look(at);
    const before = previous[at] ?? -1;
    if (before >= 0) look(before);
  }
  return parts;
}

class MinHeap {
  #values: Float64Array;
  #size = 0;
  constructor(room: number) {
    this.#values = new Float64Array(room);
  }
  push(value: number): void {
    if (this.#size === this.#values.length) {
      const more = new Float64Array(this.#size * 2);
      more.set(this.#values);
      this.#values = more;
    }
    const values = this.#values;
    let at = this.#size++;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = values[parent] ?? 0;
      if (above <= value) break;
      values[at] = above;
      at = parent;
    }
    values[at] = value;
  }
  pop(): number | undefined {
    if (this.#size === 0) return undefined;
    const values = this.#values;
    const top = values[0];
    const last = values[--this.#size] ?? 0;
    let at = 0;
    for (let child = 1; child < this.#size; child = at * 2 + 1) {
      if (child + 1 < this.#size && (values[child + 1] ?? 0) < (values[child] ?? 0)) child++;
      if ((values[child] ?? 0) >= last) break;
      values[at] = values[child] ?? 0;
      at = child;
    }
    values[at] = last;
    return top;
  }
}
