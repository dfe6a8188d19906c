/**
 * The vocabulary of a unit of text: its words, with digits masked, as hashes. Two units with one template differ in
 * digits only. Identifiers (`a3f9c2`) and numbers count as one word each; scripts written without spaces count a word a
 * character.
 */

const { imul } = Math;

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

  /** Reads `text[from, to)`. Without words nothing would be left to compare, so then digits count as they are. */
  scan(text: string, from = 0, to = text.length): void {
    if (!read(this, text, from, to, true)) read(this, text, from, to, false);
  }
}

/** @returns whether there was a word. This is the loop that everything waits for: it touches no more than it must. */
function read(into: Vocabulary, text: string, from: number, to: number, masked: boolean): boolean {
  const { words } = into;
  let count = 0;
  let high = FNV;
  let low = 0x9e3779b9;
  let lettered = false;
  for (let i = from; i < to; ) {
    let code = text.charCodeAt(i);
    if (!isWord(code)) {
      // A run of spaces counts as one: padding follows the width of numbers.
      if (code !== 32 || i === from || text.charCodeAt(i - 1) !== 32) {
        high = imul(high ^ code, PRIME);
        low = imul(low + code, 0x85ebca6b) ^ (low >>> 13);
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
          word = imul(word ^ 35, PRIME);
        }
        if (!masked) word = imul(word ^ code, PRIME);
      } else {
        if (digits) turns++;
        digits = false;
        letters = true;
        word = imul(word ^ code, PRIME);
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
    if (identifier && masked) word = ID;
    lettered ||= letters && !identifier;
    high = imul(high ^ word, PRIME);
    low = imul(low + word, 0xc2b2ae35) ^ (low >>> 15);
    if (count < MAX_WORDS) {
      let known = 0;
      while (known < count && words[known] !== word) known++;
      if (known === count) words[count++] = word;
    }
  }
  into.count = count;
  into.template = (high >>> 0) * 0x200000 + ((low >>> 0) & 0x1fffff);
  return lettered || !masked;
}

/** Letters, digits, and everything beyond ASCII. */
const isWord = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code >= 128;
