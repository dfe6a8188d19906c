import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import { foldReceipt, receiptSchema, receiptSchemaText } from "../../../plugins/receipt/index.ts";
import { HandRun } from "./ledgers.ts";

const file = new URL("../../../plugins/receipt/receipt.schema.json", import.meta.url);

test("the shipped schema is the one the code has", () => {
  expect(readFileSync(file, "utf8")).toBe(receiptSchemaText());
});

describe("the shipped schema", () => {
  const valid = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(file, "utf8")));
  const whole = () => {
    const run = new HandRun().call({ input: 3 }).tool("read").child(new HandRun("run_2").call().end());
    run.ledger.append("breaker.tripped", { kind: "no_progress", count: 3 });
    run.ledger.append("budget.released", { amount: "5", reason: "go on", atCall: 1 });
    run.ledger.append("transcript.compacted", {
      by: "x",
      reason: "pressure",
      beforeBytes: 2,
      afterBytes: 1,
      dropped: 1,
    });
    run.ledger.append("compaction.settled", {
      tier: "evicted",
      preTokens: 2,
      postTokens: 1,
      pinnedSegmentIds: [],
      elidedSegmentDigests: [],
      cacheState: "unknown",
    });
    run.ledger.append("run.resumed", {
      attempts: 2,
      priorCalls: 0,
      priorPicoUsd: "0",
      priorTokens: 0,
      priorUnpriced: false,
      possibleDoubleCountCalls: 0,
      discardedPartialTurn: false,
    });
    return JSON.parse(JSON.stringify(foldReceipt(run.end())));
  };

  test("accepts a receipt with every part", () => {
    expect(valid(whole())).toBe(true);
  });

  test.each(["calls", "tools", "subagents", "breakers", "tranches", "compactions", "rewrites"])(
    "refuses an unknown key in %s",
    (part) => {
      const receipt = whole();
      receipt[part][0].surprise = 1;
      expect(valid(receipt)).toBe(false);
    },
  );

  test("refuses an unknown key at the root and in resume", () => {
    expect(valid({ ...whole(), surprise: 1 })).toBe(false);
    const receipt = whole();
    receipt.resume.surprise = 1;
    expect(valid(receipt)).toBe(false);
  });

  test("is closed at every level, and every part that only some runs have is optional", () => {
    const open: string[] = [];
    const walk = (at: string, node: unknown): void => {
      if (typeof node !== "object" || node === null) return;
      if (
        "properties" in node &&
        "type" in node &&
        !("additionalProperties" in node && node.additionalProperties === false)
      )
        open.push(at);
      for (const [key, value] of Object.entries(node)) walk(`${at}/${key}`, value);
    };
    walk("", receiptSchema);
    expect(open).toEqual([]);
    // A reader of the first version of this schema finds all that it knew, and nothing more is asked of a writer.
    expect([...(receiptSchema.required ?? [])].sort()).toEqual(
      "agentId basis breakers calls capBreached claimBasis compactions denomination overspent runId schema stopReason subagents tools totalEstimatedUsd totalTokens tranches unpriced".split(
        " ",
      ),
    );
  });

  test.each(receiptSchema.required ?? [])("requires %s", (key) => {
    const receipt = whole();
    delete receipt[key];
    expect(valid(receipt)).toBe(false);
  });

  test.each([
    ["runId", "-x"],
    ["runId", "a".repeat(129)],
    ["overspent", -1],
    ["totalTokens", 0.5],
    ["stopReason", "tired"],
    ["denomination", "eur"],
    ["cacheShare", 1.1],
  ])("refuses %s = %p", (key, value) => {
    expect(valid({ ...whole(), [key]: value })).toBe(false);
  });
});
