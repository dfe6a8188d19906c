/** Frames between host and worker: four bytes of length, big-endian, and a body. What a worker writes is never trusted. */
import { serialize } from "node:v8";
import { CavemanError, describe } from "../../kernel/index.ts";

/** Bytes of a tool's arguments, and of its result. */
export const MAX_VALUE_BYTES = 1024 * 1024;
/** A value is text inside a frame, so its quotes are escaped once more: at most twice its size, and a little. */
const MAX_FRAME_BYTES = 2 * MAX_VALUE_BYTES + 16_384;

/** A frame to a worker. @throws CavemanError `cave_sandbox_input_limit`, `cave_sandbox_request_invalid`. */
export function encode(message: object): Buffer {
  let body: Buffer;
  try {
    body = serialize(message);
  } catch (cause) {
    throw new CavemanError("cave_sandbox_request_invalid", { received: describe(cause), cause });
  }
  if (body.length > MAX_VALUE_BYTES)
    throw new CavemanError("cave_sandbox_input_limit", {
      expected: `at most ${MAX_VALUE_BYTES} bytes`,
      received: `${body.length} bytes`,
    });
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

export type Frame = Readonly<Record<string, unknown>>;

/** Takes a worker's bytes as they come and gives back whole frames. */
export class FrameReader {
  readonly #key: string;
  #chunks: Buffer[] = [];
  #held = 0;

  constructor(key: string) {
    this.#key = key;
  }

  /** @throws CavemanError `cave_sandbox_output_limit`, `cave_sandbox_invalid_output`. */
  *read(chunk: Buffer): Generator<Frame> {
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    for (;;) {
      if (this.#held < 4) return;
      const [first] = this.#chunks;
      const length = (first && first.length >= 4 ? first : this.#whole()).readUInt32BE(0);
      if (length > MAX_FRAME_BYTES)
        throw new CavemanError("cave_sandbox_output_limit", {
          expected: `at most ${MAX_FRAME_BYTES} bytes a frame`,
          received: `${length} bytes`,
        });
      if (this.#held < 4 + length) return;
      const whole = this.#whole();
      const body = whole.subarray(4, 4 + length);
      this.#chunks = [whole.subarray(4 + length)];
      this.#held = whole.length - 4 - length;
      yield this.#frame(body.toString("utf8"));
    }
  }

  #whole(): Buffer {
    const [first, second] = this.#chunks;
    if (first && !second) return first;
    const whole = Buffer.concat(this.#chunks);
    this.#chunks = [whole];
    return whole;
  }

  #frame(text: string): Frame {
    const frame = parsed(text);
    // The key is not known to the tool: what it writes to the descriptor itself is told from what the worker writes.
    if (typeof frame !== "object" || frame === null || !("key" in frame) || frame.key !== this.#key)
      throw new CavemanError("cave_sandbox_invalid_output", {
        expected: "a frame of the protocol",
        received: "something else",
      });
    return frame as Frame;
  }
}

/** JSON from a worker. Keys named `__proto__` are left out, so that no copy of the value changes a prototype. */
export function parsed(text: string): unknown {
  try {
    return /__proto__|\\u/i.test(text)
      ? JSON.parse(text, (key, value: unknown) => (key === "__proto__" ? undefined : value))
      : JSON.parse(text);
  } catch {
    throw new CavemanError("cave_sandbox_invalid_output", { expected: "JSON", received: "something else" });
  }
}
