import { lstat, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Case, notMeasured } from "../case.ts";
import { command } from "../measure.ts";

/** Bytes on disk, as du counts them: whole blocks, links not followed. */
async function diskBytes(path: string): Promise<number> {
  const stat = await lstat(path);
  let sum = stat.blocks === undefined ? stat.size : stat.blocks * 512;
  if (stat.isDirectory()) for (const name of await readdir(path)) sum += await diskBytes(join(path, name));
  return sum;
}

/** The packed package installed for production in a folder of its own. */
export default {
  order: 5,
  async rows({ root, builds }) {
    const row = { id: "install.production", what: "production install, on disk", unit: "MB", bar: 60 } as const;
    if (!builds.includes("dist")) return [notMeasured(row, "there is no dist/: npm run build")];
    const folder = await mkdtemp(join(tmpdir(), "caveman-install-"));
    try {
      // What is in dist/ is packed as it is: a build would change what the other rows measured.
      const packed = await command("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], root);
      const tarball = packed.trim().split("\n").at(-1) ?? "";
      await writeFile(join(folder, "package.json"), '{ "private": true }\n');
      await command(
        "npm",
        ["install", "--omit=dev", "--no-audit", "--no-fund", "--no-package-lock", `./${tarball}`],
        folder,
      );
      return [{ ...row, value: (await diskBytes(join(folder, "node_modules"))) / 1e6 }];
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
} satisfies Case;
