/** What was cleared from a conversation's views, as it is remembered and saved. */
import { type Static, Type } from "@sinclair/typebox";
import type { OccurrenceFingerprint } from "./occurrences.ts";

/** One clear: the bytes to paint, how many results its call id had then, and the digest of the original. */
export interface ClearedOccurrence {
  readonly marker: string;
  readonly groupCount: number;
  readonly fp: OccurrenceFingerprint;
}
/** What was cleared, by place in the conversation. */
export interface ClearedProjectionLedger {
  entries: Map<string, ClearedOccurrence>;
}

/** A ledger without entries. */
export const createClearedProjectionLedger = (): ClearedProjectionLedger => ({ entries: new Map() });

/** The ledger as a conversation saves it. */
export const SavedLedger = Type.Array(
  Type.Object({
    key: Type.String(),
    marker: Type.String(),
    groupCount: Type.Integer({ minimum: 1 }),
    fp: Type.String({ pattern: "^[0-9a-f]{64}$" }),
  }),
);

/** The ledger of a conversation, with what it had saved: the kernel has checked that against the schema. */
export function ledgerFrom(saved: unknown): ClearedProjectionLedger & { toJSON(): unknown } {
  const entries = (saved ?? []) as Static<typeof SavedLedger>;
  return {
    entries: new Map(entries.map(({ key, ...cleared }) => [key, cleared])),
    toJSON() {
      return [...this.entries].map(([key, { marker, groupCount, fp }]) => ({ key, marker, groupCount, fp }));
    },
  };
}
