import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { receiptPage } from "../../cli/render/receipt-html.ts";
import type { Receipt } from "../../plugins/receipt/index.ts";
import { caveman, folder, here } from "./caveman.ts";

const call = (model: string, usd: number, more: Partial<Receipt["calls"][number]> = {}): Receipt["calls"][number] => ({
  provider: "acme",
  model,
  inputTokens: 100,
  outputTokens: 10,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  estimatedUsd: usd,
  unpriced: false,
  usageBasis: "provider_reported",
  ...more,
});
const receipt = (agentId: string, total: number, more: Partial<Receipt> = {}): Receipt => ({
  schema: "caveman.agent.run-receipt.v1",
  runId: `run_${agentId.replace(/\W/g, "")}`,
  agentId,
  basis: "estimated_list_price_subtotal",
  claimBasis: "inferred",
  stopReason: "complete",
  denomination: "none",
  capBreached: false,
  overspent: 0,
  totalEstimatedUsd: total,
  totalTokens: 110,
  unpriced: false,
  calls: [],
  tools: [],
  subagents: [],
  tranches: [],
  breakers: [],
  compactions: [],
  ...more,
});
const at = (second: string): string => `.caveman/runs/2026-11-30T10-00-${second}/receipt.json`;

// 0.1 + 0.2 is not 0.3 in binary: a sum of numbers would show it.
const CHILD = receipt("child", 0.2, { calls: [call("small", 0.2)] });
const FILES = {
  [at("00")]: JSON.stringify(receipt("shop", 0.3, { calls: [call("big", 0.1)], subagents: [CHILD], totalTokens: 220 })),
  [at("01")]: JSON.stringify(
    receipt("shop", 0, { unpriced: true, calls: [call("big", 0, { unpriced: true })], stopReason: "loop_detected" }),
  ),
  [at("01-2")]: "{ half",
  [at("02")]: JSON.stringify({ schema: "something else" }),
};

describe("receipts", () => {
  test("lists the newest first, with exact totals by agent and model", async () => {
    await using dir = await folder(FILES);
    const { code, out } = await caveman(["receipts", dir.path, "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      costUsd: "0.3",
      runs: [
        { when: "2026-11-30T10:00:01Z", agentId: "shop", stopReason: "loop_detected", unpriced: true },
        { when: "2026-11-30T10:00:00Z", calls: 2, tokens: 220, costUsd: "0.3", models: ["acme/big", "acme/small"] },
      ],
      agents: [
        { name: "child", runs: 1, calls: 1, costUsd: "0.2", unpriced: 0 },
        { name: "shop", runs: 2, calls: 2, costUsd: "0.1", unpriced: 1 },
      ],
      models: [
        { name: "acme/small", costUsd: "0.2" },
        { name: "acme/big", costUsd: "0.1", unpriced: 1 },
      ],
    });
  });

  test("damaged files are named on stderr and do not stop the rest", async () => {
    await using dir = await folder(FILES);
    const { code, out, err } = await caveman(["receipts"], { cwd: dir.path });
    expect(code).toBe(0);
    expect(err.match(/^damaged .*receipt\.json: /gm)).toHaveLength(2);
    expect(out).toMatch(
      /2026-11-30 10:00:00 +shop +acme\/big, acme\/small +complete +2 +220 +- +\$0\.30 +provider_reported/,
    );
    expect(out).toMatch(/2026-11-30 10:00:01 +shop +acme\/big +loop_detected +1 +110 +- +unpriced/);
    expect(out).toContain("2 runs, $0.30 in all");
  });

  test("reads what run writes, and says that it is simulated", async () => {
    await using dir = await folder({
      "package.json": '{ "type": "module" }',
      "agent.ts":
        'import { agent } from "caveman-agent";\nexport default agent({ id: "shop", instructions: "Help.", model: "sim/model.script", sandbox: "host" });\n',
      "model.script.json": '[{ "text": "Yes." }]',
    });
    expect((await caveman(["run", "agent.ts", "hi"], { cwd: dir.path })).code).toBe(0);
    const { out } = await caveman(["receipts"], { cwd: dir.path });
    expect(out).toMatch(/shop +sim\/model\.script +complete +1 .* simulated/);
  });

  test("of a folder without runs is an empty answer; of no folder, exit 2", async () => {
    await using dir = await folder();
    expect(await here(["receipts", dir.path])).toMatchObject({ code: 0, out: expect.stringContaining("No receipts") });
    expect((await here(["receipts", join(dir.path, "nowhere")])).code).toBe(2);
    expect((await here(["receipts", dir.path, "--html", join(dir.path, "x.html")])).code).toBe(2);
    expect((await here(["receipts", dir.path, "--all"])).err).toContain("--html");
  });

  test("a folder that the receipt plugin was told to write to is read as it is", async () => {
    await using dir = await folder({ [at("00").replace(".caveman/runs", "bills")]: FILES[at("00")] as string });
    const { code, out } = await here(["receipts", join(dir.path, "bills")]);
    expect([code, out]).toEqual([0, expect.stringContaining("1 run, $0.30 in all")]);
  });
});

