/**
 * The price list of models, and exact money: what a call cost, and the most it can cost.
 *
 * `lookup(provider, model)` gives a row, `priceUsage` prices a settled call, `ceiling` bounds one before it is made.
 * What is not known is unpriced, never free. Reading files is kept apart: `import.ts` for private rates and
 * `validate.ts` for the files of the catalog load a YAML parser and are imported when asked for.
 */
export { CATALOG_DATE, CATALOG_SHA256 } from "./generated.ts";
export { type Catalog, canonicalProvider, catalog, createCatalog, lookup, withRows } from "./lookup.ts";
export {
  add,
  format,
  fromDollars,
  type Money,
  money,
  mulDivRoundHalfUp,
  mulDivRoundUp,
  parseRate,
  type Rate,
  rate,
  subtract,
  toDollars,
  toNumber,
  ZERO,
} from "./money.ts";
export {
  ceiling,
  isPriced,
  type PriceBasis,
  type Priced,
  type PricedUsage,
  type Pricing,
  priceUsage,
  type Unpriced,
} from "./pricing.ts";
export type {
  CacheBehaviour,
  Capabilities,
  CatalogFile,
  Lifecycle,
  PriceEntry,
  Provenance,
  Rates,
  Row,
  Support,
  Tier,
} from "./row.ts";
