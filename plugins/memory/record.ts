/** What is remembered. */
import { sha256 } from "../../kernel/index.ts";

/** `ccr_` and the first 16 bytes of the text's SHA-256. */
export const handleOfText = (text: string): string => `ccr_${sha256(text).slice(0, 32)}`;

export const RELATIONS = ["relates_to", "supersedes", "contradicts", "derived_from"] as const;
export type Relation = (typeof RELATIONS)[number];

/** One version of a remembered fact. */
export interface MemoryRecord {
  /** `mem_` and 16 hex digits. */
  readonly id: string;
  readonly text: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Epoch milliseconds; undefined when it does not expire. */
  readonly expiresAt?: number;
  readonly supersedes?: string;
  /** The version that replaced it; `forgotten` when that one is gone. */
  readonly supersededBy?: string;
  /** `active` alone is recalled; the others are kept as evidence. */
  readonly state: "active" | "superseded" | "expired";
}

/** That one record stands in a relation to another. */
export interface MemoryLink {
  readonly from: string;
  readonly relation: Relation;
  readonly to: string;
}

/** One exchange of a session. */
export interface MemoryTurn {
  readonly sessionId: string;
  readonly at: number;
  readonly user: string;
  readonly assistant: string;
}
