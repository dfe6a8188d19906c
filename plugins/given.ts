/** What a caller gave for an option that is checked by code and not by a schema. */

/** What was given, else the default; `null` is given, and is no default. */
export const either = <T, F>(own: T | undefined, fallback: F): T | F => (own === undefined ? fallback : own);

/** A value as it came, for an error: text in quotes, so that `"5"` is not read as 5. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value === "function") return "a function";
  if (typeof value !== "object" || value === null) return String(value);
  return Array.isArray(value) ? "a list" : "an object";
}
