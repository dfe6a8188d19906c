/**
 * The engine: unwrap, detect, compress, wrap again, count, store, publish. Whatever goes wrong on the way, the answer is the
 * input itself and the reason. What it publishes is smaller on the wire, with its pointer and any overhead counted, and
 * is never compressed again.
 */
import type { CompressContext, Compressed } from "./compressor.ts";
import { type ContentType, isForced } from "./content-type.ts";
import { detect } from "./detect.ts";
import { isMarked, pointer } from "./markers.ts";
import type { Registry } from "./registry.ts";
import { unwrap } from "./wrapper.ts";

export const MAX_INPUT_BYTES = 64 * 1024 * 1024;

/** Why an input stayed as it is. */
export type Reason =
  | "too_small"
  | "input_too_large"
  | "not_text"
  | "already_compressed"
  | "unknown_type"
  | "no_view"
  | "compressor_failed"
  | "not_smaller"
  | "too_little"
  | "marker_missing"
  | "no_store"
  | "aborted";

export interface Report {
  readonly contentType: ContentType;
  readonly method?: string;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Share of the tokens that is gone, 0 to 1. */
  readonly ratio: number;
  /** Always: what a provider counts is known only to the provider. */
  readonly basis: "inferred";
  readonly unit?: string;
  readonly kept?: number;
  readonly dropped?: number;
  /** The reader sees everything the input says. */
  readonly losslessToModel: boolean;
  readonly recoveryHandle?: string;
  /** Why the input stayed as it is. */
  readonly reason?: Reason;
}
export interface Result {
  /** What to show: the view with its pointer, or the input itself. */
  readonly text: string;
  readonly report: Report;
}

export interface CompressOptions {
  /** Names the type instead of detecting it. Forced types are only ever named. */
  readonly type?: ContentType;
  readonly query?: string;
  /**
   * Stores the original before anything of it is left out. Undefined from it, or no store at all, means that nothing may be
   * left out.
   */
  readonly keep?: (
    original: string,
    about: { readonly contentType: string; readonly by: string },
  ) => string | undefined;
  /**
   * Whether the pointer to the original becomes the view's last line. Default false: it is in the report only. Views of
   * forced types never carry one, because a program reads them.
   */
  readonly point?: boolean;
  /** Tokens that showing the view costs beside its own: a tool that had to be added for it. */
  readonly overheadTokens?: number;
  readonly signal?: AbortSignal;
}

export interface Engine {
  readonly registry: Registry;
  compress(input: string, options?: CompressOptions): Promise<Result>;
  /** What an input is, wrapper aside. */
  detect(input: string): ContentType;
}

/** Tokens of a text. Exact or modelled: that is the caller's to say. */
export type CountTokens = (text: string) => number;

/** Rounds until a view without a marker must have come to rest. */
const MAX_ROUNDS = 4;
/** Content within content within content: no deeper. */
const MAX_NESTING = 3;

export function createEngine(registry: Registry, count: CountTokens): Engine {
  const typeOf = (content: string): ContentType => registry.recognise(content) ?? detect(content);
  return {
    registry,
    detect: (input) => typeOf(unwrap(input).content),
    compress: (input, options = {}) => new Attempt(registry, count, typeOf, input, options).run(),
  };
}

/** Bytes of no text: a zero anywhere, or many control characters in the beginning or the middle. */
function isBinary(input: string): boolean {
  if (input.includes("\u0000")) return true;
  for (const from of [0, input.length >> 1]) {
    const sample = input.slice(from, from + 2_048);
    let control = 0;
    for (let i = 0; i < sample.length; i++) {
      const code = sample.charCodeAt(i);
      if (code === 0xfffd || (code < 32 && !(code >= 7 && code <= 13) && code !== 27) || (code >= 127 && code < 160))
        control++;
    }
    if (control > sample.length * 0.05) return true;
  }
  return false;
}

/** A failure that ends an attempt with the input. */
class Stay {
  readonly reason: Reason;
  constructor(reason: Reason) {
    this.reason = reason;
  }
}

class Attempt {
  readonly #registry: Registry;
  readonly #count: CountTokens;
  readonly #typeOf: (content: string) => ContentType;
  readonly #input: string;
  readonly #options: CompressOptions;
  #type: ContentType = "text";
  #before: number | undefined;

  constructor(
    registry: Registry,
    count: CountTokens,
    typeOf: (content: string) => ContentType,
    input: string,
    options: CompressOptions,
  ) {
    this.#registry = registry;
    this.#count = count;
    this.#typeOf = typeOf;
    this.#input = input;
    this.#options = options;
  }

  async run(): Promise<Result> {
    try {
      return await this.#shrink();
    } catch (error) {
      // A compressor of a plugin, the counter or the store may throw anything; the input is always right.
      return this.#stay(error instanceof Stay ? error.reason : "compressor_failed");
    }
  }

