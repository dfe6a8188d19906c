/** Keeps the beginning and the end of a stream, and counts the rest: memory stays bounded however long it is. */
import { characterStart, wholeCharacters } from "../files/characters.ts";

/** A third of what is kept is the beginning: what a command ends with says more. */
const HEAD_SHARE = 1 / 3;

export class HeadTail {
  readonly #headLimit: number;
  readonly #tailLimit: number;
  readonly #head: Buffer[] = [];
  #headBytes = 0;
  /** A ring, made when the head is full. */
  #ring: Buffer | undefined;
  #ringAt = 0;
  #total = 0;

  constructor(limit: number) {
    this.#headLimit = Math.floor(limit * HEAD_SHARE);
    this.#tailLimit = limit - this.#headLimit;
  }
  get total(): number {
    return this.#total;
  }
  push(chunk: Uint8Array): void {
    this.#total += chunk.length;
    let rest = chunk;
    if (this.#headBytes < this.#headLimit) {
      const part = Buffer.from(rest.subarray(0, this.#headLimit - this.#headBytes));
      this.#head.push(part);
      this.#headBytes += part.length;
      rest = rest.subarray(part.length);
    }
    if (rest.length > 0) this.#tail(rest);
  }
  #tail(chunk: Uint8Array): void {
    this.#ring ??= Buffer.allocUnsafe(this.#tailLimit);
    const part = chunk.length > this.#tailLimit ? chunk.subarray(chunk.length - this.#tailLimit) : chunk;
    // As if the bytes before it had passed through.
    this.#ringAt = (this.#ringAt + chunk.length - part.length) % this.#tailLimit;
    const first = Math.min(part.length, this.#tailLimit - this.#ringAt);
    this.#ring.set(part.subarray(0, first), this.#ringAt);
    this.#ring.set(part.subarray(first), 0);
    this.#ringAt = (this.#ringAt + part.length) % this.#tailLimit;
  }
  /** Bytes that were let go. */
  get omitted(): number {
    return Math.max(0, this.#total - this.#headLimit - this.#tailLimit);
  }
  /** What was kept; in between, when bytes are missing, a statement of how many. Cut characters are left out there. */
  bytes(): Buffer {
    const after = this.#total - this.#headBytes;
    if (after === 0 || !this.#ring) return Buffer.concat(this.#head);
    if (this.omitted === 0) return Buffer.concat([...this.#head, this.#ring.subarray(0, after)]);
    const head = this.#head.at(-1) ?? Buffer.alloc(0);
    const end = wholeCharacters(head);
    const gap = Buffer.from(`${head[end - 1] === 10 ? "" : "\n"}[… ${this.omitted} bytes of output were not kept …]\n`);
    const older = this.#ring.subarray(this.#ringAt);
    return Buffer.concat([
      ...this.#head.slice(0, -1),
      head.subarray(0, end),
      gap,
      older.subarray(characterStart(older)),
      this.#ring.subarray(0, this.#ringAt),
    ]);
  }
}
