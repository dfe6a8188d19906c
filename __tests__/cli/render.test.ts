import { describe, expect, test } from "@jest/globals";
import { errorJson, printError } from "../../cli/render/error.ts";
import { liveEvents } from "../../cli/render/events.ts";
import { table } from "../../cli/render/table.ts";
import type { Terminal } from "../../cli/render/terminal.ts";
import type { StreamEvent } from "../../index.ts";
import { type CallId, CavemanError, type RunId } from "../../kernel/index.ts";

/** One transcript of both streams, as a person at a terminal sees them. */
const screen = (person: boolean): { terminal: Terminal; seen: () => string } => {
  const written: string[] = [];
  const write = (text: string): void => void written.push(text);
  return {
    terminal: {
      out: (text) => (person ? write(text) : undefined),
      err: write,
      person,
      colour: false,
      style: (_style, text) => text,
    },
    seen: () => written.join(""),
  };
};
const at = (path: string[], body: object): StreamEvent =>
  ({ runId: "r" as RunId, path, ...body }) as unknown as StreamEvent;
const callId = "c1" as CallId;
const EVENTS: StreamEvent[] = [
  at(["shop"], { type: "text_delta", callId, delta: "Looking" }),
  at(["shop"], { type: "tool_end", toolCallId: "t1", name: "lookup", isError: false, durationMs: 12.4, bytes: 2_048 }),
  at(["shop"], { type: "child_start", agentId: "helper", toolCallId: "t2" }),
  at(["shop", "helper"], { type: "text_delta", callId, delta: "not for the reader" }),
  at(["shop", "helper"], {
    type: "tool_end",
    toolCallId: "t3",
    name: "fetch",
    isError: true,
    code: "cave_tool_timeout",
    durationMs: 1_530,
    bytes: 0,
  }),
  at(["shop"], { type: "child_end", agentId: "helper", toolCallId: "t2", stopReason: "max_model_calls" }),
  at(["shop"], { type: "attempt_reset", callId, attempt: 2 }),
  at(["shop"], { type: "notice", owner: "receipt", code: "cave_receipt_unwritable", message: "EACCES" }),
  at(["shop"], { type: "text_delta", callId, delta: "Done" }),
  at(["shop"], { type: "run_end", result: {}, receipt: {} }),
];
const LINES = [
  "  ✓ lookup 12 ms, 2.0 kB",
  "  ▸ helper",
  "    ✗ fetch 1.5 s cave_tool_timeout",
  "  ◂ helper: max model calls",
  "  ↻ attempt 2: the text since the last line is discarded",
  "  ! cave_receipt_unwritable: EACCES",
];

describe("live events", () => {
  test("a person sees the root's text as it comes, each tool on a line of its own", () => {
    const { terminal, seen } = screen(true);
    EVENTS.forEach(liveEvents(terminal));
    expect(seen()).toBe(["Looking", ...LINES, "Done", ""].join("\n"));
  });

  test("piped, only the lines about tools, children and notices are written", () => {
    const { terminal, seen } = screen(false);
    EVENTS.forEach(liveEvents(terminal));
    expect(seen()).toBe([...LINES, ""].join("\n"));
  });
});

describe("errors", () => {
  test("code and message once, the remedy below, no stack", () => {
    const { terminal, seen } = screen(true);
    printError(new CavemanError("cave_tool_timeout", { place: "tool x" }), terminal);
    expect(seen()).toBe(
      "cave_tool_timeout: The tool ran longer than its time limit; at tool x.\n  → Raise timeoutMs, or make the tool faster.\n",
    );
  });

  test("a foreign error has a code too, and only its first line is shown", () => {
    expect(errorJson(new Error("first\n    at x.ts:1"))).toMatchObject({ code: "cave_cli_failed", message: "first" });
    expect(errorJson(undefined)).toMatchObject({ code: "cave_cli_failed" });
  });
});

test("a table pads every column to its widest cell and leaves no blanks at line ends", () => {
  expect(
    table(
      [
        ["a", "bb", ""],
        ["ccc", "d", "e"],
      ],
      "> ",
    ),
  ).toBe("> a    bb\n> ccc  d   e\n");
});
