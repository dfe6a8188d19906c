/**
 * Repeats: the sequence of (tool, arguments, result) is searched backwards from its newest entry for a cycle of one to
 * four calls. A poll whose result changes is another entry, so it is no cycle. Nothing is digested while a run
 * lasts: texts are compared, and only a finding or a saved conversation needs their SHA-256.
 */
import { Content, sha256 } from "./digest.ts";

/** Cycles of one to so many calls are found. */
export const MAX_PERIOD = 4;

/** One call as it is kept between runs. */
export interface SavedEntry {
  readonly turn: number;
  readonly tool: string;
  readonly args: string;
  /** Absent while the call runs, or when it never came to an end: it then equals nothing. */
  readonly result?: string;
  readonly failed: boolean;
  readonly pardoned: boolean;
  readonly nudged: boolean;
}

/** One call in the sequence. */
export class Entry {
  readonly turn: number;
  readonly tool: string;
  readonly args: Content;
  failed = false;
  /** The first failure of a call: trying it once more is no repeat. */
  pardoned = false;
  /** The model was told, with this call's result, that it repeats itself. */
  nudged = false;
  /** What came of it; absent while it runs. */
  result: Content | undefined;

  constructor(turn: number, tool: string, args: Content, result?: Content) {
    this.turn = turn;
    this.tool = tool;
    this.args = args;
    this.result = result;
  }
  static of(saved: SavedEntry): Entry {
    const entry = new Entry(
      saved.turn,
      saved.tool,
      Content.saved(saved.args),
      saved.result === undefined ? undefined : Content.saved(saved.result),
    );
    entry.failed = saved.failed;
    entry.pardoned = saved.pardoned;
    entry.nudged = saved.nudged;
    return entry;
  }
  toJSON(): SavedEntry {
    const { turn, tool, args, result, failed, pardoned, nudged } = this;
    return { turn, tool, args: args.digest, ...(result ? { result: result.digest } : {}), failed, pardoned, nudged };
  }
}

/** A cycle that ends at some entry: so many calls long, and how often it came round. */
export interface Cycle {
  readonly period: number;
  readonly times: number;
  /** SHA-256 of the calls of one round, wherever the round began. */
  readonly signature: string;
  /** The model was told of it in an earlier turn. */
  readonly warned: boolean;
}

export class RepeatWindow {
  readonly entries: Entry[];
  readonly #times: number;
  readonly #turns: number;
  readonly #keep: number;

  /** `times`: rounds that make a loop. `turns`: most turns between a call and its repetition. `perTurn`: calls of one turn. */
  constructor(times: number, turns: number, perTurn: number, saved: readonly SavedEntry[] = []) {
    this.#times = times;
    this.#turns = turns;
    this.#keep = MAX_PERIOD * (times + 2) + perTurn;
    this.entries = saved.map(Entry.of);
  }

  /** Appends a call and forgets what no cycle can reach any more. */
  push(entry: Entry): void {
    this.entries.push(entry);
    if (this.entries.length > this.#keep) this.entries.splice(0, this.entries.length - this.#keep);
  }
  /** A call that came to its end; its first failure is pardoned. */
  closed(entry: Entry): void {
    entry.pardoned =
      entry.failed &&
      !this.entries.some(
        (other) => other !== entry && other.failed && other.tool === entry.tool && other.args.equals(entry.args),
      );
  }
  clear(): void {
    this.entries.length = 0;
  }

  /**
   * The cycle that ends at `entry` with at least as many rounds as make a loop. With `assumed`, the entry's own result is
   * not known yet and is taken to be what the cycle gave before.
   */
  cycleAt(entry: Entry, assumed = false): Cycle | undefined {
    const end = this.entries.lastIndexOf(entry);
    for (let period = 1; period <= MAX_PERIOD; period++) {
      let length = 0;
      for (let at = end; at - period >= 0 && this.#same(at, at - period, assumed && at === end); at--) length++;
      // What repeats is one round longer than its matches; a round itself is `period` calls.
      const times = length === 0 ? 0 : Math.floor((length + period) / period);
      if (times >= this.#times) return this.#cycle(end, period, times, assumed);
    }
    return undefined;
  }

  /** What the cycle gave `period` calls ago. */
  before(entry: Entry, { period }: Cycle): Entry | undefined {
    return this.entries[this.entries.lastIndexOf(entry) - period];
  }

  #same(at: number, before: number, assumed: boolean): boolean {
    const a = this.entries[at];
    const b = this.entries[before];
    if (!a || !b || a.tool !== b.tool || a.pardoned || b.pardoned || a.turn - b.turn > this.#turns) return false;
    if (!b.result || !a.args.equals(b.args)) return false;
    return assumed || (a.result !== undefined && a.failed === b.failed && a.result.equals(b.result));
  }

  #cycle(end: number, period: number, times: number, assumed: boolean): Cycle {
    const newest = this.entries[end];
    // The results of a whole round are known one round back even when the newest one is assumed.
    const last = assumed ? end - period : end;
    const round = this.entries
      .slice(last - period + 1, last + 1)
      .map(({ tool, args, result }) => `${tool}\0${args.digest}\0${result?.digest}`);
    const rotations = round.map((_, at) => [...round.slice(at), ...round.slice(0, at)].join("\n"));
    const since = Math.max(0, end + 1 - times * period);
    const warned = this.entries.slice(since, end).some((entry) => entry.nudged && entry.turn < (newest?.turn ?? 0));
    return { period, times, signature: sha256(rotations.sort()[0] ?? ""), warned };
  }
}
