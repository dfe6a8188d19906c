/** What a case is given and what it gives: rows of the table. */
import type { Build } from "./drivers.ts";

export interface Row {
  /** Its name in JSON and for figures: `case.what`. */
  readonly id: string;
  readonly what: string;
  readonly unit: "ms" | "MB" | "x" | "MB/s";
  /** Undefined when it was not measured; `why` then says the reason. */
  readonly value?: number;
  /** The most it may be. */
  readonly bar?: number;
  /** The least it may be. */
  readonly least?: number;
  readonly why?: string;
}

export interface Bench {
  readonly root: string;
  /** What can be measured: the sources, and dist/ when it was built. */
  readonly builds: readonly Build[];
  /** Whether peers are measured too. */
  readonly peers: boolean;
}

export interface Case {
  /** Its place in the table. */
  readonly order: number;
  rows(bench: Bench): Promise<Row[]>;
}

export const notMeasured = (row: Omit<Row, "value" | "why">, why: string): Row => ({ ...row, why });
