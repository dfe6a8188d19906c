/** The built-in compressors. Each is imported when its type is first met. */
import { Registry } from "./registry.ts";

export function builtinRegistry(): Registry {
  return builtin.fork();
}

const builtin = new Registry()
  .lazily(
    "json",
    "all keys, error subtrees, edges of arrays and maps of records, outliers, level changes, one example of every category and shape",
    async () => (await import("./compressors/json.ts")).json,
  )
  .lazily(
    "terminal",
    "the last state of every line, first and last lines, errors, stacks and exit codes, one line of every kind",
    async () => (await import("./compressors/terminal.ts")).terminal,
  )
  .lazily(
    "diff",
    "file and hunk headers, every changed line, two lines of context",
    async () => (await import("./compressors/diff.ts")).diff,
  )
  .lazily(
    "html",
    "the readable content, its headings, links and tables",
    async () => (await import("./markup/html.ts")).html,
  )
  .lazily(
    "xml",
    "the element structure, attributes, one of every kind of sibling",
    async () => (await import("./markup/xml.ts")).xml,
  )
  .lazily(
    "tabular",
    "the header, first and last rows, outliers, alarming rows, an example of every category",
    async () => (await import("./tables/tabular.ts")).tabular,
  )
  .lazily(
    "aligned-table",
    "the header, first and last rows, outliers, alarming rows, an example of every category",
    async () => (await import("./tables/aligned.ts")).alignedTable,
  )
  .lazily(
    "sql-result",
    "the header, first and last rows, outliers, an example of every category, the row count",
    async () => (await import("./tables/sql.ts")).sqlResult,
  )
  .lazily(
    "code",
    "imports, declarations, signatures, types and comments",
    async () => (await import("./code/code.ts")).code,
  )
  .lazily(
    "stack-trace",
    "the error with its message, the frames of one's own code, causes",
    async () => (await import("./reports/stack-trace.ts")).stackTrace,
  )
  .lazily(
    "test-report",
    "every failure with its output, the totals, names of suites",
    async () => (await import("./reports/test-report.ts")).testReport,
  )
  .lazily(
    "lock-file",
    "direct dependencies with their versions, how many more there are",
    async () => (await import("./reports/lock-file.ts")).lockFile,
  )
  .lazily(
    "log",
    "first and last lines, warnings, errors and stacks, outliers, level changes, one line of every kind",
    async () => (await import("./compressors/log.ts")).log,
  )
  .lazily(
    "search-result",
    "first and last hits, errors and security words, one hit of every kind, how many hits each file has",
    async () => (await import("./compressors/search-result.ts")).searchResult,
  )
  .lazily(
    "config",
    "all structure; of many blocks of one kind the first and last, outliers, an example of every category",
    async () => (await import("./compressors/config.ts")).config,
  )
  .lazily(
    "markdown",
    "headings, the first block under each, alarming and marked blocks, one block and one list item of every kind",
    async () => (await import("./compressors/markdown.ts")).markdown,
  )
  .lazily(
    "text",
    "headings, first and last sections, sections marked important or alarming, one section of every kind",
    async () => (await import("./compressors/text.ts")).text,
  )
  .lazily(
    "toolschema",
    "names, types, enums, required, defaults, constants, references, short descriptions, and of long ones the lead and every constraint",
    async () => (await import("./forced/toolschema.ts")).toolschema,
  )
  .lazily(
    "toolschema-annotations",
    "every byte but $schema, title, examples and deprecated of schemas",
    async () => (await import("./forced/toolschema.ts")).toolschemaAnnotations,
  )
  .lazily(
    "toon",
    "everything: uniform flat arrays, lists of scalars and objects in another spelling",
    async () => (await import("./forced/toon.ts")).toon,
  )
  .lazily(
    "a11y",
    "roles, names, values and states with handles; with a query the best matches and the rows they stand in",
    async () => (await import("./forced/a11y.ts")).a11y,
  )
  .lazily(
    "repetition",
    "the first of identical neighbouring lines, and how many followed",
    async () => (await import("./forced/repetition.ts")).repetition,
  );
