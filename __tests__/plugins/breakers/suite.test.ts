import { expect, test } from "@jest/globals";
import { classify, worlds } from "./worlds.ts";

test("scripted runs are told apart: no loop is missed, no honest work is stopped", async () => {
  const rows = await classify(worlds());
  const sum = (of: "runs" | "misses" | "falseStops"): number => rows.reduce((total, row) => total + row[of], 0);
  process.stdout.write(
    `${rows.map(({ kind, runs, misses, falseStops }) => `${kind.padEnd(40)} ${String(runs).padStart(3)} runs, ${misses} missed, ${falseStops} false stops`).join("\n")}\n${"in all".padEnd(40)} ${sum("runs")} runs, ${sum("misses")} missed, ${sum("falseStops")} false stops\n`,
  );
  expect(rows.filter(({ misses, falseStops }) => misses + falseStops > 0)).toEqual([]);
  expect(sum("runs")).toBeGreaterThanOrEqual(200);
});
