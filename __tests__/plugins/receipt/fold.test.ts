import { describe, expect, test } from "@jest/globals";
import { Ajv } from "ajv";
import fc from "fast-check";
import type { CallId } from "../../../kernel/index.ts";
import { type Folded, fold } from "../../../plugins/receipt/fold.ts";
import { foldReceipt, type Receipt, receiptSchema, usdOf } from "../../../plugins/receipt/index.ts";
import { type CallSpec, HandRun } from "./ledgers.ts";

const valid = new Ajv({ allErrors: true, strict: false }).compile(receiptSchema);
const accepted = (receipt: Receipt): Receipt => {
  valid(receipt);
  expect(valid.errors ?? []).toEqual([]);
  return receipt;
};
const USD = 1_000_000_000_000n; // 1 USD in units of 1e-12

describe("calls", () => {
  test("input is split so that its parts add up to the tokens of the call, each counted once", () => {
    const [call] = accepted(
      foldReceipt(
        new HandRun()
          .call({ input: 1_000, cacheRead: 600, cacheWrite: 100, output: 50, reasoning: 20, pico: 1n })
          .end(),
      ),
    ).calls;
    expect(call).toMatchObject({
      inputTokens: 300,
      cacheReadTokens: 600,
      cacheWriteTokens: 100,
      outputTokens: 50,
      reasoningTokens: 20,
    });
    const receipt = foldReceipt(
      new HandRun().call({ input: 1_000, cacheRead: 600, cacheWrite: 100, output: 50 }).end(),
    );
    expect(receipt.totalTokens).toBe(1_050); // 300 + 600 + 100 + 50
    expect(receipt.cacheShare).toBe(0.6);
  });

  test("without input there is no cache share", () => {
    expect(accepted(foldReceipt(new HandRun().end()))).not.toHaveProperty("cacheShare");
  });

  test("without a pricing plugin every call is unpriced and the total is no claim", () => {
    const receipt = accepted(foldReceipt(new HandRun().call({ input: 10, output: 2 }).end()));
    expect(receipt).toMatchObject({ unpriced: true, totalEstimatedUsd: 0 });
    expect(receipt.calls[0]).toMatchObject({ unpriced: true, estimatedUsd: 0 });
    expect(receipt.calls[0]).not.toHaveProperty("costUsd");
  });

  test("one call without a price makes the tree unpriced and leaves the others' sum", () => {
    const child = new HandRun("run_2", "helper").call({ pico: "unpriced" }).end();
    const receipt = accepted(
      foldReceipt(
        new HandRun()
          .call({ pico: USD / 4n })
          .child(child)
          .end(),
      ),
    );
    expect(receipt).toMatchObject({ unpriced: true, totalEstimatedUsd: 0.25 });
    expect(receipt.calls[0]).toMatchObject({ unpriced: false, estimatedUsd: 0.25, costUsd: 0.25 });
  });

  test("an attempt that never left has no usage and nothing to price", () => {
    const receipt = accepted(
      foldReceipt(
        new HandRun()
          .call({ id: "c", sent: false, errorCode: "cave_provider_failed" })
          .call({ id: "c", attempt: 2, pico: USD })
          .end(),
      ),
    );
    expect(receipt.calls.map((call) => call.usageBasis)).toEqual(["unavailable", "provider_reported"]);
    expect(receipt).toMatchObject({ unpriced: false, totalEstimatedUsd: 1, turns: 1 });
  });

  test("attempts of one call are rows of their own and one turn", () => {
    const run = new HandRun()
      .call({ id: "c", basis: "bound", errorCode: "cave_provider_failed" })
      .call({ id: "c", attempt: 2 })
      .call({ purpose: "summary" })
      .end();
    const receipt = accepted(foldReceipt(run));
    expect(receipt.turns).toBe(1);
    expect(receipt.calls.map(({ attempt, purpose, usageBasis }) => [attempt, purpose, usageBasis])).toEqual([
      [1, "turn", "bound"],
      [2, "turn", "provider_reported"],
      [1, "summary", "provider_reported"],
    ]);
  });

  test("a fact that was recorded twice counts once", () => {
    const run = new HandRun().call({ id: "c", input: 5, pico: USD }).call({ id: "c", input: 5, pico: USD }).end();
    expect(foldReceipt(run)).toMatchObject({ totalTokens: 5, totalEstimatedUsd: 1, calls: { length: 1 } });
  });

  test("a clamp is on its attempt", () => {
    const run = new HandRun().call({ id: "c", clamp: 300 }).call({ id: "d" });
    run.ledger.append("budget.clamped", { callId: "d" as CallId, attempt: 1, tokens: 256 });
    expect(accepted(foldReceipt(run.end())).calls.map((call) => call.clampedOutputTokens)).toEqual([300, 256]);
  });
});

