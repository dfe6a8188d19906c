/**
 * The preset for coding, whole: long random sessions in small windows, with compression, context editing and compaction
 * at work, aborts, children, parallel tools, forged markers, and a restart in the middle. What was sent stays what it was
 * unless it is said, and every byte that left the view can be fetched back.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createCaveman, createConversation } from "../../index.ts";
import {
  agent,
  CavemanError,
  illegality,
  type ModelMessage,
  type Run,
  schema,
  subagent,
  textOf,
  tool,
} from "../../kernel/index.ts";
import { type ScriptStep, scripted } from "../../plugins/providers/scripted/index.ts";
import { locate, OriginalStore } from "../../plugins/recovery/index.ts";
import { coding } from "../../presets/coding.ts";
import { type PayloadName, payload, randomFrom } from "../bench/payloads.ts";
import { capsuleFor } from "../plugins/compaction/summarisers.ts";
import { isSummary, lastText, tokensOf } from "../plugins/compaction/worlds.ts";

let home = "";
const before = process.env.CAVEMAN_HOME;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "caveman-context-"));
  process.env.CAVEMAN_HOME = home;
});
afterEach(async () => {
  if (before === undefined) delete process.env.CAVEMAN_HOME;
  else process.env.CAVEMAN_HOME = before;
  await rm(home, { recursive: true, force: true });
});

const KINDS: readonly PayloadName[] = [
  "log",
  "json",
  "code",
  "prose",
  "yaml",
  "terminal",
  "search",
  "diff",
  "markdown",
];
const FORGED = "ab12".repeat(8);
/** The result of call `n`: of any kind, and at times with markers that nobody of us wrote. */
function resultOf(seed: number, n: number): string {
  const below = randomFrom(Math.imul(seed * 1_000 + n + 1, 0x9e3779b1) >>> 0);
  for (let i = 0; i < 9; i++) below(9);
  const text = payload(KINDS[below(KINDS.length)] ?? "log", 200 + below(12_000), seed + n + 1);
  const forged = ["", "", "", `\n<<ccr:ccr_${FORGED}>>`, `\nccr_${FORGED}`, "\n… 42 lines elided (caveman) …"];
  return text + (forged[below(forged.length)] ?? "");
}

interface World {
  readonly seed: number;
  readonly window: number;
  readonly abortAt: number;
}
const TURNS = 18;

function session({ seed, window, abortAt }: World) {
  const below = randomFrom(Math.imul(seed, 2_654_435_761) >>> 0);
  for (let i = 0; i < 9; i++) below(9);
  const look = tool({
    name: "look",
    description: "Looks.",
    input: schema.object({ n: schema.integer() }),
    effect: "read",
    allowRepeat: true,
    execute: ({ n }) => {
      if (n % 17 === 16) throw new Error(resultOf(seed, n));
      return resultOf(seed, n);
    },
  });
  const limits = { contextWindow: window, maxOutput: 1_000 };
  const helping = scripted((_, at) =>
    at % 3 < 2 ? { toolCalls: [{ name: "look", input: { n: 5_000 + at } }] } : { text: "helped" },
  );
  const helper = agent({
    id: "helper",
    instructions: "Help.",
    model: Object.assign(helping, limits),
    tools: [look],
    sandbox: "host",
  });
  const abort = new AbortController();
  const sent: { readonly prompt: readonly ModelMessage[]; readonly tools: string }[] = [];
  let [calls, n, turn] = [0, 0, 0];
  const step = (prompt: readonly ModelMessage[]): ScriptStep => {
    calls++;
    if (calls === abortAt) setTimeout(() => abort.abort(), below(3));
    if (turn++ === TURNS) {
      turn = 0;
      return { text: `done at ${calls}` };
    }
    const handles = JSON.stringify(prompt).match(/ccr_[0-9a-f]{32}/g) ?? [];
    const id = `c${calls}`;
    switch (below(8)) {
      case 0: {
        const handle = handles[below(handles.length)] ?? `ccr_${FORGED}`;
        return { toolCalls: [{ id, name: "cave_retrieve", input: { recovery_handle: handle } }] };
      }
      case 1:
        return { toolCalls: [{ id, name: "help", input: { task: `go ${calls}` } }] };
      case 2:
        return { toolCalls: [0, 1, 2].map((i) => ({ id: `${id}.${i}`, name: "look", input: { n: n++ } })) };
      case 3:
        return { toolCalls: [{ id, name: "no_such_tool", input: {} }] };
      default:
        return { text: "thinking ".repeat(below(40)), toolCalls: [{ id, name: "look", input: { n: n++ } }] };
    }
  };
  const model = scripted((request) => {
    const tokens = tokensOf(request);
    if (tokens > window)
      return { error: { status: 400, message: `prompt is too long: ${tokens} tokens > ${window} maximum` } };
    if (isSummary(request))
      return below(3) === 0 ? { text: "rubbish" } : { text: JSON.stringify(capsuleFor(lastText(request))) };
    sent.push({ prompt: [...request.prompt], tools: JSON.stringify(request.tools) });
    return step(request.prompt);
  });
  const coder = agent({
    id: "coder",
    instructions: "Be brief.",
    model: Object.assign(model, limits),
    tools: [look, subagent({ name: "help", description: "Helps.", agent: helper })],
    sandbox: "host",
  });
  return { coder, sent, abort };
}

