/** Keeps what leaves the view, exactly: durably where there is a recovery store, else for as long as the run lasts. */
import type { Run } from "../../kernel/index.ts";
import { type Originals, Recovery, StoredOutputs } from "../services.ts";

export class RunOriginals implements Originals {
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
  }
  get available(): boolean {
    return this.#recovery !== undefined || this.#outputs !== undefined;
  }
  keep(
    text: string,
    { toolName, by, whole = false }: { readonly toolName: string; readonly by: string; readonly whole?: boolean },
  ): string | undefined {
    const recovery = this.#recovery;
    // A text that came out of the store, or stands for something in it, is never stored as an original of its own.
    if (recovery && (whole || !recovery.isRecovered(toolName, text))) {
      const handle = recovery.keep(text, { contentType: whole ? "application/json" : "text/plain", by });
      if (handle !== undefined) return `cave_retrieve(${JSON.stringify({ recovery_handle: handle })})`;
    }
    const handle = this.#outputs?.keep(text, toolName);
    return handle === undefined ? undefined : `read_tool_output(${JSON.stringify({ handle })})`;
  }

  // A store is of use only when the model has the tool that reads from it.
  get #recovery(): Recovery | undefined {
    return this.#run.tools.has("cave_retrieve") ? this.#run.find(Recovery) : undefined;
  }
  get #outputs(): StoredOutputs | undefined {
    return this.#run.tools.has("read_tool_output") ? this.#run.find(StoredOutputs) : undefined;
  }
}
