/** TOON: JSON in another spelling, only where decoding gives the same value back, digits and key order included. */
import type { Compressor } from "../compressor.ts";

export const toon: Compressor = {
  type: "toon",
  keeps: "everything: flat arrays of uniform records, lists of scalars and objects in another spelling",
  async compress(input) {
    let value: unknown;
    try {
      value = JSON.parse(input);
    } catch {
      return undefined;
    }
    // What JSON.parse changes without saying so: duplicate keys, digits beyond a double's, odd spellings of numbers.
    if (spelled(input) !== JSON.stringify(value) || !flat(value, 0)) return undefined;
    const { encode, decode } = await import("@toon-format/toon");
    const text = encode(value);
    if (JSON.stringify(decode(text)) !== JSON.stringify(value)) return undefined;
    return { text, method: "toon", unit: "values", kept: 1, dropped: 0, lossless: true };
  },
};

/** JSON without the space between its parts; escapes that JSON.stringify would not write count as another spelling. */
function spelled(input: string): string {
  return input.replace(/("(?:[^"\\]|\\.)*")|\s+/g, (_all, text: string | undefined) => text ?? "");
}

const scalar = (value: unknown): boolean => typeof value !== "object" || value === null;

/** Arrays hold scalars, or records of scalars with the same keys in the same order; objects may nest. */
function flat(value: unknown, depth: number): boolean {
  if (scalar(value)) return true;
  if (depth > 32) return false;
  if (!Array.isArray(value)) return Object.values(value as object).every((part) => flat(part, depth + 1));
  if (value.every(scalar)) return true;
  const keys = scalar(value[0]) || Array.isArray(value[0]) ? undefined : Object.keys(value[0] as object).join("\0");
  return (
    keys !== undefined &&
    value.every(
      (row: unknown) =>
        !scalar(row) &&
        !Array.isArray(row) &&
        Object.keys(row as object).join("\0") === keys &&
        Object.values(row as object).every(scalar),
    )
  );
}
