/** A deadline: a stop at an instant, and an abort of what is still in flight after a grace. */
import { CavemanError, type Clock, type Run } from "../../kernel/index.ts";

/** Milliseconds that what is in flight at the deadline may still take. */
export const GRACE_MS = 250;
/** Timers hold 31 bits of milliseconds; a later deadline sleeps again. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1;

export class Deadline {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly #run: Run;
  #forget: (() => void) | undefined;

  constructor(run: Run, at: number) {
    this.#run = run;
    this.at = at;
  }
  passed(now = this.#run.clock.now()): boolean {
    return now >= this.at;
  }
  start(): void {
    const left = this.at - this.#run.clock.now();
    if (left > 0) this.#forget = alarm(this.#run.clock, Math.min(left, LONGEST_SLEEP_MS), () => this.start());
    else this.#over();
  }
  clear(): void {
    this.#forget?.();
  }

  #over(): void {
    this.#run.stop("deadline");
    const end = (): void => this.#run.abort(new CavemanError("cave_run_deadline_exceeded"));
    this.#forget = alarm(this.#run.clock, GRACE_MS, end);
  }
}

function alarm(clock: Clock, ms: number, ring: () => void): () => void {
  if (clock.alarm) return clock.alarm(ms, ring);
  const over = new AbortController();
  clock.sleep(ms, over.signal).then(ring, () => undefined); // a cleared timer rejects
  return () => over.abort(new CavemanError("cave_run_closed"));
}
