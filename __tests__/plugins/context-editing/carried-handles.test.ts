/** A marker names the handles of the text it replaces, stays short, and is not made when it could not. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { agent, createKernel, Message } from "../../../kernel/index.ts";
import { carriedHandles } from "../../../plugins/context-editing/carried-handles.ts";
import { clearStaleToolResults } from "../../../plugins/context-editing/clear.ts";
import { contextEditing } from "../../../plugins/context-editing/index.ts";
import { MARKER_BYTES, markerOf } from "../../../plugins/context-editing/marker.ts";
import { providers } from "../../../plugins/providers/index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { Originals } from "../../../plugins/services.ts";
import { outputStore, recoveryStore } from "./stores.ts";

const handle = fc.stringMatching(/^[0-9a-f]{32}$/).map((hex) => `ccr_${hex}`);
const result = (value: string, toolName = "bash") =>
  ({ type: "tool-result", toolCallId: "t", toolName, output: { type: "text", value } }) as const;

describe("a marker", () => {
  test("names up to three handles, all of them where there are no more, and stays short", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(handle, { maxLength: 40 }),
        fc.string({ maxLength: 300 }),
        fc.stringMatching(/^[a-z_]{1,64}$/),
        (handles, noise, toolName) => {
          const text = handles.map((one) => `${noise}\n<<ccr:${one}>>`).join("\n");
          const { words, complete } = carriedHandles(text);
          expect(complete).toBe(handles.length <= 3);
          for (const one of handles.slice(-3)) expect(words).toContain(one);
          if (handles.length > 3) expect(words).toContain(`and ${handles.length - 3} more in it`);
          const call = `cave_retrieve({"recovery_handle":"ccr_${"0".repeat(32)}"}) as one JSON string`;
          const marker = markerOf(result(text, toolName), { call });
          expect(marker).toContain(words);
          expect(Buffer.byteLength(marker)).toBeLessThanOrEqual(MARKER_BYTES);
        },
      ),
    );
  });
  test("of a text without handles says nothing of them", () => {
    expect(carriedHandles("ccr_ and ccr_0123 are none")).toEqual({ words: "", complete: true });
  });
});

const many = Array.from({ length: 4 }, (_, n) => `<<ccr:ccr_${String(n).repeat(32)}>>`).join("\n");
const few = `<<ccr:ccr_${"a".repeat(32)}>>`;

test("a result that is only had again by calling its tool goes when its marker names every handle", () => {
  const view = (carried: string) =>
    Array.from(
      { length: 8 },
      (_, n) =>
        new Message({
          role: "tool",
          content: [{ ...result(`${n} ${"x".repeat(40_000)}\n${carried}`), toolCallId: `t${n}` }],
        }),
    );
  const cleared = (carried: string) =>
    clearStaleToolResults(view(carried), { budgetTokens: 1 }).filter(({ bytes }) => bytes < 1_000);
  expect(cleared(few)).toHaveLength(3);
  for (const { value } of cleared(few)) expect(JSON.stringify(value)).toContain(`ccr_${"a".repeat(32)}`);
  expect(cleared(many)).toEqual([]);
});

test("memory takes what the store on disk refused only when that loses no handle", async () => {
  const kept = async (text: string, whole: boolean): Promise<string | undefined> => {
    const kernel = createKernel({
      plugins: [providers, recoveryStore({ full: true }).plugin, outputStore().plugin, contextEditing],
    });
    const model = scripted([{ text: "done" }]);
    const { run, done } = kernel.start(agent({ id: "a", instructions: "i", model }), "go", {});
    await done;
    return run.service(Originals).keep(text, { toolName: "bash", by: "test", whole });
  };
  expect(await kept(few, false)).toContain("read_tool_output");
  expect(await kept(many, false)).toBeUndefined();
  expect(await kept(JSON.stringify([few]), true)).toBeUndefined();
  expect(await kept("[]", true)).toContain("read_tool_output");
});
