/** Checks the files of the catalog against each other and against the calendar. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { pack } from "./pack.ts";
import { type Fault, type FaultCode, readRow } from "./read.ts";
import { quoted, sha256 } from "./render.ts";
import { type CatalogFile, day, type Row } from "./row.ts";

export type ProblemCode =
  | FaultCode
  | "unreadable"
  | "duplicate_row"
  | "broken_alias"
  | "bad_date"
  | "future_date"
  | "stale_date"
  | "price_changed"
  | "snapshot_missing"
  | "snapshot_edited"
  | "snapshot_unlisted"
  | "module_mismatch";

export interface Problem {
  readonly code: ProblemCode;
  /** The file, and the row in it. */
  readonly where: string;
  readonly message: string;
}

export interface ValidateOptions {
  /** The folder of `current.yaml`. Default: this one. */
  readonly directory?: string;
  /** Default: now. */
  readonly now?: Date;
  /** Days after which a row must be compared with its source again. Default 180. */
  readonly staleAfterDays?: number;
}

const DAY = 86_400_000;
const CURRENT = "current.yaml";

/** Everything that is wrong with the catalog on disk; empty when it is sound. */
export async function validateCatalog({
  directory = import.meta.dirname,
  now = new Date(),
  staleAfterDays = 180,
}: ValidateOptions = {}): Promise<readonly Problem[]> {
  const yaml = await readText(join(directory, CURRENT));
  if (yaml === undefined)
    return [{ code: "unreadable", where: CURRENT, message: `there is no ${CURRENT} in ${directory}` }];
  const { file, problems } = readCatalogFile(yaml, CURRENT);
  const snapshots = await checkSnapshots(directory);
  if (file === undefined) return [...problems, ...snapshots.problems];
  return [
    ...problems,
    ...duplicates(file),
    ...brokenAliases(file),
    ...wrongDates(file, now, staleAfterDays),
    ...snapshots.problems,
    ...changesSince(file, snapshots.newest),
    ...moduleProblems(
      file,
      yaml,
      (await readText(join(directory, "generated.ts"))) ?? (await readText(join(directory, "generated.js"))),
    ),
  ];
}

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
    return {
      file: undefined,
      problems: [
        {
          code: "unreadable",
          where,
          message: "expected schema: 1, a date as YYYY-MM-DD, a mapping providers and a list rows",
        },
      ],
    };
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

const name = (row: Row): string => `${row.provider}/${row.model}`;
const inCurrent = (row: Row): string => `${CURRENT} ${name(row)}`;

function duplicates({ rows }: CatalogFile): readonly Problem[] {
  const seen = new Set<string>();
  return rows.flatMap((row): Problem[] => {
    const key = `${name(row)} ${row.region}`.toLowerCase();
    if (seen.has(key))
      return [
        {
          code: "duplicate_row",
          where: inCurrent(row),
          message: `there are two rows of this model in region ${row.region}; keep one`,
        },
      ];
    seen.add(key);
    return [];
  });
}

/** An alias that another row of the provider answers to, or a provider alias that leads nowhere or hides a provider. */
function brokenAliases({ rows, providers }: CatalogFile): readonly Problem[] {
  const problems: Problem[] = [];
  const known = new Set(rows.map((row) => row.provider));
  for (const [alias, provider] of Object.entries(providers)) {
    if (!known.has(provider))
      problems.push({
        code: "broken_alias",
        where: `${CURRENT} providers.${alias}`,
        message: `leads to ${provider}, which has no rows`,
      });
    if (known.has(alias))
      problems.push({
        code: "broken_alias",
        where: `${CURRENT} providers.${alias}`,
        message: `hides the rows of the provider ${alias}`,
      });
  }
  const owners = new Map(rows.map((row): [string, Row] => [name(row).toLowerCase(), row]));
  for (const row of rows) {
    for (const alias of row.aliases) {
      const key = `${row.provider}/${alias}`.toLowerCase();
      const owner = owners.get(key);
      if (owner !== undefined && owner.model !== row.model) {
        problems.push({
          code: "broken_alias",
          where: inCurrent(row),
          message: `its alias ${alias} is a name of ${name(owner)} already`,
        });
      } else owners.set(key, row);
    }
  }
  return problems;
}

function wrongDates({ rows, date }: CatalogFile, now: Date, staleAfterDays: number): readonly Problem[] {
  const ofDay = (text: string, where: string): Problem[] => {
    const at = day(text);
    if (at === undefined)
      return [{ code: "bad_date", where, message: `expected a day as YYYY-MM-DD, got ${JSON.stringify(text)}` }];
    if (at > now.getTime()) return [{ code: "future_date", where, message: `${text} has not come yet` }];
    const age = Math.floor((now.getTime() - at) / DAY);
    return age > staleAfterDays
      ? [
          {
            code: "stale_date",
            where,
            message: `last compared with its source ${age} days ago, on ${text}; the limit is ${staleAfterDays}`,
          },
        ]
      : [];
  };
  return [...ofDay(date, `${CURRENT} date`), ...rows.flatMap((row) => ofDay(row.verified_at, inCurrent(row)))];
}

