import { describe, expect, test } from "@jest/globals";
import {
  agent,
  createKernel,
  illegality,
  type Outcome,
  type Run,
  type RunEvent,
  schema,
  subagent,
  tool,
} from "../../kernel/index.ts";
import { scripted } from "../../plugins/providers/scripted/index.ts";
import { receipt } from "../../plugins/receipt/index.ts";
import { Receipts } from "../../plugins/services.ts";
import { models, unhandledDuring } from "../support/harness.ts";

/** Three turns, two children side by side in the first, a slow tool in the second. */
function family() {
  const child = (id: string) =>
    agent({
      id,
      instructions: "Look it up.",
      model: scripted([{ toolCalls: [{ name: "wait", input: { ms: 1 } }] }, { text: `${id} found it`, chunks: 3 }]),
      tools: [wait],
    });
  const wait = tool({
    name: "wait",
    description: "Waits.",
    input: schema.object({ ms: schema.number() }),
    effect: "read",
    execute: ({ ms }, { signal }) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve("waited"), ms);
        signal.addEventListener(
          "abort",
          () => {
            clearTimeout(timer);
            reject(signal.reason);
          },
          { once: true },
        );
      }),
  });
  return agent({
    id: "parent",
    instructions: "Delegate.",
    model: scripted([
      {
        text: "Asking two.",
        chunks: 2,
        toolCalls: [
          { name: "one", input: { task: "a" } },
          { name: "two", input: { task: "b" } },
        ],
      },
      { reasoning: "Hm.", toolCalls: [{ name: "wait", input: { ms: 1 } }] },
      { text: "All done.", chunks: 3 },
    ]),
    tools: [
      wait,
      subagent({ name: "one", description: "First.", agent: child("one") }),
      subagent({ name: "two", description: "Second.", agent: child("two") }),
    ],
  });
}

const kernel = () => createKernel({ plugins: [models, receipt()] });

async function abortedAt(
  index: number,
  how: "signal" | "return",
): Promise<{ outcome: Outcome; run: Run; reached: boolean }> {
  const stop = new AbortController();
  let seen = 0;
  let live: Run | undefined;
  const events: RunEvent[] = [];
  if (how === "signal") {
    const started = kernel().start(family(), "go", { signal: stop.signal }, () => {
      if (seen++ === index) stop.abort();
    });
    return { outcome: await started.done, run: started.run, reached: seen > index };
  }
  const stream = kernel().stream(family(), "go", {}, (run) => (live = run));
  for await (const event of stream) {
    events.push(event);
    if (seen++ === index) break; // `break` calls the iterator's return()
  }
  if (!live?.outcome) throw new Error("return() came back before the run was settled");
  return { outcome: live.outcome, run: live, reached: seen > index };
}

function everyRun(run: Run): Run[] {
  return [run, ...run.children.flatMap(everyRun)];
}

describe("aborting at any event settles everything", () => {
  test.each(["signal", "return"] as const)(
    "by %s, at every event index",
    async (how) => {
      let aborted = 0;
      const unhandled = await unhandledDuring(async () => {
        for (let index = 0; ; index++) {
          const { outcome, run, reached } = await abortedAt(index, how);
          if (!reached) break;
          for (const each of everyRun(run)) {
            expect(illegality(each.transcript.view.messages)).toBeUndefined();
            expect(each.outcome).toBeDefined();
            expect(each.ledger.of("run.settled")).toHaveLength(1);
            expect(each.ledger.of("run.settled")[0]?.openHolds).toBe(0);
            const settled = each.ledger.of("call.settled").length;
            expect(each.ledger.of("call.intended")).toHaveLength(settled);
          }
          const paper = run.service(Receipts).receiptOf(run);
          expect(paper.stopReason).toBe(outcome.stopReason);
          if (outcome.stopReason === "aborted") {
            aborted++;
            expect(outcome.error?.code).toBe(how === "signal" ? "cave_run_aborted" : "cave_stream_cancelled");
          } else expect(outcome.stopReason).toBe("complete"); // aborted only after the last work was done
          // A call that was sent is never booked at zero.
          for (const call of run.ledger.of("call.settled")) if (call.sent) expect(call.usage.input).toBeGreaterThan(0);
        }
      });
      expect(unhandled).toEqual([]);
      expect(aborted).toBeGreaterThan(20);
    },
    60_000,
  );
});
