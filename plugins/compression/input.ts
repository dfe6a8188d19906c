/** The input of a command: at most 64 MiB of it are read, and no byte of it is changed. */
import { createReadStream } from "node:fs";
import { CavemanError } from "../../kernel/index.ts";
import { MAX_INPUT_BYTES } from "./engine.ts";

export interface Input {
  readonly bytes: Buffer;
  /** Undefined when the bytes are no valid UTF-8, or when there are too many. */
  readonly text?: string;
  /** What follows the bytes of an input that is too large. */
  readonly rest?: AsyncIterable<Buffer>;
}

/** Reads a file, or stdin without one. */
export const readInput = (path?: string): Promise<Input> =>
  path === undefined || path === "-" ? readStream(process.stdin) : readPath(path);

/** @throws CavemanError `cave_option_invalid` for a file that cannot be read. */
export async function readPath(path: string): Promise<Input> {
  try {
    return await readStream(createReadStream(path));
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unreadable";
    throw new CavemanError("cave_option_invalid", { place: path, expected: "a file that can be read", received: code });
  }
}

export async function readStream(stream: AsyncIterable<Buffer>): Promise<Input> {
  const chunks: Buffer[] = [];
  let size = 0;
  const iterator = stream[Symbol.asyncIterator]();
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    chunks.push(Buffer.from(next.value));
    size += next.value.length;
    if (size > MAX_INPUT_BYTES)
      return { bytes: Buffer.concat(chunks), rest: { [Symbol.asyncIterator]: () => iterator } };
  }
  const bytes = Buffer.concat(chunks);
  try {
    return { bytes, text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { bytes };
  }
}

/** Writes bytes as they are; through `out` when they are text, so that whoever listens there hears them. */
export async function writeBytes(
  bytes: Buffer,
  rest?: AsyncIterable<Buffer>,
  out?: (text: string) => void,
): Promise<void> {
  if (out) return out(bytes.toString());
  const write = (chunk: Buffer): Promise<void> =>
    new Promise((resolve, reject) =>
      process.stdout.write(chunk, (error) => (error && !isGone(error) ? reject(error) : resolve())),
    );
  await write(bytes);
  if (rest)
    for await (const chunk of rest) {
      if (process.stdout.destroyed) return;
      await write(Buffer.from(chunk));
    }
}

/** The reader went away (`caveman compress … | head`): it has what it wanted. */
const isGone = (error: NodeJS.ErrnoException): boolean => error.code === "EPIPE";
