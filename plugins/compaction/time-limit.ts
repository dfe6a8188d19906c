/**
 * A model whose call ends when a time limit is over, whether the provider listens to the abort or not. The call then
 * fails like any other and is booked, and nothing is left running in the run's name.
 */
import { CavemanError, type LanguageModel, type ModelStreamPart } from "../../kernel/index.ts";

export class TimeLimit {
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number) {
    const late = new CavemanError("cave_compaction_summary_timeout", {
      place: "summary",
      expected: `an answer within ${ms} ms`,
      received: "none",
    });
    this.#timer = setTimeout(() => this.#over.abort(late), ms);
  }
  get passed(): boolean {
    return this.#over.signal.aborted;
  }
  clear(): void {
    clearTimeout(this.#timer);
  }

  /** The same model within the limit. */
  on(model: LanguageModel): LanguageModel {
    const { signal } = this.#over;
    const within = <O extends { readonly abortSignal?: AbortSignal | undefined }>(options: O): O => ({
      ...options,
      abortSignal: options.abortSignal ? AbortSignal.any([options.abortSignal, signal]) : signal,
    });
    return {
      specificationVersion: "v4",
      provider: model.provider,
      modelId: model.modelId,
      supportedUrls: model.supportedUrls,
      doGenerate: (options) => this.#raced(Promise.resolve(model.doGenerate(within(options)))),
      doStream: async (options) => {
        const opening = Promise.resolve(model.doStream(within(options)));
        const opened = await this.#raced(opening).catch((error: unknown) => {
          // A stream that opens after all is not left open.
          void opening
            .then(
              ({ stream }) => stream.cancel(),
              () => undefined,
            )
            .catch(() => undefined);
          throw error;
        });
        return { ...opened, stream: this.#limited(opened.stream) };
      },
    };
  }

  #limited(stream: ReadableStream<ModelStreamPart>): ReadableStream<ModelStreamPart> {
    const reader = stream.getReader();
    return new ReadableStream<ModelStreamPart>(
      {
        pull: async (controller) => {
          try {
            const { done, value } = await this.#raced(reader.read());
            if (done) controller.close();
            else controller.enqueue(value);
          } catch (error) {
            void reader.cancel(error).catch(() => undefined);
            controller.error(error);
          }
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
  }

  #raced<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#over;
    return new Promise<T>((resolve, reject) => {
      const late = (): void => reject(signal.reason);
      if (signal.aborted) {
        work.catch(() => undefined);
        late();
        return;
      }
      signal.addEventListener("abort", late, { once: true });
      work.then(resolve, reject).finally(() => signal.removeEventListener("abort", late));
    });
  }
}
