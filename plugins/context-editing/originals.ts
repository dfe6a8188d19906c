/** Keeps what leaves the view, exactly: durably where there is a recovery store, else in memory while the run lasts. */
import type { Run } from "../../kernel/index.ts";
import { type Originals, Recovery, StoredOutputs } from "../services.ts";
import { type CarriedHandles, carriedHandles } from "./carried-handles.ts";

/** The tool that gives originals back: what it said can be asked for again, and is never stored a second time. */
const RETRIEVE = "cave_retrieve";

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
    const recovery = toolName === RETRIEVE ? undefined : this.#recovery;
    if (recovery) {
      // A text that carries handles would be taken for a marker, and a marker is no original. As JSON it is one.
      const wrapped = !whole && recovery.isRecovered(toolName, text);
      const original = whole || wrapped ? withoutHandles(whole ? text : JSON.stringify(text)) : text;
      const contentType = whole || wrapped ? "application/json" : "text/plain";
      const handle = recovery.keep(original, { contentType, by });
      const call = `${RETRIEVE}(${JSON.stringify({ recovery_handle: handle })})`;
      if (handle !== undefined) return wrapped ? `${call} as one JSON string` : call;
      // Memory ends with the process, the originals behind these handles do not: only what still names them may go.
      const { words, complete } = carriedHandles(text);
      if (whole ? words !== "" : !complete) return undefined;
    }
    const handle = this.#outputs?.keep(text, toolName);
    return handle === undefined ? undefined : `read_tool_output(${JSON.stringify({ handle })})`;
  }
  carriedBy(text: string): CarriedHandles {
    return carriedHandles(text);
  }

  // A store is of use only when the model has the tool that reads from it.
  get #recovery(): Recovery | undefined {
    return this.#run.tools.has(RETRIEVE) ? this.#run.find(Recovery) : undefined;
  }
  get #outputs(): StoredOutputs | undefined {
    return this.#run.tools.has("read_tool_output") ? this.#run.find(StoredOutputs) : undefined;
  }
}

/** The same JSON with each handle's first letter as an escape. Escapes that stand there already are passed over whole. */
const withoutHandles = (json: string): string =>
  json.replace(/\\(?:u[0-9a-fA-F]{4}|.)|ccr_(?=[0-9a-f]{32})/g, (found) => (found === "ccr_" ? "\\u0063cr_" : found));