describe("the end", () => {
  test.each(["error", "aborted"] as const)("%s carries its code", (reason) => {
    expect(accepted(foldReceipt(new HandRun().end(reason, 10, "cave_provider_failed")))).toMatchObject({
      stopReason: reason,
      errorCode: "cave_provider_failed",
    });
  });

  test("a graceful stop carries none", () => {
    const run = new HandRun();
    run.ledger.append("run.stopped", { reason: "deadline", code: "cave_deadline" });
    expect(accepted(foldReceipt(run.end("deadline")))).not.toHaveProperty("errorCode");
  });

  test("before the end the receipt says that it is open, and how long the run has taken", () => {
    const run = new HandRun().call({ input: 7 });
    run.now = 3_500;
    run.call({ input: 1 });
    expect(accepted(foldReceipt(run))).toMatchObject({ open: true, durationMs: 2_500, totalTokens: 8 });
  });

  test("the outcome speaks until the kernel has recorded the end", () => {
    const run = Object.assign(new HandRun(), {
      outcome: { stopReason: "error" as const, durationMs: 42, error: { code: "cave_x" } },
    });
    const receipt = accepted(foldReceipt(run));
    expect(receipt).toMatchObject({ stopReason: "error", errorCode: "cave_x", durationMs: 42 });
    expect(receipt).not.toHaveProperty("open");
  });
});

describe("tools", () => {
  test("a call that was refused is a call that ended in an error, before its admission or after", () => {
    const run = new HandRun().tool("read").tool("read", "error").tool("read", "denied").tool("write", "late").end();
    expect(accepted(foldReceipt(run)).tools).toEqual([
      { name: "read", calls: 3, errors: 2, denied: 1 },
      { name: "write", calls: 1, errors: 1, denied: 1 },
    ]);
  });

  test("a provider that uses one tool call id again loses no error", () => {
    const run = new HandRun().tool("read", "denied", "0").tool("read", "error", "0").end();
    expect(foldReceipt(run).tools).toEqual([{ name: "read", calls: 2, errors: 2, denied: 1 }]);
  });

  test("a name the model made up appears as a digest and never as itself", () => {
    const secret = "exfiltrate_sk_live_0123456789";
    const run = new HandRun()
      .tool(secret, "invented")
      .tool(secret, "invented")
      .tool("other_invention", "invented")
      .tool("undeclared");
    run.ledger.append("breaker.tripped", { kind: "loop_detected", tool: secret, count: 3 });
    const receipt = accepted(foldReceipt(run.end()));
    expect(JSON.stringify(receipt)).not.toContain("exfiltrate");
    expect(JSON.stringify(receipt)).not.toContain("other_invention");
    expect(receipt.tools.map(({ name, calls, denied }) => [name, calls, denied])).toEqual([
      ["undeclared", 2, 2],
      ["undeclared", 1, 1],
      ["undeclared", 1, undefined],
    ]);
    expect(receipt.tools.map((tool) => tool.nameDigest?.length)).toEqual([64, 64, undefined]);
    expect(receipt.breakers[0]?.tool).toBe("undeclared");
  });
});

