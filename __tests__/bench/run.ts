/** Finds the cases and runs them, one after the other: two at a time would measure each other. */
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Bench, Case, Row } from "./case.ts";

const root = resolve(import.meta.dirname, "..", "..");

async function caseNames(): Promise<string[]> {
  const files = await readdir(new URL("./cases/", import.meta.url));
  return files.filter((file) => file.endsWith(".ts")).map((file) => file.slice(0, -3));
}

/** Runs the named cases, or all of them. @throws Error for a name that no case has. */
export async function bench(
  options: { names?: readonly string[]; peers?: boolean; onRows?: (rows: readonly Row[]) => void } = {},
): Promise<Row[]> {
  const known = await caseNames();
  const { names = [], peers = names.includes("peers"), onRows } = options;
  for (const name of names)
    if (!known.includes(name)) throw new Error(`no case "${name}"; there are ${known.join(", ")}`);
  const wanted = names.length > 0 ? names : known;
  const cases = await Promise.all(
    wanted.map(async (name) => ((await import(`./cases/${name}.ts`)) as { default: Case }).default),
  );
  const context: Bench = {
    root,
    builds: existsSync(join(root, "dist", "index.js")) ? ["source", "dist"] : ["source"],
    peers,
  };
  const rows: Row[] = [];
  for (const each of cases.toSorted((a, b) => a.order - b.order)) {
    const measured = await each.rows(context);
    rows.push(...measured);
    onRows?.(measured);
  }
  return rows;
}
