/**
 * The person's keys, one listener at a time. The terminal is in raw mode with bracketed paste while it is open, and is
 * put back whatever happens.
 */
import { emitKeypressEvents } from "node:readline";

export type Key =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "paste"; readonly text: string }
  | { readonly type: "key"; readonly name: string; readonly ctrl: boolean; readonly meta: boolean }
  | { readonly type: "end" };

export interface KeySource extends NodeJS.ReadableStream {
  readonly isRaw?: boolean;
  setRawMode?(raw: boolean): unknown;
}

interface Keypress {
  readonly sequence?: string;
  readonly name?: string;
  readonly ctrl?: boolean;
  readonly meta?: boolean;
}

/** Bytes of a paste that are taken. */
const PASTE_CHARACTERS = 1_000_000;

/** Keys that are kept for the next prompt. */
const MAX_WAITING = 10_000;

export class Keyboard {
  readonly #input: KeySource;
  readonly #write: (sequence: string) => void;
  readonly #listeners: ((key: Key) => void)[] = [];
  /** Keys that came while nobody listened: they are for the next prompt. */
  readonly #waiting: Key[] = [];
  #paste: string | undefined;
  #ended = false;

  /** `write` takes the sequences that switch bracketed paste on and off. */
  constructor(input: KeySource, write: (sequence: string) => void) {
    this.#input = input;
    this.#write = write;
    emitKeypressEvents(input as NodeJS.ReadStream);
    input.on("keypress", this.#onKeypress);
    input.on("end", this.#onEnd);
    input.on("error", this.#onEnd);
    input.setRawMode?.(true);
    input.resume();
    write("\u001b[?2004h");
    process.once("exit", this.#restore);
  }

  /**
   * Hears every key until the function it gives back is called; who listened before hears nothing meanwhile. Keys that
   * came while nobody listened are heard first, unless `fresh`: a question is not answered by what was typed before it.
   */
  listen(listener: (key: Key) => void, { fresh = false }: { readonly fresh?: boolean } = {}): () => void {
    if (fresh) this.#waiting.length = 0;
    this.#listeners.push(listener);
    queueMicrotask(() => {
      while (this.#listeners.at(-1) === listener && this.#waiting.length > 0) listener(this.#waiting.shift() as Key);
      if (this.#ended && this.#listeners.at(-1) === listener) listener({ type: "end" });
    });
    return () => {
      const at = this.#listeners.lastIndexOf(listener);
      if (at >= 0) this.#listeners.splice(at, 1);
    };
  }

  close(): void {
    this.#input.off("keypress", this.#onKeypress).off("end", this.#onEnd).off("error", this.#onEnd);
    process.off("exit", this.#restore);
    this.#restore();
    this.#input.pause();
  }

  readonly #restore = (): void => {
    this.#write("\u001b[?2004l");
    try {
      this.#input.setRawMode?.(false);
    } catch {
      // The terminal is gone.
    }
  };
  readonly #onEnd = (): void => {
    this.#ended = true;
    this.#tell({ type: "end" });
  };
  readonly #onKeypress = (characters: string | undefined, key: Keypress = {}): void => {
    if (key.name === "paste-start") {
      this.#paste = "";
      return;
    }
    if (key.name === "paste-end") {
      const text = (this.#paste ?? "").replace(/\r\n?/g, "\n");
      this.#paste = undefined;
      this.#tell({ type: "paste", text });
      return;
    }
    if (this.#paste !== undefined) {
      if (this.#paste.length < PASTE_CHARACTERS) this.#paste += key.sequence ?? characters ?? "";
      return;
    }
    const { name, ctrl = false, meta = false, sequence = "" } = key;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are keys, the rest is text
    if (!ctrl && !meta && characters !== undefined && !/[\u0000-\u001f\u007f]/.test(sequence))
      this.#tell({ type: "text", text: characters });
    else this.#tell({ type: "key", name: name ?? "", ctrl, meta });
  };
  #tell(key: Key): void {
    const listener = this.#listeners.at(-1);
    if (listener) listener(key);
    else if (key.type !== "end" && this.#waiting.length < MAX_WAITING) this.#waiting.push(key);
  }
}
