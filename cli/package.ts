/** This package's own manifest. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The version of this package: of the nearest manifest above, from the sources and from a build alike. */
export async function packageVersion(): Promise<string> {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const manifest = await readFile(join(folder, "package.json"), "utf8").catch(() => undefined);
    if (manifest !== undefined) return (JSON.parse(manifest) as { readonly version: string }).version;
    if (folder === dirname(folder)) return "unknown";
    folder = dirname(folder);
  }
}
