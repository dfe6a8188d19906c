/** Work beside the conversation: one thing after the other, and a failure is told instead of thrown. */
import { asCaveman, type CavemanError } from "../../kernel/index.ts";

export class Background {
  readonly #onProblem: ((error: CavemanError) => void) | undefined;
  #work: Promise<void> = Promise.resolve();

  constructor(onProblem: ((error: CavemanError) => void) | undefined) {
    this.#onProblem = onProblem;
  }

  /** Does it after what is going on now and what was put off before. */
  later(work: () => unknown): void {
    this.#work = this.#work
      .then(() => new Promise<void>((done) => void setImmediate(done)))
      .then(() => this.quietly(work));
  }
  async quietly(work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#onProblem?.(asCaveman(error, "cave_memory_storage_unavailable"));
    }
  }
  /** Waits for all of it, what it starts meanwhile included. */
  async flush(): Promise<void> {
    let seen: Promise<void> | undefined;
    while (seen !== this.#work) await (seen = this.#work);
  }
}
