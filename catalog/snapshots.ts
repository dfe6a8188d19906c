/** Snapshots: one for each day the prices changed, written once, told apart by the digests in a manifest. */
import { join } from "node:path";
import { namesIn, readCatalogFile, readText } from "./files.ts";
import { type Problem, problem } from "./problem.ts";
import { sha256 } from "./render.ts";
import type { CatalogFile, Row } from "./row.ts";

export const SNAPSHOTS = "snapshots";
export const MANIFEST = `${SNAPSHOTS}/manifest.json`;

/** From the name of a snapshot to its SHA-256. */
export type Digests = Readonly<Record<string, string>>;

export interface Snapshots {
  readonly problems: readonly Problem[];
  readonly newest: { readonly path: string; readonly file: CatalogFile } | undefined;
}

/** The manifest of a catalog folder; empty when there is none, undefined when it is no manifest. */
export async function readDigests(directory: string): Promise<Digests | undefined> {
  const text = (await readText(join(directory, MANIFEST))) ?? "{}";
  try {
    const digests: unknown = JSON.parse(text);
    if (typeof digests !== "object" || digests === null) return undefined;
    return Object.fromEntries(Object.entries(digests).map(([name, digest]) => [name, String(digest)]));
  } catch {
    return undefined;
  }
}

/** Compares every snapshot with the digest in the manifest, and reads the newest. */
export async function checkSnapshots(directory: string): Promise<Snapshots> {
  const digests = await readDigests(directory);
  if (digests === undefined)
    return { problems: [problem("unreadable", MANIFEST, "expected a JSON object")], newest: undefined };
  const problems: Problem[] = [];
  const onDisk = (await namesIn(join(directory, SNAPSHOTS))).filter((file) => file.endsWith(".yaml"));
  let newest: { readonly path: string; readonly text: string } | undefined;
  for (const name of [...new Set([...Object.keys(digests), ...onDisk])].sort()) {
    const path = `${SNAPSHOTS}/${name}`;
    const text = await readText(join(directory, path));
    if (text === undefined)
      problems.push(
        problem("snapshot_missing", path, "the manifest lists it and it is gone; restore it from version control"),
      );
    else {
      newest = { path, text };
      if (digests[name] === undefined)
        problems.push(problem("snapshot_unlisted", path, "the manifest does not list it; generate the catalog again"));
      else if (digests[name] !== sha256(text))
        problems.push(
          problem(
            "snapshot_edited",
            path,
            "its SHA-256 is not the one in the manifest; a snapshot never changes, restore it",
          ),
        );
    }
  }
  if (newest === undefined)
    return {
      problems: [...problems, problem("snapshot_missing", SNAPSHOTS, "there is no snapshot; generate the catalog")],
      newest,
    };
  const { file } = readCatalogFile(newest.text, newest.path);
  if (file === undefined) problems.push(problem("unreadable", newest.path, "expected a catalog"));
  return { problems, newest: file === undefined ? undefined : { path: newest.path, file } };
}

/** Rows and prices that differ from the newest snapshot: a change needs a snapshot of its own. */
export function changesSince(current: CatalogFile, newest: Snapshots["newest"], where: string): readonly Problem[] {
  if (newest === undefined) return [];
  const problems: Problem[] = [];
  if (newest.file.date !== current.date)
    problems.push(
      problem("snapshot_missing", `${where} date`, `${current.date} has no snapshot; the newest is ${newest.path}`),
    );
  const keyOf = (row: Row): string => `${row.provider}/${row.model} ${row.region}`;
  const before = new Map(newest.file.rows.map((row): [string, string] => [keyOf(row), JSON.stringify(row.prices)]));
  const here = new Set(current.rows.map(keyOf));
  for (const row of current.rows) {
    if (before.get(keyOf(row)) === JSON.stringify(row.prices)) continue;
    problems.push(
      problem(
        "price_changed",
        `${where} ${row.provider}/${row.model}`,
        `its prices are not those of ${newest.path}; give the catalog a new date and a snapshot`,
      ),
    );
  }
  for (const gone of before.keys()) {
    if (!here.has(gone))
      problems.push(
        problem(
          "price_changed",
          `${where} ${gone}`,
          `is in ${newest.path} and no longer here; give the catalog a new date and a snapshot`,
        ),
      );
  }
  return problems;
}
