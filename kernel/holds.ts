/** Holds: what a plugin set aside for one attempt or one tool call. Each ends in exactly one settle or release. */
import type { Hold, HoldSpec } from "./contract.ts";
import { CavemanError } from "./errors.ts";

class HeldSum<T> implements Hold<T> {
  state: "open" | "settled" | "released" = "open";
  readonly owner: string; readonly amount: T; readonly #spec: HoldSpec<T>;
  readonly #count: HoldCount;

  constructor(spec: HoldSpec<T>, count: HoldCount) {
    this.owner = spec.owner; this.amount = spec.amount; this.#spec = spec; this.#count = count;
  }
  #close(state: "settled" | "released"): void {
    if (this.state !== "open") throw new CavemanError("cave_hold_closed", { place: this.owner, received: `a hold already ${this.state}` });
    this.state = state;
    this.#count.openHolds--;
  }
  settle(actual: T): void {
    this.#close("settled");
    this.#spec.settle(actual);
  }
  release(): void {
    this.#close("released");
    this.#spec.release();
  }
}

/** Counts the open holds of a run. */
export interface HoldCount { openHolds: number }

/** The holds of one attempt or one tool call. */
export class Holds {
  list: Hold[] = [];
  readonly #count: HoldCount;
  #closed = false;

  constructor(count: HoldCount) { this.#count = count; }
  take<T>(spec: HoldSpec<T>): Hold<T> {
    if (this.#closed) throw new CavemanError("cave_hold_closed", { place: spec.owner, received: "a hold on a closed call" });
    this.#count.openHolds++;
    const hold = new HeldSum(spec, this.#count);
    if (this.list.length === 0) this.list = [hold as Hold]; // a list that is pushed to begins with room for seventeen
    else this.list.push(hold as Hold);
    return hold;
  }
  /** Closes what a plugin left open: in full when the work was sent, else given back. Answers with the failures. */
  close(inFull: boolean): unknown[] {
    this.#closed = true;
    const failures: unknown[] = [];
    for (const hold of this.list) {
      if (hold.state !== "open") continue;
      try {
        if (inFull) hold.settle(hold.amount);
        else hold.release();
      } catch (error) {
        failures.push(error);
      }
    }
    return failures;
  }
}
