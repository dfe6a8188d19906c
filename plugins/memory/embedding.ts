/** Who gives texts as vectors. */
import { CavemanError } from "../../kernel/index.ts";

/** Gives texts as vectors, so that recall finds by meaning too. */
export interface EmbeddingAdapter {
  /** Names the model: vectors of different models are never compared. */
  readonly model: string;
  /** One vector a text, all of one length. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly (readonly number[] | Float32Array)[]>;
  /** The least likeness (cosine, 0 to 1) that counts as an answer. Default 0.75. */
  readonly minSimilarity?: number;
}

/** What an adapter says when it has no usable vectors. */
export const failed = (received: string): CavemanError =>
  new CavemanError("cave_memory_embedding_failed", { received });

/** An adapter for services that speak OpenAI's embeddings. The key is given, never read from the environment. */
export function openAIEmbeddings(options: {
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: string;
  readonly minSimilarity?: number;
  readonly fetch?: typeof fetch;
}): EmbeddingAdapter {
  const { baseURL, apiKey, model, minSimilarity, fetch: send = fetch } = options;
  return {
    model,
    ...(minSimilarity === undefined ? {} : { minSimilarity }),
    async embed(input, signal) {
      const response = await send(`${baseURL.replace(/\/+$/, "")}/embeddings`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
        body: JSON.stringify({ model, input }),
        signal: signal ?? AbortSignal.timeout(30_000),
      });
      if (!response.ok) throw failed(`status ${response.status}`);
      const { data } = (await response.json()) as {
        data?: readonly { index?: number; embedding?: readonly number[] }[];
      };
      if (!Array.isArray(data)) throw failed("an answer without data");
      return [...data]
        .sort((a, b) => (a.index ?? 0) - (b.index ?? 0))
        .map(({ embedding }) => {
          if (!Array.isArray(embedding)) throw failed("an answer without a vector");
          return embedding;
        });
    },
  };
}
