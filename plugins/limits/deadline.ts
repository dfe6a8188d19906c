/** A deadline: a stop at an instant, and an abort of what is still in flight after a grace. */
import { CavemanError, type Run } from "../../kernel/index.ts";

/** Milliseconds that what is in flight at the deadline may still take. */
export const GRACE_MS = 250;
/** Timers hold 31 bits of milliseconds; a later deadline sleeps again. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1;
/** Why a timer was cleared. Made once: an abort without a reason makes an exception with a stack. */
const SETTLED = new CavemanError("cave_run_closed");

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
    this.#over.abort(SETTLED);
  }

  async #watch(): Promise<void> {
    const { clock } = this.#run;
    const { signal } = this.#over;
    try {
      while (!this.passed) await clock.sleep(Math.min(this.at - clock.now(), LONGEST_SLEEP_MS), signal);
      if (signal.aborted) return;
      this.#run.stop("deadline");
      await clock.sleep(GRACE_MS, signal);
      if (!signal.aborted) this.#run.abort(new CavemanError("cave_run_deadline_exceeded"));
    } catch {
      // The run settled first; a cleared timer rejects.
    }
  }
}
