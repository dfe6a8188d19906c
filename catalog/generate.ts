/**
 * Builds `current.yaml`, the dated snapshot and the generated module from the price data and `overlay.yaml`.
 * Run: `node catalog/generate.ts`, or with `--check` to fail when what is on disk is not what it would write.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { readText } from "./files.ts";
import { renderManifest, renderModule, renderYaml, sha256 } from "./render.ts";
import {
  type CacheBehaviour,
  type Capabilities,
  type CatalogFile,
  day,
  type PriceEntry,
  type Rates,
  type Row,
} from "./row.ts";
import { MANIFEST, readDigests, SNAPSHOTS } from "./snapshots.ts";
import { sourceRows } from "./source.ts";

interface Correction extends Partial<Pick<Row, "prices" | "limits" | "lifecycle" | "unmetered">> {
  readonly provider: string;
  readonly model: string;
  /** Rates that hold on the day of the catalog, compared with the source by hand. */
  readonly expect?: Rates;
  readonly cache?: CacheBehaviour;
  readonly capabilities?: Capabilities;
  readonly sources: readonly string[];
}
interface Overlay {
  readonly date: string;
  readonly rename: Readonly<Record<string, string>>;
  readonly aliases: Readonly<Record<string, string>>;
  readonly move: readonly {
    readonly from: string;
    readonly prefix: string;
    readonly to: string;
    readonly sources: readonly string[];
  }[];
  readonly omit: readonly { readonly provider: string; readonly model?: string }[];
  readonly correct: readonly Correction[];
  readonly copy: readonly { readonly from: string; readonly to: string; readonly sources: readonly string[] }[];
}

/** Every text that generating writes, by its path inside `catalog/`. */
type GeneratedTexts = Readonly<Record<string, string>>;

const HERE = import.meta.dirname;

/** The catalog as the price data and the overlay have it. */
async function buildCatalog(): Promise<CatalogFile> {
  const overlay = parse(await readFile(join(HERE, "overlay.yaml"), "utf8")) as Overlay;
  if (day(overlay.date) === undefined)
    throw new Error(`overlay.yaml: expected date as YYYY-MM-DD, got ${overlay.date}`);
  const renamed = (await sourceRows(overlay.date)).map(
    (row): Row => ({ ...row, provider: overlay.rename[row.provider] ?? row.provider }),
  );
  const kept = renamed
    .map((row) => moved(row, overlay))
    .filter(
      (row) =>
        !overlay.omit.some(({ provider, model }) => provider === row.provider && (model ?? row.model) === row.model),
    );
  const rows = overlay.correct.reduce<readonly Row[]>(
    (all, correction) => corrected(all, correction, overlay.date),
    kept,
  );
  const copies = overlay.copy.map(({ from, to, sources }): Row => {
    const row = rows.find(({ provider, model }) => `${provider}/${model}` === from);
    if (row === undefined) throw new Error(`overlay.yaml: copy of ${from}: no such row`);
    return { ...row, provider: to, sources, provenance: { source: "overlay", entry: from } };
  });
  const providers = Object.fromEntries(
    Object.entries({ ...overlay.aliases, ...overlay.rename }).sort(([a], [b]) => order(a, b)),
  );
  return {
    schema: 1,
    date: overlay.date,
    providers,
    rows: [...rows, ...copies].sort((a, b) => order(a.provider, b.provider) || order(a.model, b.model)),
  };
}

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function moved(row: Row, overlay: Overlay): Row {
  const move = overlay.move.find(({ from, prefix }) => row.provider === from && row.model.startsWith(prefix));
  return move === undefined ? row : { ...row, provider: move.to, sources: move.sources };
}

function corrected(rows: readonly Row[], correction: Correction, date: string): readonly Row[] {
  const { provider, model, expect, sources, ...fields } = correction;
  const at = rows.findIndex((row) => row.provider === provider && row.model === model);
  const row = rows[at];
  if (row === undefined) throw new Error(`overlay.yaml: ${provider}/${model}: the price data has no such row`);
  const next: Row = { ...row, ...fields, sources, provenance: { ...row.provenance, corrected: Object.keys(fields) } };
  const rates = ratesOn(next.prices, date);
  if (expect !== undefined && !sameRates(rates, expect)) {
    throw new Error(
      `overlay.yaml: ${provider}/${model}: expected ${JSON.stringify(expect)}, the price data has ${JSON.stringify(rates)}; compare both with ${sources[0]}`,
    );
  }
  return rows.with(at, next);
}

/** The rates outside special hours on a day. */
function ratesOn(prices: readonly PriceEntry[], date: string): Rates {
  return prices.findLast(({ from, hours }) => hours === undefined && (from === undefined || from <= date))?.rates ?? {};
}

const sameRates = (a: Rates, b: Rates): boolean =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

/** What generating would write. Older snapshots and their digests are kept as they are. */
export async function generate(): Promise<GeneratedTexts> {
  const file = await buildCatalog();
  const yaml = renderYaml(file);
  const name = `${file.date}.yaml`;
  const digests = { ...(await readDigests(HERE)), [name]: sha256(yaml) };
  return {
    "current.yaml": yaml,
    [`${SNAPSHOTS}/${name}`]: yaml,
    [MANIFEST]: renderManifest(digests),
    "generated.ts": renderModule(file, yaml),
  };
}

/** What on disk is not what generating would write; empty when all is fresh. */
export async function checkFresh(): Promise<string[]> {
  const problems: string[] = [];
  for (const [path, text] of Object.entries(await generate())) {
    if ((await readText(join(HERE, path))) !== text)
      problems.push(`catalog/${path} is not what catalog/generate.ts writes; run it and commit the result`);
  }
  return problems;
}

async function main(check: boolean): Promise<void> {
  if (check) {
    const problems = await checkFresh();
    for (const problem of problems) console.error(problem);
    if (problems.length > 0) process.exitCode = 1;
    return;
  }
  for (const [path, text] of Object.entries(await generate())) {
    const before = await readText(join(HERE, path));
    if (before === text) continue;
    if (path.endsWith(".yaml") && path.startsWith(SNAPSHOTS) && before !== undefined) {
      throw new Error(`catalog/${path} is a snapshot and never changes; give overlay.yaml a new date`);
    }
    await writeFile(join(HERE, path), text);
    console.log(`wrote catalog/${path}`);
  }
}

if (import.meta.main) await main(process.argv.includes("--check"));
