import { PassThrough } from "node:stream";
import { describe, expect, test } from "@jest/globals";
import { fromDollars } from "../../catalog/money.ts";
import { ask, described, questionLines } from "../../cli/code/approvals.ts";
import { billLine } from "../../cli/code/bill-lines.ts";
import { columnsOf } from "../../cli/code/columns.ts";
import { diffLines } from "../../cli/code/diff-lines.ts";
import { Keyboard } from "../../cli/code/keyboard.ts";
import { permits } from "../../cli/code/mode.ts";
import { Screen } from "../../cli/code/screen.ts";
import { TurnView } from "../../cli/code/turn-view.ts";
import type { ApprovalRequest, Bill, SessionEvent } from "../../plugins/coding/index.ts";

const EVIL = "\u001b[8m\u001b]52;c;eA==\u0007\u001b[2J\u009b1A\u202e\r\u0000";
// biome-ignore lint/suspicious/noControlCharactersInRegex: what must not arrive
const ACTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029]/;

function screenOf(columns = 80) {
  let written = "";
  const screen = new Screen(
    {
      out: (text) => void (written += text),
      err: (text) => void (written += text),
      person: true,
      colour: true,
      style: (_style, text) => `«${text}»`,
    },
    { together: true, size: () => ({ columns, rows: 24 }) },
  );
  return {
    screen,
    /** What was written, without this program's own colours. */
    plain: () => written.replace(/[«»]/g, ""),
  };
}
const at = { path: ["coding"], runId: "r" } as unknown as { path: string[]; runId: never };
const started = (toolCallId: string, name: string, input: unknown) =>
  ({ ...at, type: "tool_start", toolCallId, name, input }) as SessionEvent;
const ended = (toolCallId: string, name: string, more: object = {}) =>
  ({
    ...at,
    type: "tool_end",
    toolCallId,
    name,
    isError: false,
    durationMs: 1_234,
    bytes: 3_456,
    ...more,
  }) as SessionEvent;

const request = (more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  runId: "r",
  agentId: "coding",
  agentPath: [],
  toolCallId: "t",
  name: "bash",
  effect: "external",
  args: { command: "npm test" },
  rule: { decision: "ask" },
  about: ["npm test"],
  always: [{ decision: "allow", tool: "bash", command: "npm test" }],
  signal: new AbortController().signal,
  ...more,
});

