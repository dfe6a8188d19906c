/**
 * The meter of one level: what may be spent, what was, and what is set aside for work in flight. Amounts are whole
 * units (1e-12 USD, or tokens), so no sum drifts. Every operation is synchronous: a check and its take cannot be torn
 * apart by another call.
 */
import { CavemanError, type HoldSpec } from "../../kernel/index.ts";

export const OWNER = "budget";

/** An amount set aside, as a call holds it. It ends in exactly one settle or release. */
export interface Reservation extends HoldSpec<bigint> {
  readonly open: boolean;
  /** Books what it really cost, never clamped; a negative amount counts as nothing. */
  settle(actual: bigint): void;
  release(): void;
}

/** A part released later than the start. */
export interface Tranche {
  readonly amount: bigint;
  readonly reason: string;
  readonly atCall: number;
}

/** Why a meter gives nothing more. */
export type Closed = "revoked" | "breached";

export class Meter {
  readonly max: bigint;
  readonly tranches: Tranche[] = [];
  readonly #parent: Meter | undefined;
  readonly #wallets = new Set<Meter>();
  /** In no order; each knows its place. */
  readonly #open: Held[] = [];
  #released: bigint;
  #settled = 0n;
  #reserved = 0n;
  #calls = 0;
  #revoked = false;
  #breached = false;

  /** `released` of `max` may be spent from the start. */
  constructor(max: bigint, released: bigint = max, parent?: Meter) {
    this.max = max;
    this.#released = released;
    this.#parent = parent;
  }

  get released(): bigint {
    return this.#released;
  }
  get settled(): bigint {
    return this.#settled;
  }
  get reserved(): bigint {
    return this.#reserved;
  }
  /** Reservations taken so far. */
  get calls(): number {
    return this.#calls;
  }
  get remaining(): bigint {
    const left = this.#released - this.#settled - this.#reserved;
    return left > 0n ? left : 0n;
  }
  get releasable(): bigint {
    return this.max - this.#released;
  }
  get revoked(): boolean {
    return this.#revoked;
  }
  /** More was spent, here or below, than could be bounded. */
  get capBreached(): boolean {
    return this.#breached;
  }
  /** What this level spent beyond its maximum: negative when only a level below it overspent, 0 without a breach. */
  get overspent(): bigint {
    return this.#breached ? this.#settled - this.max : 0n;
  }
  get closed(): Closed | undefined {
    return this.#revoked ? "revoked" : this.#breached ? "breached" : undefined;
  }

  /** Sets `amount` aside for one call, or answers undefined when it does not fit what remains. */
  reserve(amount: bigint): Reservation | undefined {
    const reservation = this.#take(amount);
    if (reservation) this.#calls++;
    return reservation;
  }

  /** Moves `amount` into a meter of its own, or answers undefined when the whole of it does not fit. */
  carve(amount: bigint): Wallet | undefined {
    if (amount <= 0n) return undefined;
    const held = this.#take(amount);
    if (!held) return undefined;
    const meter = new Meter(amount, amount, this);
    this.#wallets.add(meter);
    return new Wallet(meter, held, () => this.#wallets.delete(meter));
  }

  /**
   * Lets `amount` more be spent.
   * @throws CavemanError `cave_budget_release_invalid`, `cave_budget_release_reason_required`,
   * `cave_budget_release_exceeds_max`, `cave_budget_revoked`, `cave_budget_cap_breached`.
   */
  release(amount: bigint, reason: string): Tranche {
    if (this.#revoked) throw new CavemanError("cave_budget_revoked");
    if (this.#breached) throw new CavemanError("cave_budget_cap_breached");
    if (amount <= 0n)
      throw new CavemanError("cave_budget_release_invalid", {
        expected: "a positive amount",
        received: String(amount),
      });
    if (typeof reason !== "string" || reason.trim() === "")
      throw new CavemanError("cave_budget_release_reason_required");
    if (amount > this.releasable)
      throw new CavemanError("cave_budget_release_exceeds_max", {
        expected: `at most ${this.releasable} units`,
        received: `${amount} units`,
      });
    this.#released += amount;
    const tranche = Object.freeze({ amount, reason, atCall: this.#calls });
    this.tranches.push(tranche);
    return tranche;
  }

  /** From now on nothing is given, here and in every wallet below. What is in flight still settles. */
  revoke(): void {
    if (this.#revoked) return;
    this.#revoked = true;
    for (const wallet of this.#wallets) wallet.revoke();
  }

  /** Books in full whatever is still set aside: nothing may be held once its run is over. */
  close(): void {
    this.revoke();
    for (const reservation of [...this.#open]) reservation.settle(reservation.amount);
  }

  #take(amount: bigint): Reservation | undefined {
    if (amount < 0n || this.#revoked || this.#breached || amount > this.remaining) return undefined;
    this.#reserved += amount;
    const held = new Held(this, amount, this.#open.length);
    this.#open.push(held);
    return held;
  }

  /** @internal What a reservation of this meter says when it ends. */
  ended(held: Held, actual: bigint): void {
    if (this.#open[held.at] !== held) throw new CavemanError("cave_budget_reservation_double_settle");
    const last = this.#open.pop();
    if (last && last !== held) {
      this.#open[held.at] = last;
      last.at = held.at;
    }
    this.#reserved -= held.amount;
    if (actual > 0n) this.#settled += actual;
    if (this.#settled > this.max) this.#breach();
  }

  // The flag rises to the root; each level keeps its own amount.
  #breach(): void {
    for (let level: Meter | undefined = this; level && !level.#breached; level = level.#parent) level.#breached = true;
  }
}

class Held implements Reservation {
  readonly owner = OWNER;
  readonly amount: bigint;
  readonly #meter: Meter;
  open = true;
  /** Its place among the open ones of its meter. */
  at: number;

  constructor(meter: Meter, amount: bigint, at: number) {
    this.#meter = meter;
    this.amount = amount;
    this.at = at;
  }
  settle(actual: bigint): void {
    this.#meter.ended(this, actual);
    this.open = false;
  }
  release(): void {
    this.settle(0n);
  }
}

/** A child's meter and the hold on its parent's that pays for it. */
export class Wallet {
  readonly meter: Meter;
  readonly #held: Reservation;
  readonly #left: () => void;

  constructor(meter: Meter, held: Reservation, left: () => void) {
    this.meter = meter;
    this.#held = held;
    this.#left = left;
  }
  get amount(): bigint {
    return this.#held.amount;
  }
  get open(): boolean {
    return this.#held.open;
  }

  /** Books the child's real spend on the parent and returns the rest. The second time does nothing. */
  close(): void {
    if (!this.#held.open) return;
    this.meter.close();
    this.#left();
    this.#held.settle(this.meter.settled);
  }
}