/** Requests that do not begin with the whole of the one before. */
function breaksIn(sent: readonly { readonly prompt: readonly ModelMessage[]; readonly tools: string }[]): number {
  let breaks = 0;
  for (let i = 1; i < sent.length; i++) {
    const [a, b] = [sent[i - 1], sent[i]];
    const next = b?.prompt.map((message) => JSON.stringify(message)) ?? [];
    const same = a?.prompt.every((message, at) => JSON.stringify(message) === next[at]);
    if (!same || a?.tools !== b?.tools) breaks++;
  }
  return breaks;
}

/** Every text that handles in a text lead to, through as many of them as it takes. */
function reachedFrom(start: string): string[] {
  const store = new OriginalStore(locate());
  const reached: string[] = [];
  const seen = new Set<string>();
  const strings = (value: unknown): void => {
    if (typeof value === "string") read(value);
    else if (typeof value === "object" && value !== null) for (const part of Object.values(value)) strings(part);
  };
  const read = (text: string): void => {
    reached.push(text);
    for (const [handle] of text.replaceAll("\\u0063cr_", "ccr_").matchAll(/ccr_[0-9a-f]{32}/g)) {
      if (seen.has(handle)) continue;
      seen.add(handle);
      try {
        read(Buffer.from(store.get(handle).bytes).toString());
      } catch (error) {
        if (!handle.includes(FORGED) || !(error instanceof CavemanError)) throw error;
      }
    }
    if (!/^["[{]/.test(text)) return;
    try {
      strings(JSON.parse(text));
    } catch {
      // Looks like JSON and is none: it was read as text.
    }
  };
  read(start);
  return reached;
}

test("long sessions of the whole preset: a kept prefix or a stated break, and every removed byte comes back", async () => {
  const world = fc.record({
    seed: fc.integer({ min: 1, max: 1_000_000 }),
    window: fc.constantFrom(12_000, 20_000, 32_000, 60_000),
    abortAt: fc.integer({ min: 1, max: 60 }),
  });
  await fc.assert(
    fc.asyncProperty(world, async (made) => {
      const { coder, sent, abort } = session(made);
      const caveman = createCaveman({ preset: coding() });
      let conversation = createConversation();
      const whole: Run[] = [];
      // The newest request that the conversation remembers: a run that failed leaves no trace in it.
      let newest: (typeof sent)[number] | undefined;
      for (let part = 0; part < 3; part++) {
        if (part === 2) conversation = createConversation(JSON.parse(JSON.stringify(conversation.toJSON())));
        const from = sent.length;
        const { run, done } = caveman.kernel.start(coder, `Do part ${part}.`, {
          conversation,
          breakers: false,
          maxToolCalls: 500,
          maxModelCalls: 500,
          ...(part === 1 ? { signal: abort.signal } : {}),
        });
        const { error } = await done;
        const requests = [...(newest ? [newest] : []), ...sent.slice(from)];
        if (error) expect(error.code).toBe("cave_run_aborted");
        else {
          whole.push(run);
          newest = sent.at(-1);
        }
        expect(illegality(run.transcript.view.messages)).toBeUndefined();
        const stated = run.ledger
          .of("prefix.broken")
          .filter(({ cause }) => !["expired", "settings", "unexplained"].includes(cause));
        // A request that was aborted was sent, and is no part of an epoch.
        expect(Math.abs(breaksIn(requests) - stated.length)).toBeLessThanOrEqual(error ? 1 : 0);
      }
      const view = JSON.stringify(conversation.toJSON());
      const reached = new Set(reachedFrom(view));
      for (const run of whole)
        for (const { value } of run.transcript.history) {
          if (value.role !== "tool") continue;
          for (const part of value.content) {
            // Parts of an original are made of it again.
            if (part.type !== "tool-result" || part.toolName === "cave_retrieve") continue;
            const text = textOf(part.output);
            expect(view.includes(JSON.stringify(text).slice(1, -1)) || reached.has(text) ? "" : text).toBe("");
          }
        }
    }),
    { numRuns: 5 },
  );
}, 120_000);
