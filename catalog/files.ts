/** The files of the catalog, read. */
import { readdir, readFile } from "node:fs/promises";
import { parse } from "yaml";
import { type Problem, problem } from "./problem.ts";
import { type Fault, readRow } from "./read.ts";
import { type CatalogFile, day } from "./row.ts";

/** Reads `current.yaml` or a snapshot. Rows with a fault are left out and reported. */
export function readCatalogFile(
  yaml: string,
  where: string,
): { readonly file: CatalogFile | undefined; readonly problems: readonly Problem[] } {
  let value: unknown;
  try {
    value = parseRows(yaml) ?? parse(yaml);
  } catch (error) {
    return {
      file: undefined,
      problems: [
        {
          code: "unreadable",
          where,
          message: `expected YAML: ${error instanceof Error ? error.message : String(error)}`,
        },
      ],
    };
  }
  const { schema, date, providers, rows } = (typeof value === "object" && value !== null ? value : {}) as {
    schema?: unknown;
    date?: unknown;
    providers?: unknown;
    rows?: unknown;
  };
  if (
    schema !== 1 ||
    typeof date !== "string" ||
    day(date) === undefined ||
    typeof providers !== "object" ||
    providers === null ||
    !Array.isArray(rows)
  ) {
    const expected = "expected schema: 1, a date as YYYY-MM-DD, a mapping providers and a list rows";
    return { file: undefined, problems: [problem("unreadable", where, expected)] };
  }
  const faults: Fault[] = [];
  const defaults = { sources: [], verified_at: "", provenance: { source: "", entry: "" } };
  const read = rows.flatMap((row: unknown, at) => readRow(row, `${where} rows[${at}]`, defaults, faults) ?? []);
  const aliases = Object.fromEntries(
    Object.entries(providers).map(([alias, provider]): [string, string] => [alias, String(provider)]),
  );
  return { file: { schema: 1, date, providers: aliases, rows: read }, problems: faults };
}

/** The file as generating writes it, a row of JSON on each line; undefined when somebody wrote it in another way. */
function parseRows(yaml: string): unknown {
  const [head, body] = yaml.split("\nrows:\n", 2);
  if (head === undefined || body === undefined) return undefined;
  try {
    const rows = body
      .trimEnd()
      .split("\n")
      .map((line): unknown => JSON.parse(/^ {2}- (\{.*\})$/.exec(line)?.[1] ?? ""));
    return { ...(parse(head) as object), rows };
  } catch {
    return undefined;
  }
}

/** The text of a file; undefined when there is none. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The names in a folder; none when there is no folder. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

const isMissing = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ENOENT";