describe("a turn on the screen", () => {
  test("a call's line says what it is about, how long it took and how much it said", () => {
    const { screen, plain } = screenOf();
    const view = new TurnView(screen);
    view.event(started("1", "read_file", { path: "src/a.ts" }));
    view.event(ended("1", "read_file"));
    expect(plain()).toBe("  ✓ read_file src/a.ts  1.2 s, 3.5 kB\n");
  });

  test("a command that failed is no success, whatever its tool says", () => {
    const { screen, plain } = screenOf();
    const view = new TurnView(screen);
    view.event(started("1", "bash", { command: "npm test" }));
    view.event({ type: "command_failed", toolCallId: "1", status: "exit code 1" });
    view.event(ended("1", "bash"));
    expect(plain()).toBe("  ▸ bash npm test\n  ✗ bash npm test  1.2 s, 3.5 kB, exit code 1\n");
  });

  test("a flood of output is shown in a few lines, and the rest is counted", () => {
    const { screen, plain } = screenOf();
    const view = new TurnView(screen);
    view.event(started("1", "bash", { command: "yes" }));
    for (let piece = 0; piece < 100; piece++)
      view.output({ toolCallId: "1", text: "y\n".repeat(100), skippedBytes: 0 });
    view.event(ended("1", "bash"));
    expect(plain().split("\n").length).toBeLessThan(20);
    expect(plain()).toContain("9988 more lines");
  });

  test("an edit's diff follows its line, in colour, and a long one is cut with a statement", () => {
    const { screen, plain } = screenOf();
    const view = new TurnView(screen);
    view.event(started("1", "edit_file", { path: "a" }));
    view.change({
      toolCallId: "1",
      tool: "edit_file",
      summary: "s",
      diff: "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-old\n+new\n",
    });
    view.event(ended("1", "edit_file"));
    expect(plain()).toMatch(
      /✓ edit_file a .*\n {4}--- a\/a\n {4}\+\+\+ b\/a\n {4}@@ -1 \+1 @@\n {4}-old\n {4}\+new\n$/,
    );
    expect(diffLines("x\n".repeat(100), (_style, text) => text).at(-1)).toBe("… 40 more lines of this change");
  });

  test("nothing that a model, a file name or a command wrote acts on the terminal", () => {
    const { screen, plain } = screenOf();
    const view = new TurnView(screen);
    for (const piece of EVIL) view.event({ ...at, type: "text_delta", callId: "c" as never, delta: piece });
    view.event(started("1", "bash", { command: EVIL }));
    view.output({ toolCallId: "1", text: `${EVIL}\n${EVIL}`, skippedBytes: 0 });
    view.change({ toolCallId: "1", tool: "edit_file", summary: EVIL, diff: `--- ${EVIL}\n+++ b\n+${EVIL}` });
    view.event(ended("1", "bash", { isError: true, code: "cave_tool_failed" }));
    view.asked({ toolCallId: "2", args: { path: EVIL } });
    view.event({ type: "tool_denied", toolCallId: "2", name: EVIL, code: "cave_tool_denied", reason: "no" });
    view.event({ ...at, type: "notice", code: "cave_x", message: EVIL, owner: "x" });
    view.event({ ...at, type: "child_start", agentId: EVIL, toolCallId: "3" });
    view.event({ ...at, type: "run_end", result: {} as never });
    for (const line of questionLines(
      request({ name: EVIL, args: { [EVIL]: EVIL, content: EVIL, old_string: EVIL } }),
      screen,
    ))
      screen.line(line);
    expect(plain()).not.toMatch(ACTING);
    expect(plain()).toContain("<U+202E>");
  });

  test.each([8, 12, 20, 40])("on %d columns no line of a call is longer than the terminal", (columns) => {
    const { screen, plain } = screenOf(columns);
    const view = new TurnView(screen);
    view.event(started("1", "bash", { command: `echo ${"漢字 ".repeat(50)}` }));
    view.output({ toolCallId: "1", text: `${"x".repeat(500)}\n`, skippedBytes: 0 });
    view.event({ ...at, type: "child_start", agentId: "a".repeat(90), toolCallId: "3" });
    for (const line of plain().trimEnd().split("\n"))
      expect(columnsOf(line)).toBeLessThanOrEqual(Math.max(12, columns));
  });
});

