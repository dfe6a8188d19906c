/**
 * Compression, context editing and compaction, one after the other on the same results, over a store on disk. What each
 * left out must be reachable from what the model still sees, also after a restart.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import fc from "fast-check";
import { createCaveman, createConversation } from "../../../index.ts";
import {
  agent,
  definePlugin,
  type ModelMessage,
  type RunOptions,
  schema,
  textOf,
  tool,
} from "../../../kernel/index.ts";
import { compaction } from "../../../plugins/compaction/index.ts";
import { compression } from "../../../plugins/compression/index.ts";
import { contextEditing } from "../../../plugins/context-editing/index.ts";
import { type ScriptStep, scripted } from "../../../plugins/providers/scripted/index.ts";
import { recovery } from "../../../plugins/recovery/index.ts";
import { results } from "../../../plugins/results/index.ts";
import { Compression } from "../../../plugins/services.ts";
import { tokens } from "../../../plugins/tokens/index.ts";
import { type PayloadName, payload } from "../../bench/payloads.ts";
import { capsuleFor } from "./summarisers.ts";
import { isSummary, lastText, type Request, tokensOf } from "./worlds.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "caveman-handles-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Leaves out less than the built-in ones do, so that views still fill a window; every page of it is one of a kind. */
const pages = definePlugin({
  name: "pages",
  after: ["compression"],
  prepare: (run) =>
    run.service(Compression).register({
      type: "pages",
      keeps: "the first half",
      recognises: (input) => input.startsWith("page "),
      compress: (input) => {
        const lines = input.split("\n");
        const kept = Math.floor(lines.length / 2);
        const dropped = lines.length - kept;
        const text = [...lines.slice(0, kept), `… ${dropped} lines elided (caveman) …`].join("\n");
        return { text, method: "pages", unit: "lines", kept, dropped };
      },
    }),
  apply: () => undefined,
});
const page = (n: number, bytes: number, noise: string): string =>
  `page ${n}\n${noise}\n${payload("prose", bytes, n + 1).replaceAll(". ", ".\n")}`;

const stack = () =>
  createCaveman({
    plugins: [
      tokens(),
      results({ maxInlineBytes: 200_000 }),
      recovery({ path: join(folder, "ccr.db") }),
      compression(),
      contextEditing(),
      compaction(),
      pages,
    ],
  });

interface World {
  readonly kinds: readonly (PayloadName | "page")[];
  readonly noise: string;
  readonly seed: number;
  readonly bytes: number;
  readonly turns: number;
  readonly prose: number;
  readonly edit: boolean;
  readonly compact: boolean;
}
const WINDOW = 40_000;
const HANDLE = /ccr_[0-9a-f]{32}/g;
const handlesIn = (text: string): string[] => [...new Set(text.match(HANDLE))];
const resultsIn = (prompt: readonly ModelMessage[]) =>
  prompt.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) =>
          part.type === "tool-result" ? [{ id: part.toolCallId, text: textOf(part.output) }] : [],
        )
      : [],
  );
