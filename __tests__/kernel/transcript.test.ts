import { createHash } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { CavemanError } from "../../kernel/errors.ts";
import { tokens } from "../../kernel/model.ts";
import { illegality, Message, Transcript, View } from "../../kernel/transcript.ts";

const user = (text: string): Message => new Message({ role: "user", content: [{ type: "text", text }] });
const says = (text: string): Message => new Message({ role: "assistant", content: [{ type: "text", text }] });
const calls = (...ids: string[]): Message =>
  new Message({
    role: "assistant",
    content: ids.map((toolCallId) => ({ type: "tool-call", toolCallId, toolName: "t", input: {} })),
  });
const results = (...ids: string[]): Message =>
  new Message({
    role: "tool",
    content: ids.map((toolCallId) => ({
      type: "tool-result",
      toolCallId,
      toolName: "t",
      output: { type: "text", value: "ok" },
    })),
  });

/** An independent oracle: the message as JSON, binary as base64. */
const plain = (value: unknown): unknown =>
  value instanceof Uint8Array
    ? Buffer.from(value).toString("base64")
    : value instanceof URL
      ? value.href
      : Array.isArray(value)
        ? value.map(plain)
        : typeof value === "object" && value !== null
          ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]))
          : value;
const written = (message: Message): string => JSON.stringify(plain(message.value));
const sizeOf = (messages: readonly Message[]): number =>
  messages.reduce((sum, message) => sum + Buffer.byteLength(written(message)), 0);

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 30 }),
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ unit: "grapheme-ascii", minLength: 50, maxLength: 90 }),
);
const json = fc.oneof(
  fc.dictionary(text, fc.oneof(text, fc.integer(), fc.boolean())),
  fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown),
);
const mark = fc.option(fc.constant({ providerOptions: { anthropic: { cache: "yes" } } }), { nil: {} });
const turn: fc.Arbitrary<Message> = fc.oneof(
  fc
    .array(
      fc.oneof(
        fc.record({ toolCallId: text, toolName: text, input: json, more: mark }).map(({ more, ...call }) => ({
          type: "tool-call" as const,
          ...call,
          ...more,
        })),
        fc.record({ text, more: mark }).map((part) => ({ type: "text" as const, text: part.text, ...part.more })),
        text.map((thought) => ({ type: "reasoning" as const, text: thought })),
      ),
      { maxLength: 3 },
    )
    .map((content) => new Message({ role: "assistant", content })),
  fc
    .array(
      fc.record({
        type: fc.constant("tool-result" as const),
        toolCallId: text,
        toolName: text,
        output: fc.oneof(
          text.map((value) => ({ type: "text" as const, value })),
          text.map((value) => ({ type: "error-text" as const, value })),
          fc.jsonValue({ maxDepth: 1 }).map((value) => ({
            type: "json" as const,
            value: JSON.parse(JSON.stringify(value)) as never,
          })),
        ),
      }),
      { maxLength: 3 },
    )
    .map((content) => new Message({ role: "tool", content })),
  text.map((content) => new Message({ role: "system", content })),
);
const data = fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.constant(new URL("https://example.com/a b.png")), text);
const message: fc.Arbitrary<Message> = fc.oneof(
  text.map(user),
  text.map(says),
  data.map(
    (part) =>
      new Message({
        role: "user",
        content: [
          {
            type: "file",
            data:
              part instanceof Uint8Array
                ? { type: "data", data: part }
                : part instanceof URL
                  ? { type: "url", url: part }
                  : { type: "text", text: part },
            mediaType: "image/png",
          },
        ],
      }),
  ),
  fc.json({ maxDepth: 2 }).map((input) => new Message({ role: "user", content: [{ type: "text", text: input }] })),
);
type Step = { append: Message } | { keep: readonly boolean[]; put: readonly Message[] };
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ append: message }) },
  {
    weight: 1,
    arbitrary: fc.record({ keep: fc.array(fc.boolean(), { maxLength: 12 }), put: fc.array(message, { maxLength: 2 }) }),
  },
);

