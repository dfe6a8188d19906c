/** What an engine is made with, and what a search takes. */
import type { CavemanError } from "../../kernel/index.ts";
import type { EmbeddingAdapter } from "./embedding.ts";
import type { CountTokens } from "./recall.ts";
import type { MemoryRecord, MemoryTurn } from "./record.ts";
import type { MemoryScope } from "./scope.ts";
import type { MemoryStorage } from "./storage.ts";

/** Model work beside the conversation; its output is kept as what it is, a guess. */
export interface MemorySidecar {
  /** What is worth remembering of a turn. */
  extract?(turn: MemoryTurn): Promise<readonly string[]>;
  /** At the end of a session: texts that replace several records. What they replace stays as evidence. */
  consolidate?(
    records: readonly MemoryRecord[],
  ): Promise<readonly { readonly text: string; readonly supersedes: readonly string[] }[]>;
}

export interface MemoryEngineOptions {
  readonly scope: MemoryScope;
  /** Milliseconds; null keeps for ever. Default: 30 days. */
  readonly ttlMs?: number | null;
  /** Tokens a recall may take; 0 for no limit. Default 800. */
  readonly recallBudget?: number;
  /** Folder of the files. Default: `CAVE_AGENT_MEMORY_ROOT`, or `~/.caveman/agent-memory`. */
  readonly root?: string;
  /** Another place to keep memories; it holds this scope alone. */
  readonly storage?: MemoryStorage;
  readonly embedding?: EmbeddingAdapter;
  readonly sidecar?: MemorySidecar;
  readonly countTokens?: CountTokens;
  readonly maxChars?: number;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Told of failures in the background, which never fail a turn. */
  readonly onProblem?: (error: CavemanError) => void;
}

export interface SearchOptions {
  readonly limit?: number;
  /** Tokens; 0 for no limit. */
  readonly budget?: number;
  /** How far relations are followed, at most 3. Default 1. */
  readonly depth?: number;
}
