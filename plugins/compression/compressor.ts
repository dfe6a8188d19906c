/** What a compressor is: one content type, one function. */
import type { ContentType } from "./content-type.ts";

/** What a compressor is told beside its input. */
export interface CompressContext {
  /** What the reader is looking for; units that match it stay. Empty when nothing is known. */
  readonly query: string;
  /** Compresses a part as another type, for content that carries content: a terminal's text, a fenced block. */
  inner(text: string, type?: ContentType): Promise<Compressed | undefined>;
}

/** A smaller view of an input. */
export interface Compressed {
  readonly text: string;
  /** Which way it went, as `log`, `json-map`, `sections`. Content-blind. */
  readonly method: string;
  /** What was counted: `lines`, `rows`, `elements`, … */
  readonly unit: string;
  /** Units that are still there. */
  readonly kept: number;
  /** Units that are gone. Every one of them is counted by a marker in the text. */
  readonly dropped: number;
  /** The reader sees everything the input says: only its spelling changed. Then `dropped` is 0. */
  readonly lossless?: boolean;
}

export interface Compressor {
  readonly type: ContentType;
  /** One sentence: what stays. */
  readonly keeps: string;
  /**
   * Whether an input is of this type. Only for types that a plugin brings: asked before the built-in detection, on
   * the unwrapped input. Must be linear and fast.
   */
  recognises?(input: string): boolean;
  /**
   * A smaller view, or undefined when there is none. It may throw: the input then stays as it is. It must be
   * deterministic and linear in the input, and it counts everything it leaves out in a marker (`markers.ts`).
   */
  compress(input: string, context: CompressContext): Compressed | undefined | Promise<Compressed | undefined>;
}
