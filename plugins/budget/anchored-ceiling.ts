/**
 * The most a provider can bill as input for a request: the smallest of the context window, the byte bound, and the
 * anchored bound. The anchor is a settled request that shares a prefix of whole messages with this one: the party that
 * bills has measured it, so only what came after the parting is guessed. A token is at least one byte.
 */
import { type FrozenCall, Message, type ModelMessage, type View } from "../../kernel/index.ts";

/** Tokens of framing that a message may cost beside its bytes. */
export const FRAMING = 16;
/**
 * Tokens of the prompt a vendor adds of its own for tools or an answer schema. The largest documented one is 804
 * (Anthropic, tool use); a model row that states no figure takes this.
 */
const VENDOR_OVERHEAD = 1_024;
/**
 * Tokens one image may cost, by vendor: Anthropic documents at most 4,784, Gemini 258 a tile of at most 3,072 pixels
 * square, OpenAI's costliest small model 2,833 + 8 × 5,667.
 */
const IMAGE_TOKENS: Readonly<Record<string, number>> = {
  anthropic: 5_000,
  google: 8_192,
  gemini: 8_192,
  vertex: 8_192,
};
const IMAGE_TOKENS_UNKNOWN = 50_000;
/** Settled requests kept: a summary or a retry on another model must not push out the turn's own. */
const ANCHORS = 4;

/** An allowance up to this many tokens may leave no room for thinking, and a vendor then leaves earlier thinking out of the bill. */
const THINKING_ROOM = 1_280;

/** What is read of a frozen call. */
export type Measured = Pick<FrozenCall, "allowance" | "view" | "prompt" | "overheadBytes" | "toolsKey" | "request"> & {
  readonly model: Pick<FrozenCall["model"], "provider" | "id" | "contextWindow">;
};

/** 1,000 bytes in 4 messages are at most 1,064 tokens: each byte one, each message 16 of framing. */
export const byteBound = (bytes: number, messages: number, vendorOverhead = 0): number =>
  bytes + FRAMING * messages + vendorOverhead;

interface Anchor {
  /** The settled request. */
  readonly call: Measured;
  readonly extras: readonly ModelMessage[];
  /** Gross input its provider reported. */
  readonly reported: number;
  /** The provider reported more than the byte bound allowed. */
  readonly beyondBytes: boolean;
}

interface Weighed {
  readonly call: Measured;
  /** The byte bound. */
  readonly bytes: number;
  readonly extras: readonly ModelMessage[];
}

/** What the messages of one epoch weigh beside their bytes. */
interface Weights {
  readonly epoch: number;
  readonly provider: string;
  readonly each: number[];
  readonly sums: number[];
  /** The first message with thinking. */
  thoughtAt: number;
}

export class AnchoredCeiling {
  #anchors: readonly Anchor[] = [];
  #last: Weighed | undefined;
  #weights: Weights | undefined;

  readonly #vendorOverhead: number;

  constructor(vendorOverhead = VENDOR_OVERHEAD) {
    this.#vendorOverhead = vendorOverhead;
  }

  /** Tokens of input at most; undefined when nothing bounds it. `window` is the context window, when known. */
  of(call: Measured, window: number | undefined = call.model.contextWindow): number | undefined {
    let bound = window ?? Number.POSITIVE_INFINITY;
    const { bytes, extras } = this.#weighedOf(call);
    let anchored = Number.POSITIVE_INFINITY;
    let beyond = false;
    for (const anchor of this.#anchors) {
      if (!alike(anchor.call, call)) continue;
      const shared = call.view.sharedWith(anchor.call.view);
      let delta = this.#addedTo(call.view, shared);
      for (let i = 0; i < extras.length; i++) {
        const extra = extras[i];
        // One that stands there twice may have stood there once.
        if (extra && (!anchor.extras.includes(extra) || extras.indexOf(extra) < i)) delta += weigh(extra);
      }
      anchored = Math.min(anchored, anchor.reported + delta);
      beyond ||= anchor.beyondBytes;
    }
    // A byte bound that this model has already been seen to pass bounds nothing.
    bound = Math.min(bound, anchored, beyond ? Number.POSITIVE_INFINITY : bytes);
    return Number.isFinite(bound) ? bound : undefined;
  }

