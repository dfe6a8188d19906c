/**
 * Globs over segments: `*` and `?` within one segment, `**` for any number of segments. Matching backtracks to the last
 * wildcard only, so that no pattern takes more than (pattern × text) steps.
 */

/** Matches items against a pattern whose star stands for any number of them. */
function wild<P, T>(
  pattern: ArrayLike<P>,
  items: ArrayLike<T>,
  star: (entry: P) => boolean,
  one: (entry: P, item: T) => boolean,
): boolean {
  let p = 0;
  let i = 0;
  let lastStar = -1;
  let resume = 0;
  while (i < items.length) {
    const entry = pattern[p];
    const item = items[i] as T;
    if (entry !== undefined && star(entry)) {
      lastStar = p++;
      resume = i;
    } else if (entry !== undefined && one(entry, item)) {
      p++;
      i++;
    } else if (lastStar >= 0) {
      p = lastStar + 1;
      i = ++resume;
    } else return false;
  }
  for (; p < pattern.length; p++) if (!star(pattern[p] as P)) return false;
  return true;
}

const isStar = (entry: string): boolean => entry === "*";
const isAnyDepth = (segment: string): boolean => segment === "**";
const segmentMatches = (pattern: string, text: string): boolean =>
  wild(pattern, text, isStar, (entry, char) => entry === "?" || entry === char);
// In these two the right side is a pattern as well: only a star covers a star.
const segmentCovers = (pattern: string, other: string): boolean =>
  wild(pattern, other, isStar, (entry, char) => (entry === "?" ? char !== "*" : entry === char));

export class Glob {
  readonly segments: readonly string[];
  readonly #folded: readonly string[];
  /** Without wildcards it names one thing. */
  readonly literal: boolean;

  /** With `exact`, every character stands for itself. */
  constructor(segments: readonly string[], exact = false) {
    this.segments = segments;
    this.#folded = segments.map(fold);
    this.literal = exact || !segments.some((segment) => /[*?]/.test(segment));
  }

  /** `loosely` takes upper and lower case for the same: for rules that must not be got round. */
  matches(path: readonly string[], loosely = false): boolean {
    const mine = loosely ? this.#folded : this.segments;
    const theirs = loosely ? path.map(fold) : path;
    if (this.literal) return mine.length === theirs.length && mine.every((segment, index) => segment === theirs[index]);
    return wild(mine, theirs, isAnyDepth, segmentMatches);
  }

  /** Whether all that `other` matches is matched here. Never true when it is not so; may be false when it is. */
  covers(other: Glob): boolean {
    if (other.literal) return this.matches(other.segments);
    if (this.literal) return false;
    return wild(this.segments, other.segments, isAnyDepth, (mine, theirs) =>
      isAnyDepth(theirs) ? false : segmentCovers(mine, theirs),
    );
  }
}

const fold = (text: string): string => text.normalize("NFC").toLowerCase();
