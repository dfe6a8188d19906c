/** What is left of contained calls: nothing, however they and their host end. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { available } from "./availability.ts";
import { descendants, isAlive } from "./processes.ts";

let dir: string;
beforeAll(() => {
  // A temporary folder of its own, because other tests use the common one at the same time.
  dir = mkdtempSync(join(tmpdir(), "caveman-leftovers-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

function host(mode: string): { child: ChildProcess; line: Promise<string> } {
  const args = ["--conditions=caveman-source", "--no-warnings", join(import.meta.dirname, "host.ts"), mode];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, TMPDIR: dir },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return { child, line: new Promise((resolve) => child.stdout.once("data", (data: Buffer) => resolve(String(data)))) };
}

(available && process.platform === "linux" ? describe : describe.skip)("contained calls", () => {
  test("leave no process, folder or descriptor behind, 200 of them and aborted ones too", async () => {
    const { done, before, after, aborted } = JSON.parse(await host("many").line) as Record<string, unknown>;
    expect(done).toBeGreaterThanOrEqual(200);
    expect(after).toEqual(before);
    expect(aborted).toEqual(before);
  }, 120_000);

  test("die with their host when it is killed, also those that loop", async () => {
    const { child, line } = host("loop");
    expect(await line).toBe("looping\n");
    const workers = descendants(child.pid ?? 0);
    expect(workers.length).toBeGreaterThanOrEqual(2);
    child.kill("SIGKILL");
    for (let wait = 0; wait < 200 && workers.some(isAlive); wait++)
      await new Promise((resolve) => setTimeout(resolve, 25));
    expect(workers.filter(isAlive)).toEqual([]);
  }, 60_000);
});
