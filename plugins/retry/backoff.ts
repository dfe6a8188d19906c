/** How long to wait before trying again. */

/** Milliseconds no wait of this plugin passes. */
export const MAX_WAIT_MS = 30_000;

/**
 * Milliseconds before retry `n`, counted from 1: the base doubled each time up to the cap, of which one half is fixed
 * and the other left to chance, so that callers who failed together do not come back together.
 * `chance` is in [0, 1).
 */
export function backoffMs(baseMs: number, n: number, chance: number): number {
  const full = Math.min(MAX_WAIT_MS, baseMs * 2 ** Math.min(n - 1, 52));
  return Math.round(full / 2 + (full / 2) * chance);
}
