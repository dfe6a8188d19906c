/** What a run's results are compressed with: the engine with the run's compressors and its tokenizer, and the stage. */
import type { Run } from "../../kernel/index.ts";
import { Tokenizer } from "../services.ts";
import { builtinRegistry } from "./builtin.ts";
import type { Compressor } from "./compressor.ts";
import { createEngine, type Engine } from "./engine.ts";
import { approximately } from "./output-stage.ts";

export { OutputCompression } from "./output-stage.ts";

export function engineFor(run: Run, registered: readonly Compressor[]): Engine {
  const registry = builtinRegistry();
  for (const compressor of registered) registry.register(compressor);
  const tokenizer = run.find(Tokenizer);
  return createEngine(registry, tokenizer ? (text) => tokenizer.count(text) : approximately);
}
