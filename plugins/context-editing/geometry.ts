/**
 * Where rewriting begins. A fixed distance below the window leaves room for an answer and for what a turn adds; a small
 * window has no such room to give and takes a share of itself instead.
 */
import type { ResolvedModel } from "../../kernel/index.ts";

/** Share of a small window from which on it is rewritten. */
export const EDIT_FRACTION = 0.7;
/** Tokens kept for the answer. */
export const CONTEXT_OUTPUT_RESERVE_TOKENS = 20_000;
/** Tokens kept for what one more turn adds before the answer is asked for. */
export const COMPACTION_TRIGGER_BUFFER_TOKENS = 13_000;

/**
 * Tokens of input from which on a context of `window` tokens is rewritten: clearing and compaction share it, since a
 * second, higher threshold would move the clearing on every call between the two and break the prompt cache each time.
 *
 * The larger of `floor(0.7 × window)` and `window − 33,000`, so that it never falls as the window grows. The share wins
 * up to 109,996, both are equal from 109,997 to 110,000, the fixed distance wins from 110,001.
 */
export function contextEditFrontier(window: number): number {
  return Math.max(
    Math.floor(EDIT_FRACTION * window),
    window - CONTEXT_OUTPUT_RESERVE_TOKENS - COMPACTION_TRIGGER_BUFFER_TOKENS,
  );
}

/** What a deployment says of a model's windows, in tokens. */
export interface ContextWindowOverlay {
  /** The physical window, when it is not what the model states. */
  readonly contextTokens?: number;
  /** A lower window for the trigger alone; requests may still use the physical one. */
  readonly autoCompactTokens?: number;
}

/** The window that decides when to clear, in tokens. */
export interface TriggerWindowResolution {
  /** `autoCompactTokens ?? contextTokens ?? contextWindow`, never above the physical window; NaN when none is known. */
  readonly window: number;
  /** The declared trigger window was above the physical one: a mistake worth announcing. */
  readonly clamped: boolean;
  readonly declaredAutoCompactTokens?: number;
  readonly physicalWindow?: number;
}

const usable = (value: number | undefined): value is number =>
  value !== undefined && Number.isFinite(value) && value > 0;

/**
 * The window the trigger looks at. A trigger window above the physical one would put the trigger above the limit it is
 * there to avoid, so it is brought down and said to be. A declared value that is no positive number is left as it is.
 */
export function resolveTriggerWindow(
  model: Pick<ResolvedModel, "contextWindow">,
  overlay: ContextWindowOverlay = {},
): TriggerWindowResolution {
  const physical = overlay.contextTokens ?? model.contextWindow;
  const { autoCompactTokens: declared } = overlay;
  if (usable(declared) && usable(physical) && declared > physical)
    return { window: physical, clamped: true, declaredAutoCompactTokens: declared, physicalWindow: physical };
  return { window: declared ?? physical ?? Number.NaN, clamped: false };
}

/** Tokens of input from which on this model's context is edited; infinite for an unknown window. */
export function editBudget(model: Pick<ResolvedModel, "contextWindow">, overlay?: ContextWindowOverlay): number {
  const { window } = resolveTriggerWindow(model, overlay);
  return usable(window) ? contextEditFrontier(window) : Number.POSITIVE_INFINITY;
}