interface Snapshots {
  readonly problems: readonly Problem[];
  readonly newest: { readonly path: string; readonly file: CatalogFile } | undefined;
}

/** Compares every snapshot with the digest in the manifest: a snapshot is written once. */
async function checkSnapshots(directory: string): Promise<Snapshots> {
  const folder = join(directory, "snapshots");
  const manifest = (await readText(join(folder, "manifest.json"))) ?? "{}";
  let digests: Readonly<Record<string, unknown>>;
  try {
    digests = JSON.parse(manifest) as Readonly<Record<string, unknown>>;
  } catch {
    return {
      problems: [{ code: "unreadable", where: "snapshots/manifest.json", message: "expected JSON" }],
      newest: undefined,
    };
  }
  const problems: Problem[] = [];
  const names = new Set([...Object.keys(digests), ...(await list(folder)).filter((file) => file.endsWith(".yaml"))]);
  let newest: { readonly path: string; readonly text: string } | undefined;
  for (const file of [...names].sort()) {
    const path = `snapshots/${file}`;
    const text = await readText(join(folder, file));
    if (text === undefined)
      problems.push({
        code: "snapshot_missing",
        where: path,
        message: "the manifest lists it and it is gone; restore it from version control",
      });
    else if (digests[file] === undefined)
      problems.push({
        code: "snapshot_unlisted",
        where: path,
        message: "the manifest does not list it; generate the catalog again",
      });
    else if (digests[file] !== sha256(text))
      problems.push({
        code: "snapshot_edited",
        where: path,
        message: "its SHA-256 is not the one in the manifest; a snapshot never changes, restore it",
      });
    if (text !== undefined) newest = { path, text };
  }
  if (newest === undefined)
    return {
      problems: [
        ...problems,
        { code: "snapshot_missing", where: "snapshots", message: "there is no snapshot; generate the catalog" },
      ],
      newest,
    };
  const { file } = readCatalogFile(newest.text, newest.path);
  if (file === undefined) problems.push({ code: "unreadable", where: newest.path, message: "expected a catalog" });
  return { problems, newest: file === undefined ? undefined : { path: newest.path, file } };
}

/** Rows and prices that differ from the newest snapshot: a change needs a snapshot of its own. */
function changesSince(current: CatalogFile, newest: Snapshots["newest"]): readonly Problem[] {
  if (newest === undefined) return [];
  const problems: Problem[] = [];
  if (newest.file.date !== current.date)
    problems.push({
      code: "snapshot_missing",
      where: `${CURRENT} date`,
      message: `${current.date} has no snapshot; the newest is ${newest.path}`,
    });
  const key = (row: Row): string => `${name(row)} ${row.region}`;
  const before = new Map(newest.file.rows.map((row): [string, string] => [key(row), JSON.stringify(row.prices)]));
  for (const row of current.rows) {
    if (before.get(key(row)) !== JSON.stringify(row.prices))
      problems.push({
        code: "price_changed",
        where: inCurrent(row),
        message: `its prices are not those of ${newest.path}; give the catalog a new date and a snapshot`,
      });
  }
  const here = new Set(current.rows.map(key));
  for (const gone of before.keys())
    if (!here.has(gone))
      problems.push({
        code: "price_changed",
        where: `${CURRENT} ${gone}`,
        message: `is in ${newest.path} and no longer here; give the catalog a new date and a snapshot`,
      });
  return problems;
}

/** The generated module must carry the digest of `current.yaml`, and its rows. Holds for the module as TypeScript or built. */
function moduleProblems(file: CatalogFile, yaml: string, module: string | undefined): readonly Problem[] {
  const where = "generated module";
  if (module === undefined) return [{ code: "module_mismatch", where, message: "it is missing; generate the catalog" }];
  const digest = /CATALOG_SHA256 = "([0-9a-f]*)"/.exec(module)?.[1];
  if (digest !== sha256(yaml))
    return [
      {
        code: "module_mismatch",
        where,
        message: `carries the SHA-256 ${digest ?? "of nothing"}, ${CURRENT} has ${sha256(yaml)}; generate the catalog again`,
      },
    ];
  return Object.entries(pack(file).groups).flatMap(([provider, text]): Problem[] =>
    module.includes(quoted(text))
      ? []
      : [
          {
            code: "module_mismatch",
            where,
            message: `its rows of ${provider} are not those of ${CURRENT}; generate the catalog again`,
          },
        ],
  );
}

async function list(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isMissing = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ENOENT";