describe("a message", () => {
  test("knows its bytes and digest as those of its JSON", () => {
    fc.assert(
      fc.property(fc.oneof(message, turn), (made) => {
        expect(made.bytes).toBe(Buffer.byteLength(written(made)));
        expect(made.digest).toBe(createHash("sha256").update(written(made)).digest("hex"));
      }),
    );
  });

  test("has the same bytes whether its binary data is a Uint8Array or a Buffer", () => {
    const of = (bytes: Uint8Array): Message =>
      new Message({
        role: "user",
        content: [{ type: "file", data: { type: "data", data: bytes }, mediaType: "image/png" }],
      });
    expect(of(Buffer.from([1, 2, 250])).bytes).toBe(of(new Uint8Array([1, 2, 250])).bytes);
  });

  test("is written once, however often it is asked", () => {
    let reads = 0;
    const part = {
      type: "text" as const,
      get text() {
        reads++;
        return "hi";
      },
    };
    const made = new Message({ role: "user", content: [part] });
    expect(reads).toBe(0);
    const { bytes } = made;
    const once = reads;
    expect(once).toBeGreaterThan(0);
    for (let i = 0; i < 5; i++) expect(made.bytes).toBe(bytes);
    expect(reads).toBe(once);
  });

  test("keeps the output tokens that were reported for it", () => {
    expect(new Message({ role: "assistant", content: [] }, tokens(7)).outputTokens).toBe(7);
    expect(user("x").outputTokens).toBeUndefined();
  });
});

describe("sizes", () => {
  test("equal a full serialisation after any appends and rewrites, and at every length before", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const transcript = new Transcript();
        let shown: Message[] = [];
        const said: Message[] = [];
        for (const entry of steps) {
          if ("append" in entry) {
            transcript.append(entry.append);
            shown.push(entry.append);
            said.push(entry.append);
          } else {
            const left = [...entry.put, ...shown.filter((_, i) => entry.keep[i] ?? true)];
            transcript.adopt(transcript.view.rewrite(left, { by: "test", dropped: shown.length }).view);
            shown = left;
          }
          expect(transcript.view.bytes).toBe(sizeOf(shown));
        }
        const { view } = transcript;
        for (let count = 0; count <= shown.length; count++)
          expect(view.bytesUpTo(count)).toBe(sizeOf(shown.slice(0, count)));
        expect(view.prompt()).toEqual(shown.map(({ value }) => value));
        expect(transcript.history).toEqual(said);
      }),
    );
  });

  test("stay right when more was asked for than there was", () => {
    const transcript = new Transcript([user("one")]);
    const first = transcript.view;
    expect(first.bytesUpTo(3)).toBe(first.bytes);
    transcript.append(says("two"));
    expect(transcript.view.bytes).toBe(sizeOf(transcript.view.messages));
  });
});

