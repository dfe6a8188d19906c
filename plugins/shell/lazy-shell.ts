/** What the definitions of the tools hold: the options, and a shell that is there once one of them is called. */
import { boundOf } from "./binding.ts";
import type { Settled } from "./options.ts";
import type { Shell } from "./shell.ts";

type Calls = typeof import("./calls.ts");
/** Loaded with the first call of any tool; from then on a call begins at once. */
let calls: Calls | undefined;

export class LazyShell {
  readonly options: Settled;
  #shell: Shell | undefined;

  constructor(options: Settled) {
    this.options = options;
  }

  /** The result policy of tools whose results may be cut. */
  get cut(): "page" | "auto" {
    return this.options.paged ? "page" : "auto";
  }

  async call<T>(work: (calls: Calls, shell: Shell) => T): Promise<Awaited<T>> {
    calls ??= await import("./calls.ts");
    this.#shell ??= new calls.Shell(this.options);
    return await work(calls, this.#shell);
  }
  /** A call that the run does not settle before. */
  tracked<T>(input: object, work: (calls: Calls, shell: Shell) => T): Promise<Awaited<T>> {
    const call = this.call(work);
    boundOf(input)?.unfinished.add(call);
    return call;
  }

  /** Ends the commands that were started. */
  async close(): Promise<void> {
    await this.#shell?.sessions.close();
  }
}
