/** The receipt page in a real headless browser: what a person sees of a run with a child, a breaker and a clamp. */
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type Browser, chromium, type Page } from "playwright-core";
import { receiptPage } from "../../cli/render/receipt-html.ts";
import { agent, createCaveman, type Receipt, schema, subagent, tool } from "../../index.ts";
import { policy } from "../../plugins/policy/index.ts";
import { scripted } from "../../plugins/testing.ts";

const found = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
if (!found) console.log("no Chromium on this machine: the receipt page is not opened in a browser");

const usage = (input: number, output: number) => ({ input, output, cacheRead: 0, cacheWrite: 0, reasoning: 0 });

async function runOnce(): Promise<Receipt> {
  const as = "anthropic/claude-haiku-4-5";
  const child = agent({
    id: "clerk",
    instructions: "Look it up.",
    model: scripted([{ text: "It is in Leipzig.", usage: usage(400, 30), delayMs: 30 }], { as }),
  });
  const look = tool({
    name: "look",
    description: "Looks a parcel up.",
    input: schema.object({ id: schema.string() }),
    effect: "read",
    execute: ({ id }) => `${id} is on its way`,
  });
  const ask = subagent({ name: "ask_clerk", description: "Asks the clerk.", agent: child });
  const desk = agent({
    id: "desk",
    instructions: "Answer.",
    tools: [look, ask],
    sandbox: "host",
    model: scripted(
      [
        { toolCalls: [{ name: "look", input: { id: "PX-1" } }], usage: usage(300, 20) },
        { toolCalls: [{ name: "ask_clerk", input: { task: "Where is PX-1?" } }], usage: usage(500, 25) },
        { text: "It is in Leipzig.", usage: usage(600, 40), delayMs: 20 },
      ],
      { as },
    ),
  });
  const caveman = createCaveman({ plugins: [policy()] });
  return (
    await caveman.run(desk, "Where is PX-1?", {
      budget: { maxUsd: 0.5 },
      toolPolicy: ({ name }) => (name === "look" ? { deny: "not_today" } : undefined),
    })
  ).receipt;
}

(found ? describe : describe.skip)("the receipt page in a browser", () => {
  let browser: Browser;
  let page: Page;
  let dir: string;
  let receipt: Receipt;
  const problems: string[] = [];
  const requests: string[] = [];

  beforeAll(async () => {
    receipt = await runOnce();
    dir = await mkdtemp(join(tmpdir(), "caveman-page-"));
    const file = join(dir, "run.html");
    await writeFile(file, receiptPage([{ when: "today", receipt }]));
    browser = await chromium.launch({
      ...(found ? { executablePath: found } : {}),
      args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"],
    });
    page = await browser.newPage({ viewport: { width: 900, height: 900 } });
    page.on("console", (message) => problems.push(message.text()));
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("request", (request) => requests.push(request.url()));
    await page.goto(pathToFileURL(file).href);
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    if (dir) await rm(dir, { recursive: true, force: true });
  });

  test("asks for nothing but itself, and its own policy finds nothing to complain of", () => {
    expect(requests).toHaveLength(1);
    expect(problems).toEqual([]);
  });

  test("puts every call of the tree on one axis, where and as long as it was", async () => {
    const bars = await page.locator("td.axis rect").evaluateAll((rects) =>
      rects.map((rect) => {
        const { left, width } = rect.getBoundingClientRect();
        const cell = rect.closest("td")?.getBoundingClientRect();
        return { left: left - (cell?.left ?? 0), width, room: cell?.width ?? 0 };
      }),
    );
    const calls = [...receipt.calls, ...receipt.subagents.flatMap((child) => child.calls)];
    expect(bars).toHaveLength(calls.length);
    for (const bar of bars) {
      expect(bar.width).toBeGreaterThan(0);
      expect(bar.left + bar.width).toBeLessThanOrEqual(bar.room + 2);
    }
    // In the order they were made, the child's call between its parent's.
    const agents = await page.locator("table:has(td.axis) tbody tr td:nth-child(2)").allTextContents();
    expect(agents).toEqual(["desk", "desk", "clerk", "desk"]);
    expect([...bars].sort((a, b) => a.left - b.left)).toEqual(bars);
  });

  test("shows the cost of each call, their sum, what remains, and the tree", async () => {
    const text = await page.locator("body").textContent();
    // 1,800 tokens in at 1 USD and 115 out at 5 USD a million.
    expect(text).toContain("$0.002375");
    expect(text).toContain("remaining");
    expect(await page.locator("ul.tree ul.tree strong").allTextContents()).toEqual(["clerk"]);
    expect(await page.locator(".tag").allTextContents()).toEqual(["simulated"]);
  });

  test("says who decided what of the tools, and counts a refused call as the receipt does", async () => {
    const cells = await page.locator("h3:text('Context and decisions') + div tr").allTextContents();
    expect(cells).toContain("deskpolicylook · 1 denied · by toolPolicy");
    expect(await page.locator("body").textContent()).toContain("1 call, 1 error, 1 of them denied");
  });

  test("fits a phone: wide tables scroll inside themselves", async () => {
    await page.setViewportSize({ width: 380, height: 800 });
    const spill = await page.locator("html").evaluate((html) => html.scrollWidth - html.clientWidth);
    expect(spill).toBeLessThanOrEqual(0);
  });
});