  async #shrink(): Promise<Result> {
    const input = this.#input;
    const { type, keep, point = false, overheadTokens = 0 } = this.#options;
    if (input.length === 0) throw new Stay("too_small");
    if (
      input.length > MAX_INPUT_BYTES ||
      (input.length > MAX_INPUT_BYTES / 3 && Buffer.byteLength(input) > MAX_INPUT_BYTES)
    )
      throw new Stay("input_too_large");
    // A text that has no bytes of its own cannot be stored, so it could not come back exactly.
    if (!input.isWellFormed() || isBinary(input)) throw new Stay("not_text");
    if (isMarked(input)) throw new Stay("already_compressed");
    const forced = type !== undefined && isForced(type);
    const { content, rewrap } = forced ? { content: input, rewrap: (view: string) => view } : unwrap(input);
    this.#type = type ?? this.#typeOf(content);
    const view = await this.#view(content, this.#type);
    const text = rewrap(view.text);
    const pointing = point && keep !== undefined && !forced;
    if (Buffer.byteLength(text) + (pointing ? POINTER_BYTES : 0) >= Buffer.byteLength(input))
      throw new Stay("not_smaller");
    if (view.dropped > 0 && !forced && !isMarked(text)) throw new Stay("marker_missing");
    this.#before = this.#count(input);
    const bare = this.#count(text);
    if (bare + overheadTokens >= this.#before) throw new Stay("not_smaller");
    if (view.dropped > 0 && !forced && bare > this.#before * (1 - LEAST_SAVING)) throw new Stay("too_little");
    if (!keep) {
      if (!view.lossless) throw new Stay("no_store");
      return this.#publish(text, bare, view);
    }
    // A pointer is never more tokens than it has bytes: what passes here is smaller for certain once the pointer is known.
    if (pointing && bare + overheadTokens + POINTER_BYTES >= this.#before) throw new Stay("not_smaller");
    this.#unlessAborted();
    const handle = keep(input, { contentType: this.#type, by: view.method });
    if (handle === undefined) throw new Stay("no_store");
    if (!pointing) return this.#publish(text, bare, view, handle);
    const shown = `${text}${text.endsWith("\n") ? "" : "\n"}${pointer(handle)}`;
    const after = this.#count(shown);
    if (after + overheadTokens >= this.#before) throw new Stay("not_smaller");
    return this.#publish(shown, after, view, handle);
  }

  /** A view at rest: compressing it again would change nothing, because it carries a marker or because nothing is left to do. */
  async #view(content: string, type: ContentType): Promise<Compressed> {
    let view = await this.#once(content, type, 0);
    if (!view) throw new Stay(this.#registry.has(type) ? "no_view" : "unknown_type");
    for (let round = 1; view.dropped === 0 && !isForced(type); round++) {
      const again: Compressed | undefined = await this.#once(view.text, this.#typeOf(view.text), 0);
      if (!again || again.text.length >= view.text.length) return view;
      if (round > MAX_ROUNDS) throw new Stay("no_view");
      view = again;
    }
    return view;
  }

  async #once(content: string, type: ContentType, depth: number): Promise<Compressed | undefined> {
    this.#unlessAborted();
    const found = this.#registry.find(type);
    const compressor = found instanceof Promise ? await found : found;
    if (!compressor) return undefined;
    const context: CompressContext = {
      query: this.#options.query ?? "",
      inner: async (text, inside) =>
        depth >= MAX_NESTING || isMarked(text) ? undefined : this.#once(text, inside ?? this.#typeOf(text), depth + 1),
    };
    const making = compressor.compress(content, context);
    return making instanceof Promise ? await making : making;
  }

  #unlessAborted(): void {
    if (this.#options.signal?.aborted) throw new Stay("aborted");
  }

  #publish(text: string, tokensAfter: number, view: Compressed, recoveryHandle?: string): Result {
    const tokensBefore = this.#before ?? 0;
    const { method, unit, kept, dropped, lossless = false } = view;
    return {
      text,
      report: {
        contentType: this.#type,
        method,
        tokensBefore,
        tokensAfter,
        ratio: (tokensBefore - tokensAfter) / tokensBefore,
        basis: "inferred",
        unit,
        kept,
        dropped,
        losslessToModel: lossless,
        ...(recoveryHandle === undefined ? {} : { recoveryHandle }),
      },
    };
  }

  #stay(reason: Reason): Result {
    const tokens = (): number => (this.#before ??= this.#counted());
    return {
      text: this.#input,
      report: {
        contentType: this.#type,
        // Counted when first asked for: most callers of an input that stayed never do.
        get tokensBefore() {
          return tokens();
        },
        get tokensAfter() {
          return tokens();
        },
        ratio: 0,
        basis: "inferred",
        losslessToModel: true,
        reason,
      },
    };
  }
  #counted(): number {
    try {
      return this.#input.length > MAX_INPUT_BYTES ? 0 : this.#count(this.#input);
    } catch {
      return 0;
    }
  }
}

const POINTER_BYTES = 48;
/** Share of the tokens that leaving something out must save: less is not worth the doubt. */
const LEAST_SAVING = 0.1;
