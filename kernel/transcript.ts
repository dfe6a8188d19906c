/**
 * The transcript: append-only, immutable messages that know their byte size and digest, made once and only when asked
 * for. A view is a projection over it: what the model would be sent. Two views of one epoch share a prefix, so
 * comparing them costs nothing that grows with history.
 */
import { sha256 } from "./digest.ts";
import { CavemanError } from "./errors.ts";
import { type Bytes, bytes, type ModelMessage, type Tokens } from "./model.ts";

/** One immutable message. */
export class Message {
  readonly value: ModelMessage;
  /** Output tokens the provider reported for an assistant message; some vendors keep reasoning without bytes. */
  readonly outputTokens: Tokens | undefined; #bytes: Bytes | undefined; #digest: string | undefined;

  constructor(value: ModelMessage, outputTokens?: Tokens) {
    this.value = value; this.outputTokens = outputTokens;
  }

  get role(): ModelMessage["role"] { return this.value.role; }
  /** UTF-8 bytes of the message as JSON. */
  get bytes(): Bytes { return (this.#bytes ??= bytes(sizeOf(this.value))); }
  /** SHA-256 of the message as JSON. */
  get digest(): string { return (this.#digest ??= sha256(serialise(this.value))); }
}

// A Buffer has turned itself into { type: "Buffer" } before the replacer sees it; `this[key]` is still the bytes.
const serialise = (value: ModelMessage): string =>
  plain(value)
    ? JSON.stringify(value)
    : JSON.stringify(value, function (this: Record<string, unknown>, key, part: unknown) {
        if (typeof part !== "object" || part === null) return part;
        const own = part instanceof Uint8Array ? part : (part as { type?: unknown }).type === "Buffer" ? this[key] : undefined;
        return own instanceof Uint8Array ? Buffer.from(own).toString("base64") : part;
      });

// Most messages are text, and JSON without a replacer writes them several times faster.
const plain = ({ content }: ModelMessage): boolean =>
  typeof content === "string" || content.every((part) => part.type === "text" || part.type === "reasoning" || part.type === "tool-call" || (part.type === "tool-result" && part.output.type !== "content" && part.output.type !== "json"));

/** Characters of JSON around what varies. */
const around = (part: object, holes: number): number => JSON.stringify(part).length - holes;
const MESSAGE = around({ role: 0, content: 0 }, 2);
const TEXT = around({ type: "text", text: 0 }, 1);
const CALL = around({ type: "tool-call", toolCallId: 0, toolName: 0, input: 0 }, 3);
const RESULT = around({ type: "tool-result", toolCallId: 0, toolName: 0, output: { type: "text", value: 0 } }, 3);

/** UTF-8 bytes of a message as JSON. What every turn brings is added up, which costs a third of writing it; the rest is written. */
function sizeOf(value: ModelMessage): number {
  const { role, content } = value;
  let sum = MESSAGE + role.length + 2;
  if (keysOf(value) !== 2) return Buffer.byteLength(serialise(value));
  if (typeof content === "string") return sum + sizeOfJson(content);
  sum += content.length === 0 ? 2 : content.length + 1;
  for (const part of content) {
    if (part.type === "text" && keysOf(part) === 2) sum += TEXT + sizeOfJson(part.text);
    else if (part.type === "tool-call" && keysOf(part) === 4) sum += CALL + sizeOfJson(part.toolCallId) + sizeOfJson(part.toolName) + sizeOfJson(part.input);
    else if (part.type === "tool-result" && keysOf(part) === 4 && part.output.type === "text" && keysOf(part.output) === 2) sum += RESULT + sizeOfJson(part.toolCallId) + sizeOfJson(part.toolName) + sizeOfJson(part.output.value);
    else return Buffer.byteLength(serialise(value));
  }
  return Number.isNaN(sum) ? Buffer.byteLength(serialise(value)) : sum;
}

function keysOf(value: object, count = 0): number {
  for (const _ in value) count++;
  return count;
}

/** NaN for what JSON leaves out. Short text without an escape is as long as it looks, a flat object of text and numbers as long as its parts. */
function sizeOfJson(value: unknown): number {
  if (typeof value === "string" && value.length < 64) {
    let at = 0;
    for (let code = 0; at < value.length; at++) if ((code = value.charCodeAt(at)) < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) break;
    if (at === value.length) return at + 2;
  } else if (typeof value === "number" && Number.isFinite(value)) {
    return String(value).length;
  } else if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype && !("toJSON" in value)) {
    let sum = 1, flat = true;
    for (const key in value) {
      const part = (value as Record<string, unknown>)[key];
      if ((flat &&= typeof part === "string" || typeof part === "number")) sum += sizeOfJson(key) + sizeOfJson(part) + 2;
    }
    if (flat) return Math.max(sum, 2);
  }
  return Buffer.byteLength(JSON.stringify(value) ?? "") || Number.NaN;
}

let epochs = 0;

/** What the model would be sent: an immutable projection. Views of one epoch with fewer messages are prefixes of longer ones. */
export class View {
  readonly epoch: number; readonly length: number; readonly #messages: readonly Message[]; readonly #sums: number[];

  /** @internal Made by a Transcript, or by `rewrite`. */
  constructor(messages: readonly Message[], length: number, epoch: number, sums: number[]) {
    this.#messages = messages; this.length = length; this.epoch = epoch; this.#sums = sums;
  }

  /** A view of its own epoch, for messages that share no history with another. */
  static of(messages: readonly Message[]): View {
    return new View(Object.freeze([...messages]), messages.length, ++epochs, [0]);
  }

  get messages(): readonly Message[] {
    return this.#messages.length === this.length ? this.#messages : this.#messages.slice(0, this.length);
  }
  at(index: number): Message | undefined { return index < this.length ? this.#messages[index] : undefined; }
  /** UTF-8 bytes of all messages: a sum of cached sizes. */
  get bytes(): Bytes { return bytes(this.bytesUpTo(this.length)); }
  /** UTF-8 bytes of the first `count` messages. */
  bytesUpTo(count: number): number {
    const sums = this.#sums;
    const upTo = Math.min(count, this.length);
    for (let i = sums.length; i <= upTo; i++) sums.push((sums[i - 1] ?? 0) + (this.#messages[i - 1]?.bytes ?? 0));
    return sums[upTo] ?? 0;
  }
  /** How many leading messages this view shares with another. O(1) within an epoch. */
  sharedWith(other: View): number {
    const most = Math.min(this.length, other.length);
    if (this.epoch === other.epoch) return most;
    let i = 0;
    while (i < most && this.at(i) === other.at(i)) i++;
    return i;
  }
  /** A view with other messages; what it leaves out is stated, for the record of what was dropped. */
  rewrite(messages: readonly Message[], provenance: { by: string; dropped: number }): Rewrite {
    return { view: View.of(messages), by: provenance.by, dropped: provenance.dropped };
  }
  /** The canonical messages to send, after those of `head`. */
  prompt(head: readonly ModelMessage[] = []): ModelMessage[] {
    const out = new Array<ModelMessage>(head.length + this.length);
    for (let i = 0; i < head.length; i++) out[i] = head[i] as ModelMessage; // a frozen array is slow to copy
    for (let i = 0; i < this.length; i++) out[head.length + i] = (this.#messages[i] as Message).value;
    return out;
  }
}

/** A smaller view and who made it. */
export interface Rewrite { readonly view: View; readonly by: string; readonly dropped: number }

/** The append-only history of a run and the view projected over it. */
export class Transcript {
  /** Everything that was ever said, whatever a rewrite hid from the model. */
  readonly history: Message[] = []; #shown: Message[] = []; #sums: number[] = [0]; #epoch = ++epochs;

  constructor(messages: readonly Message[] = []) {
    for (const message of messages) this.append(message);
  }

  /** Adds a message, O(1). */
  append(message: Message): void {
    this.history.push(message);
    this.#shown.push(message);
  }
  /** The current view. */
  get view(): View { return new View(this.#shown, this.#shown.length, this.#epoch, this.#sums); }
  /** Takes a rewritten view as the current one. @throws CavemanError `cave_transcript_illegal`. */
  adopt(view: View): void {
    const problem = illegality(view.messages);
    if (problem) throw new CavemanError("cave_transcript_illegal", { received: problem });
    this.#shown = [...view.messages];
    this.#sums = [0];
    // What is appended from here on belongs to this transcript alone, also when the view is adopted elsewhere.
    this.#epoch = ++epochs;
  }
}

/** What is wrong with a sequence of messages, or undefined when every tool call has its result and every result its call. */
export function illegality(messages: readonly Message[]): string | undefined {
  let open = new Set<string>();
  for (const [index, { value }] of messages.entries()) {
    if (value.role === "tool") {
      for (const part of value.content) {
        if (part.type === "tool-result" && !open.delete(part.toolCallId)) return `message ${index}: a result without its call`;
      }
      continue;
    }
    if (open.size > 0) return `message ${index}: ${open.size} tool call(s) without a result`;
    if (value.role === "assistant") {
      const calls = value.content.filter((part) => part.type === "tool-call" && !part.providerExecuted);
      open = new Set(calls.map((part) => (part.type === "tool-call" ? part.toolCallId : "")));
      if (open.size !== calls.length) return `message ${index}: one tool call id twice`;
    }
  }
  return open.size > 0 ? `${open.size} tool call(s) without a result at the end` : undefined;
}
