/** The clearing machine as pure functions: geometry, gate, keep and pointer rules, the ledger's repaint, healing. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { illegality, Message, type ModelMessage, type Tokens } from "../../../kernel/index.ts";
import {
  CC_DEFAULT_KEEP_RECENT_TOOL_RESULTS,
  COMPACTABLE_TOOLS,
  COMPACTION_TRIGGER_BUFFER_TOKENS,
  CONTEXT_OUTPUT_RESERVE_TOKENS,
  clearStaleToolResults,
  contextEditFrontier,
  createClearedProjectionLedger,
  dropEmptyFailureAssistants,
  EDIT_FRACTION,
  editBudget,
  fingerprintToolResultOccurrence,
  indexOccurrences,
  MICRO_COMPACT_MACHINES,
  MIN_CLEAR_SAVINGS_TOKENS,
  MIN_KEEP_RECENT_TOOL_RESULTS,
  planRejectionClears,
  replayClearedProjection,
  resolveTriggerWindow,
} from "../../../plugins/context-editing/index.ts";
import { occurrencesIn, textOfResult } from "../../../plugins/context-editing/occurrences.ts";

const user = (text: string) => new Message({ role: "user", content: [{ type: "text", text }] });
const call = (id: string, toolName: string) =>
  new Message({ role: "assistant", content: [{ type: "tool-call", toolCallId: id, toolName, input: {} }] });
const result = (id: string, toolName: string, value: string) =>
  new Message({
    role: "tool",
    content: [{ type: "tool-result", toolCallId: id, toolName, output: { type: "text", value } }],
  });
/** `count` turns of one tool, each result of `bytes` bytes. */
const turns = (count: number, bytes: number, toolName = "read_file", from = 0): Message[] =>
  Array.from({ length: count }, (_, at) => from + at).flatMap((at) => [
    call(`c${at}`, toolName),
    result(`c${at}`, toolName, `${at}:`.padEnd(bytes, "x")),
  ]);
const textsIn = (messages: readonly Message[]) => occurrencesIn(messages).map(({ result: one }) => textOfResult(one));
const clearedIn = (messages: readonly Message[]) => textsIn(messages).map((text) => text.startsWith("<<cave_cleared "));
const model = (contextWindow?: number) =>
  contextWindow === undefined ? {} : { contextWindow: contextWindow as Tokens };

describe("geometry", () => {
  test("is the documented one", () => {
    expect([EDIT_FRACTION, CONTEXT_OUTPUT_RESERVE_TOKENS, COMPACTION_TRIGGER_BUFFER_TOKENS]).toEqual([
      0.7, 20_000, 13_000,
    ]);
    expect(MICRO_COMPACT_MACHINES).toEqual(["off", "cc"]);
    expect([
      CC_DEFAULT_KEEP_RECENT_TOOL_RESULTS,
      MIN_KEEP_RECENT_TOOL_RESULTS,
      MIN_CLEAR_SAVINGS_TOKENS,
      COMPACTABLE_TOOLS.size,
    ]).toEqual([5, 1, 20_000, 9]);
  });
  test.each([
    [109_996, 76_997, "the share wins: 109,996 − 33,000 is 76,996"],
    [109_997, 76_997, "both are equal"],
    [110_000, 77_000, "both are equal"],
    [110_001, 77_001, "the distance wins: floor(0.7 × 110,001) is 77,000"],
    [200_000, 167_000, "83.5 % of the window"],
    [1_000_000, 967_000, "33,000 below"],
    [20_000, 14_000, "a small window"],
  ])("the frontier of %d is %d: %s", (window, frontier) => {
    expect(contextEditFrontier(window)).toBe(frontier);
  });
  test("which leg wins, to the token", () => {
    const legs = (window: number) => [Math.floor(0.7 * window), window - 33_000] as const;
    for (let window = 109_000; window < 111_000; window++) {
      const [share, distance] = legs(window);
      expect(Math.sign(share - distance)).toBe(window <= 109_996 ? 1 : window <= 110_000 ? 0 : -1);
    }
  });
  test("never falls as the window grows, and lies below it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3_000_000 }), fc.nat(1_000_000), (window, more) => {
        expect(contextEditFrontier(window + more)).toBeGreaterThanOrEqual(contextEditFrontier(window));
        expect(contextEditFrontier(window)).toBeLessThan(window);
      }),
    );
  });
  test("a lower trigger window lowers the trigger alone; a higher one is brought down and said to be", () => {
    expect(editBudget(model(1_000_000), { autoCompactTokens: 967_000 })).toBe(934_000);
    expect(resolveTriggerWindow(model(200_000), { autoCompactTokens: 120_000 })).toEqual({
      window: 120_000,
      clamped: false,
    });
    expect(resolveTriggerWindow(model(200_000), { contextTokens: 177_000, autoCompactTokens: 967_000 })).toEqual({
      window: 177_000,
      clamped: true,
      declaredAutoCompactTokens: 967_000,
      physicalWindow: 177_000,
    });
    expect(editBudget(model(200_000), { autoCompactTokens: 967_000 })).toBe(167_000);
    expect(resolveTriggerWindow(model(200_000), { autoCompactTokens: 200_000 }).clamped).toBe(false);
  });
  test("an unknown window never triggers", () => {
    expect(editBudget(model())).toBe(Number.POSITIVE_INFINITY);
    expect(editBudget(model(200_000), { autoCompactTokens: Number.NaN })).toBe(Number.POSITIVE_INFINITY);
  });
});

