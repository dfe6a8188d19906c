/** A deadline: a stop at an instant, and an abort of what is still in flight after a grace. */
import { CavemanError, type Run } from "../../kernel/index.ts";

/** Milliseconds that what is in flight at the deadline may still take. */
export const GRACE_MS = 250;

export class Deadline {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly #run: Run;
  readonly #over = new AbortController();

  constructor(run: Run, at: number) {
    this.#run = run;
    this.at = at;
  }
  get passed(): boolean {
    return this.#run.clock.now() >= this.at;
  }
  start(): void {
    void this.#watch();
  }
  clear(): void {
    this.#over.abort();
  }

  async #watch(): Promise<void> {
    const { clock } = this.#run;
    const { signal } = this.#over;
    try {
      await clock.sleep(Math.max(0, this.at - clock.now()), signal);
      if (signal.aborted) return;
      this.#run.stop("deadline");
      await clock.sleep(GRACE_MS, signal);
      if (!signal.aborted) this.#run.abort(new CavemanError("cave_run_deadline_exceeded"));
    } catch {
      // The run settled first; a cleared timer rejects.
    }
  }
}
