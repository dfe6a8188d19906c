/** The ceiling against a model that counts with `o200k_base` and bills up to 16 tokens of framing a message. */
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import {
  bytes,
  type CallOptions,
  Message,
  type ModelMessage,
  Transcript,
  tokens,
  View,
} from "../../../kernel/index.ts";
import { AnchoredCeiling, byteBound, type Measured } from "../../../plugins/budget/anchored-ceiling.ts";

const TOOLS = [
  {
    type: "function" as const,
    name: "look",
    description: "Looks a thing up by its name.",
    inputSchema: { type: "object" as const, properties: { name: { type: "string" as const } } },
  },
];
const SYSTEM: ModelMessage = {
  role: "system",
  content: "You answer questions about parcels, politely and briefly, and you look things up before you answer.",
};
const model = { provider: "openai", id: "gpt-5.4-mini" };

const textOf = (value: unknown): string =>
  typeof value === "string"
    ? value
    : Array.isArray(value)
      ? value.map(textOf).join("")
      : typeof value === "object" && value !== null
        ? Object.entries(value)
            .map(([key, part]) => (key === "type" || key === "role" ? "" : textOf(part)))
            .join("")
        : "";
/** What the provider bills as input: the text of each message, its framing, and the tool list. */
const billed = ({ prompt, request }: Measured, framing: (index: number) => number): number =>
  prompt.reduce((sum, message, index) => sum + countTokens(textOf(message)) + framing(index), 0) +
  (request.tools ? countTokens(JSON.stringify(request.tools)) : 0);

function callOf(view: View, extra: readonly ModelMessage[] = [], tools: readonly object[] = TOOLS): Measured {
  const prompt = [SYSTEM, ...view.prompt()];
  prompt.splice(
    Math.max(
      1,
      prompt.findLastIndex((message) => message.role === "user"),
    ),
    0,
    ...extra,
  );
  const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
  return {
    view,
    prompt,
    request: { prompt, tools } as unknown as CallOptions,
    overheadBytes: bytes(size([SYSTEM]) + size(tools) + (extra.length > 0 ? size(extra) : 0)),
    toolsKey: tools,
    model,
    allowance: tokens(8_192),
  };
}

const words = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 400 }),
  fc.lorem({ maxCount: 80 }),
  fc.json({ maxDepth: 3 }),
  fc.base64String({ maxLength: 300 }),
  fc.stringMatching(/^[ \n\t{}[\]",:0-9.-]{0,200}$/),
);
const user = words.map((text) => new Message({ role: "user", content: [{ type: "text", text }] }));
// Reasoning that is kept by reference: output tokens that were billed, and no bytes for them.
const assistant = fc
  .tuple(words, fc.option(fc.nat(3_000), { nil: undefined }))
  .map(
    ([text, hidden]) =>
      new Message(
        { role: "assistant", content: [{ type: "text", text }] },
        hidden === undefined ? undefined : tokens(countTokens(text) + hidden),
      ),
  );
const exchange = fc.tuple(user, assistant);
type Act = { readonly kind: "go" | "context" | "tools" } | { readonly kind: "compact"; readonly keep: number };
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom("go" as const, "go" as const, "go" as const, "context" as const, "tools" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("compact" as const), keep: fc.integer({ min: 1, max: 3 }) }) },
);

/** Hidden reasoning that goes back by reference is billed as input again, like its message. */
const hidden = (view: View): number =>
  view.messages.reduce(
    (sum, { outputTokens, value }) =>
      sum + (outputTokens === undefined ? 0 : Math.max(0, outputTokens - countTokens(textOf(value)))),
    0,
  );