describe("clearing", () => {
  // 20,000 tokens at four bytes each are 80,000 bytes: ten turns of 16,000 leave five to clear.
  const atGate = turns(10, 16_000);
  const options = { budgetTokens: 1 };

  test("five newest stay, everything older goes at once", () => {
    const after = clearStaleToolResults(atGate, options);
    expect(clearedIn(after)).toEqual([...Array(5).fill(true), ...Array(5).fill(false)]);
    expect(illegality(after)).toBeUndefined();
  });
  test("one token below the gate nothing happens, to the object", () => {
    const below = [...turns(4, 16_000), ...turns(1, 15_996, "read_file", 4), ...turns(5, 16_000, "read_file", 5)];
    expect(clearStaleToolResults(below, options)).toBe(below);
  });
  test("below the budget nothing happens; the anchored figure decides when there is one", () => {
    expect(clearStaleToolResults(atGate, { budgetTokens: 1_000_000 })).toBe(atGate);
    expect(clearStaleToolResults(atGate, { budgetTokens: 1_000_000, anchoredTotalTokens: 1_000_001 })).not.toBe(atGate);
    expect(clearStaleToolResults(atGate, { budgetTokens: 50, anchoredTotalTokens: 50 })).toBe(atGate);
  });
  test.each([
    [0, 1],
    [1, 1],
    [3, 3],
  ])("keepRecentToolResults %d keeps %d", (keepRecentToolResults, kept) => {
    const after = clearStaleToolResults(turns(12, 20_000), { ...options, keepRecentToolResults });
    expect(clearedIn(after).filter((cleared) => !cleared)).toHaveLength(kept);
  });
  test.each([Number.NaN, -1, 1.5, Number.POSITIVE_INFINITY])("keepRecentToolResults %d is refused", (keep) => {
    expect(() => clearStaleToolResults(atGate, { ...options, keepRecentToolResults: keep })).toThrow(
      "cave_context_edit_option_invalid",
    );
  });
  test("a second pass clears nothing more: cleared results hold their slots", () => {
    const once = clearStaleToolResults(atGate, options);
    expect(clearStaleToolResults(once, options)).toBe(once);
    const grown = [...once, ...turns(2, 16_000, "read_file", 10)];
    expect(clearStaleToolResults(grown, options)).toBe(grown); // two more are past the newest five: 8,000 tokens
  });
  test("only tools of the set, however full the context is", () => {
    const reports = turns(12, 40_000, "research");
    expect(clearStaleToolResults(reports, options)).toBe(reports);
    expect(
      clearedIn(clearStaleToolResults(reports, { ...options, compactableTools: new Set(["research"]) })),
    ).toContain(true);
    expect(clearedIn(clearStaleToolResults(reports, { ...options, toolNameOf: () => "bash" }))).toContain(true);
  });
  test("media and results shorter than a marker stay", () => {
    const image: ModelMessage = {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "m",
          toolName: "read_file",
          output: {
            type: "content",
            value: [
              { type: "text", text: "y".repeat(90_000) },
              { type: "file", mediaType: "image/png", data: { type: "data", data: "AAAA" } },
            ],
          },
        },
      ],
    };
    const view = [call("m", "read_file"), new Message(image), call("s", "bash"), result("s", "bash", "ok"), ...atGate];
    const after = clearStaleToolResults(view, options);
    expect(after[1]).toBe(view[1]);
    expect(after[3]).toBe(view[3]);
    expect(clearedIn(after).filter(Boolean)).toHaveLength(5);
  });
  test("what cannot be stored stays, and a pass that no longer pays is not made", () => {
    const stored: string[] = [];
    const some = clearStaleToolResults(turns(20, 16_000), {
      ...options,
      offload: {
        persist: (_result, text) => {
          if (text.startsWith("3:")) return undefined;
          stored.push(text);
          return { call: `read_tool_output({"handle":"h${stored.length}"})` };
        },
      },
    });
    expect(textsIn(some)[3]?.startsWith("3:")).toBe(true);
    expect(stored).toHaveLength(14);
    expect(textsIn(some)[0]).toContain('read_tool_output({"handle":"h1"})');
    expect(clearStaleToolResults(atGate, { ...options, offload: { persist: () => undefined } })).toBe(atGate);
  });
  test("an observer is told once and cannot fail the request", () => {
    let told = 0;
    const after = clearStaleToolResults(atGate, {
      ...options,
      onCleared: ({ clears, tokensSavedEstimate }) => {
        told++;
        expect(clears.map(({ index }) => index)).toEqual([1, 3, 5, 7, 9]);
        expect(tokensSavedEstimate).toBe(20_000);
        throw new Error("an observer's own");
      },
    });
    expect(told).toBe(1);
    expect(clearedIn(after)).toContain(true);
  });
});

