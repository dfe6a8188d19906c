/** Random worlds over meters and trees of wallets, against an oracle that adds up what was really billed. */
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import type { CavemanError } from "../../../kernel/index.ts";
import { Meter, type Reservation, type Wallet } from "../../../plugins/budget/meter.ts";

const WORLDS = 2_000;
type Step =
  | { readonly do: "reserve"; readonly at: number; readonly amount: bigint }
  | { readonly do: "settle"; readonly at: number; readonly actual: bigint }
  | { readonly do: "release" | "close" | "revoke"; readonly at: number }
  | { readonly do: "carve"; readonly at: number; readonly amount: bigint };

const small = fc.bigInt({ min: 0n, max: 400n });
const stepOf = (honest: boolean): fc.Arbitrary<Step> =>
  fc.oneof(
    fc.record({ do: fc.constant("reserve" as const), at: fc.nat(30), amount: small }),
    fc.record({
      do: fc.constant("settle" as const),
      at: fc.nat(30),
      actual: honest ? fc.bigInt({ min: 0n, max: 100n }) : small,
    }),
    fc.record({ do: fc.constantFrom("release" as const, "close" as const), at: fc.nat(30) }),
    fc.record({ do: fc.constant("carve" as const), at: fc.nat(30), amount: small }),
    { weight: 1, arbitrary: fc.record({ do: fc.constant("revoke" as const), at: fc.nat(30) }) },
  );

/** A meter, the wallet that carries it, and what the oracle says was billed under it and below. */
interface Level {
  readonly meter: Meter;
  readonly wallet: Wallet | undefined;
  readonly parent: Level | undefined;
  billed: bigint;
  closed: boolean;
  readonly open: { readonly reservation: Reservation; readonly level: Level }[];
}

const pick = <T>(list: readonly T[], at: number): T | undefined =>
  list.length === 0 ? undefined : list[at % list.length];
const depth = (level: Level): number => (level.parent ? depth(level.parent) + 1 : 0);

function play(max: bigint, steps: readonly Step[], honest: boolean): { levels: Level[]; ended: number; taken: number } {
  const root: Level = {
    meter: new Meter(max),
    wallet: undefined,
    parent: undefined,
    billed: 0n,
    closed: false,
    open: [],
  };
  const levels = [root];
  let taken = 0;
  let ended = 0;
  const bill = (level: Level, reservation: Reservation, actual: bigint): void => {
    reservation.settle(actual);
    level.billed += actual;
    ended++;
    level.open.splice(
      level.open.findIndex((entry) => entry.reservation === reservation),
      1,
    );
  };
  const close = (level: Level): void => {
    if (level.closed) return;
    for (const child of levels) if (child.parent === level) close(child);
    // Closing books in full what is still in flight: the oracle does the same.
    for (const { reservation } of level.open) {
      level.billed += reservation.amount;
      ended++;
    }
    level.open.length = 0;
    level.closed = true;
    if (level.wallet) level.wallet.close();
    else level.meter.close();
    if (level.parent) level.parent.billed += level.billed;
  };
  for (const step of steps) {
    const level = pick(
      levels.filter((entry) => !entry.closed),
      step.at,
    );
    if (!level) continue;
    if (step.do === "reserve") {
      const before = level.meter.remaining;
      const reservation = level.meter.reserve(step.amount);
      expect(reservation !== undefined).toBe(step.amount <= before && level.meter.closed === undefined);
      if (reservation) {
        taken++;
        level.open.push({ reservation, level });
      }
    } else if (step.do === "settle") {
      const open = pick(level.open, step.at);
      if (open) bill(level, open.reservation, honest ? (open.reservation.amount * step.actual) / 100n : step.actual);
    } else if (step.do === "release") {
      const open = pick(level.open, step.at);
      if (!open) continue;
      open.reservation.release();
      ended++;
      level.open.splice(level.open.indexOf(open), 1);
    } else if (step.do === "carve") {
      if (depth(level) >= 3) continue;
      const wallet = level.meter.carve(step.amount);
      if (wallet) levels.push({ meter: wallet.meter, wallet, parent: level, billed: 0n, closed: false, open: [] });
    } else if (step.do === "close") {
      if (level !== root) close(level);
    } else level.meter.revoke();
  }
  close(root);
  return { levels, ended, taken };
}

test(`in ${WORLDS} worlds the settled sum is the oracle's, every hold ends once, and nothing stays held`, () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 1_000n }), fc.array(stepOf(false), { maxLength: 60 }), (max, steps) => {
      const { levels, ended, taken } = play(max, steps, false);
      expect(ended).toBe(taken);
      for (const { meter, billed } of levels) {
        expect(meter.settled).toBe(billed);
        expect(meter.reserved).toBe(0n);
        expect(billed > meter.max ? meter.capBreached && meter.overspent === billed - meter.max : true).toBe(true);
      }
    }),
    { numRuns: WORLDS },
  );
});

test(`in ${WORLDS} worlds with calls that stay within their holds no level ever passes its maximum`, () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 1_000n }), fc.array(stepOf(true), { maxLength: 60 }), (max, steps) => {
      for (const { meter } of play(max, steps, true).levels) {
        expect(meter.settled <= meter.max).toBe(true);
        expect(meter.capBreached).toBe(false);
      }
    }),
    { numRuns: WORLDS },
  );
});

