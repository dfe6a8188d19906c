import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { createKernel, illegality, type Outcome, type Run, type RunEvent } from "../../kernel/index.ts";
import { receipt } from "../../plugins/receipt/index.ts";
import { Receipts } from "../../plugins/services.ts";
import { family } from "../support/family.ts";
import { models, unhandledDuring } from "../support/harness.ts";

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

  // Timers of deadlines, tools and taps would keep the process alive for minutes.
  test("nothing keeps the process alive: it ends by itself, with nothing open", async () => {
    const script = fileURLToPath(new URL("../support/abort-everywhere.ts", import.meta.url));
    const child = spawn(process.execPath, ["--conditions=caveman-source", script], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let out = "";
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
    const patience = setTimeout(() => child.kill("SIGKILL"), 40_000);
    const [code, signal] = (await once(child, "close")) as [number | null, string | null];
    clearTimeout(patience);
    const { aborted, open } = JSON.parse(out) as { aborted: number; open: string[] };
    expect({ code, signal, open }).toEqual({ code: 0, signal: null, open: [] });
    expect(aborted).toBeGreaterThan(20);
  }, 60_000);
});