describe("budget", () => {
  test("dollars come back exact from whole units", () => {
    const run = new HandRun().call({ pico: 34_200_000_000n });
    run.ledger.append("budget.opened", { denomination: "usd", max: "50000000000", released: "20000000000" });
    run.ledger.append("budget.released", { amount: "15000000000", reason: "more to do", atCall: 2 });
    run.ledger.append("budget.closed", {
      spent: "34200000000",
      overspent: "0",
      capBreached: false,
      remaining: "800000000",
      max: "50000000000",
      released: "35000000000",
    });
    expect(accepted(foldReceipt(run.end()))).toMatchObject({
      denomination: "usd",
      max: 0.05,
      released: 0.035,
      spent: 0.0342,
      remaining: 0.0008,
      overspent: 0,
      capBreached: false,
      tranches: [{ amount: 0.015, reason: "more to do", atCall: 2 }],
    });
  });

  test("an open budget is read from what was released and spent so far", () => {
    const run = new HandRun().call({ input: 90, output: 20 });
    run.ledger.append("budget.opened", { denomination: "tokens", max: "100", released: "100" });
    expect(accepted(foldReceipt(run))).toMatchObject({
      denomination: "tokens",
      max: 100,
      spent: 110,
      remaining: 0,
      overspent: 10,
      capBreached: true,
    });
  });

  test("a child's breach is told at the root, its overspend stays the child's own", () => {
    const child = new HandRun("run_2");
    child.ledger.append("budget.opened", { denomination: "tokens", max: "10", released: "10" });
    child.ledger.append("budget.closed", {
      spent: "12",
      overspent: "2",
      capBreached: true,
      remaining: "0",
      max: "10",
      released: "10",
    });
    const receipt = accepted(foldReceipt(new HandRun().child(child.end()).end()));
    expect(receipt).toMatchObject({
      capBreached: true,
      overspent: 0,
      denomination: "none",
      subagents: [{ capBreached: true, overspent: 2 }],
    });
  });
});

test("a retry breaker always states its spend", () => {
  const run = new HandRun();
  run.ledger.append("budget.opened", { denomination: "usd", max: USD.toString(), released: USD.toString() });
  run.ledger.append("breaker.tripped", {
    kind: "retry_attempted",
    count: 1,
    reservedSpend: (USD / 10n).toString(),
    spendBasis: "pre_stream_no_usage",
    signature: "c".repeat(64),
  });
  run.ledger.append("breaker.tripped", { kind: "retry_attempted", count: 2 });
  expect(accepted(foldReceipt(run.end())).breakers).toEqual([
    {
      kind: "retry_attempted",
      count: 1,
      signature: "c".repeat(64),
      reservedSpend: 0.1,
      measuredSpend: 0,
      spendBasis: "pre_stream_no_usage",
    },
    { kind: "retry_attempted", count: 2, reservedSpend: 0, measuredSpend: 0, spendBasis: "unavailable_worst_case" },
  ]);
});

test("a compaction is charged its summary call and credited the calls after it", () => {
  const run = new HandRun().call({ input: 9_000 }).call({ id: "s", purpose: "summary", pico: USD / 1_000n });
  run.ledger.append("compaction.settled", {
    tier: "summarized",
    preTokens: 8_000,
    postTokens: 3_000,
    pinnedSegmentIds: ["p"],
    elidedSegmentDigests: ["d".repeat(64)],
    cacheState: "warm",
    summaryCall: "s" as CallId,
    summarySchemaVersion: 1,
  });
  run.ledger.append("transcript.compacted", {
    by: "compaction",
    reason: "pressure",
    beforeBytes: 32_000,
    afterBytes: 12_000,
    dropped: 9,
  });
  run.call().call();
  // (8000 − 3000) × 2 calls after it − 3000 to send the summary once
  expect(accepted(foldReceipt(run.end()))).toMatchObject({
    compactions: [{ index: 0, meteredCost: 0.001, workingCallsAfter: 2, modeledNetTokens: 7_000 }],
    rewrites: [{ by: "compaction", dropped: 9 }],
  });
});

