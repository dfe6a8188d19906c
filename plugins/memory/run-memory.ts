/** The memory of one run: which engine it has, and what of its recall this run's calls carry. */
import { CavemanError, type Message, type ModelMessage, type Run, type View } from "../../kernel/index.ts";
import { Tokenizer } from "../services.ts";
import { assertTenant, declarationOf, type MemoryDeclaration, memory, memoryTTLMilliseconds } from "./declaration.ts";
import { createMemoryEngine, MemoryEngine } from "./engine.ts";
import { fileOf, memoryRoot } from "./scope.ts";

export interface MemoryRunOptions {
  /** Folder of the files. Default: `CAVE_AGENT_MEMORY_ROOT`, or `~/.caveman/agent-memory`. */
  readonly root?: string;
  /** Whose memory it is. Default: a single tenant. */
  readonly tenant?: string;
  /** An engine of your own, kept across runs: recall then runs beside the model. You close it. */
  readonly engine?: MemoryEngine;
}
export type MemoryRunOption = boolean | MemoryRunOptions;

/** Engines that `memory: true` keeps for as long as the kernel lives, by the file they use. */
export type KeptEngines = Map<string, { readonly engine: MemoryEngine; run: Run }>;

const KEYS = ["root", "tenant", "engine"];

/** Undefined for a run without memory. @throws CavemanError `cave_option_invalid`, `cave_memory_*`. */
export function memoryOfRun(run: Run, kept: KeptEngines): RunMemory | undefined {
  const option = run.options.memory;
  if (option === false) return undefined;
  const declared = run.agent.memory;
  if (declared === undefined && (option === undefined || run.parent !== undefined)) return undefined;
  const declaration = declared === undefined ? memory({ namespace: "default" }) : declarationOf(declared);
  return new RunMemory(run, declaration, readOptions(option), option === true ? kept : undefined);
}

function readOptions(option: MemoryRunOption | undefined): MemoryRunOptions {
  if (option === undefined || typeof option === "boolean") return {};
  const invalid = (place: string, expected: string, received: string): never => {
    throw new CavemanError("cave_option_invalid", { place: `run option ${place}`, expected, received });
  };
  if (typeof option !== "object" || option === null)
    return invalid("memory", "true, false or an object", typeof option);
  const odd = Object.keys(option).find((key) => !KEYS.includes(key));
  if (odd !== undefined) invalid("memory", KEYS.join(", "), odd);
  const { root, tenant, engine } = option;
  if (root !== undefined && (typeof root !== "string" || root === "")) invalid("memory.root", "a folder", typeof root);
  if (tenant !== undefined) assertTenant(tenant);
  if (engine !== undefined && !(engine instanceof MemoryEngine))
    invalid("memory.engine", "an engine made by createMemoryEngine()", typeof engine);
  if (engine && tenant !== undefined && tenant !== engine.scope.tenant)
    throw new CavemanError("cave_memory_scope_mismatch", {
      place: "memory.tenant",
      expected: engine.scope.tenant,
      received: tenant,
    });
  return option;
}

export class RunMemory {
  readonly #run: Run;
  readonly #declaration: MemoryDeclaration;
  readonly #options: MemoryRunOptions;
  readonly #kept: KeptEngines | undefined;
  /** An engine across runs looks up beside the model; a run's own serves its tools alone. */
  readonly #across: boolean;
  #engine: MemoryEngine | undefined;
  #own = true;
  #newest: Message | undefined;
  #block: ModelMessage | undefined;
  #settled = false;

  constructor(run: Run, declaration: MemoryDeclaration, options: MemoryRunOptions, kept: KeptEngines | undefined) {
    this.#run = run;
    this.#declaration = declaration;
    this.#options = options;
    this.#kept = kept;
    const given = options.engine;
    const { agentId, namespace } = given?.scope ?? {};
    const fits = agentId === run.agent.id && namespace === declaration.namespace;
    if (given && !fits && run.parent === undefined)
      throw new CavemanError("cave_memory_scope_mismatch", {
        place: `agent ${run.agent.id}`,
        expected: `${run.agent.id}, ${declaration.namespace}`,
        received: `${agentId}, ${namespace}`,
      });
    if (given && fits) {
      this.#engine = given;
      this.#own = false;
    }
    this.#across = (given !== undefined && fits) || kept !== undefined;
  }

  /** Made when it is first used: a run that remembers nothing opens no file. */
  engine(): MemoryEngine {
    return (this.#engine ??= this.#make());
  }

  /**
   * What this call carries of recall. It changes at most once for one user message, when its look-up has finished, since
   * every change costs what the provider has cached behind it.
   */
  contextFor(view: View): ModelMessage | undefined {
    if (!this.#across) return undefined;
    const newest = newestOfUser(view);
    if (newest === undefined) return this.#block;
    let found: string | undefined;
    if (newest !== this.#newest) {
      this.#newest = newest;
      this.#settled = false;
      this.#block = undefined;
      found = this.engine().beginTurn(userText(newest), this.#budget());
    } else if (!this.#settled) {
      found = this.engine().ready();
      this.#settled = found !== undefined;
    }
    if (found !== undefined) this.#block = { role: "user", content: [{ type: "text", text: found }] };
    return this.#block;
  }

  /** What the last call carried: another attempt or a repair carries the same. */
  get context(): ModelMessage | undefined {
    return this.#block;
  }

  async end(answer: string | undefined): Promise<void> {
    const engine = this.#engine;
    if (!engine) return;
    if (this.#across && answer !== undefined)
      engine.endTurn({ sessionId: this.#run.id, user: this.#newest ? userText(this.#newest) : "", assistant: answer });
    await engine.flush();
    if (this.#own) await engine.close();
  }

  #budget(): number {
    const { recallBudget } = this.engine();
    const declared = this.#declaration.recallBudget;
    return recallBudget === 0 ? declared : Math.min(recallBudget, declared);
  }

  #make(): MemoryEngine {
    const { namespace, ttl, recallBudget } = this.#declaration;
    const scope = { agentId: this.#run.agent.id, namespace, ...this.#tenant() };
    const root = this.#options.root ?? memoryRoot();
    const make = (run: () => Run): MemoryEngine =>
      createMemoryEngine({
        scope,
        root,
        ttlMs: memoryTTLMilliseconds(ttl),
        recallBudget,
        now: () => run().clock.now(),
        onProblem: ({ code, message }) => run().notice("memory", code, message),
        ...(this.#run.find(Tokenizer) ? { countTokens: (text) => run().service(Tokenizer).count(text) } : {}),
      });
    if (!this.#kept) return make(() => this.#run);
    const file = fileOf(root, { tenant: "_", ...scope });
    let kept = this.#kept.get(file);
    if (kept) kept.run = this.#run;
    else {
      const holder: { engine: MemoryEngine; run: Run } = { run: this.#run, engine: make(() => holder.run) };
      this.#kept.set(file, (kept = holder));
    }
    return kept.engine;
  }

  #tenant(): { tenant?: string } {
    const tenant = this.#options.tenant ?? this.#options.engine?.scope.tenant;
    return tenant === undefined ? {} : { tenant };
  }
}

function newestOfUser(view: View): Message | undefined {
  for (let at = view.length - 1; at >= 0; at--) {
    const message = view.at(at);
    if (message?.role === "user") return message;
  }
  return undefined;
}

function userText({ value }: Message): string {
  if (value.role !== "user") return "";
  return value.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
