import { describe, expect, test } from "@jest/globals";
import type { CallId } from "../../../kernel/index.ts";
import { foldReceipt, renderReceipt } from "../../../plugins/receipt/index.ts";
import { HandRun } from "./ledgers.ts";

const lines = (...text: string[]): string => `${text.join("\n")}\n`;

test("a complete run", () => {
  const run = new HandRun()
    .call({ input: 10_000, cacheRead: 8_299, output: 1_200, reasoning: 300, pico: 12_300_000_000n })
    .tool("read")
    .tool("read", "error")
    .tool("bash", "denied")
    .call({ input: 2_000, output: 34, pico: 45_000_000n });
  expect(renderReceipt(foldReceipt(run.end()), { path: ".caveman/runs/2026-01-02T03-04-05/receipt.json" })).toBe(
    lines(
      "run complete · 2 turns · 1.2s",
      "",
      "  model          anthropic/claude-haiku-4-5",
      "  calls          2",
      "  input          12,000 tokens · 69% from cache", // 8299 / 12000 = 69.2 %
      "  output         1,234 tokens",
      "  reasoning      300 tokens",
      "  tools          read ×2 (1 error), bash ×0 (1 denied)",
      "  cost           $0.012345 · estimated list price, inferred",
      "  full receipt   .caveman/runs/2026-01-02T03-04-05/receipt.json",
    ),
  );
});

test("a run that its budget stopped", () => {
  const run = new HandRun().call({ input: 400, output: 100, pico: 60_000_000_000n, clamp: 256 });
  run.ledger.append("budget.opened", { denomination: "usd", max: "50000000000", released: "50000000000" });
  run.ledger.append("budget.closed", {
    spent: "60000000000",
    overspent: "10000000000",
    capBreached: true,
    remaining: "0",
    max: "50000000000",
    released: "50000000000",
  });
  expect(renderReceipt(foldReceipt(run.end("budget_exhausted")))).toBe(
    lines(
      "run stopped — budget exhausted",
      "",
      "  model          anthropic/claude-haiku-4-5",
      "  calls          1",
      "  input          400 tokens",
      "  output         100 tokens",
      "  cost           $0.06 · estimated list price, inferred",
      "  budget         $0.06 of $0.05 · over by $0.01 · estimated list price, inferred",
      "  clamps         1 call held to 256 output tokens",
    ),
  );
});

test("a failed run under tokens, with children, breakers and rewrites", () => {
  const deep = new HandRun("run_3", "reader").call({ input: 5, output: 1 }).end();
  const one = new HandRun("run_2", "researcher").call({ input: 10, output: 2 }).child(deep).end("deadline");
  const two = new HandRun("run_4", "writer").end("error", 3, "cave_provider_failed");
  const run = new HandRun()
    .call({ id: "c", input: 100, output: 7, basis: "bound", errorCode: "cave_provider_failed" })
    .call({ id: "c", attempt: 2, input: 100, output: 7 })
    .child(one)
    .child(two);
  run.ledger.append("budget.opened", { denomination: "tokens", max: "1000", released: "500" });
  run.ledger.append("budget.closed", {
    spent: "232",
    overspent: "0",
    capBreached: false,
    remaining: "268",
    max: "1000",
    released: "500",
  });
  run.ledger.append("breaker.tripped", { kind: "loop_detected", count: 3 });
  run.ledger.append("transcript.compacted", {
    by: "context-editing",
    reason: "pressure",
    beforeBytes: 9,
    afterBytes: 4,
    dropped: 0,
  });
  expect(renderReceipt(foldReceipt(run.end("error", 900, "cave_provider_failed")))).toBe(
    lines(
      "run failed — cave_provider_failed",
      "",
      "  model          anthropic/claude-haiku-4-5",
      "  calls          4 · 2 in subagents · 1 retried · 1 failed · 1 booked at the bound",
      "  input          215 tokens",
      "  output         17 tokens",
      "  cost           unpriced",
      "  budget         232 tokens of 1,000 tokens · 500 tokens released · 268 tokens remaining",
      "  breakers       loop detected ×3",
      "  compactions    1 rewrite of the view by context-editing",
      "  subagents      ├─ researcher · deadline · 1 call · 18 tokens · unpriced",
      "                 │  └─ reader · complete · 1 call · 6 tokens · unpriced",
      "                 └─ writer · cave_provider_failed · 0 calls · 0 tokens · $0.00",
    ),
  );
});

describe("money", () => {
  test("an unpriced run shows no dollar sign, though some of its calls have a price", () => {
    const text = renderReceipt(
      foldReceipt(new HandRun().call({ pico: 5_000_000_000_000n }).call({ pico: "unpriced" }).end()),
    );
    expect(text).toContain("cost           unpriced · 1 of 2 calls without a price");
    expect(text).not.toContain("$");
  });

  test("scripted figures are marked", () => {
    expect(
      renderReceipt(foldReceipt(new HandRun().call({ simulated: true, basis: "simulated", pico: 0n }).end())),
    ).toContain("$0.00 (simulated) · estimated list price, inferred");
    expect(renderReceipt(foldReceipt(new HandRun().call({ simulated: true, basis: "simulated" }).end()))).toContain(
      "cost           unpriced (simulated)",
    );
  });

  test("an amount too small to print is not shown as nothing", () => {
    expect(renderReceipt(foldReceipt(new HandRun().call({ pico: 1n }).end()))).toContain("<$0.000001");
  });
});

test("names cannot move the cursor or turn the text around", () => {
  const run = new HandRun("run_1").call({ provider: "x\u001b[2J", model: "m\u202e\r\nfake" }).tool("t\u0007");
  const text = renderReceipt(foldReceipt(run.end()));
  for (const unsafe of ["\u0007", "\u001b", "\u202e", "\r"]) expect(text).not.toContain(unsafe);
});

test("color is only what was asked for, and changes no text", () => {
  const receipt = foldReceipt(new HandRun().call().end());
  const colored = renderReceipt(receipt, { color: true });
  expect(colored).toContain("\u001b[32mrun complete");
  // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for
  expect(colored.replace(/\u001b\[\d+m/g, "")).toBe(renderReceipt(receipt));
});

test("a long row goes on under its value and a path stays whole", () => {
  const run = new HandRun();
  for (let i = 0; i < 12; i++) run.tool(`tool_number_${i}`);
  const path = `/${"deep/".repeat(20)}receipt.json`;
  const text = renderReceipt(foldReceipt(run.end()), { width: 60, path }).split("\n");
  expect(text.find((line) => line.includes("full receipt"))).toContain(path);
  const rest = text.filter((line) => !line.includes(path));
  expect(Math.max(...rest.map((line) => line.length))).toBeLessThanOrEqual(60);
  expect(
    rest
      .filter((line) => line.includes("tool_number"))
      .slice(1)
      .every((line) => line.startsWith(" ".repeat(17))),
  ).toBe(true);
});

test.each([
  [1_000n, ""],
  ["unpriced", " · summary unpriced"],
] as const)("compactions in tokens say what they are thought to have saved, with a summary at %s", (pico, end) => {
  const run = new HandRun().call({ id: "s", purpose: "summary", pico });
  run.ledger.append("compaction.settled", {
    tier: "summarized",
    preTokens: 8_000,
    postTokens: 3_000,
    pinnedSegmentIds: [],
    elidedSegmentDigests: [],
    cacheState: "warm",
    summaryCall: "s" as CallId,
  });
  expect(renderReceipt(foldReceipt(run.call().end()))).toContain(
    `compactions    summarized · 8,000 → 3,000 tokens · modeled net +2,000 tokens${end}\n`,
  );
});