describe("a question", () => {
  function asking(more: Partial<ApprovalRequest> = {}) {
    const input = new PassThrough();
    const { screen, plain } = screenOf();
    const keyboard = new Keyboard(input, () => undefined);
    let interrupted = false;
    const answer = (): Promise<string> => ask(request(more), screen, keyboard, () => void (interrupted = true));
    return { input, keyboard, answer, plain, interrupted: () => interrupted };
  }
  const tick = () => new Promise((resolve) => setTimeout(resolve, 20));

  test.each([
    ["y", "yes"],
    ["Y", "yes"],
    ["n", "no"],
    ["a", "always"],
    ["\r", "no"],
    ["xyzy", "yes"],
    ["\u0003", "no"],
  ])("key %j is %s", async (keys, expected) => {
    const { input, keyboard, answer } = asking();
    const given = answer();
    input.write(keys);
    expect(await given).toBe(expected);
    keyboard.close();
  });

  test("Ctrl-C is a no that also stops the turn", async () => {
    const { input, keyboard, answer, interrupted } = asking();
    const given = answer();
    input.write("\u0003");
    expect([await given, interrupted()]).toEqual(["no", true]);
    keyboard.close();
  });

  test("is not answered by keys from before it, nor by a paste, and ends with no when nobody is there", async () => {
    const { input, keyboard, answer } = asking();
    input.write("yyyy");
    await tick();
    const given = answer();
    input.write("\u001b[200~y\ry\r\u001b[201~");
    await tick();
    input.end();
    expect(await given).toBe("no");
    keyboard.close();
  });

  test("is over when the answer is no longer waited for", async () => {
    const controller = new AbortController();
    const { keyboard, answer, plain } = asking({ signal: controller.signal });
    const given = answer();
    controller.abort();
    expect(await given).toBe("no");
    expect(plain()).toContain("no answer: refused");
    keyboard.close();
  });

  test("offers no always where none can be told, and then the key does nothing", async () => {
    const { input, keyboard, answer, plain } = asking({ always: [] });
    const given = answer();
    input.write("an");
    expect(await given).toBe("no");
    expect(plain()).not.toContain("lways");
    keyboard.close();
  });

  test("shows every argument, the end of a long one included, and says what is not shown", () => {
    const { screen } = screenOf();
    const lines = questionLines(
      request({ args: { command: `echo ${"a".repeat(50_000)}; rm -rf /`, cwd: "sub" } }),
      screen,
    ).join("\n");
    expect(lines).toContain("; rm -rf /");
    expect(lines).toMatch(/[\d,]+ characters of this are not shown/);
    expect(lines).toContain("cwd: sub");
  });

  test("says in words what always would permit", () => {
    expect(described({ decision: "allow", tool: "bash", command: "npm test" })).toBe("bash `npm test …`");
    expect(described({ decision: "allow", tool: "bash", command: "node a", exact: true })).toBe(
      "bash exactly `node a`",
    );
    expect(described({ decision: "allow", tool: "edit_file", path: "**" })).toBe("edit_file in the workspace");
  });
});

describe("a bill", () => {
  const bill: Bill = {
    calls: 2,
    inputTokens: 10_000,
    outputTokens: 500,
    cacheReadTokens: 7_500,
    cacheWriteTokens: 0,
    reasoningTokens: 200,
    spent: fromDollars("0.0123"),
    unpriced: false,
    simulated: false,
    bounded: false,
  };
  test("says tokens, the cache's share, calls, the price and what it is, and what is left", () => {
    expect(billLine(bill, fromDollars("0.4877"))).toBe(
      "10,000 tokens in (75% from cache) · 500 out (200 reasoning) · 2 calls · $0.0123 (estimated list price, inferred) · $0.4877 left of --max-usd",
    );
    expect(billLine(bill, fromDollars("-0.01"))).toMatch(/nothing left of --max-usd$/);
    expect(billLine({ ...bill, bounded: true })).toContain("partly booked at the bound");
  });
  test("never calls an unknown price zero, nor anything verified", () => {
    const unpriced = billLine({ ...bill, spent: fromDollars(0), unpriced: true });
    expect(unpriced).toMatch(/unpriced$/);
    expect(unpriced).not.toContain("$");
    expect(billLine({ ...bill, unpriced: true })).toMatch(/at least \$0\.0123, some calls unpriced/);
    expect(billLine(bill)).not.toContain("verified");
  });
});

describe("mode edits", () => {
  const edit = (path: string, name = "edit_file") => request({ name, effect: "write", args: { path }, about: [path] });
  test("permits changes of plain files alone", () => {
    expect(permits("edits", edit("src/a.ts"))).toBe(true);
    expect(permits("edits", edit("./src/a.ts", "write_file"))).toBe(true);
    for (const path of [".git/hooks/pre-commit", "a/.vscode/tasks.json", ".env", "../x"])
      expect(permits("edits", edit(path))).toBe(false);
    expect(permits("edits", request())).toBe(false);
    expect(permits("edits", { ...edit("a"), about: [] })).toBe(false);
    expect(permits("ask", edit("src/a.ts"))).toBe(false);
  });
});
