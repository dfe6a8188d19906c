/** The output of a running command: bytes at absolute positions, the oldest let go when there are too many. */
import { characterEnd, wholeCharacters } from "../files/characters.ts";

export class Tape {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #start = 0;
  #end = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }
  /** Position after the last byte. */
  get end(): number {
    return this.#end;
  }
  push(chunk: Uint8Array): void {
    this.#chunks.push(Buffer.from(chunk));
    this.#end += chunk.length;
    // Many small pieces are one piece: a command that writes single bytes takes no more room than its bytes.
    if (this.#chunks.length > 64) this.#chunks = [Buffer.concat(this.#chunks)];
    while (this.#end - this.#start > this.#limit) {
      const first = this.#chunks[0];
      if (!first) break;
      const over = this.#end - this.#start - this.#limit;
      if (first.length <= over) this.#chunks.shift();
      else this.#chunks[0] = Buffer.from(first.subarray(over));
      this.#start += Math.min(over, first.length);
    }
  }
  #whole(): Buffer {
    const whole = this.#chunks.length === 1 && this.#chunks[0] ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }
  /** Position of a literal at or after `from`, -1 when it is not there. */
  indexOf(literal: Buffer, from: number): number {
    const at = this.#whole().indexOf(literal, Math.max(0, from - this.#start));
    return at < 0 ? -1 : at + this.#start;
  }
  /** Text from a position on, cut after whole characters; `ended` also gives what is left of a broken one. */
  read(
    cursor: number,
    maxBytes: number,
    ended: boolean,
  ): { text: string; cursor: number; lostBytes: number; more: boolean } {
    const from = Math.min(Math.max(cursor, this.#start), this.#end);
    const rest = this.#whole().subarray(from - this.#start);
    let end = characterEnd(rest, maxBytes);
    if (end === rest.length && !ended) end = wholeCharacters(rest);
    return {
      text: rest.toString("utf8", 0, end),
      cursor: from + end,
      lostBytes: Math.max(0, this.#start - cursor),
      more: from + end < this.#end,
    };
  }
}