describe("receipts --html", () => {
  test("writes the newest run, or all, as a page without a single reference", async () => {
    await using dir = await folder(FILES);
    const page = join(dir.path, "runs.html");
    expect((await caveman(["receipts", dir.path, "--html", page])).out).toContain("1 run\n");
    expect((await readFile(page, "utf8")).match(/<section>/g)).toHaveLength(1);
    expect((await caveman(["receipts", dir.path, "--html", page, "--all"])).out).toContain("2 runs\n");
    const html = await readFile(page, "utf8");
    expect(html.match(/<section>/g)).toHaveLength(2);
    expect(html).not.toMatch(/\b(?:src|href|url|@import)\s*[=(]|<script/i);
    for (const title of ["Timeline", "Tokens by call", "Cost by call", "Tree of agents"]) expect(html).toContain(title);
    expect(html).toMatch(/<strong>shop<\/strong>.*<ul class="tree"><li><strong>child<\/strong>/);
  });

  test("of damaged files alone names them, writes nothing and is exit 2", async () => {
    await using dir = await folder({ [at("01")]: "{ half" });
    const page = join(dir.path, "x.html");
    const { code, err } = await here(["receipts", dir.path, "--html", page]);
    expect([code, err]).toEqual([2, expect.stringMatching(/^damaged .*receipt\.json: [\s\S]*can be read/)]);
    await expect(readFile(page)).rejects.toThrow("ENOENT");
  });

  test("a file that cannot be written is exit 2", async () => {
    await using dir = await folder(FILES);
    const { code, err } = await here(["receipts", dir.path, "--html", join(dir.path, "no/such/x.html")]);
    expect([code, err]).toEqual([2, expect.stringContaining("cannot be written")]);
  });

  test("what the cache did, what was shown smaller and who decided stand on it, with whose run it was", () => {
    const by = { rule: 0, toolPolicy: 0, person: 1, default: 1 };
    const page = receiptPage([
      {
        when: "today",
        receipt: receipt("shop", 0.1, {
          promptCache: {
            calls: 4,
            keptCalls: 3,
            hitRate: 0.759,
            inputTokens: 1_000,
            readTokens: 759,
            writtenTokens: 100,
            restored: 0,
            breaks: [{ cause: "tools", count: 2, lostTokens: 500, lostUsd: 0.00045 }],
            lostTokens: 500,
            lostUsd: 0.00045,
            basis: "inferred",
          },
          subagents: [receipt("clerk", 0, { policy: [{ tool: "bash", allowed: 1, denied: 1, asked: 2, by }] })],
        }),
      },
    ]);
    expect(page).toContain("Context and decisions");
    expect(page).toContain("<td>shop</td><td>prompt cache</td><td>75% hit rate · 759 tokens read, 100 written");
    expect(page).toContain("break: tools ×2 · 500 tokens paid for again, $0.00045 more, inferred");
    expect(page).toContain(
      "<td>clerk</td><td>policy</td><td>bash · 1 allowed, 1 denied · 2 asked · by a person 1, default 1</td>",
    );
    expect(receiptPage([{ when: "today", receipt: receipt("shop", 0.1) }])).not.toContain("Context and decisions");
  });

  test("whatever stands in a receipt is text", () => {
    const evil = `</title><img src=x onerror="alert('1')">&\u202e`;
    const html = receiptPage([
      {
        when: evil,
        receipt: receipt(evil, 0.1, {
          errorCode: evil,
          calls: [call(evil, 0.1, { provider: evil, errorCode: evil })],
          tools: [{ name: evil, calls: 1, errors: 0 }],
          tranches: [{ amount: 1, reason: evil, atCall: 0 }],
          breakers: [{ kind: "loop_detected", tool: evil, count: 1 }],
          subagents: [receipt(evil, 0)],
          cappedOutputs: [{ tool: evil, count: 1, bytes: 2, shownBytes: 1, notKept: 0 }],
          compactionsDiscarded: [{ reason: evil, paid: false }],
          policy: [
            { tool: evil, allowed: 1, denied: 0, asked: 0, by: { rule: 1, toolPolicy: 0, person: 0, default: 0 } },
          ],
        }),
      },
    ]);
    expect(html).not.toContain("<img");
    expect(html).not.toContain("\u202e");
    expect(html.match(/<\/title>/g)).toHaveLength(1);
    expect(html).toContain("&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;�");
  });
});
