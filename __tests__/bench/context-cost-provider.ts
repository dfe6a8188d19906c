/**
 * A provider that caches prompts, simulated: `implicit` reads the longest beginning it has seen, in blocks of 128 tokens
 * from 1,024 on; `explicit` reads and writes only up to a mark of the request, as Anthropic documents it. Tokens are
 * `o200k_base` over the JSON of each part of a request.
 */
import { createHash } from "node:crypto";
import type { CallOptions } from "../../kernel/index.ts";
import type { ScriptUsage } from "../../plugins/providers/scripted/index.ts";
import { o200kTokenizer } from "../../plugins/tokens/index.ts";

export type CacheMode = "implicit" | "explicit";

interface Part {
  readonly json: string;
  readonly marked: boolean;
}

const BLOCK = 128;
const LEAST = 1_024;

/** Parts in the order a provider caches them: tools, then messages. A mark is no part of what is cached. */
function partsOf({ prompt, tools = [] }: CallOptions): Part[] {
  return [...tools, ...prompt].map((value) => {
    const marked = JSON.stringify("providerOptions" in value ? (value.providerOptions ?? {}) : {}).includes(
      "cacheControl",
    );
    return { json: JSON.stringify({ ...value, providerOptions: undefined }), marked };
  });
}

export class CachingProvider {
  readonly #mode: CacheMode;
  /** What has been cached, by the digest of everything up to there. */
  readonly #cached = new Set<string>();
  readonly #tokens = new Map<string, number>();
  #before: readonly string[] = [];
  calls = 0;
  /** Calls whose request began with the whole of the one before. */
  kept = 0;

  constructor(mode: CacheMode) {
    this.#mode = mode;
  }

  /** What the provider would report for a request. */
  usage(request: CallOptions, output: number): ScriptUsage {
    const parts = partsOf(request);
    const json = parts.map((part) => part.json);
    if (this.calls++ === 0 || this.#before.every((part, i) => part === json[i])) this.kept++;
    this.#before = json;
    let [input, read, write, chain] = [0, 0, 0, ""];
    const sums = parts.map((part) => {
      input += this.#count(part.json);
      chain = createHash("sha256").update(chain).update(part.json).digest("base64");
      return { upTo: input, chain, marked: part.marked };
    });
    for (const { upTo, chain: at, marked } of sums) {
      if (this.#cached.has(at) && upTo >= LEAST && (marked || this.#mode === "implicit")) read = upTo;
      if (marked && upTo >= LEAST) write = upTo;
    }
    for (const { chain: at, marked } of sums) if (marked || this.#mode === "implicit") this.#cached.add(at);
    if (this.#mode === "implicit") return { input, output, cacheRead: Math.floor(read / BLOCK) * BLOCK };
    return { input, output, cacheRead: read, cacheWrite: Math.max(0, write - read) };
  }

  #count(text: string): number {
    let count = this.#tokens.get(text);
    if (count === undefined) this.#tokens.set(text, (count = o200kTokenizer().count(text)));
    return count;
  }
}
