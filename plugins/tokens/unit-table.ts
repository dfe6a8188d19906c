/**
 * A table from stretches of text to whole numbers. It is asked about a part of a longer text without cutting that part
 * out: a cut costs more than the search, and a part of a large text kept as a key would keep the whole text alive.
 */

/** Most neighbours looked at before a table gives up keeping one: what is made to collide is found slowly, not for ever. */
const MOST_PROBES = 64;

/** A slot is four numbers side by side, so that a search touches one line of memory: hash, start, length, value. */
const HASH = 0;
const START = 1;
const LENGTH = 2;
const VALUE = 3;

export class UnitTable {
  readonly #slots: Int32Array;
  readonly #mask: number;
  readonly #units: Uint16Array;
  readonly #room: number;
  #entries = 0;
  #used = 0;

  /** Room for so many entries of so many UTF-16 units in all. */
  constructor(entries: number, units: number) {
    const slots = 2 ** Math.ceil(Math.log2(entries * 2));
    this.#slots = new Int32Array(slots * 4);
    this.#mask = slots - 1;
    this.#units = new Uint16Array(units);
    this.#room = entries;
  }

  get size(): number {
    return this.#entries;
  }

  /** The number kept for `text[from, to)`, or -1. `hash` is `hashOf` of the same part, which is never empty. */
  get(text: string, from: number, to: number, hash: number): number {
    const slots = this.#slots;
    const units = this.#units;
    const length = to - from;
    for (let slot = mixed(hash), probes = MOST_PROBES; probes > 0; slot++, probes--) {
      const at = (slot & this.#mask) << 2;
      const kept = slots[at + LENGTH];
      if (kept === 0) return -1;
      if (kept !== length || slots[at + HASH] !== hash) continue;
      const start = slots[at + START] ?? 0;
      let same = 0;
      while (same < length && units[start + same] === text.charCodeAt(from + same)) same++;
      if (same === length) return slots[at + VALUE] ?? -1;
    }
    return -1;
  }

  /** Keeps a number for a part that has none yet. False when there is no room for it. */
  add(text: string, from: number, to: number, hash: number, value: number): boolean {
    const slots = this.#slots;
    const length = to - from;
    if (this.#entries === this.#room || this.#used + length > this.#units.length) return false;
    let slot = mixed(hash);
    for (let probes = MOST_PROBES; slots[((slot & this.#mask) << 2) + LENGTH] !== 0; slot++)
      if (--probes === 0) return false;
    const at = (slot & this.#mask) << 2;
    slots[at + HASH] = hash;
    slots[at + START] = this.#used;
    slots[at + LENGTH] = length;
    slots[at + VALUE] = value;
    for (let unit = from; unit < to; unit++) this.#units[this.#used++] = text.charCodeAt(unit);
    this.#entries++;
    return true;
  }

  clear(): void {
    this.#slots.fill(0);
    this.#entries = 0;
    this.#used = 0;
  }
}

/** A 32-bit hash of `text[from, to)` (FNV-1a over UTF-16 units). */
export function hashOf(text: string, from: number, to: number): number {
  let hash = 0x811c9dc5 | 0;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}
const mixed = (hash: number): number => (hash ^ (hash >>> 15)) >>> 0;