test.each([
  ["priced", ["s"], [USD], undefined],
  ["priced, with an attempt that has no price", ["s", "s"], ["unpriced", USD], true],
  ["not in the catalog", ["s"], ["unpriced"], true],
  ["without a pricing plugin", ["s"], [undefined], true],
  ["none", ["other"], ["unpriced"], undefined],
] as const)("a compaction whose summary is %s", (_, ids, prices, unpriced) => {
  const run = new HandRun();
  for (const [index, id] of ids.entries()) {
    const pico = prices[index];
    run.call({ id, attempt: index + 1, purpose: "summary", ...(pico === undefined ? {} : { pico }) });
  }
  run.ledger.append("compaction.settled", {
    tier: "summarized",
    preTokens: 8_000,
    postTokens: 3_000,
    pinnedSegmentIds: [],
    elidedSegmentDigests: [],
    cacheState: "warm",
    ...(ids[0] === "s" ? { summaryCall: "s" as CallId } : {}),
  });
  const [row] = accepted(foldReceipt(run.end())).compactions;
  expect(row?.unpriced).toBe(unpriced);
  expect(row?.meteredCost).toBe(prices.some((pico) => pico === USD) ? 1 : 0);
});

test("what came before a resume is in the totals once", () => {
  const run = new HandRun().call({ input: 5, pico: USD });
  run.ledger.append("run.resumed", {
    attempts: 2,
    priorCalls: 3,
    priorPicoUsd: (USD * 2n).toString(),
    priorTokens: 100,
    priorUnpriced: false,
    possibleDoubleCountCalls: 1,
    discardedPartialTurn: true,
  });
  expect(accepted(foldReceipt(run.end()))).toMatchObject({
    totalEstimatedUsd: 3,
    totalTokens: 105,
    unpriced: false,
    resume: { attempts: 2, priorEstimatedUsd: 2 },
  });
});

test("money is exact: ten thousand calls of 0.0000342 USD are 0.342 USD", () => {
  const run = new HandRun();
  for (let i = 0; i < 10_000; i++) run.call({ pico: 34_200_000n });
  expect(foldReceipt(run).totalEstimatedUsd).toBe(0.342);
  expect(usdOf(-1n)).toBe(-1e-12);
  expect(usdOf(123_456_789_012_345_678n)).toBe(Number("123456.789012345678"));
});

test("recorded amounts of any length are exact, and what is no whole amount counts as nothing", () => {
  const digits = fc
    .tuple(fc.integer({ min: 1, max: 70 }), fc.array(fc.nat(9), { minLength: 70, maxLength: 70 }))
    .map(([length, all]) => all.slice(0, length).join(""));
  const amount = fc.oneof(
    { weight: 3, arbitrary: digits },
    { weight: 3, arbitrary: fc.constantFrom(14, 15, 15, 15, 16, 17, 60, 61).map((length) => "9".repeat(length)) },
    fc.constantFrom("", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "1n", "\u0663", "00000000000000000042"),
    fc.constantFrom("9007199254740991", "9007199254740992", "9007199254740993", "0"),
  );
  /** The rule, by an expression: one to sixty digits. */
  const whole = (text: string): bigint => (/^[0-9]{1,60}$/.test(text) ? BigInt(text) : 0n);
  const dollars = (pico: bigint): number => {
    const text = pico.toString().padStart(13, "0");
    return Number(`${text.slice(0, -12)}.${text.slice(-12)}`);
  };
  const world = fc.record({
    prices: fc.array(fc.record({ picoUsd: amount, unpriced: fc.constantFrom(false, false, true) }), {
      maxLength: 24,
      size: "max",
    }),
    // Ten times fifteen nines are more than a number holds exactly.
    nines: fc.nat(12),
    denomination: fc.constantFrom("usd" as const, "tokens" as const),
    max: amount,
    spent: amount,
    tranche: amount,
    prior: amount,
  });
  let long = 0;
  fc.assert(
    fc.property(world, ({ prices: given, nines, denomination, max, spent, tranche, prior }) => {
      const prices = [...Array.from({ length: nines }, () => ({ picoUsd: "9".repeat(15), unpriced: false })), ...given];
      const run = new HandRun();
      prices.forEach(({ picoUsd, unpriced }, n) => {
        run.call({ id: `c${n}` });
        const callId = `c${n}` as CallId;
        run.ledger.append("call.priced", { callId, attempt: 1, picoUsd, unpriced, priceBasis: "public_catalog" });
      });
      run.ledger.append("budget.opened", { denomination, max, released: max });
      run.ledger.append("budget.released", { amount: tranche, reason: "more", atCall: 1 });
      run.ledger.append("budget.closed", {
        spent,
        overspent: "0",
        capBreached: false,
        remaining: tranche,
        max,
        released: max,
      });
      run.ledger.append("run.resumed", {
        attempts: 1,
        priorCalls: 0,
        priorPicoUsd: prior,
        priorTokens: 0,
        priorUnpriced: false,
        possibleDoubleCountCalls: 0,
        discardedPartialTurn: false,
        priorSettled: prior,
      });
      const { receipt, totals } = fold(run.end(), () => undefined);
      const costs = prices.map(({ picoUsd, unpriced }) => (unpriced ? 0n : whole(picoUsd)));
      const total = costs.reduce((sum, cost) => sum + cost, whole(prior));
      if (total > 2n ** 53n) long++;
      expect(totals.pico).toBe(total);
      expect(receipt.totalEstimatedUsd).toBe(dollars(total));
      expect(receipt.calls.map(({ estimatedUsd }) => estimatedUsd)).toEqual(costs.map(dollars));
      const figure = (text: string): number => (denomination === "usd" ? dollars(whole(text)) : Number(whole(text)));
      expect(receipt).toMatchObject({
        max: figure(max),
        released: figure(max),
        spent: figure(spent),
        remaining: figure(tranche),
        resume: { priorEstimatedUsd: dollars(whole(prior)), priorSettled: figure(prior) },
        tranches: whole(tranche) > 0n ? [{ amount: figure(tranche) }] : [],
      });
    }),
    { numRuns: 500 },
  );
  expect(long).toBeGreaterThan(100);
});

