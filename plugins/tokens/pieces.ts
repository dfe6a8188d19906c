/**
 * The split of `o200k_base`: text falls into pieces before any merge, and no token crosses the end of a piece. Written
 * as a scanner over character kinds, because the pattern as a regular expression runs at a third of the speed and
 * overflows its stack on runs of some megabytes. White space is Unicode's White_Space, as in the encoding's own pattern.
 */

const UPPER = 1;
const LOWER = 2;
/** A letter without case. */
const LETTER = 3;
const MARK = 4;
const NUMBER = 5;
const SPACE = 6;
const NEWLINE = 7;
const OTHER = 8;

/** The kind of each code point, found when it is first met. */
const kinds = new Uint8Array(0x110000);
const PATTERNS = [
  [UPPER, /[\p{Lu}\p{Lt}]/u],
  [LOWER, /\p{Ll}/u],
  [LETTER, /[\p{Lm}\p{Lo}]/u],
  [MARK, /\p{M}/u],
  [NUMBER, /\p{N}/u],
  [NEWLINE, /[\r\n]/],
  [SPACE, /\p{White_Space}/u],
] as const;

function classify(point: number): number {
  const text = String.fromCodePoint(point);
  return (kinds[point] = PATTERNS.find(([, pattern]) => pattern.test(text))?.[0] ?? OTHER);
}
const kindOf = (point: number): number => kinds[point] || classify(point);

/** The code point at an index; a lone surrogate is itself. */
function pointAt(text: string, index: number): number {
  const unit = text.charCodeAt(index);
  return (unit & 0xf800) === 0xd800 ? (text.codePointAt(index) ?? unit) : unit;
}
const widthOf = (point: number): number => (point > 0xffff ? 2 : 1);

/** Where the piece that begins at `at` ends. */
export function pieceEnd(text: string, at: number): number {
  const point = pointAt(text, at);
  const next = at + widthOf(point);
  switch (kindOf(point)) {
    case UPPER:
    case LOWER:
    case LETTER:
      return contraction(text, Math.abs(wordEnd(text, at)));
    case MARK: {
      // A mark goes before a word as any other character does, but a mark alone is a word too, and comes first.
      const end = wordEnd(text, next);
      return contraction(text, end > 0 ? end : next);
    }
    case NUMBER:
      return numberEnd(text, next);
    case NEWLINE:
      return spaceEnd(text, at);
    case SPACE: {
      const word = wordEnd(text, next);
      if (word !== 0) return contraction(text, Math.abs(word));
      const symbols = point === 0x20 ? symbolsEnd(text, next) : next;
      return symbols > next ? symbols : spaceEnd(text, at);
    }
    default: {
      const word = wordEnd(text, next);
      return word !== 0 ? contraction(text, Math.abs(word)) : symbolsEnd(text, at);
    }
  }
}

/**
 * The end of the word that begins at `from`: capitals, then small letters. 0 when there is none; negative when it is
 * capitals alone, which the encoding tries only after every other reading.
 */
function wordEnd(text: string, from: number): number {
  const { length } = text;
  let at = from;
  let caseless = 0;
  while (at < length) {
    const point = pointAt(text, at);
    const kind = kindOf(point);
    if (kind === LOWER) return smallEnd(text, at);
    if (kind > MARK) break;
    at += widthOf(point);
    if (kind !== UPPER) caseless = at;
  }
  if (caseless > 0) return caseless;
  return at > from ? -at : 0;
}

function smallEnd(text: string, from: number): number {
  const { length } = text;
  let at = from;
  while (at < length) {
    const point = pointAt(text, at);
    const kind = kindOf(point);
    if (kind !== LOWER && kind !== LETTER && kind !== MARK) break;
    at += widthOf(point);
  }
  return at;
}

/** Takes `'s`, `'t`, `'re`, `'ve`, `'m`, `'ll` or `'d` along, in any case. */
function contraction(text: string, end: number): number {
  if (text.charCodeAt(end) !== 0x27) return end;
  const said = text.slice(end + 1, end + 3).toLowerCase();
  if (/^[sdmt\u017f]/.test(said)) return end + 2;
  return said === "ll" || said === "ve" || said === "re" ? end + 3 : end;
}

/** At most three digits; one is behind. */
function numberEnd(text: string, from: number): number {
  let at = from;
  for (let more = 2; more > 0 && at < text.length; more--) {
    const point = pointAt(text, at);
    if (kindOf(point) !== NUMBER) break;
    at += widthOf(point);
  }
  return at;
}

/** Symbols, then newlines and slashes; `from` when no symbol is there. */
function symbolsEnd(text: string, from: number): number {
  const { length } = text;
  let at = from;
  while (at < length) {
    const point = pointAt(text, at);
    const kind = kindOf(point);
    if (kind !== OTHER && kind !== MARK) break;
    at += widthOf(point);
  }
  if (at === from) return from;
  while (at < length) {
    const unit = text.charCodeAt(at);
    if (unit !== 0x0a && unit !== 0x0d && unit !== 0x2f) break;
    at++;
  }
  return at;
}

/** White space up to its last newline; without one, all but the last, which belongs to what follows. */
function spaceEnd(text: string, from: number): number {
  const { length } = text;
  let at = from;
  let newline = 0;
  while (at < length) {
    const kind = kindOf(text.charCodeAt(at));
    if (kind !== SPACE && kind !== NEWLINE) break;
    at++;
    if (kind === NEWLINE) newline = at;
  }
  if (newline > 0) return newline;
  return at === length || at - 1 === from ? at : at - 1;
}
