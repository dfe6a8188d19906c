/** Throwaway folders, a clock that is set by hand, and real processes that share a memory. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CavemanError } from "../../../kernel/index.ts";
import { createMemoryEngine, type MemoryEngine, type MemoryEngineOptions } from "../../../plugins/memory/index.ts";

const NODE = fileURLToPath(new URL("../../../node_modules/node/bin/node", import.meta.url));
const WRITER = fileURLToPath(new URL("./writer.ts", import.meta.url));

export function folder(): { readonly path: string; readonly db: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "caveman-memory-"));
  return { path, db: join(path, "m.db"), [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs one writer to its end and gives what it wrote. */
export async function writer(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(NODE, [WRITER, ...args], { maxBuffer: 2 ** 26 })).stdout;
}

export const DAY = 86_400_000;
export interface Hand {
  at: number;
}
/** An engine on a folder, whose time moves only by hand. */
export function engineIn(
  root: string,
  options: Partial<MemoryEngineOptions> = {},
  hand: Hand = { at: 1_750_000_000_000 },
): MemoryEngine {
  const scope = { agentId: "support", namespace: "notes" };
  return createMemoryEngine({ scope, root, now: () => hand.at, ...options });
}

export const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return error instanceof CavemanError ? error.code : String(error);
  }
  return "no error";
};
export const rejection = async (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "no error",
    (error: unknown) => (error instanceof CavemanError ? error.code : String(error)),
  );
