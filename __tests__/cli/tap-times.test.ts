import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { keepTapTimes, lastTapTimes } from "../../cli/tap-times.ts";
import { createKernel, definePlugin } from "../../kernel/index.ts";

const plugin = definePlugin({
  name: "quiet",
  apply: (kernel) => kernel.hooks.settle.tap({ name: "quiet", stage: "work" }, () => {}),
});
const taps = createKernel({ plugins: [plugin()] }).taps;

test("the account of a run is read back, from a folder of the user alone", async () => {
  const dir = mkdtempSync(join(tmpdir(), "taps-"));
  try {
    await keepTapTimes(dir, "run-1", taps);
    expect(await lastTapTimes(dir)).toMatchObject({ runId: "run-1", taps: [{ hook: "settle", name: "quiet" }] });
    if (process.platform !== "win32") expect(statSync(join(dir, ".caveman")).mode & 0o777).toBe(0o700);
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test("where no folder can be made there is no account, and no endless wait", async () => {
  if (process.platform !== "linux") return;
  await keepTapTimes("/proc/nowhere/deep", "run-1", taps);
  expect(await lastTapTimes("/proc/nowhere/deep")).toBeUndefined();
});