interface Tree {
  calls: CallSpec[];
  children: Tree[];
}
const callArb: fc.Arbitrary<CallSpec> = fc
  .record({
    input: fc.nat(1e6),
    cacheRead: fc.nat(1e5),
    cacheWrite: fc.nat(1e5),
    output: fc.nat(1e5),
    pico: fc.oneof(
      { weight: 4, arbitrary: fc.bigInt(0n, 10n ** 14n) },
      { weight: 1, arbitrary: fc.constant("unpriced" as const) },
    ),
    attempt: fc.integer({ min: 1, max: 3 }),
    purpose: fc.constantFrom("turn" as const, "repair" as const, "summary" as const),
  })
  .map((call) => ({ ...call, input: call.input + call.cacheRead + call.cacheWrite }));
const { tree: treeArb } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.record({
    calls: fc.array(callArb, { maxLength: 6 }),
    children: fc.oneof({ maxDepth: 3 }, fc.constant<Tree[]>([]), fc.array(tie("tree"), { maxLength: 3 })),
  }),
}));

test("totals are the sum over any tree of runs, each amount once, also from receipts that were made before", () => {
  fc.assert(
    fc.property(treeArb, (tree) => {
      let pico = 0n;
      let all = 0;
      let runs = 0;
      const made = new Map<object, Folded>();
      const build = ({ calls, children }: Tree): HandRun => {
        const run = new HandRun(`run_${++runs}`);
        for (const call of calls) {
          run.call(call);
          all += (call.input ?? 0) + (call.output ?? 0);
          if (typeof call.pico === "bigint") pico += call.pico;
        }
        for (const child of children) run.child(build(child));
        run.end();
        made.set(
          run,
          fold(run, (child) => made.get(child)),
        );
        return run;
      };
      const root = build(tree);
      const fresh = foldReceipt(root);
      expect(made.get(root)?.receipt).toEqual(fresh);
      // The oracle divides by 1e12 as text, on its own.
      const text = pico.toString().padStart(13, "0");
      expect(fresh.totalEstimatedUsd).toBe(Number(`${text.slice(0, -12)}.${text.slice(-12)}`));
      expect(fresh.totalTokens).toBe(all);
      const flat = (receipt: Receipt): Receipt[] => [receipt, ...receipt.subagents.flatMap(flat)];
      expect(flat(fresh)).toHaveLength(runs);
      expect(
        flat(fresh)
          .flatMap((one) => one.calls)
          .reduce(
            (sum, call) => sum + call.inputTokens + call.outputTokens + call.cacheReadTokens + call.cacheWriteTokens,
            0,
          ),
      ).toBe(all);
      accepted(fresh);
    }),
    { numRuns: 200 },
  );
});
