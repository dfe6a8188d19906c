/** What a session is told when it starts, and what it starts from. */
import { fromDollars, type Money } from "../../catalog/money.ts";
import type { AgentDefinition, Conversation, Kernel, RunOptions } from "../../kernel/index.ts";
import type { Bill } from "./bill.ts";
import { refuse } from "./errors.ts";
import type { Approve } from "./grants.ts";
import type { SessionEvent } from "./session-events.ts";
import type { SavedSession, SessionFile } from "./session-file.ts";

/** Options of `startSession`. */
export interface SessionOptions {
  /** Runs the turns; with the plugins `receipt`, `pricing`, `policy` and `shell`. */
  readonly kernel: Kernel;
  /** Run options of every turn. */
  readonly run?: RunOptions;
  /** Dollars that the turns may spend together from now on. Default: no limit. */
  readonly maxUsd?: number;
  /** Asks a person about a call. Without it calls that need a person are refused. */
  readonly approve?: Approve;
  /**
   * Reads AGENTS.md and Agent Skills of the repository. They are its authors' words, not the person's, so they are read
   * only when asked for. Default false. A list names other folders of skills.
   */
  readonly repositoryInstructions?: boolean | { readonly skills: readonly string[] };
  /** Saves the session under `.caveman/sessions` of the workspace. Default true. */
  readonly save?: boolean;
  /** Takes up a saved session: its id or the beginning of it; true for the newest. */
  readonly resume?: string | true;
  readonly onEvent?: (event: SessionEvent) => void;
  /** Told what a person should know: what was cut, left out, or could not be saved. */
  readonly onNotice?: (notice: string) => void;
}

/** What a new session begins with, and a saved one goes on from. */
export interface Start {
  readonly definition: AgentDefinition;
  readonly repository: { readonly files: readonly string[]; readonly skills: readonly string[] };
  readonly file: SessionFile | undefined;
  readonly state: Omit<SavedSession, "schema" | "conversation" | "totals">;
  readonly conversation: Conversation;
  readonly totals: Bill;
  readonly notices: readonly string[];
}

/** Dollars as whole units. @throws CavemanError `cave_option_invalid`. */
export function dollars(maxUsd: number): Money {
  const bad = (): never => refuse("cave_option_invalid", "maxUsd", "a positive number of dollars", String(maxUsd));
  if (typeof maxUsd !== "number" || !Number.isFinite(maxUsd) || maxUsd <= 0) return bad();
  try {
    return fromDollars(maxUsd);
  } catch {
    return bad();
  }
}
