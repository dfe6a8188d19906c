/** Output for the person, while it comes: in pieces, and never more than a terminal can take. */
import { StringDecoder } from "node:string_decoder";

/** A piece of a command's output. It is what the command wrote: a terminal should be spared its control characters. */
export interface OutputChunk {
  readonly toolCallId: string;
  readonly text: string;
  /** Bytes left out before this piece, because they came too fast to be read. */
  readonly skippedBytes: number;
}
export type OnOutput = (chunk: OutputChunk) => void;

const EVERY_MS = 50;
const PIECE_BYTES = 16_384;

export class LiveOutput {
  readonly #toolCallId: string;
  readonly #tell: OnOutput | undefined;
  readonly #decoder = new StringDecoder("utf8");
  #text = "";
  #skipped = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(toolCallId: string, tell: OnOutput | undefined) {
    this.#toolCallId = toolCallId;
    this.#tell = tell;
  }
  push(chunk: Uint8Array): void {
    if (!this.#tell) return;
    if (this.#text.length >= PIECE_BYTES) this.#skipped += chunk.length;
    else {
      const kept = chunk.subarray(0, PIECE_BYTES);
      this.#text += this.#decoder.write(Buffer.from(kept));
      this.#skipped += chunk.length - kept.length;
    }
    this.#timer ??= setTimeout(() => this.flush(), EVERY_MS).unref();
  }
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#text === "" && this.#skipped === 0) return;
    const chunk = { toolCallId: this.#toolCallId, text: this.#text, skippedBytes: this.#skipped };
    this.#text = "";
    this.#skipped = 0;
    try {
      this.#tell?.(chunk);
    } catch {
      // Who watches may fail; the command does not.
    }
  }
}
