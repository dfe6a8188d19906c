/** The kinds of content a compressor may stand for. */

/** Found by looking at the bytes. */
export const DETECTED = [
  "json",
  "terminal",
  "diff",
  "html",
  "xml",
  "tabular",
  "aligned-table",
  "sql-result",
  "code",
  "stack-trace",
  "test-report",
  "lock-file",
  "log",
  "search-result",
  "config",
  "markdown",
  "text",
] as const;

/** Never found, only named: each needs to know what the caller means. */
export const FORCED = ["toolschema", "toolschema-annotations", "toon", "a11y", "repetition"] as const;

export type DetectedType = (typeof DETECTED)[number];
export type ForcedType = (typeof FORCED)[number];
/** A built-in type, or the name of a type that a plugin brings. */
export type ContentType = DetectedType | ForcedType | (string & {});

export const isForced = (type: ContentType): type is ForcedType => (FORCED as readonly string[]).includes(type);
