/** The workers of a tree of runs, whose code is loaded when a run that needs them is prepared. */
import { CavemanError, type Run, type ToolCall } from "../../kernel/index.ts";
import type { Place } from "./modes.ts";
import type { SandboxProfile } from "./profile.ts";
import type { TreeWorkers, WorkersOptions } from "./workers.ts";

let code: typeof import("./workers.ts") | undefined;

/** Refuses a profile that asks for too much, also where no tool runs in a worker. Rejects with what `environment` throws. */
export async function assertProfile(profile: SandboxProfile): Promise<void> {
  code ??= await import("./workers.ts");
  code.environment(profile);
}

export class LazyWorkers {
  readonly #options: WorkersOptions;
  #workers: TreeWorkers | undefined;
  #closed = false;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** As `TreeWorkers.open`. */
  async open(run: Run, signal: AbortSignal): Promise<void> {
    code ??= await import("./workers.ts");
    // The run may have ended while the code was read.
    if (this.#closed || signal.aborted) return;
    this.#workers = new code.TreeWorkers(this.#options);
    await this.#workers.open(run, signal);
  }
  prestart(): void {
    this.#workers?.prestart();
  }
  execute(call: ToolCall, place: Place, input: unknown, signal: AbortSignal): Promise<unknown> {
    if (!this.#workers) throw new CavemanError("cave_sandbox_entry_required", { place: `tool ${call.name}` });
    return this.#workers.execute(call, place, input, signal);
  }
  /** As `TreeWorkers.close`: undefined, at once, where nothing was begun. */
  close(): Promise<void> | undefined {
    this.#closed = true;
    return this.#workers?.close();
  }
}