describe("a view", () => {
  test("does not move when the transcript grows", () => {
    const transcript = new Transcript([user("one")]);
    const { view } = transcript;
    const { bytes } = view;
    transcript.append(says("two"));
    expect(view.length).toBe(1);
    expect(view.messages).toHaveLength(1);
    expect(view.at(1)).toBeUndefined();
    expect(view.prompt()).toHaveLength(1);
    expect(view.bytes).toBe(bytes);
  });

  test("shares with another the leading messages that both have", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 12 }),
        (a, b) => {
          const pool = [user("0"), user("1"), user("2"), user("3")];
          const pick = (indexes: number[]): Message[] => indexes.flatMap((i) => pool[i] ?? []);
          const one = View.of(pick(a));
          const other = View.of(pick(b));
          let same = 0;
          while (same < Math.min(a.length, b.length) && a[same] === b[same]) same++;
          expect(one.sharedWith(other)).toBe(same);
          expect(other.sharedWith(one)).toBe(same);
        },
      ),
    );
  });

  test("shares all of itself with the later views of its epoch", () => {
    const transcript = new Transcript([user("one"), says("two")]);
    const early = transcript.view;
    transcript.append(user("three"));
    expect(early.sharedWith(transcript.view)).toBe(2);
    expect(transcript.view.sharedWith(early)).toBe(2);
  });

  test("shares by identity: equal text in another message is another message", () => {
    expect(View.of([user("one")]).sharedWith(View.of([user("one")]))).toBe(0);
  });

  test("shares only what is kept after a rewrite", () => {
    const kept = user("one");
    const transcript = new Transcript([kept, says("two"), user("three")]);
    const before = transcript.view;
    const { view, by, dropped } = before.rewrite([kept, user("three")], { by: "test", dropped: 1 });
    expect({ by, dropped }).toEqual({ by: "test", dropped: 1 });
    transcript.adopt(view);
    expect(before.sharedWith(transcript.view)).toBe(1);
    transcript.append(says("four"));
    expect(view.sharedWith(transcript.view)).toBe(2);
    expect(before.messages).toHaveLength(3);
  });

  test("shares truthfully when one view is adopted twice with other messages in between", () => {
    const transcript = new Transcript([user("one"), says("two")]);
    const { view } = transcript.view.rewrite([user("one")], { by: "test", dropped: 1 });
    transcript.adopt(view);
    transcript.append(says("left"));
    const left = transcript.view;
    transcript.adopt(view);
    transcript.append(says("right"));
    expect(left.sharedWith(transcript.view)).toBe(1);
  });
});

describe("legality", () => {
  test.each<[string, Message[]]>([
    ["nothing", []],
    ["talk", [user("a"), says("b"), user("c")]],
    ["a call and its result", [user("a"), calls("1"), results("1"), says("b")]],
    ["parallel calls, results in any order", [calls("1", "2"), results("2", "1")]],
    ["parallel calls, results in messages of their own", [calls("1", "2"), results("1"), results("2")]],
    ["an id used again in a later turn", [calls("1"), results("1"), calls("1"), results("1")]],
  ])("%s is legal", (_name, messages) => expect(illegality(messages)).toBeUndefined());

  test.each<[string, Message[], RegExp]>([
    ["a call without a result at the end", [user("a"), calls("1")], /without a result at the end/],
    ["a call without a result in the middle", [calls("1"), user("a")], /message 1: 1 tool call/],
    ["half of the results", [calls("1", "2"), results("1"), says("b")], /message 2: 1 tool call/],
    ["a result without its call", [user("a"), results("1")], /message 1: a result without its call/],
    ["a result twice", [calls("1"), results("1", "1")], /message 1: a result without its call/],
    ["a result of an earlier turn", [calls("1"), results("1"), says("b"), results("1")], /message 3/],
    ["one id twice in a turn", [calls("1", "1"), results("1")], /message 0: one tool call id twice/],
  ])("%s is not", (_name, messages, problem) => expect(illegality(messages)).toMatch(problem));

  test("a call that the provider ran itself needs no result", () => {
    const own = new Message({
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "1", toolName: "web", input: {}, providerExecuted: true }],
    });
    expect(illegality([own, user("a")])).toBeUndefined();
  });

  test("an illegal view is not adopted, and the one before stands", () => {
    const transcript = new Transcript([user("a"), calls("1"), results("1")]);
    const before = transcript.view;
    const { view } = before.rewrite([user("a"), results("1")], { by: "test", dropped: 1 });
    expect(() => transcript.adopt(view)).toThrow(CavemanError);
    expect(transcript.view.sharedWith(before)).toBe(3);
    expect(transcript.view.epoch).toBe(before.epoch);
  });

  test("dropping whole turns keeps any history legal", () => {
    const turn = fc
      .array(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 3 })
      .map((ids) => [...new Set(ids)])
      .map((ids) => (ids.length === 0 ? [says("x")] : [calls(...ids), results(...ids)]));
    fc.assert(
      fc.property(fc.array(fc.tuple(turn, fc.boolean()), { maxLength: 10 }), (turns) => {
        expect(illegality(turns.flatMap(([messages]) => messages))).toBeUndefined();
        expect(illegality(turns.filter(([, kept]) => kept).flatMap(([messages]) => messages))).toBeUndefined();
      }),
    );
  });
});
