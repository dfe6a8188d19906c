/**
 * Packs the ranks of gpt-tokenizer into the file that is shipped, and makes their digest. Run it after the package was
 * updated: `node __tests__/plugins/tokens/pack-ranks.ts`.
 */
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import ranks from "gpt-tokenizer/bpeRanks/o200k_base";
import { O200K_TOKEN_SPLIT_REGEX } from "gpt-tokenizer/encodingParams/constants";

export const FILE = new URL("../../../plugins/tokens/o200k_base.ranks", import.meta.url);

/** The package keeps some whole tokens as bytes: those that begin with a byte order mark, which its decoder would drop. */
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const wholeOf = (token: string | number[]): string | undefined => {
  if (typeof token === "string") return token;
  try {
    return decoder.decode(Uint8Array.from(token));
  } catch {
    return undefined;
  }
};

/** The layout is described at `unpackRanks`. */
export function packRanks(): Buffer {
  const whole = ranks.map(wholeOf).filter((token) => token !== undefined);
  const split = ranks.flatMap((token, rank) => {
    if (typeof token === "string" || wholeOf(token) !== undefined) return [];
    const head = Buffer.alloc(5);
    head.writeUInt32LE(rank, 0);
    head.writeUInt8(token.length, 4);
    return [Buffer.concat([head, Buffer.from(token)])];
  });
  const text = Buffer.from(whole.join(""));
  const head = Buffer.alloc(12);
  head.writeUInt32LE(whole.length, 0);
  head.writeUInt32LE(text.length, 4);
  head.writeUInt32LE(split.length, 8);
  return Buffer.concat([head, Buffer.from(whole.map((token) => token.length)), text, ...split]);
}

export function digestOfRanks(): string {
  const hash = createHash("sha256");
  for (const token of ranks) {
    const bytes = Buffer.from(token as string & number[]);
    hash.update(Buffer.of(bytes.length)).update(bytes);
  }
  return hash.update(O200K_TOKEN_SPLIT_REGEX.source).digest("hex");
}

if (process.argv[1] === resolve(import.meta.filename)) {
  writeFileSync(FILE, packRanks());
  console.log(digestOfRanks());
}
