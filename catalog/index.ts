/**
 * The price list of models, and exact money: what a call cost, and the most it can cost.
 *
 * `lookup(provider, model)` gives a row, `priceUsage` prices a settled call, `ceiling` bounds one before it is made.
 * What is not known is unpriced, never free. Reading files is kept apart: `import.ts` for private rates and
 * `validate.ts` for the files of the catalog load a YAML parser and are imported when asked for.
 */
export { CATALOG_DATE, CATALOG_SHA256 } from "./generated.ts";
export { type Catalog, canonicalProvider, catalog, createCatalog, lookup, withRows } from "./lookup.ts";
export { type Money, type Rate, ZERO, add, format, fromDollars, money, mulDivRoundHalfUp, mulDivRoundUp, parseRate, rate, subtract, toDollars, toNumber } from "./money.ts";
export { type PriceBasis, type PricedUsage, type Priced, type Pricing, type Unpriced, ceiling, isPriced, priceUsage } from "./pricing.ts";
export type { CacheBehaviour, Capabilities, CatalogFile, Lifecycle, PriceEntry, Provenance, Rates, Row, Support, Tier } from "./row.ts";
