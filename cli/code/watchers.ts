/** Who watches the tools of a coding agent: its own callbacks, and the terminal while one shows its turns. */
import type { CodingAgent } from "../../plugins/coding/index.ts";
import type { ShellToolsOptions } from "../../plugins/shell/index.ts";

export type Watcher = Pick<ShellToolsOptions, "onOutput" | "onChange">;

/** Passes on what tools tell to whoever watches at the moment. */
export class Watchers {
  readonly #watching = new Set<Watcher>();
  readonly callbacks = {
    onOutput: (chunk: Parameters<NonNullable<Watcher["onOutput"]>>[0]): void => {
      for (const watcher of this.#watching) watcher.onOutput?.(chunk);
    },
    onChange: (change: Parameters<NonNullable<Watcher["onChange"]>>[0]): void => {
      for (const watcher of this.#watching) watcher.onChange?.(change);
    },
  };
  add(watcher: Watcher): () => void {
    this.#watching.add(watcher);
    return () => void this.#watching.delete(watcher);
  }
}

const ofAgent = new WeakMap<CodingAgent, Watchers>();
export const setWatchers = (agent: CodingAgent, watchers: Watchers): void => void ofAgent.set(agent, watchers);
/** Watches an agent's tools until the function it gives back is called. */
export const watch = (agent: CodingAgent, watcher: Watcher): (() => void) =>
  ofAgent.get(agent)?.add(watcher) ?? (() => undefined);
