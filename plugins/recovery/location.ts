/** Where the store of originals is, and how large it may grow. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { CavemanError } from "../../kernel/index.ts";
import { DEFAULT_MAX_BYTES, type StoreOptions } from "./store.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/**
 * Options first, then `CAVEMAN_CCR_DB` and `CAVEMAN_CCR_MAX_BYTES`, then `ccr.db` under `CAVEMAN_HOME` or `~/.caveman`.
 * @throws CavemanError `cave_option_invalid`.
 */
export function locate(
  options: Pick<Partial<StoreOptions>, "path" | "maxBytes"> = {},
  env: Env = process.env,
): StoreOptions {
  const home = env.CAVEMAN_HOME || join(homedir(), ".caveman");
  const path = resolve(options.path || env.CAVEMAN_CCR_DB || join(home, "ccr.db"));
  return { path, maxBytes: options.maxBytes ?? budgetOf(env.CAVEMAN_CCR_MAX_BYTES) };
}

function budgetOf(said: string | undefined): number {
  if (said === undefined || said === "") return DEFAULT_MAX_BYTES;
  const bytes = /^\d+$/.test(said) ? Number(said) : Number.NaN;
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new CavemanError("cave_option_invalid", {
    place: "CAVEMAN_CCR_MAX_BYTES",
    expected: "a positive whole number of bytes",
    received: JSON.stringify(said),
  });
}