describe("a rejection", () => {
  test("clears without a budget, and stores nothing when it declines", () => {
    const messages = turns(10, 16_000);
    let stored = 0;
    const plan = (view: readonly Message[], keyOf = indexOccurrences(view).keyOf) =>
      planRejectionClears(view, {
        keyOf,
        offload: {
          persist: () => {
            stored++;
            return { call: "x" };
          },
        },
      });
    expect(plan(turns(5, 90_000))).toEqual({ declined: "no_candidates" });
    expect(plan(turns(9, 16_000))).toEqual({ declined: "below_min_savings" });
    expect(plan(messages, () => undefined)).toEqual({ declined: "no_candidates" });
    expect(stored).toBe(0);
    expect(plan(messages)).toMatchObject({ tokensSavedEstimate: 20_000 });
    expect(stored).toBe(5);
  });
});

describe("the ledger", () => {
  const record = (messages: readonly Message[]) => {
    const ledger = createClearedProjectionLedger();
    const index = indexOccurrences(messages);
    const after = clearStaleToolResults(messages, {
      budgetTokens: 1,
      onCleared: ({ clears }) => {
        for (const { index: at, part, marker } of clears) {
          const named = index.keyAt(at, part);
          if (named) ledger.entries.set(named.key, { marker, groupCount: named.groupCount, fp: named.fp });
        }
      },
    });
    return { ledger, after };
  };
  const bytesOf = (messages: readonly Message[]) => messages.map(({ digest }) => digest);

  test("paints a rebuilt view with the very same bytes", () => {
    const original = turns(12, 16_000);
    const { ledger, after } = record(original);
    const rebuilt = original.map(({ value }) => new Message(structuredClone(value)));
    expect(bytesOf(replayClearedProjection(rebuilt, ledger).messages)).toEqual(bytesOf(after));
  });
  test("changes nothing, to the object, when the view is painted already", () => {
    const { ledger, after } = record(turns(12, 16_000));
    expect(replayClearedProjection(after, ledger).messages).toBe(after);
    expect(ledger.entries.size).toBe(7);
  });
  test("never paints what says something else, and forgets what is gone", () => {
    const original = turns(12, 16_000);
    const { ledger } = record(original);
    const changed = original.map((message, at) =>
      at === 1 ? result("c0", "read_file", "0:".padEnd(15_999, "x").concat("y")) : message,
    );
    const { messages } = replayClearedProjection(changed.slice(0, 5), ledger);
    expect(textsIn(messages)[0]?.startsWith("0:")).toBe(true);
    expect(clearedIn(messages)).toEqual([false, true]);
    expect(ledger.entries.size).toBe(1);
  });
  test("follows a reused call id when history is cut from its beginning", () => {
    const same = Array.from({ length: 12 }, (_, at) => [
      call("same", "bash"),
      result("same", "bash", `${at}:`.padEnd(16_000, "x")),
    ]).flat();
    const { ledger, after } = record(same);
    const cut = replayClearedProjection(same.slice(6), ledger);
    expect(bytesOf(cut.messages)).toEqual(bytesOf(after.slice(6)));
    expect([...ledger.entries.keys()]).toEqual(['["same",0]', '["same",1]', '["same",2]', '["same",3]']);
  });
  test("fingerprints tell apart what differs anywhere, and not what is named otherwise", () => {
    const of = (message: Message) => {
      const [found] = occurrencesIn([message]);
      return found ? fingerprintToolResultOccurrence(found.result) : "";
    };
    expect(of(result("a", "bash", "x".repeat(5_000)))).toBe(of(result("b", "bash", "x".repeat(5_000))));
    expect(of(result("a", "bash", `${"x".repeat(5_000)}a`))).not.toBe(of(result("a", "bash", `${"x".repeat(5_000)}b`)));
  });
  test("property: repaint after rebuild gives the bytes of the first pass, and is stable", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ id: fc.integer({ min: 0, max: 5 }), kB: fc.integer({ min: 0, max: 30 }) }), {
          minLength: 6,
          maxLength: 24,
        }),
        (script) => {
          const original = script.flatMap(({ id, kB }, at) => [
            call(`c${id}`, "bash"),
            result(`c${id}`, "bash", `${at} `.repeat(kB * 200)),
          ]);
          const { ledger, after } = record(original);
          const rebuilt = original.map(({ value }) => new Message(structuredClone(value)));
          const painted = replayClearedProjection(rebuilt, ledger).messages;
          expect(bytesOf(painted)).toEqual(bytesOf(after));
          expect(replayClearedProjection(painted, ledger).messages).toBe(painted);
          expect(illegality(painted)).toBeUndefined();
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("healing", () => {
  const empty = (text = "") => new Message({ role: "assistant", content: text ? [{ type: "text", text }] : [] });
  test("drops assistants that say nothing, and a torn batch is whole again", () => {
    const batch = new Message({
      role: "assistant",
      content: ["1", "2"].map((id) => ({ type: "tool-call" as const, toolCallId: id, toolName: "bash", input: {} })),
    });
    const torn = [user("go"), batch, result("1", "bash", "a"), empty(" \n"), result("2", "bash", "b")];
    expect(illegality(torn)).toBeDefined();
    const healed = dropEmptyFailureAssistants(torn);
    expect(illegality(healed)).toBeUndefined();
    expect(healed).toHaveLength(4);
  });
  test("keeps what says something or must go back, and the array itself when nothing is dropped", () => {
    const signed = new Message({
      role: "assistant",
      content: [{ type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "x" } } }],
    });
    const kept = [user("go"), signed, empty("words"), call("1", "bash"), result("1", "bash", "")];
    expect(dropEmptyFailureAssistants(kept)).toBe(kept);
  });
});