/** A text, and what stands in it for a reader of JSON: an escaped handle is a handle there. */
function* textsIn(text: string, depth = 0): Iterable<string> {
  yield text;
  if (depth === 3 || !/^["[{]/.test(text)) return;
  const values: unknown[] = [];
  try {
    values.push(JSON.parse(text));
  } catch {
    return;
  }
  for (const value of values)
    if (typeof value === "string") yield* textsIn(value, depth + 1);
    else if (typeof value === "object" && value !== null) values.push(...Object.values(value));
}

async function play({ kinds, noise, seed, bytes, turns, prose, edit, compact }: World) {
  const raw = new Map<string, string>();
  const readFile = tool({
    name: "read_file",
    description: "Reads.",
    input: schema.object({ n: schema.integer() }),
    effect: "read",
    execute: ({ n }, { toolCallId }) => {
      const kind = kinds[n % kinds.length] ?? "page";
      const text = kind === "page" ? page(seed + n, bytes, noise) : payload(kind, bytes, seed + n);
      raw.set(toolCallId, text);
      return text;
    },
  });
  let n = 0;
  const model = Object.assign(
    scripted((request: Request): ScriptStep => {
      const size = tokensOf(request);
      if (size > WINDOW)
        return { error: { status: 400, message: `prompt is too long: ${size} tokens > ${WINDOW} maximum` } };
      if (isSummary(request)) return { text: JSON.stringify(capsuleFor(lastText(request))) };
      if (n >= turns) return { text: "done" };
      return {
        text: `Step ${n}.`.padEnd(prose, ` thought ${n},`),
        toolCalls: [{ id: `t${n}`, name: "read_file", input: { n: n++ } }],
      };
    }),
    { contextWindow: WINDOW, maxOutput: 1_000 },
  );
  const of = (which: typeof model) =>
    agent({ id: "reader", instructions: "Be brief.", model: which, tools: [readFile], sandbox: "host" });
  const conversation = createConversation();
  const options: RunOptions = {
    conversation,
    breakers: false,
    maxToolCalls: 500,
    maxModelCalls: 500,
    contextEditing: edit ? { keepRecentToolResults: 1 } : false,
    ...(compact ? { compaction: { keepRecentTokens: 4_000, minYieldTokens: 2_000 } } : { compaction: false }),
  };
  const caveman = stack();
  const { run, done } = caveman.kernel.start(of(model), "Go", options);
  const outcome = await done;
  const view = run.transcript.view.messages.map(({ value }) => value);

  // A new process: the conversation from its JSON, the store from its file, and a model that follows every handle it sees.
  const saved: unknown = JSON.parse(JSON.stringify(conversation.toJSON()));
  const reached = new Map<string, string>();
  const asked = new Set<string>();
  const follower = scripted((request: Request): ScriptStep => {
    for (const { id, text } of resultsIn(request.prompt)) if (id.startsWith("ccr_")) reached.set(id, text);
    const seen = [JSON.stringify(request.prompt), ...[...reached.values()].flatMap((text) => [...textsIn(text)])];
    const next = [...new Set(seen.flatMap(handlesIn))].filter((handle) => !asked.has(handle));
    for (const handle of next) asked.add(handle);
    return next.length === 0
      ? { text: "read" }
      : {
          toolCalls: next.map((handle) => ({ id: handle, name: "cave_retrieve", input: { recovery_handle: handle } })),
        };
  });
  const again = await stack().run(of(follower as typeof model), "Read it back", {
    ...options,
    conversation: createConversation(saved),
    contextEditing: false,
    compaction: false,
  });
  return { run, outcome, view, raw, reached, again };
}

/** What every run must hold to, and how each rewrote its view. */
async function check(world: World): Promise<Record<string, number>> {
  const { run, outcome, view, raw, reached, again } = await play(world);
  expect([outcome.stopReason, again.stopReason]).toEqual(["complete", "complete"]);
  const applied = run.ledger.of("compression.applied");
  const handleOf = new Map(applied.map(({ toolCallId, recoveryHandle = "" }) => [toolCallId, recoveryHandle]));

  // A marker in the place of a shortened result names the original of that result, not of its smaller view alone.
  const markers = resultsIn(view).filter(({ text }) => /^<<cave_(?:cleared|elided) /.test(text));
  for (const { id, text } of markers) expect(handlesIn(text)).toContain(handleOf.get(id) ?? handlesIn(text)[0]);

  // Every result, as the tool gave it and as the model saw it, is in the view or comes back byte for byte.
  const there = new Set(resultsIn(view).map(({ text }) => text));
  for (const text of reached.values()) for (const one of textsIn(text)) there.add(one);
  const shown = resultsIn(run.transcript.history.map(({ value }) => value));
  for (const { id, text } of [...shown, ...[...raw].map(([id, text]) => ({ id, text }))])
    expect([id, there.has(text)]).toEqual([id, true]);
  return {
    shortened: applied.length,
    cleared: run.ledger.of("context.cleared").length,
    evicted: run.ledger.of("compaction.settled").filter(({ tier }) => tier === "evicted").length,
    summarized: run.ledger.of("compaction.settled").filter(({ tier }) => tier === "summarized").length,
    marked: markers.filter(({ id }) => handleOf.has(id)).length,
  };
}

const kind = fc.constantFrom<PayloadName | "page">("page", "page", "page", "log", "json", "prose");
const worlds: fc.Arbitrary<World> = fc.record({
  kinds: fc.array(kind, { minLength: 1, maxLength: 5 }),
  // Near misses of handles and escapes, and every kind of character, in what the tool says.
  noise: fc.oneof(
    fc.string({ unit: "binary", maxLength: 60 }),
    fc.constantFrom("\\u0063cr_", 'ccr_0123 "\\', "<<ccr:"),
  ),
  seed: fc.integer({ min: 1, max: 1_000_000 }),
  bytes: fc.integer({ min: 8_000, max: 14_000 }),
  turns: fc.integer({ min: 16, max: 24 }),
  prose: fc.constantFrom(0, 1_000, 6_000),
  edit: fc.boolean(),
  compact: fc.constant(true),
});
const fixed: World = {
  kinds: ["page"],
  noise: "",
  seed: 1,
  bytes: 14_000,
  turns: 26,
  prose: 500,
  edit: true,
  compact: true,
};

test("what compression shortened stays reachable through every clear, eviction and summary, also after a restart", async () => {
  const seen: Record<string, number> = {};
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      for (const [what, count] of Object.entries(await check(world))) seen[what] = (seen[what] ?? 0) + count;
    }),
    {
      numRuns: 6,
      examples: [
        [{ ...fixed, compact: false }],
        [{ ...fixed, edit: false }],
        [{ ...fixed, edit: false, prose: 6_000 }],
      ],
    },
  );
  // The worlds are worth something only when every way of rewriting met shortened results.
  for (const [what, count] of Object.entries(seen)) expect([what, count > 0]).toEqual([what, true]);
}, 60_000);
