/** What is left of a budget, as compaction reads it from the ledger: own spend, children's, tranches, wallets. */
import { describe, expect, test } from "@jest/globals";
import { createCaveman } from "../../../index.ts";
import { agent, type CallId, Ledger, noUsage, type Run, subagent, tokens } from "../../../kernel/index.ts";
import { compaction } from "../../../plugins/compaction/index.ts";
import { Purse } from "../../../plugins/compaction/purse.ts";
import { contextEditing } from "../../../plugins/context-editing/index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { recoveryStore } from "../context-editing/stores.ts";
import { capsuleFor } from "./summarisers.ts";
import { look, worker } from "./worlds.ts";

const ledgerOnly = () => {
  const ledger = new Ledger(() => 0);
  return { ledger, run: { ledger } as unknown as Run };
};
const spend = (ledger: Ledger, input: number, output: number, sent = true) =>
  ledger.append("call.settled", {
    callId: "c" as CallId,
    attempt: 1,
    purpose: "turn",
    provider: "p",
    model: "m",
    simulated: true,
    usage: { ...noUsage, input: tokens(input), output: tokens(output) },
    basis: "simulated",
    sent,
    route: "direct",
    finish: "stop",
    latencyMs: 0,
    allowance: 1,
  });

describe("the purse", () => {
  test("is empty without a budget, and never below nothing", () => {
    const { ledger, run } = ledgerOnly();
    const purse = new Purse(run, undefined);
    expect(purse.remaining).toBeUndefined();
    ledger.append("budget.opened", { denomination: "tokens", max: "1000", released: "400" });
    spend(ledger, 100, 20);
    spend(ledger, 999, 999, false); // never left
    expect(purse.remaining).toEqual({ denomination: "tokens", units: 280n });
    ledger.append("budget.released", { amount: "600", reason: "more", atCall: 1 });
    expect(purse.remaining?.units).toBe(880n);
    spend(ledger, 5_000, 0);
    expect(purse.remaining?.units).toBe(0n);
  });
  test("counts dollars by their price, children included, each once", () => {
    const parent = ledgerOnly();
    const child = ledgerOnly();
    const purse = new Purse(parent.run, undefined);
    const below = new Purse(child.run, purse);
    parent.ledger.append("budget.opened", { denomination: "usd", max: "1000", released: "1000" });
    const priced = { callId: "c" as CallId, attempt: 1, unpriced: false, priceBasis: "public_catalog" as const };
    parent.ledger.append("call.priced", { ...priced, picoUsd: "100" });
    child.ledger.append("call.priced", { ...priced, picoUsd: "250" });
    spend(child.ledger, 1, 1);
    expect(purse.remaining?.units).toBe(650n);
    expect(below.remaining?.units).toBe(650n); // without a wallet it spends its parent's
    child.ledger.append("budget.opened", { denomination: "usd", max: "300", released: "300" });
    expect(below.remaining?.units).toBe(50n);
    expect(purse.remaining?.units).toBe(650n);
  });
});

test("a child outlives its own window; its summaries stand on its receipt and are paid from its wallet", async () => {
  const { model, stats } = worker(20, (instruction) => ({ text: JSON.stringify(capsuleFor(instruction)) }), {
    prose: 4_000,
  });
  const child = agent({ id: "child", instructions: "Look.", model, tools: [look], sandbox: "host" });
  const parent = agent({
    id: "parent",
    instructions: "Delegate.",
    sandbox: "host",
    model: scripted([{ toolCalls: [{ name: "ask", input: { task: "Look around" } }] }, { text: "done" }]),
    tools: [subagent({ name: "ask", description: "Asks.", agent: child, maxTokens: 2_000_000 })],
  });
  const caveman = createCaveman({ plugins: [recoveryStore().plugin, contextEditing(), compaction()] });
  const { stopReason, receipt } = await caveman.run(parent, "Go", { budget: { maxTokens: 3_000_000 } });
  expect(stopReason).toBe("complete");
  expect(stats.rejected).toBe(0);
  expect(stats.summaries).toBeGreaterThan(0);
  expect(receipt.compactions).toEqual([]);
  const below = receipt.subagents[0];
  expect(below?.compactions.filter(({ tier }) => tier === "summarized")).toHaveLength(stats.summaries);
  expect(below?.spent).toBe(below?.totalTokens);
  expect(receipt.spent).toBe(receipt.totalTokens);
});
