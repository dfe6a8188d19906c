/**
 * What is left of the budget, read from the ledger: what was released, less what this run and every run below it has
 * spent. A child without a wallet of its own spends its parent's. The budget itself decides what may go out; this says
 * when it is time to look for room.
 */
import type { Run } from "../../kernel/index.ts";
import type { Denomination } from "../services.ts";

export interface Remaining {
  readonly denomination: Denomination;
  /** Units of 1e-12 USD, or tokens. */
  readonly units: bigint;
}

export class Purse {
  readonly #parent: Purse | undefined;
  #opened: { readonly denomination: Denomination; released: bigint } | undefined;
  #usd = 0n;
  #tokens = 0n;

  constructor(run: Run, parent: Purse | undefined) {
    this.#parent = parent;
    run.ledger.subscribe((fact) => {
      if (fact.type === "budget.opened")
        this.#opened = { denomination: fact.denomination, released: BigInt(fact.released) };
      else if (fact.type === "budget.released" && this.#opened) this.#opened.released += BigInt(fact.amount);
      else if (fact.type === "call.priced") this.#spend(BigInt(fact.picoUsd), 0n);
      else if (fact.type === "call.settled" && fact.sent) this.#spend(0n, BigInt(fact.usage.input + fact.usage.output));
    });
  }

  get remaining(): Remaining | undefined {
    if (!this.#opened) return this.#parent?.remaining;
    const { denomination, released } = this.#opened;
    const left = released - (denomination === "usd" ? this.#usd : this.#tokens);
    return { denomination, units: left > 0n ? left : 0n };
  }

  #spend(usd: bigint, tokens: bigint): void {
    this.#usd += usd;
    this.#tokens += tokens;
    if (this.#parent) this.#parent.#spend(usd, tokens);
  }
}
