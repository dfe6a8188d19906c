/** The workers of one tree of runs: staged once by its root, started while the model thinks, one call each. */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type AgentDefinition, CavemanError, type Run, type ToolCall } from "../../kernel/index.ts";
import { agentDirectory, directoryEntry } from "./agent-directory.ts";
import { assertSameDefinition } from "./definition-check.ts";
import type { SourceGraph, VirtualEntry } from "./graph.ts";
import type { Bounds } from "./launch.ts";
import type { Place } from "./modes.ts";
import { environment } from "./profile.ts";
import type { Stage } from "./stage.ts";
import type { ToolWorker } from "./worker-process.ts";

export { environment };

export interface WorkersOptions extends Bounds {
  /** Whether workers start ahead of need. */
  readonly ahead: boolean;
}

/** Workers that wait for calls, at most. */
const MAX_SPARES = 4;
/** Graphs whose definition was compared once already: same graph, same definition. */
const compared = new WeakMap<SourceGraph, AgentDefinition>();

export class TreeWorkers {
  readonly #options: WorkersOptions;
  readonly #workers = new Set<ToolWorker>();
  readonly #spares: ToolWorker[] = [];
  #staged: { readonly stage: Stage; readonly start: (inspect?: boolean) => ToolWorker } | undefined;
  /** Calls since workers were last started ahead: as many are wanted for the next turn. */
  #used = 0;
  #closed = false;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /**
   * Stages the sources and, the first time this graph is seen, lets a worker load it, so that what cannot work is
   * refused before a model is asked.
   */
  async open(run: Run, signal: AbortSignal): Promise<void> {
    const { agent, options } = run;
    const env = environment(options.sandboxProfile);
    const [{ graphOf, stage }, { ToolWorker }] = await Promise.all([
      import("./stage.ts"),
      import("./worker-process.ts"),
    ]);
    const graph = await graphOf(entryOf(run), resolve(options.rootDir ?? "."));
    const staged = await stage(graph);
    const { memoryMb, scratchMb } = this.#options;
    this.#staged = {
      stage: staged,
      start: (inspect = false) =>
        new ToolWorker({ stage: staged, agentId: agent.id, env, inspect, memoryMb, scratchMb }),
    };
    // The run may have ended while its sources were read.
    if (this.#closed || signal.aborted) return this.close();
    if (compared.get(graph) === agent) return;
    const first = this.#begin(true);
    assertSameDefinition(agent, (await first.ready).inventory);
    compared.set(graph, agent);
    this.#spares.push(first);
  }

  /** Starts workers for the calls that a turn may bring, without waiting for them. */
  prestart(): void {
    if (!this.#staged || !this.#options.ahead || this.#closed) return;
    const wanted = Math.min(MAX_SPARES, Math.max(1, this.#used));
    this.#used = 0;
    while (this.#spares.length < wanted) this.#spares.push(this.#begin());
  }

  /** Runs one call in a worker of its own. */
  execute(call: ToolCall, place: Place, input: unknown, signal: AbortSignal): Promise<unknown> {
    if (!this.#staged || this.#closed)
      throw new CavemanError("cave_sandbox_entry_required", { place: `tool ${call.name}` });
    this.#used++;
    let ids = 0;
    const nested = async (name: string, argument: unknown): Promise<unknown> => {
      const outcome = await call.run.tool({
        toolCallId: `${call.toolCallId}.n${++ids}`,
        name,
        input: argument,
        nestedIn: call,
      });
      if (!outcome.isError) return outcome.value;
      const text = "value" in outcome.output ? String(outcome.output.value) : "";
      const code = outcome.code ?? "cave_tool_failed";
      throw new CavemanError(code, { message: text.startsWith(`${code}: `) ? text.slice(code.length + 2) : text });
    };
    const { toolCallId } = call;
    return this.#take().run({ ...place, toolCallId, input, timeoutMs: call.tool?.timeoutMs ?? 30_000, nested }, signal);
  }

  #take(): ToolWorker {
    for (let spare = this.#spares.shift(); spare; spare = this.#spares.shift()) if (!spare.dead) return spare;
    return this.#begin();
  }

  #begin(inspect?: boolean): ToolWorker {
    if (!this.#staged) throw new CavemanError("cave_sandbox_entry_required");
    const worker = this.#staged.start(inspect);
    this.#workers.add(worker);
    void worker.gone.then(() => this.#workers.delete(worker));
    return worker;
  }

  /** Ends every worker and removes the stage; resolves when nothing is left. At once when nothing was begun. */
  close(): Promise<void> | undefined {
    this.#closed = true;
    return this.#workers.size > 0 || this.#staged ? this.#tearDown() : undefined;
  }
  async #tearDown(): Promise<void> {
    for (const worker of this.#workers) worker.end();
    await Promise.all([...this.#workers].map((worker) => worker.gone));
    const staged = this.#staged;
    this.#staged = undefined;
    await staged?.stage.dispose();
  }
}

/** The entry of a run: a module, or a directory by the convention of agent directories. */
function entryOf({ agent, options }: Run): string | VirtualEntry {
  const { entryPath } = options;
  if (entryPath === undefined)
    throw new CavemanError("cave_tool_sandbox_entry_required", {
      place: `agent ${agent.id}`,
      expected: "entryPath",
      received: "none",
    });
  const path =
    typeof entryPath === "string" && !entryPath.startsWith("file:")
      ? resolve(options.rootDir ?? ".", entryPath)
      : fileURLToPath(entryPath);
  const dir = agentDirectory(path);
  if (dir !== undefined) return directoryEntry(agent, dir);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new CavemanError("cave_tool_sandbox_entry_escapes_root", {
      place: path,
      expected: "a module, or a directory with instructions.md",
      received: "another directory",
    });
  return path;
}
