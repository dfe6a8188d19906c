/** Compressors by themselves, without an engine around them. */
import type { Compressed, Compressor } from "../../../plugins/compression/compressor.ts";

export async function view(compressor: Compressor, input: string, query = ""): Promise<Compressed | undefined> {
  return await compressor.compress(input, { query, inner: async () => undefined });
}

/** The view of an input that has one. */
export async function shorter(compressor: Compressor, input: string, query = ""): Promise<Compressed> {
  const found = await view(compressor, input, query);
  if (!found) throw new Error("there is no view");
  return found;
}

/** Units that the markers of a text count. */
export const counted = (text: string): number =>
  [...text.matchAll(/… (\d+) [\p{L} -]{1,40} elided \(caveman\)|caveman: (\d+) [\p{L} -]{1,40} elided/gu)].reduce(
    (sum, [, one, other]) => sum + Number(one ?? other),
    0,
  );
