/** What a file has that is like a text it does not have: so that an edit that failed says what it did find. */

/** Lines of the file that are compared, and characters of each. */
const MAX_LINES = 50_000;
const MAX_CHARS = 400;
const MAX_SHOWN = 1_000;

/** A region of the file that looks like the wanted text, numbered; undefined when nothing does. */
export function nearestLines(file: string, wanted: string): string | undefined {
  const lines = file.split("\n", MAX_LINES);
  const want = wanted.split("\n");
  const at = alignment(lines, want) ?? likest(lines, want);
  if (at === undefined) return undefined;
  const shown = lines.slice(Math.max(0, at), Math.min(lines.length, at + Math.min(want.length, 12)));
  const text = shown.map((line, index) => `${Math.max(0, at) + index + 1}\t${clip(line)}`).join("\n");
  const plain = (list: readonly string[]): string => list.map(squeeze).join("\n");
  const hint =
    plain(lines.slice(Math.max(0, at), at + want.length)) === plain(want) ? " (it differs in white space alone)" : "";
  return `nearest${hint}:\n${text.slice(0, MAX_SHOWN)}\n(end)`;
}

/** Whether the wanted text would be there without the line numbers that read_file puts in front. */
export function withoutNumbers(wanted: string): string | undefined {
  const lines = wanted.split("\n");
  return lines.every((line) => line === "" || /^\s*\d+\t/.test(line))
    ? lines.map((line) => line.replace(/^\s*\d+\t/, "")).join("\n")
    : undefined;
}

const squeeze = (line: string): string => line.slice(0, MAX_CHARS).replace(/\s+/g, " ").trim();
const clip = (line: string): string => (line.length > 160 ? `${line.slice(0, 160)}…` : line.replace(/\r$/, ""));

/** Where most lines of the wanted text stand when white space is ignored: each equal line votes for an offset. */
function alignment(lines: readonly string[], want: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  lines.forEach((line, index) => {
    const key = squeeze(line);
    if (key.length < 2) return;
    const known = places.get(key);
    if (!known) places.set(key, [index]);
    else if (known.length < 50) known.push(index);
  });
  const votes = new Map<number, number>();
  for (const [index, line] of want.slice(0, 200).entries()) {
    for (const place of places.get(squeeze(line)) ?? []) votes.set(place - index, (votes.get(place - index) ?? 0) + 1);
  }
  let best: number | undefined;
  for (const [offset, count] of votes) if (best === undefined || count > (votes.get(best) ?? 0)) best = offset;
  return best;
}

/** The line that shares most pairs of characters with the longest wanted line. */
function likest(lines: readonly string[], want: readonly string[]): number | undefined {
  const longest = want.reduce((a, b) => (squeeze(b).length > squeeze(a).length ? b : a), "");
  const pairs = pairsOf(squeeze(longest));
  if (pairs.size < 3) return undefined;
  let [best, bestScore] = [-1, 0.4];
  lines.forEach((line, index) => {
    const other = pairsOf(squeeze(line));
    let shared = 0;
    for (const pair of pairs) if (other.has(pair)) shared++;
    const score = (2 * shared) / (pairs.size + other.size || 1);
    if (score > bestScore) [best, bestScore] = [index, score];
  });
  return best < 0 ? undefined : best - want.indexOf(longest);
}

function pairsOf(text: string): ReadonlySet<string> {
  const pairs = new Set<string>();
  for (let index = 0; index < text.length - 1; index++) pairs.add(text.slice(index, index + 2));
  return pairs;
}
