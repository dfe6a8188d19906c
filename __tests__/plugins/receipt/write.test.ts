import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import {
  agent,
  CavemanError,
  createKernel,
  definePlugin,
  type Plugin,
  type Run,
  type RunOptions,
  tokens,
} from "../../../kernel/index.ts";
import { foldReceipt, receipt } from "../../../plugins/receipt/index.ts";
import { writeReceipt } from "../../../plugins/receipt/write.ts";
import { Receipts } from "../../../plugins/services.ts";
import { HandRun } from "./ledgers.ts";

let rootDir: string;
beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), "receipt-"));
});
afterEach(() => {
  jest.restoreAllMocks();
  rmSync(rootDir, { recursive: true, force: true });
});
const mode = (path: string): number => statSync(path).mode & 0o777;
const at = Date.UTC(2026, 0, 2, 3, 4, 5, 678);
const stamp = "2026-01-02T03-04-05";

describe("writeReceipt", () => {
  const made = foldReceipt(new HandRun().call({ input: 3 }).end());
  const where = () => ({ rootDir, dir: ".caveman/runs", at });

  test("writes the whole receipt where only its owner reads it", async () => {
    const path = await writeReceipt(made, where());
    expect(path).toBe(join(rootDir, ".caveman/runs", stamp, "receipt.json"));
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(JSON.parse(JSON.stringify(made)));
    expect([
      mode(join(rootDir, ".caveman")),
      mode(join(rootDir, ".caveman/runs")),
      mode(join(path, "..")),
      mode(path),
    ]).toEqual([0o700, 0o700, 0o700, 0o600]);
    expect(readdirSync(join(path, ".."))).toEqual(["receipt.json"]);
  });

  test("runs of one second each get a folder, up to -99", async () => {
    const paths = await Promise.all(Array.from({ length: 5 }, () => writeReceipt(made, where())));
    expect(paths.map((path) => path.split("/").at(-2)).sort()).toEqual([
      stamp,
      ...[2, 3, 4, 5].map((n) => `${stamp}-${n}`),
    ]);
    for (let n = 6; n <= 99; n++) mkdirSync(join(rootDir, ".caveman/runs", `${stamp}-${n}`));
    await expect(writeReceipt(made, where())).rejects.toMatchObject({ code: "cave_receipt_unwritable" });
  });

  test("a place that cannot be written is a coded error", async () => {
    writeFileSync(join(rootDir, ".caveman"), "a file");
    await expect(writeReceipt(made, where())).rejects.toThrow(CavemanError);
  });
});

describe("the plugin", () => {
  const someone = agent({ id: "assistant", instructions: "Help.", model: "sim/x" });
  const counted = definePlugin({
    name: "counted",
    apply: (kernel) =>
      kernel.hooks.settle.tap(
        "counted",
        ({ run }) =>
          void run.record("call.settled", {
            callId: "c" as never,
            attempt: 1,
            purpose: "turn",
            provider: "sim",
            model: "x",
            simulated: true,
            usage: {
              input: tokens(4),
              output: tokens(1),
              cacheRead: tokens(0),
              cacheWrite: tokens(0),
              reasoning: tokens(0),
            },
            basis: "simulated",
            sent: true,
            route: "direct",
            finish: "stop",
            latencyMs: 0,
            allowance: 8,
          }),
      ),
  });
  const settled = async (plugin: Plugin, options: RunOptions = {}, error?: Error): Promise<Run> => {
    const { run, close } = await createKernel({ plugins: [plugin, counted()] }).open(someone, { rootDir, ...options });
    await close(error ? { error } : {});
    return run;
  };

  test("by itself it writes and prints nothing, and serves the receipt", async () => {
    const print = jest.spyOn(process.stdout, "write").mockReturnValue(true);
    const run = await settled(receipt());
    expect(print).not.toHaveBeenCalled();
    expect(readdirSync(rootDir)).toEqual([]);
    const served = run.service(Receipts).receiptOf(run);
    expect(served).toMatchObject({ runId: run.id, agentId: "assistant", stopReason: "complete", totalTokens: 5 });
    expect(served).not.toHaveProperty("open");
    expect(run.service(Receipts).receiptOf(run)).toBe(served);
  });

  test("before the end it serves what the ledger holds so far", async () => {
    const { run, close } = await createKernel({ plugins: [receipt()] }).open(someone, { rootDir });
    expect(run.service(Receipts).receiptOf(run)).toMatchObject({ open: true, totalTokens: 0 });
    await close();
  });

  test("printReceipt writes it and prints where", async () => {
    const print = jest.spyOn(process.stdout, "write").mockReturnValue(true);
    await settled(receipt({ dir: "out" }), { printReceipt: true });
    const text = String(print.mock.calls[0]?.[0]);
    const [folder] = readdirSync(join(rootDir, "out"));
    expect(text).toContain("run complete · 1 turn");
    expect(text).toContain(join(rootDir, "out", folder ?? "", "receipt.json"));
  });

  test("write writes without printing, also for a run that failed", async () => {
    const print = jest.spyOn(process.stdout, "write").mockReturnValue(true);
    await settled(receipt({ write: true }), {}, new CavemanError("cave_provider_failed"));
    const [folder] = readdirSync(join(rootDir, ".caveman/runs"));
    expect(
      JSON.parse(readFileSync(join(rootDir, ".caveman/runs", folder ?? "", "receipt.json"), "utf8")),
    ).toMatchObject({ stopReason: "error", errorCode: "cave_provider_failed", totalTokens: 5 });
    expect(print).not.toHaveBeenCalled();
  });

  test("a receipt that cannot be written is a notice, is printed all the same, and fails no run", async () => {
    const print = jest.spyOn(process.stdout, "write").mockReturnValue(true);
    writeFileSync(join(rootDir, ".caveman"), "a file");
    const run = await settled(receipt(), { printReceipt: true });
    expect(run.outcome?.stopReason).toBe("complete");
    expect(run.ledger.of("notice").map((fact) => fact.code)).toEqual(["cave_receipt_unwritable"]);
    expect(String(print.mock.calls[0]?.[0])).not.toContain("full receipt");
    expect(existsSync(join(rootDir, ".caveman/runs"))).toBe(false);
  });

  test("where no folder can be made it is a notice too, and no endless wait", async () => {
    if (process.platform !== "linux") return;
    const run = await settled(receipt({ dir: "/proc/nowhere/deep", write: true }));
    expect(run.ledger.of("notice").map((fact) => fact.code)).toEqual(["cave_receipt_unwritable"]);
  });

  test("a guard that fails after the receipt was made is on the receipt", async () => {
    const strict = definePlugin({
      name: "strict",
      apply: (kernel) =>
        kernel.hooks.settle.tap({ name: "strict", stage: "receipt", after: "receipt:write", guard: true }, () => {
          throw new CavemanError("cave_strict");
        }),
    });
    const { run, close } = await createKernel({ plugins: [receipt(), strict()] }).open(someone, { rootDir });
    await close();
    expect(run.service(Receipts).receiptOf(run)).toMatchObject({ stopReason: "error", errorCode: "cave_strict" });
  });

  test("unknown options are refused", () => {
    expect(() => receipt({ dirr: "x" } as never)).toThrow(/cave_option_invalid.*"dirr"/);
  });
});
