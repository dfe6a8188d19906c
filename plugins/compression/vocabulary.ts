/**
 * The vocabulary of a unit of text: its words, with digits masked, as hashes. Two units with one template differ in
 * digits only. Identifiers (`a3f9c2`) and numbers count as one word each; scripts written without spaces count a word a
 * character.
 */

export const MAX_WORDS = 128;

const FNV = 0x811c9dc5;
const PRIME = 0x01000193;
const ID = 0x1d1d1d1d;

/** What a scan of one unit found. Reused from unit to unit: read it before the next scan. */
export class Vocabulary {
  /** Identity of the unit with its digits masked. */
  template = 0;
  /** How many of `words` are in use; they are distinct. */
  count = 0;
  readonly words = new Int32Array(MAX_WORDS);
  #masked = true;

  /** Reads `text[from, to)`. Without words nothing would be left to compare, so then digits count as they are. */
  scan(text: string, from = 0, to = text.length): void {
    this.#masked = true;
    if (!this.#read(text, from, to)) {
      this.#masked = false;
      this.#read(text, from, to);
    }
  }

  /** @returns whether there was a letter. */
  #read(text: string, from: number, to: number): boolean {
    let high = FNV;
    let low = 0x9e3779b9;
    let lettered = false;
    this.count = 0;
    for (let i = from; i < to; ) {
      let code = text.charCodeAt(i);
      if (!isWord(code)) {
        // A run of spaces counts as one: padding follows the width of numbers.
        if (code !== 32 || i === from || text.charCodeAt(i - 1) !== 32) {
          high = Math.imul(high ^ code, PRIME);
          low = Math.imul(low + code, 0x85ebca6b) ^ (low >>> 13);
        }
        i++;
        continue;
      }
      let word = FNV;
      let turns = 0;
      let digits = false;
      let letters = false;
      const start = i;
      do {
        if (code >= 48 && code <= 57) {
          if (!digits) {
            if (letters) turns++;
            digits = true;
            word = Math.imul(word ^ 35, PRIME);
          }
          if (!this.#masked) word = Math.imul(word ^ code, PRIME);
        } else {
          if (digits) turns++;
          digits = false;
          letters = true;
          word = Math.imul(word ^ code, PRIME);
          if (code >= 0x2e80) {
            i++;
            break;
          }
        }
        i++;
        if (i >= to) break;
        code = text.charCodeAt(i);
      } while (isWord(code) && (code < 0x2e80 || i === start));
      // Digits and letters in turns make an identifier: which one does not matter.
      const identifier = turns > 1;
      if (identifier && this.#masked) word = ID;
      lettered ||= letters && !identifier;
      high = Math.imul(high ^ word, PRIME);
      low = Math.imul(low + word, 0xc2b2ae35) ^ (low >>> 15);
      this.#add(word);
    }
    this.template = (high >>> 0) * 0x200000 + ((low >>> 0) & 0x1fffff);
    return lettered || !this.#masked;
  }

  #add(word: number): void {
    const { words } = this;
    if (this.count >= MAX_WORDS) return;
    for (let i = 0; i < this.count; i++) if (words[i] === word) return;
    words[this.count++] = word;
  }
}

/** Letters, digits, and everything beyond ASCII. */
const isWord = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code >= 128;
