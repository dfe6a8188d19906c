/** Checks the files of the catalog against each other and against the calendar. */
import { join } from "node:path";
import { readCatalogFile, readText } from "./files.ts";
import { pack } from "./pack.ts";
import { type Problem, problem } from "./problem.ts";
import { quoted, sha256 } from "./render.ts";
import { type CatalogFile, day, type Row } from "./row.ts";
import { changesSince, checkSnapshots } from "./snapshots.ts";

export type { Problem, ProblemCode } from "./problem.ts";

interface ValidateOptions {
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
  if (yaml === undefined) return [problem("unreadable", CURRENT, `there is no ${CURRENT} in ${directory}`)];
  const { file, problems } = readCatalogFile(yaml, CURRENT);
  const snapshots = await checkSnapshots(directory);
  if (file === undefined) return [...problems, ...snapshots.problems];
  const module = (await readText(join(directory, "generated.ts"))) ?? (await readText(join(directory, "generated.js")));
  return [
    ...problems,
    ...duplicates(file),
    ...brokenAliases(file),
    ...wrongDates(file, now, staleAfterDays),
    ...snapshots.problems,
    ...changesSince(file, snapshots.newest, CURRENT),
    ...moduleProblems(file, yaml, module),
  ];
}

const name = (row: Row): string => `${row.provider}/${row.model}`;
const inCurrent = (row: Row): string => `${CURRENT} ${name(row)}`;

function duplicates({ rows }: CatalogFile): readonly Problem[] {
  const seen = new Set<string>();
  return rows.flatMap((row): Problem[] => {
    const key = `${name(row)} ${row.region}`.toLowerCase();
    if (seen.has(key))
      return [
        problem("duplicate_row", inCurrent(row), `there are two rows of this model in region ${row.region}; keep one`),
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
      problems.push(
        problem("broken_alias", `${CURRENT} providers.${alias}`, `leads to ${provider}, which has no rows`),
      );
    if (known.has(alias))
      problems.push(
        problem("broken_alias", `${CURRENT} providers.${alias}`, `hides the rows of the provider ${alias}`),
      );
  }
  const owners = new Map(rows.map((row): [string, Row] => [name(row).toLowerCase(), row]));
  for (const row of rows) {
    for (const alias of row.aliases) {
      const key = `${row.provider}/${alias}`.toLowerCase();
      const owner = owners.get(key);
      if (owner !== undefined && owner.model !== row.model) {
        problems.push(
          problem("broken_alias", inCurrent(row), `its alias ${alias} is a name of ${name(owner)} already`),
        );
      } else owners.set(key, row);
    }
  }
  return problems;
}

function wrongDates({ rows, date }: CatalogFile, now: Date, staleAfterDays: number): readonly Problem[] {
  const ofDay = (text: string, where: string): Problem[] => {
    const at = day(text);
    if (at === undefined)
      return [problem("bad_date", where, `expected a day as YYYY-MM-DD, got ${JSON.stringify(text)}`)];
    if (at > now.getTime()) return [problem("future_date", where, `${text} has not come yet`)];
    const age = Math.floor((now.getTime() - at) / DAY);
    return age > staleAfterDays
      ? [
          problem(
            "stale_date",
            where,
            `last compared with its source ${age} days ago, on ${text}; the limit is ${staleAfterDays}`,
          ),
        ]
      : [];
  };
  return [...ofDay(date, `${CURRENT} date`), ...rows.flatMap((row) => ofDay(row.verified_at, inCurrent(row)))];
}

/** The generated module must carry the digest of `current.yaml`, and its rows. Holds for the module as TypeScript or built. */
function moduleProblems(file: CatalogFile, yaml: string, module: string | undefined): readonly Problem[] {
  const where = "generated module";
  if (module === undefined) return [problem("module_mismatch", where, "it is missing; generate the catalog")];
  const digest = /CATALOG_SHA256 = "([0-9a-f]*)"/.exec(module)?.[1];
  if (digest !== sha256(yaml))
    return [
      problem(
        "module_mismatch",
        where,
        `carries the SHA-256 ${digest ?? "of nothing"}, ${CURRENT} has ${sha256(yaml)}; generate the catalog again`,
      ),
    ];
  return Object.entries(pack(file).groups).flatMap(([provider, text]): Problem[] =>
    module.includes(quoted(text))
      ? []
      : [
          problem(
            "module_mismatch",
            where,
            `its rows of ${provider} are not those of ${CURRENT}; generate the catalog again`,
          ),
        ],
  );
}
