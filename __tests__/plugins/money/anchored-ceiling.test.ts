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
