/** Installs the peers beside the bench, in a folder that the package and its tests know nothing of. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { command } from "./measure.ts";

export async function installPeers(root: string): Promise<void> {
  const folder = join(root, "__tests__", "bench", "peers");
  const { dependencies } = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  const versions = await Promise.all(
    Object.entries(dependencies).map(async ([name, wanted]) => {
      const installed = await readFile(join(folder, "node_modules", name, "package.json"), "utf8").catch(() => "{}");
      return (JSON.parse(installed) as { version?: string }).version === wanted;
    }),
  );
  if (versions.every(Boolean)) return;
  await command("npm", ["install", "--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts"], folder);
}
