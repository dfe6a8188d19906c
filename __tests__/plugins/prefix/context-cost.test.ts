import { describe, expect, jest, test } from "@jest/globals";
import { contextCost, table } from "../../bench/context-cost.ts";
import { QUESTIONS, WORK } from "../../bench/context-cost-session.ts";

jest.setTimeout(120_000);

describe.each(["implicit", "explicit"] as const)("a coding session of sixty calls under %s caching", (mode) => {
  test("costs least with the context plugins, and nothing of it is lost", async () => {
    const [nothing, naive, ours] = await contextCost(mode);
    if (!nothing || !naive || !ours) throw new Error("three ways were expected");
    expect(table(mode, [nothing, naive, ours])).toContain("prefix kept");
    expect(ours.dollars).toBeLessThan(nothing.dollars);
    expect(ours.dollars).toBeLessThan(naive.dollars);
    expect(ours.inputTokens).toBeLessThan(nothing.inputTokens);
    expect(ours.keptRate).toBeGreaterThanOrEqual(0.95);
    expect(ours.visible + ours.recoverable).toBe(WORK);
    expect(ours.fetched).toBeGreaterThan(0);
    expect(ours.repeated).toBe(0);
    expect([nothing.answered, naive.answered, ours.answered]).toEqual([QUESTIONS, QUESTIONS, QUESTIONS]);
    // The fewest tokens are not the fewest dollars: what breaks the prefix is paid for in full.
    expect(naive.inputTokens).toBeLessThan(ours.inputTokens);
    expect(naive.dollars).toBeGreaterThan(nothing.dollars);
    expect(naive.keptRate).toBeLessThan(0.5);
    expect(naive.repeated).toBeGreaterThan(0);
  });
});
