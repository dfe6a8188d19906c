/** The texts of the catalog on disk: `current.yaml`, the generated module, the manifest of snapshots. */
import { createHash } from "node:crypto";
import { pack } from "./pack.ts";
import { type CatalogFile, NOTHING_KNOWN, type Row } from "./row.ts";

export const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

/** A value as JSON on one line, which is YAML too and reads a hundred times faster. */
function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .filter(([, part]) => part !== undefined)
      .map(([key, part]) => `${JSON.stringify(key)}: ${flow(part)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** A row on one line, without the fields that say nothing. */
function line(row: Row): string {
  const {
    provider,
    model,
    region,
    currency,
    prices,
    limits,
    cache,
    capabilities,
    lifecycle,
    aliases,
    dated,
    unmetered,
    sources,
    verified_at,
    provenance,
  } = row;
  return flow({
    provider,
    model,
    region,
    currency,
    prices,
    limits,
    cache,
    capabilities: JSON.stringify(capabilities) === JSON.stringify(NOTHING_KNOWN) ? undefined : capabilities,
    lifecycle,
    aliases: aliases.length > 0 ? aliases : undefined,
    dated: dated ? true : undefined,
    unmetered: unmetered.length > 0 ? unmetered : undefined,
    sources,
    verified_at,
    provenance,
  });
}

export function renderYaml(file: CatalogFile): string {
  return [
    "# Generated from the price data and overlay.yaml by catalog/generate.ts. Change the overlay, not this file.",
    "# biome-ignore-all format: one row a line",
    "# Prices are US dollars per million tokens. One row a line, so that a change of price is one line of a diff.",
    `schema: ${file.schema}`,
    `date: ${JSON.stringify(file.date)}`,
    "providers:",
    ...Object.entries(file.providers).map(([alias, provider]) => `  ${flow(alias)}: ${flow(provider)}`),
    "rows:",
    ...file.rows.map((row) => `  - ${line(row)}`),
    "",
  ].join("\n");
}

/** The module the runtime imports: texts, so that importing it costs little until a model is looked up. */
export function renderModule(file: CatalogFile, yaml: string): string {
  const { date, source, providers, groups } = pack(file);
  return [
    "// Generated from current.yaml by catalog/generate.ts. Do not edit.",
    'import type { PackedCatalog } from "./pack.ts";',
    `export const CATALOG_SHA256 = ${JSON.stringify(sha256(yaml))};`,
    `export const CATALOG_DATE = ${JSON.stringify(date)};`,
    "export const CATALOG_DATA: PackedCatalog = {",
    "  date: CATALOG_DATE,",
    `  source: ${JSON.stringify(source)},`,
    `  providers: ${JSON.stringify(providers)},`,
    "  groups: {",
    ...Object.entries(groups).map(([provider, text]) => `    ${JSON.stringify(provider)}: ${quoted(text)},`),
    "  },",
    "};",
    "",
  ].join("\n");
}

export const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** The SHA-256 of every snapshot, by name. A snapshot that no longer matches was edited. */
export function renderManifest(digests: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(digests).sort(([a], [b]) => (a < b ? -1 : 1));
  return `${JSON.stringify(Object.fromEntries(sorted), undefined, 2)}\n`;
}
