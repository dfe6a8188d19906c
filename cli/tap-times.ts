/** What each tap took in the last run of a folder: written by `caveman run`, shown by `caveman plugins`. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { TapInfo } from "../kernel/hooks.ts";
import { makeFolder } from "../plugins/private-file.ts";

export interface TapTime {
  readonly hook: string;
  readonly name: string;
  readonly calls: number;
  /** Milliseconds in all, waiting included. */
  readonly totalMs: number;
}
interface LastRun {
  readonly runId: string;
  readonly taps: readonly TapTime[];
}

const fileIn = (dir: string): string => join(dir, ".caveman", "last-run.json");

/** Keeps the account of a run. Best effort: a folder that cannot be written costs no run. */
export async function keepTapTimes(dir: string, runId: string, taps: readonly TapInfo[]): Promise<void> {
  const file = fileIn(dir);
  const account: LastRun = {
    runId,
    taps: taps.map(({ hook, name, calls, totalMs }) => ({ hook, name, calls, totalMs })),
  };
  try {
    makeFolder(join(dir, ".caveman"));
    await writeFile(`${file}.${process.pid}`, JSON.stringify(account), { mode: 0o600 });
    await rename(`${file}.${process.pid}`, file);
  } catch {
    // The account is for the listing alone.
  }
}

/** The account of the last run in a folder, when there is one that can be read. */
export async function lastTapTimes(dir: string): Promise<LastRun | undefined> {
  try {
    const read = JSON.parse(await readFile(fileIn(dir), "utf8")) as Partial<LastRun> | null;
    if (typeof read?.runId !== "string" || !Array.isArray(read.taps)) return undefined;
    const taps = read.taps.filter(
      (tap: Partial<TapTime> | null): tap is TapTime =>
        typeof tap?.hook === "string" && typeof tap.name === "string" && Number.isFinite(tap.totalMs),
    );
    return { runId: read.runId, taps };
  } catch {
    return undefined;
  }
}