describe("the ceiling of a call", () => {
  test("is never below what the model then reports: random transcripts, framing, hidden reasoning, added context, tools, compactions", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(exchange, act), { minLength: 1, maxLength: 12 }),
        fc.infiniteStream(fc.integer({ min: 0, max: 16 })),
        (turns, framings) => {
          const ceiling = new AnchoredCeiling(0);
          const transcript = new Transcript();
          const framingOf = new WeakMap<ModelMessage, number>();
          // A message costs the same framing every time it is sent.
          const framing = (message: ModelMessage): number => {
            let cost = framingOf.get(message);
            if (cost === undefined) framingOf.set(message, (cost = framings.next().value as number));
            return cost;
          };
          for (const [[asked, answered], { kind, ...rest }] of turns) {
            if (kind === "compact" && transcript.view.length > 2)
              transcript.adopt(View.of(transcript.view.messages.slice(-2 * ("keep" in rest ? rest.keep : 1))));
            transcript.append(asked);
            const call = callOf(
              transcript.view,
              kind === "context"
                ? [{ role: "user", content: [{ type: "text", text: "It is Tuesday, and the depot is closed." }] }]
                : [],
              kind === "tools" ? [...TOOLS, ...TOOLS] : TOOLS,
            );
            const bound = ceiling.of(call);
            const reported = billed(call, (index) => framing(call.prompt[index] as ModelMessage)) + hidden(call.view);
            expect(bound).toBeGreaterThanOrEqual(reported);
            ceiling.settled(call, reported);
            transcript.append(answered);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("over 30 calls with equal deltas the mean of bound to actual is at most 1.3 from the fourth on; bytes alone give 3 and more", () => {
    // What an agent's turn adds: a call, and the lines of a log with a remark, at 3 to 4 bytes a token.
    const rows = (n: number): string =>
      Array.from(
        { length: 12 },
        (_, i) =>
          `2026-05-0${1 + (i % 9)}T09:${10 + n}:${10 + i}Z PX-${n}${4_821 + i} hub=LEJ weight=${1.5 + i}kg scanned, left the depot and waits for the evening lorry`,
      ).join("\n");
    const run = (anchored: boolean): number => {
      const ceiling = new AnchoredCeiling();
      const transcript = new Transcript();
      const ratios: number[] = [];
      for (let n = 1; n <= 30; n++) {
        if (n === 1)
          transcript.append(new Message({ role: "user", content: [{ type: "text", text: "Where are my parcels?" }] }));
        const call = callOf(transcript.view);
        const actual = billed(call, () => 4);
        const bound = anchored ? ceiling.of(call) : byteBound(call.view.bytes + call.overheadBytes, call.prompt.length);
        ratios.push((bound ?? Number.NaN) / actual);
        ceiling.settled(call, actual);
        transcript.append(
          new Message(
            {
              role: "assistant",
              content: [
                { type: "text", text: "I look at the next hub." },
                { type: "tool-call", toolCallId: `c${n}`, toolName: "look", input: { name: `hub ${n}` } },
              ],
            },
            tokens(24),
          ),
        );
        transcript.append(
          new Message({
            role: "tool",
            content: [
              { type: "tool-result", toolCallId: `c${n}`, toolName: "look", output: { type: "text", value: rows(n) } },
            ],
          }),
        );
      }
      return ratios.slice(3).reduce((sum, ratio) => sum + ratio, 0) / 27;
    };
    const anchored = run(true);
    const byBytes = run(false);
    console.log(
      `mean of reserved to actual input, calls 4 to 30: anchored ${anchored.toFixed(3)}, bytes alone ${byBytes.toFixed(3)}`,
    );
    expect(anchored).toBeLessThanOrEqual(1.3);
    expect(byBytes).toBeGreaterThan(3);
  });

  test("another model or another tool list falls back to the byte bound", () => {
    const transcript = new Transcript([
      new Message({ role: "user", content: [{ type: "text", text: "x".repeat(4_000) }] }),
    ]);
    const ceiling = new AnchoredCeiling();
    const call = callOf(transcript.view);
    const bytesAlone = ceiling.of(call);
    ceiling.settled(call, 500);
    expect(ceiling.of(call)).toBe(500);
    expect(ceiling.of({ ...call, model: { provider: "openai", id: "another" } })).toBe(bytesAlone);
    expect(ceiling.of({ ...call, toolsKey: [] })).toBe(bytesAlone);
    expect(ceiling.of({ ...call, request: { ...call.request, reasoning: "high" } })).toBe(bytesAlone);
    expect(ceiling.of({ ...call, request: { ...call.request, toolChoice: { type: "required" } } })).toBe(bytesAlone);
  });

  test("a request with no room to think is no anchor once there was thinking: the next one may send it back", () => {
    const transcript = new Transcript([
      new Message({ role: "user", content: [{ type: "text", text: "x".repeat(4_000) }] }),
      new Message({
        role: "assistant",
        content: [
          { type: "reasoning", text: "y".repeat(4_000) },
          { type: "text", text: "z" },
        ],
      }),
      new Message({ role: "user", content: [{ type: "text", text: "more" }] }),
    ]);
    const ceiling = new AnchoredCeiling();
    const call = callOf(transcript.view);
    const bytesAlone = ceiling.of(call);
    ceiling.settled({ ...call, allowance: tokens(256) }, 500);
    expect(ceiling.of(call)).toBe(bytesAlone);
    ceiling.settled(call, 1_500);
    expect(ceiling.of(call)).toBe(1_500);
  });

  test("the schema of an answer counts with all its bytes beside what the vendor adds", () => {
    const call = callOf(View.of([new Message({ role: "user", content: [{ type: "text", text: "x" }] })]), [], []);
    const asking = (schema: object): Measured => ({
      ...call,
      request: { ...call.request, responseFormat: { type: "json", schema, name: "answer" } } as CallOptions,
    });
    const schema = { type: "object", description: "é".repeat(3_000) };
    // Each é is two bytes of UTF-8.
    const size = '{"type":"object","description":""}'.length + 6_000;
    const plain = new AnchoredCeiling().of(call) ?? 0;
    const ceiling = new AnchoredCeiling();
    expect(ceiling.of(asking(schema))).toBe(plain + 1_024 + size);
    ceiling.settled(asking(schema), 900);
    expect(ceiling.of(asking(schema))).toBe(900);
    expect(ceiling.of(asking({ ...schema }))).toBe(plain + 1_024 + size);
  });

  test("context that stands in a request twice is billed twice, also where the settled one had it once", () => {
    const { view } = new Transcript([new Message({ role: "user", content: [{ type: "text", text: "go" }] })]);
    const context: ModelMessage = { role: "user", content: [{ type: "text", text: "x".repeat(500) }] };
    const ceiling = new AnchoredCeiling();
    ceiling.settled(callOf(view, [context]), 200);
    expect(ceiling.of(callOf(view, [context]))).toBe(200);
    expect(ceiling.of(callOf(view, [context, context]))).toBe(200 + JSON.stringify(context).length + 16);
  });

  test("is at most what was settled and the most of each message that is new: images, documents, thinking, context anywhere, views gone back to, several models", () => {
    const IMAGES: Readonly<Record<string, number>> = {
      "openai.chat": 50_000,
      anthropic: 5_000,
      "google.vertex": 8_192,
    };
    const file = fc.constantFrom("image/png", "image/png", "text/plain", "application/pdf").map((mediaType) => ({
      type: "file" as const,
      mediaType,
      data: { type: "data" as const, data: "aaaa" },
    }));
    const said = fc.string({ maxLength: 60 }).map((text) => ({ type: "text" as const, text }));
    const message = fc.oneof(
      fc
        .array(fc.oneof({ weight: 5, arbitrary: said }, file), { maxLength: 2 })
        .map((content) => new Message({ role: "user", content })),
      fc
        .tuple(said, fc.option(fc.nat(400), { nil: undefined }))
        .map(
          ([text, out]) =>
            new Message({ role: "assistant", content: [text] }, out === undefined ? undefined : tokens(out)),
        ),
      fc.array(fc.oneof(said, file), { maxLength: 2 }).map(
        (value) =>
          new Message({
            role: "tool",
            content: [{ type: "tool-result", toolCallId: "a", toolName: "b", output: { type: "content", value } }],
          } as ModelMessage),
      ),
    );
    /** The most one message may cost: its JSON, its framing, hidden thinking, images; a document has no most. */
    const most = (value: ModelMessage, out: number | undefined, provider: string): number => {
      const json = JSON.stringify(value);
      const size = Buffer.byteLength(json);
      const images = json.split('"image/png"').length - 1;
      const documents = json.split('"application/pdf"').length - 1;
      return documents > 0
        ? Number.POSITIVE_INFINITY
        : size + 16 + Math.max(0, (out ?? 0) - size) + images * (IMAGES[provider] ?? Number.NaN);
    };
    const step = fc.record({
      adds: fc.array(message, { maxLength: 3 }),
      rewrite: fc.option(fc.nat(4), { nil: undefined, freq: 4 }),
      back: fc.option(fc.nat(9), { nil: undefined, freq: 4 }),
      provider: fc.constantFrom("anthropic", "anthropic", "openai.chat", "google.vertex"),
      context: fc.array(fc.record({ at: fc.nat(9), which: fc.nat(2) }), { maxLength: 2 }),
      share: fc.integer({ min: 0, max: 8 }).map((eighths) => eighths / 8),
    });
    const NO_TOOLS: object[] = [];
    const seen = { anchored: 0, byBytes: 0, unbounded: 0, wentBack: 0 };
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 14, size: "max" }), (steps) => {
        const ceiling = new AnchoredCeiling(0);
        const transcript = new Transcript([new Message({ role: "user", content: [] })]);
        const CONTEXT = [0, 1, 2].map((n): ModelMessage => ({ role: "system", content: "c".repeat(n * 90) }));
        const views: View[] = [];
        let before: { view: View; prompt: readonly ModelMessage[]; provider: string; reported: number } | undefined;
        for (const { adds, rewrite, back, provider, context, share } of steps) {
          for (const added of adds) transcript.append(added);
          let { view } = transcript;
          if (rewrite !== undefined) view = View.of(view.messages.slice(rewrite % view.length));
          if (back !== undefined && views.length > 0) {
            view = views[back % views.length] as View;
            seen.wentBack++;
          }
          views.push(view);
          const prompt: ModelMessage[] = [SYSTEM, ...view.prompt()];
          for (const { at, which } of context) {
            const extra = CONTEXT[which] as ModelMessage;
            if (!prompt.includes(extra)) prompt.splice(at % (prompt.length + 1), 0, extra);
          }
          const outOf = new Map(view.messages.map(({ value, outputTokens }) => [value, outputTokens]));
          const costs = (list: readonly ModelMessage[]): number =>
            list.reduce((sum, value) => sum + most(value, outOf.get(value), provider), 0);
          const base = callOf(view, [], NO_TOOLS);
          // The bytes of what stands beside the view are the kernel's to count.
          const beside = prompt.filter((value) => !outOf.has(value));
          const call: Measured = {
            ...base,
            prompt,
            request: { prompt } as CallOptions,
            overheadBytes: bytes(beside.reduce((sum, value) => sum + JSON.stringify(value).length, 0)),
            model: { provider, id: "one" },
          };
          const bound = ceiling.of(call) ?? Number.POSITIVE_INFINITY;
          const byBytes = costs(prompt);
          expect(bound).toBeLessThanOrEqual(byBytes);
          if (before?.provider === provider) {
            const old = before;
            let shared = 0;
            while (shared < view.length && view.at(shared) === old.view.at(shared)) shared++;
            const kept = new Set([
              ...view.prompt().slice(0, shared),
              ...old.prompt.filter((value) => beside.includes(value)),
            ]);
            const anchored = old.reported + costs(prompt.filter((value) => !kept.has(value)));
            expect(bound).toBeLessThanOrEqual(anchored);
            if (Number.isFinite(anchored) && anchored < byBytes) seen.anchored++;
          }
          // A vendor bills each message the same wherever it is sent: a share of its most, a document what it likes.
          const billed = prompt.reduce((sum, value) => {
            const full = most(value, outOf.get(value), provider);
            return sum + (Number.isFinite(full) ? Math.floor(full * share) : 700);
          }, 0);
          if (bound === Number.POSITIVE_INFINITY) seen.unbounded++;
          else if (bound === byBytes) seen.byBytes++;
          before = { view, prompt, provider, reported: billed };
          ceiling.settled(call, billed);
        }
      }),
      { numRuns: 400 },
    );
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(100);
  });

  test("the context window caps it; without one a document has no bound", () => {
    const document = new Message({
      role: "user",
      content: [
        {
          type: "file",
          mediaType: "application/pdf",
          data: { type: "url", url: new URL("https://example.com/a.pdf") },
        },
      ],
    });
    const call = callOf(View.of([document]));
    expect(new AnchoredCeiling().of(call)).toBeUndefined();
    expect(new AnchoredCeiling().of(call, 200_000)).toBe(200_000);
  });

  test("an image counts by its vendor's most, a text file by its bytes", () => {
    const plain = (mediaType: string): number =>
      new AnchoredCeiling().of(
        callOf(
          View.of([
            new Message({ role: "user", content: [{ type: "file", mediaType, data: { type: "data", data: "aaaa" } }] }),
          ]),
        ),
      ) ?? 0;
    // "text/plain" is one byte longer than "image/png".
    expect(plain("image/png") - plain("text/plain")).toBe(50_000 - 1);
  });
});