test(`in ${WORLDS} worlds the order of settlements does not matter to the sum`, () => {
  fc.assert(
    fc.property(
      fc.array(fc.bigInt({ min: 0n, max: 50n }), { minLength: 1, maxLength: 20 }).chain((amounts) =>
        fc.tuple(
          fc.constant(amounts),
          fc.shuffledSubarray(
            amounts.map((_, index) => index),
            { minLength: amounts.length },
          ),
        ),
      ),
      ([amounts, order]) => {
        const sums = [amounts.map((_, index) => index), order].map((sequence) => {
          const meter = new Meter(10_000n);
          const held = amounts.map((amount) => meter.reserve(amount));
          for (const index of sequence) held[index]?.settle((amounts[index] ?? 0n) / 2n);
          return [meter.settled, meter.remaining, meter.reserved];
        });
        expect(sums[0]).toEqual(sums[1]);
      },
    ),
    { numRuns: WORLDS },
  );
});

const codeOf = (work: () => void): string | undefined => {
  try {
    work();
    return undefined;
  } catch (error) {
    return (error as CavemanError).code;
  }
};
test("a reservation ends once, in whatever order and whoever took its place, and ending it again changes nothing", () => {
  const step = fc.oneof(
    fc.record({ do: fc.constant("take" as const), at: fc.nat(), amount: fc.bigInt({ min: 0n, max: 50n }) }),
    fc.record({
      do: fc.constantFrom("settle" as const, "release" as const),
      at: fc.nat(),
      amount: fc.bigInt({ min: 0n, max: 50n }),
    }),
  );
  let again = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 4, maxLength: 60, size: "max" }), (steps) => {
      const meter = new Meter(100_000n);
      const all: Reservation[] = [];
      const ended = new Set<Reservation>();
      let [spent, held] = [0n, 0n];
      for (const { do: what, at, amount } of steps) {
        if (what === "take") {
          const reservation = meter.reserve(amount);
          if (reservation) all.push(reservation);
          held += amount;
        } else {
          const reservation = pick(all, at);
          if (!reservation) continue;
          const end = (): void => (what === "settle" ? reservation.settle(amount) : reservation.release());
          if (ended.has(reservation)) {
            expect(codeOf(end)).toBe("cave_budget_reservation_double_settle");
            again++;
          } else {
            end();
            ended.add(reservation);
            held -= reservation.amount;
            if (what === "settle") spent += amount;
          }
        }
        expect([meter.settled, meter.reserved]).toEqual([spent, held]);
        expect(all.filter((reservation) => reservation.open === ended.has(reservation))).toEqual([]);
      }
      meter.close();
      expect([meter.settled, meter.reserved]).toEqual([spent + held, 0n]);
      expect(all.every(({ open }) => !open)).toBe(true);
    }),
    { numRuns: 100 },
  );
  expect(again).toBeGreaterThan(300);
});

test("a meter that closes above open wallets books each in full, and what ends in them later is theirs alone", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.bigInt({ min: 1n, max: 90n }), fc.bigInt({ min: 0n, max: 90n })), {
        minLength: 1,
        maxLength: 8,
      }),
      fc.bigInt({ min: 0n, max: 90n }),
      (children, own) => {
        const parent = new Meter(1_000n);
        const kept = parent.reserve(own);
        const wallets = children.map(([amount]) => parent.carve(amount));
        const inFlight = wallets.map((wallet, n) => wallet?.meter.reserve((children[n]?.[0] ?? 0n) / 2n));
        // The first child comes home before, with a call in flight: it is booked that call in full, and no more.
        wallets[0]?.close();
        expect(parent.settled).toBe(inFlight[0]?.amount);
        parent.close();
        const booked =
          (inFlight[0]?.amount ?? 0n) + own + children.slice(1).reduce((sum, [amount]) => sum + amount, 0n);
        expect([parent.settled, parent.reserved, kept?.open]).toEqual([booked, 0n, false]);
        for (let n = 1; n < wallets.length; n++) {
          const spent = (children[n]?.[1] ?? 0n) % ((inFlight[n]?.amount ?? 0n) + 1n);
          inFlight[n]?.settle(spent);
          wallets[n]?.close();
          expect([wallets[n]?.meter.settled, wallets[n]?.meter.reserve(0n)]).toEqual([spent, undefined]);
        }
        expect([parent.settled, parent.reserved]).toEqual([booked, 0n]);
      },
    ),
    { numRuns: WORLDS / 4 },
  );
});

test("a wallet that funds 10 admits exactly 10 of 64 children, and all money comes home", async () => {
  const parent = new Meter(1_000n);
  const wallets: Wallet[] = [];
  const spend = async (index: number): Promise<void> => {
    for (let i = 0; i < index % 5; i++) await Promise.resolve();
    const wallet = parent.carve(100n);
    if (!wallet) return;
    wallets.push(wallet);
    const call = wallet.meter.reserve(60n);
    await Promise.resolve();
    call?.settle(BigInt(index % 60));
  };
  await Promise.all(Array.from({ length: 64 }, (_, index) => spend(index)));
  expect(wallets).toHaveLength(10);
  const spent = wallets.reduce((sum, { meter }) => sum + meter.settled, 0n);
  for (const wallet of wallets) wallet.close();
  expect([parent.reserved, parent.settled, parent.remaining]).toEqual([0n, spent, 1_000n - spent]);
});

test("a million calls drift by nothing", () => {
  const meter = new Meter(10n ** 18n);
  for (let i = 0; i < 1_000_000; i++) meter.reserve(34_199_999_999n)?.settle(34_199_999_999n);
  expect([meter.settled, meter.reserved]).toEqual([34_199_999_999n * 1_000_000n, 0n]);
});
