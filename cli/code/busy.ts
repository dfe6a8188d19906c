/** A line that says that something is being waited for, gone as soon as there is anything else to show. */
import type { Screen } from "./screen.ts";

/** Quiet time after which the line appears, and how often it is renewed. */
const QUIET_MS = 1_500;
const EVERY_MS = 500;

/** Shows what is waited for until the function it gives back is called; `paused` while a person is asked. */
export function busy(screen: Screen, what: () => string, paused: () => boolean): () => void {
  let since = Date.now();
  let seen = screen.written;
  const timer = setInterval(() => {
    if (screen.written !== seen || paused()) {
      seen = screen.written;
      since = Date.now();
    } else if (Date.now() - since >= QUIET_MS)
      screen.transient(`  … ${what()} ${Math.floor((Date.now() - since) / 1_000)} s · Ctrl-C stops`);
  }, EVERY_MS);
  return () => {
    clearInterval(timer);
    screen.breakTransient();
  };
}
