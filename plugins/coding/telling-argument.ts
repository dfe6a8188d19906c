/** What is shown of a call: the argument that says what it was about. */
const TELLING = ["command", "path", "pattern", "query", "name"];

/** The argument of a call that says most about it; "" when it has none. */
export function tellingArgument(input: unknown): string {
  if (typeof input !== "object" || input === null) return "";
  const fields = input as Readonly<Record<string, unknown>>;
  const key = TELLING.find((name) => typeof fields[name] === "string");
  return key === undefined ? "" : String(fields[key]);
}
