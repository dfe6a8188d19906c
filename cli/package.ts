/** This package's own manifest. */
import { readFile } from "node:fs/promises";
import { findPackageJSON } from "node:module";

/** The version of this package. */
export async function packageVersion(): Promise<string> {
  const manifest = findPackageJSON(import.meta.url);
  return manifest === undefined
    ? "unknown"
    : (JSON.parse(await readFile(manifest, "utf8")) as { readonly version: string }).version;
}
