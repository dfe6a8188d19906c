/**
 * The compact form of the catalog in the generated module: a JSON text for each provider, read when the provider is
 * first asked for, and rows without what equals a default. Packing and unpacking lose nothing.
 */
import { type CatalogFile, NOTHING_KNOWN, type Provenance, type Row } from "./row.ts";

export interface PackedCatalog {
  readonly date: string;
  /** The source of most rows. */
  readonly source: string;
  readonly providers: Readonly<Record<string, string>>;
  /** A JSON text of a `Group` for each provider. */
  readonly groups: Readonly<Record<string, string>>;
}

type Shared = Pick<
  Row,
  | "region"
  | "currency"
  | "lifecycle"
  | "dated"
  | "aliases"
  | "unmetered"
  | "capabilities"
  | "verified_at"
  | "sources"
  | "cache"
>;
type PackedRow = Pick<Row, "model" | "prices" | "limits"> & Partial<Shared> & { readonly provenance?: Provenance };
interface Group {
  readonly sources: readonly string[];
  readonly entry: string;
  readonly rows: readonly PackedRow[];
}

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

const defaults = (date: string, sources: readonly string[]): Shared => ({
  region: "global",
  currency: "USD",
  lifecycle: "active",
  dated: false,
  aliases: [],
  unmetered: [],
  capabilities: NOTHING_KNOWN,
  verified_at: date,
  sources,
  cache: { mode: "unknown" },
});
const SHARED = [
  "region",
  "currency",
  "lifecycle",
  "dated",
  "aliases",
  "unmetered",
  "capabilities",
  "verified_at",
  "sources",
  "cache",
] as const satisfies readonly (keyof Shared)[];

export function pack(file: CatalogFile): PackedCatalog {
  const source = most(file.rows.map((row) => row.provenance.source));
  const groups = [...Map.groupBy(file.rows, (row) => row.provider)].map(([provider, rows]): [string, string] => {
    const sources = JSON.parse(most(rows.map((row) => JSON.stringify(row.sources)))) as readonly string[];
    const entry = most(rows.map((row) => before(row.provenance.entry)));
    const base = defaults(file.date, sources);
    const packed = rows.map((row): PackedRow => {
      const own = Object.fromEntries(
        SHARED.filter((key) => !same(row[key], base[key])).map((key) => [key, row[key]]),
      ) as Partial<Shared>;
      const usual = same(row.provenance, { source, entry: `${entry}/${row.model}` });
      return {
        model: row.model,
        prices: row.prices,
        limits: row.limits,
        ...own,
        ...(usual ? {} : { provenance: row.provenance }),
      };
    });
    return [provider, JSON.stringify({ sources, entry, rows: packed } satisfies Group)];
  });
  return { date: file.date, source, providers: file.providers, groups: Object.fromEntries(groups) };
}

/** The rows of one provider; none when the catalog does not have it. */
export function unpackProvider(packed: PackedCatalog, provider: string): readonly Row[] {
  const text = Object.hasOwn(packed.groups, provider) ? packed.groups[provider] : undefined;
  if (text === undefined) return [];
  const { sources, entry, rows } = JSON.parse(text) as Group;
  const base = defaults(packed.date, sources);
  return rows.map(
    (row): Row => ({
      ...base,
      provenance: { source: packed.source, entry: `${entry}/${row.model}` },
      provider,
      ...row,
    }),
  );
}

const before = (entry: string): string => entry.slice(0, Math.max(entry.indexOf("/"), 0));

/** The most frequent text, the first of equals. */
function most(texts: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].reduce((best, next) => (next[1] > best[1] ? next : best), ["", 0] as [string, number])[0];
}
