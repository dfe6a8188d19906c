/** Work against an abort and a time limit: the first to end decides, and what comes late is ignored. */
import { asCaveman, type CavemanError } from "./errors.ts";

/** Who can be aborted; `onAbort` calls back, at once when it was already. */
export interface Abortable { readonly signal: AbortSignal; onAbort(tell: () => void): void; offAbort(tell: () => void): void }

/** A signal alone. */
export const abortable = (signal: AbortSignal): Abortable => ({
  signal,
  onAbort(tell) {
    if (signal.aborted) tell();
    else signal.addEventListener("abort", tell, { once: true });
  },
  offAbort: (tell) => signal.removeEventListener("abort", tell),
});

/** The end of the work, and of whatever thenable it answers with, or a rejection: the abort's reason, or what `late` says once `ms` have passed. */
export function race<T>(work: PromiseLike<T>, on: Abortable, ms = Number.POSITIVE_INFINITY, late?: () => CavemanError): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const end = <V>(tell: (value: V) => void, value: V): void => {
      clearTimeout(limit);
      on.offAbort(stop);
      tell(value);
    };
    const stop = (): void => end(reject, asCaveman(on.signal.reason, "cave_run_aborted"));
    const limit = Number.isFinite(ms) && late ? setTimeout(() => end(reject, late()), ms) : undefined;
    on.onAbort(stop);
    // Resolved first: a thenable may throw, call back twice, or answer with another that never ends.
    const done = (value: T): void => end(resolve, value);
    Promise.resolve(work).then(done, (error: unknown) => end(reject, error));
  });
}