  /** Keeps a request and the gross input its provider reported as an anchor for the next. */
  settled(call: Measured, reported: number): void {
    const { bytes, extras } = this.#weighedOf(call);
    // What it left out would come back with the next request that has room to think.
    if (call.allowance <= THINKING_ROOM && (this.#weights?.thoughtAt ?? 0) < call.view.length) return;
    const anchors: Anchor[] = [{ call, extras, reported, beyondBytes: reported > bytes }];
    for (const other of this.#anchors) {
      // An anchor that this one goes on from has nothing more to say.
      const passed = alike(other.call, call) && call.view.sharedWith(other.call.view) === other.call.view.length;
      if (!passed && anchors.length < ANCHORS) anchors.push(other);
    }
    this.#anchors = anchors;
  }

  /** What a request weighs, worked out once: it is asked for again when the request has settled. */
  #weighedOf(call: Measured): Weighed {
    if (this.#last?.call !== call) this.#last = { call, bytes: this.#byBytes(call), extras: extrasOf(call) };
    return this.#last;
  }

  #byBytes(call: Measured): number {
    const { tools, responseFormat } = call.request;
    let added = tools?.length || responseFormat?.type === "json" ? this.#vendorOverhead : 0;
    const schema = formatOf(call);
    if (schema) added += schemaBytes(schema);
    return (
      byteBound(call.view.bytes + call.overheadBytes, call.prompt.length, added) +
      this.#beyondBytesOf(call.view, call.model.provider)
    );
  }

  // Kept as running sums per epoch, so that a call pays for its new messages only.
  #beyondBytesOf(view: View, provider: string): number {
    if (this.#weights?.epoch !== view.epoch || this.#weights.provider !== provider)
      this.#weights = { epoch: view.epoch, provider, each: [], sums: [0], thoughtAt: Number.POSITIVE_INFINITY };
    const weights = this.#weights;
    const { each, sums } = weights;
    for (let i = each.length; i < view.length; i++) {
      const message = view.at(i);
      const beyond = message ? beyondBytes(message, provider) : 0;
      each.push(beyond);
      sums.push((sums[i] ?? 0) + beyond);
      if (message && i < weights.thoughtAt && thought(message)) weights.thoughtAt = i;
    }
    return sums[view.length] ?? 0;
  }

  /** The most that the messages of a view from `shared` on can cost, once the view was weighed. */
  #addedTo(view: View, shared: number): number {
    let sum = view.bytes - view.bytesUpTo(shared) + FRAMING * (view.length - shared);
    // Not a difference of sums: a document before the parting makes both of them infinite.
    for (let i = shared; i < view.length; i++) sum += this.#weights?.each[i] ?? 0;
    return sum;
  }
}

/** Whether two requests differ in nothing but their messages, as the vendor's own prompt sees it. */
const alike = (a: Measured, b: Measured): boolean =>
  a.model.provider === b.model.provider &&
  a.model.id === b.model.id &&
  a.toolsKey === b.toolsKey &&
  formatOf(a) === formatOf(b) &&
  a.request.toolChoice?.type === b.request.toolChoice?.type &&
  a.request.reasoning === b.request.reasoning;
const formatOf = ({ request }: Measured): object | undefined =>
  request.responseFormat?.type === "json" ? request.responseFormat.schema : undefined;
const schemas = new WeakMap<object, number>();
/** What an answer's schema adds to the prompt: a vendor writes it there. */
function schemaBytes(schema: object): number {
  let size = schemas.get(schema);
  if (size === undefined) schemas.set(schema, (size = Buffer.byteLength(JSON.stringify(schema))));
  return size;
}
/** Whether thinking may go back to the vendor with a message, as text or by reference. */
const thought = ({ value, bytes, outputTokens }: Message): boolean =>
  value.role === "assistant" &&
  ((outputTokens ?? 0) > bytes || value.content.some((part) => part.type === "reasoning"));
const weighed = new WeakMap<ModelMessage, number>();
function weigh(message: ModelMessage): number {
  let weight = weighed.get(message);
  if (weight === undefined) weighed.set(message, (weight = new Message(message).bytes + FRAMING));
  return weight;
}

/** The messages of a prompt that are not the view's: system and added context. */
function extrasOf({ prompt, view }: Measured): readonly ModelMessage[] {
  const count = prompt.length - view.length;
  // Mostly the system message alone, in front of the view.
  const first = view.at(0)?.value;
  if (first && prompt.indexOf(first) === count) return prompt.slice(0, count);
  const extras: ModelMessage[] = [];
  let at = 0;
  for (const message of prompt) {
    if (extras.length === count) break;
    if (view.at(at)?.value === message) at++;
    else extras.push(message);
  }
  return extras;
}

/**
 * Tokens a message may cost beside its bytes. Reasoning that a vendor keeps by reference has tokens without bytes; an
 * image is billed by its size in pixels; a document by its pages, which nobody has counted.
 */
function beyondBytes(message: Message, provider: string): number {
  let beyond = Math.max(0, (message.outputTokens ?? 0) - message.bytes);
  const { value } = message;
  if (value.role === "user" || value.role === "assistant") {
    for (const part of value.content) if (part.type === "file") beyond += fileTokens(part.mediaType, provider);
  } else if (value.role === "tool") {
    for (const part of value.content) {
      if (part.type !== "tool-result" || part.output.type !== "content") continue;
      for (const inner of part.output.value) if (inner.type === "file") beyond += fileTokens(inner.mediaType, provider);
    }
  }
  return beyond;
}

function fileTokens(mediaType: string, provider: string): number {
  if (mediaType.startsWith("text/")) return 0;
  if (mediaType === "image" || mediaType.startsWith("image/"))
    return IMAGE_TOKENS[provider.split(".")[0] ?? ""] ?? IMAGE_TOKENS_UNKNOWN;
  return Number.POSITIVE_INFINITY;
}
