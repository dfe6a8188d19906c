/**
 * memory: facts an agent keeps on this machine and finds again by topic, one turn behind. Taps `beforeCall` (adds finished
 * recall as live context), `settle` (flushes). Brings the tools `cave_memory_*` to agents that declare `memory()`; owns
 * the run option `memory` and `caveman mem`.
 */
import { Type } from "@sinclair/typebox";
import { definePlugin, defineService } from "../../kernel/index.ts";
import { errors } from "./errors.ts";
import { OnFirstUse } from "./on-first-use.ts";
import { type KeptEngines, type MemoryRunOption, memoryOfRun, type RunMemory } from "./run-memory.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /**
     * Where an agent's memory is, and an engine that is kept across runs. `true` keeps one for as long as the runtime
     * lives; `false` leaves memory out. Without an engine a run has the memory tools and no recall of its own.
     */
    memory?: MemoryRunOption;
  }
}

/** Loaded with the first run that has a memory. */
const tools = new OnFirstUse(async () => (await import("./tools.ts")).memoryTools);

export const memoryPlugin = definePlugin({
  name: "memory",
  description: "Keeps facts on this machine and recalls the ones that answer, one turn behind.",
  runOptions: Type.Object({
    memory: Type.Optional(Type.Unsafe<MemoryRunOption>({ description: "{ root?, tenant?, engine? }, true or false" })),
  }),
  errors,
  controls: (run) => ({ memory: run.agent.memory && run.options.memory !== false ? "active" : "absent" }),
  prepare: (run) => (run.find(Memory) ? tools.use(() => undefined) : undefined),
  tools: (run) => {
    const memory = run.find(Memory);
    return (memory && tools.loaded?.(() => memory.engine())) ?? [];
  },
  commands: () => import("./commands.ts"),
  apply(kernel) {
    const kept: KeptEngines = new Map();
    const memoryOf = kernel.perRun((run) => memoryOfRun(run, kept));
    kernel.provide(Memory, memoryOf);

    kernel.hooks.beforeCall.tap({ name: "memory:recall", stage: "shape" }, (call) => {
      // A summary is no turn: memory neither speaks nor moves on.
      if (call.purpose === "summary") return;
      const memory = memoryOf(call.run);
      const context = call.purpose === "turn" && call.attempt === 1 ? memory?.contextFor(call.view) : memory?.context;
      if (context) call.addContext(context);
    });

    kernel.hooks.settle.tap({ name: "memory:flush", stage: "work" }, ({ run, outcome }) =>
      memoryOf(run)?.end(outcome.error ? undefined : outcome.text),
    );
  },
});

/** The memory of a run, for what is asked outside of `apply`. */
const Memory = defineService<RunMemory | undefined>("memory.run");

export { type MemoryDeclaration, type MemoryOptions, memory, memoryTTLMilliseconds } from "./declaration.ts";
export { type EmbeddingAdapter, openAIEmbeddings } from "./embedding.ts";
export { createMemoryEngine, MemoryEngine } from "./engine.ts";
export type { MemoryEngineOptions, MemorySidecar, SearchOptions } from "./engine-options.ts";
export type { MemoryHit, Recall } from "./recall.ts";
export type { MemoryLink, MemoryRecord, MemoryTurn, Relation } from "./record.ts";
export type { MemoryRunOption, MemoryRunOptions } from "./run-memory.ts";
export type { MemoryScope } from "./scope.ts";
export { sqliteMemoryStorage } from "./sqlite.ts";
export type { Entry, Found, MemoryStorage } from "./storage.ts";
export { createMemoryWorkflow, type MemoryWorkflow } from "./workflow.ts";
