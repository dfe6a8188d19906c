/** Outputs kept whole in memory: at most 8 MiB an entry and 16 MiB in all, the oldest go first. */
import type { Clock } from "../../kernel/index.ts";
import type { StoredOutputs } from "../services.ts";

export const MAX_ENTRY_BYTES = 8 * 1024 * 1024;
export const MAX_STORE_BYTES = 16 * 1024 * 1024;

/** One output, with its lines found when first asked for. */
export class StoredOutput {
  readonly text: string;
  readonly toolName: string;
  readonly bytes: number;
  #starts: Uint32Array | undefined;

  constructor(text: string, toolName: string, bytes: number) {
    this.text = text;
    this.toolName = toolName;
    this.bytes = bytes;
  }
  /** Index at which each line starts. */
  get starts(): Uint32Array {
    if (!this.#starts) {
      const found = [0];
      for (let at = this.text.indexOf("\n"); at >= 0; at = this.text.indexOf("\n", at + 1)) found.push(at + 1);
      if (found.length > 1 && found.at(-1) === this.text.length) found.pop();
      this.#starts = Uint32Array.from(found);
    }
    return this.#starts;
  }
  get lines(): number {
    return this.starts.length;
  }
  /** Index of a line's first character; the end of the text for lines past the last. */
  startOf(line: number): number {
    return this.starts[line - 1] ?? this.text.length;
  }
  /** The line an index lies on, from 1. */
  lineAt(index: number): number {
    const { starts } = this;
    let low = 0;
    for (let high = starts.length; high - low > 1; ) {
      const middle = (low + high) >>> 1;
      if ((starts[middle] ?? 0) <= index) low = middle;
      else high = middle;
    }
    return low + 1;
  }
}

export class OutputStore implements StoredOutputs {
  readonly #entries = new Map<string, StoredOutput>();
  readonly #clock: Clock;
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  keep(text: string, toolName: string): string | undefined {
    const size = Buffer.byteLength(text);
    if (size > MAX_ENTRY_BYTES) return undefined;
    for (const [oldest, { bytes }] of this.#entries) {
      if (this.#bytes + size <= MAX_STORE_BYTES) break;
      this.#entries.delete(oldest);
      this.#bytes -= bytes;
    }
    const handle = this.#handle();
    this.#entries.set(handle, new StoredOutput(text, toolName, size));
    this.#bytes += size;
    return handle;
  }
  read(handle: string): string | undefined {
    return this.#entries.get(handle)?.text;
  }
  find(handle: string): StoredOutput | undefined {
    return this.#entries.get(handle);
  }
  get bytes(): number {
    return this.#bytes;
  }

  /** Drawn from the run's own chance, so that a run that is repeated reads the same. */
  #handle(): string {
    const word = (): string =>
      Math.floor(this.#clock.random() * 0x1_0000_0000)
        .toString(16)
        .padStart(8, "0");
    for (let salt = 0; ; salt++) {
      const handle = `tool_${word()}${word()}${word()}${word()}${salt || ""}`;
      if (!this.#entries.has(handle)) return handle;
    }
  }
}
