/**
 * `o200k_base` once more, in the plainest form: the vocabulary as it is published, the split pattern as it is published
 * (its `\s` is Unicode's White_Space, its contractions fold case by Unicode), and merges by looking at every pair.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const file = createRequire(import.meta.url).resolve("gpt-tokenizer/data/o200k_base.tiktoken");
const ranks = new Map(
  readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [token = "", rank = ""] = line.split(" ");
      return [Buffer.from(token, "base64").toString("latin1"), Number(rank)] as const;
    }),
);

const S = "\\p{White_Space}";
const SUFFIX = "(?:'(?:[sS\u017f]|[dD]|[mM]|[tT]|[lL]{2}|[vV][eE]|[rR][eE]))?";
const BEFORE = "[^\\r\\n\\p{L}\\p{N}]?";
const HIGH = "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]";
const LOW = "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]";
const PATTERN = new RegExp(
  `${BEFORE}${HIGH}*${LOW}+${SUFFIX}|${BEFORE}${HIGH}+${LOW}*${SUFFIX}|\\p{N}{1,3}` +
    `| ?[^${S}\\p{L}\\p{N}]+[\\r\\n/]*|${S}*[\\r\\n]+|${S}+(?![^${S}])|${S}+`,
  "gu",
);

export function plainCount(text: string): number {
  let tokens = 0;
  for (const [piece] of text.matchAll(PATTERN)) tokens += merged(Buffer.from(piece).toString("latin1"));
  return tokens;
}

function merged(piece: string): number {
  if (ranks.has(piece)) return 1;
  const parts = [...piece];
  for (;;) {
    let lowest = Number.POSITIVE_INFINITY;
    let at = -1;
    for (let part = 0; part + 1 < parts.length; part++) {
      const rank = ranks.get(`${parts[part]}${parts[part + 1]}`);
      if (rank !== undefined && rank < lowest) [lowest, at] = [rank, part];
    }
    if (at < 0) return parts.length;
    parts.splice(at, 2, `${parts[at]}${parts[at + 1]}`);
  }
}
