/**
 * The counters of a whole tree of runs, owned by its root. Admission is one synchronous step, so parallel spawns
 * anywhere in the tree cannot pass a cap together.
 */
export interface TreeCaps {
  readonly maxInvocations: number | undefined;
  readonly maxConcurrent: number | undefined;
}

export class Tree {
  readonly caps: TreeCaps;
  #admitted = 0;
  #active = 0;
  #peak = 0;
  #deepest = 0;

  constructor(caps: TreeCaps) {
    this.caps = caps;
  }
  /** Subagent calls admitted so far. */
  get admitted(): number {
    return this.#admitted;
  }
  get active(): number {
    return this.#active;
  }
  /** Most that were active at once. */
  get peak(): number {
    return this.#peak;
  }
  /** Depth of the deepest admitted child; the root's is 0. */
  get deepest(): number {
    return this.#deepest;
  }

  /** Takes a place, or says which cap is reached. */
  admit(depth: number): Place | "invocations" | "concurrency" {
    const { maxInvocations, maxConcurrent } = this.caps;
    if (maxInvocations !== undefined && this.#admitted >= maxInvocations) return "invocations";
    if (maxConcurrent !== undefined && this.#active >= maxConcurrent) return "concurrency";
    this.#admitted++;
    this.#active++;
    this.#peak = Math.max(this.#peak, this.#active);
    this.#deepest = Math.max(this.#deepest, depth);
    let taken = true;
    const leave = (undo: boolean): void => {
      if (!taken) return;
      taken = false;
      this.#active--;
      if (undo) this.#admitted--;
    };
    return { free: () => leave(false), undo: () => leave(true) };
  }
}

/** One admitted child's place in the tree. It is given up once; what comes later does nothing. */
export interface Place {
  /** The child ended. */
  free(): void;
  /** The child never started. */
  undo(): void;
}
