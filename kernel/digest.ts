/** Digests. `node:crypto` is loaded when the first one is made: it is the slowest built-in to start, and few runs need it at once. */
export const sha256 = (text: string): string => process.getBuiltinModule("node:crypto").createHash("sha256").update(text).digest("hex");

/** JSON with sorted keys, equal for equal values; what JSON cannot write counts by its kind. */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  try {
    return JSON.stringify(value, (_key, part: unknown) => {
      if (typeof part === "bigint") return `${part}n`;
      if (typeof part !== "object" || part === null || Array.isArray(part)) return part;
      return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)));
    }) ?? "undefined";
  } catch {
    return "unserialisable";
  }
}
