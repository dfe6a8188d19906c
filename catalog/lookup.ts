/** Finding the row of a model: a map read, once the rows of its provider have been read. */
import { CATALOG_DATA } from "./generated.ts";
import { unpackProvider } from "./pack.ts";
import type { Row } from "./row.ts";

/** A set of rows that can be asked for a model by any of its names. */
export interface Catalog {
  readonly date: string;
  readonly rows: readonly Row[];
  /** The row, or undefined: an unknown model has no price, not a price of zero. */
  lookup(provider: string, model: string): Row | undefined;
  /** The name this catalog knows a provider by: `google` is `gemini`. */
  canonicalProvider(provider: string): string;
}

const DATE = /(?:-\d{8}|-\d{4}-\d{2}-\d{2}|@\d{8})$/;

interface Source {
  readonly date: string;
  readonly providers: Readonly<Record<string, string>>;
  all(): readonly Row[];
  of(provider: string): readonly Row[];
}

/** Makes rows findable. A model's own name wins over an alias; the first of two equal names wins. */
export function createCatalog(
  rows: readonly Row[],
  providers: Readonly<Record<string, string>>,
  date: string,
): Catalog {
  const groups = Map.groupBy(rows, (row) => row.provider);
  return catalogOf({ date, providers, all: () => rows, of: (provider) => groups.get(provider) ?? [] });
}

function catalogOf(source: Source): Catalog {
  const aliases = new Map(Object.entries(source.providers));
  const indexes = new Map<string, ReadonlyMap<string, Row>>();
  const canonicalProvider = (provider: string): string => aliases.get(provider.toLowerCase()) ?? provider.toLowerCase();
  return {
    date: source.date,
    get rows() {
      return source.all();
    },
    canonicalProvider,
    lookup(provider, model) {
      const canonical = canonicalProvider(provider);
      let names = indexes.get(canonical);
      if (names === undefined) {
        names = index(source.of(canonical));
        indexes.set(canonical, names);
      }
      const name = model.toLowerCase();
      const row = names.get(name);
      if (row !== undefined) return row;
      const undated = name.replace(DATE, "");
      const family = undated === name ? undefined : names.get(undated);
      return family?.dated === true ? family : undefined;
    },
  };
}

function index(rows: readonly Row[]): ReadonlyMap<string, Row> {
  const names = new Map<string, Row>();
  const put = (name: string, row: Row): void => {
    if (!names.has(name.toLowerCase())) names.set(name.toLowerCase(), row);
  };
  for (const row of rows) put(row.model, row);
  for (const row of rows) for (const alias of row.aliases) put(alias, row);
  return names;
}

/** Private rows in front of a catalog: a user's own rate wins over the public one. */
export function withRows(
  catalog: Catalog,
  rows: readonly Row[],
  providers: Readonly<Record<string, string>> = {},
): Catalog {
  const own = createCatalog(
    rows.map((row) => ({ ...row, provider: catalog.canonicalProvider(row.provider) })),
    providers,
    catalog.date,
  );
  return {
    date: catalog.date,
    get rows() {
      return [...own.rows, ...catalog.rows];
    },
    canonicalProvider: (provider) => catalog.canonicalProvider(own.canonicalProvider(provider)),
    lookup: (provider, model) =>
      own.lookup(catalog.canonicalProvider(own.canonicalProvider(provider)), model) ??
      catalog.lookup(own.canonicalProvider(provider), model),
  };
}

let shipped: Catalog | undefined;

/** The catalog that ships with this version. A provider's rows are read when one of them is first looked up. */
export function catalog(): Catalog {
  if (shipped === undefined) {
    let rows: readonly Row[] | undefined;
    shipped = catalogOf({
      date: CATALOG_DATA.date,
      providers: CATALOG_DATA.providers,
      of: (provider) => unpackProvider(CATALOG_DATA, provider),
      all: () =>
        (rows ??= Object.keys(CATALOG_DATA.groups).flatMap((provider) => unpackProvider(CATALOG_DATA, provider))),
    });
  }
  return shipped;
}

/** The row of a model in the shipped catalog. Takes provider aliases, model aliases and dated names. */
export const lookup = (provider: string, model: string): Row | undefined => catalog().lookup(provider, model);
export const canonicalProvider = (provider: string): string => catalog().canonicalProvider(provider);
