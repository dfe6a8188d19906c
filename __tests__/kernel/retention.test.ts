import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";

const script = fileURLToPath(new URL("../support/run-many.ts", import.meta.url));
const flags = ["--conditions=caveman-source", "--expose-gc"];

// A weak map whose value points back at its key, or an accessor of a single object, keeps a whole run (40 to 55 kB in this
// shape) until the next full collection, and every minor one copies it. The scripted model's own 8 kB are in the figure.
test.each(["standard", "coding"])(
  "%s: a run that is over leaves the heap with a minor collection",
  async (preset) => {
    const { stdout } = await promisify(execFile)(process.execPath, [...flags, script, preset]);
    expect((JSON.parse(stdout) as { bytesPerRun: number }).bytesPerRun).toBeLessThan(20_000);
  },
  60_000,
);
