/** Writes a receipt where only its owner reads it, whole or not at all. */
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CavemanError } from "../../kernel/index.ts";
import { makeFolder, systemCode } from "../private-file.ts";
import type { Receipt } from "./schema.ts";

/** Folders tried for one second: the plain name, then `-2` to `-99`. */
const MOST_IN_A_SECOND = 99;

/**
 * Writes `<rootDir>/<dir>/<start, to the second>/receipt.json` and gives its path. Folders 0700, file 0600, a
 * temporary file renamed into place.
 * @throws CavemanError `cave_receipt_unwritable`.
 */
export async function writeReceipt(
  receipt: Receipt,
  where: { readonly rootDir: string; readonly dir: string /** Epoch milliseconds. */; readonly at: number },
): Promise<string> {
  const runs = resolve(where.rootDir, where.dir);
  try {
    makeFolder(runs);
    const folder = await freshFolder(join(runs, new Date(where.at).toISOString().slice(0, 19).replaceAll(":", "-")));
    const path = join(folder, "receipt.json");
    const half = join(folder, `.receipt.json.${process.pid}.tmp`);
    try {
      const file = await open(half, "wx", 0o600);
      try {
        await file.writeFile(`${JSON.stringify(receipt, null, 2)}\n`, "utf8");
      } finally {
        await file.close();
      }
      await rename(half, path);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    return path;
  } catch (cause) {
    if (cause instanceof CavemanError) throw cause;
    throw new CavemanError("cave_receipt_unwritable", {
      place: runs,
      received: systemCode(cause) ?? "a failed write",
      cause,
    });
  }
}

/** Making the folder is the claim: of two runs in one second, one gets the name and the other a suffix. */
async function freshFolder(base: string): Promise<string> {
  for (let n = 1; n <= MOST_IN_A_SECOND; n++) {
    const folder = n === 1 ? base : `${base}-${n}`;
    try {
      await mkdir(folder, { mode: 0o700 });
      return folder;
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
    }
  }
  throw new CavemanError("cave_receipt_unwritable", {
    place: base,
    expected: `a free name up to -${MOST_IN_A_SECOND}`,
    received: "none",
  });
}
