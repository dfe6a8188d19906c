/** One thing that is wrong with the files of the catalog. */
import type { FaultCode } from "./read.ts";

export type ProblemCode =
  | FaultCode
  | "unreadable"
  | "duplicate_row"
  | "broken_alias"
  | "bad_date"
  | "future_date"
  | "stale_date"
  | "price_changed"
  | "snapshot_missing"
  | "snapshot_edited"
  | "snapshot_unlisted"
  | "module_mismatch";

export interface Problem {
  readonly code: ProblemCode;
  /** The file, and the row in it. */
  readonly where: string;
  readonly message: string;
}

export const problem = (code: ProblemCode, where: string, message: string): Problem => ({ code, where, message });
