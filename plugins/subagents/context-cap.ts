/** How large a subagent's context may grow, in tokens as its provider counts them. */

/** Bytes a token takes until a provider has counted some: the usual figure for English text. */
const BYTES_PER_TOKEN = 4;

export class ContextCap {
  readonly maxTokens: number;
  #bytesPerToken = BYTES_PER_TOKEN;

  constructor(maxTokens: number) {
    this.maxTokens = maxTokens;
  }
  /** Learns what a token of this conversation weighs from a settled request. */
  measured(inputTokens: number, bytes: number): void {
    if (inputTokens > 0 && bytes > 0) this.#bytesPerToken = bytes / inputTokens;
  }
  /** Whether a request of so many bytes passes the cap. */
  exceededBy(bytes: number): boolean {
    return bytes / this.#bytesPerToken > this.maxTokens;
  }
}
