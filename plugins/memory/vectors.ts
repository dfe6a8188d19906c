/** Recall by meaning, when an adapter gives vectors. They are kept normalised, one signed byte a dimension. */
import { CavemanError, describe } from "../../kernel/index.ts";
import { type EmbeddingAdapter, failed } from "./embedding.ts";

export const DEFAULT_MIN_SIMILARITY = 0.75;

/** @throws CavemanError `cave_memory_embedding_failed`. */
export async function vectorsOf(adapter: EmbeddingAdapter, texts: readonly string[]): Promise<Int8Array[]> {
  let answer: Awaited<ReturnType<EmbeddingAdapter["embed"]>>;
  try {
    answer = await adapter.embed(texts);
  } catch (error) {
    throw error instanceof CavemanError ? error : failed(describe(error));
  }
  if (!Array.isArray(answer) || answer.length !== texts.length) throw failed("another number of vectors");
  return answer.map(quantised);
}

function quantised(vector: readonly number[] | Float32Array): Int8Array {
  let square = 0;
  for (const value of vector) square += value * value;
  const length = Math.sqrt(square);
  if (!(length > 0 && Number.isFinite(length))) throw failed("a vector without a direction");
  return Int8Array.from(vector, (value) => Math.round((value / length) * 127));
}

/** The cosine of two kept vectors; 0 when they are of different lengths. */
export function similarity(a: Int8Array, b: Int8Array): number {
  if (a.length !== b.length) return 0;
  let dot = 0;
  let squareA = 0;
  let squareB = 0;
  for (let at = 0; at < a.length; at++) {
    const left = a[at] ?? 0;
    const right = b[at] ?? 0;
    dot += left * right;
    squareA += left * left;
    squareB += right * right;
  }
  return squareA === 0 || squareB === 0 ? 0 : dot / Math.sqrt(squareA * squareB);
}
