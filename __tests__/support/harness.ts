/** What kernel tests share: a plugin that hands the definition's model object to the kernel, and a seeded clock. */
import { type Clock, definePlugin, type LanguageModel, type ResolvedModel } from "../../kernel/index.ts";

export const resolved = (model: LanguageModel): ResolvedModel => ({
  provider: model.provider,
  id: model.modelId,
  model,
  simulated: true,
  structuredOutput: true,
  route: "direct",
});

/** Resolves model objects, nothing else. */
export const models = definePlugin({
  name: "models",
  apply(kernel) {
    kernel.hooks.beforeCall.tap({ name: "models:resolve", stage: "resolve", guard: true }, (call) => {
      const spec = call.run.agent.model;
      if (!call.model && typeof spec === "object") call.setModel(resolved(spec));
    });
  },
});

/** Time that moves one millisecond a look, and chance from a seed. */
export function seededClock(seed = 1): Clock {
  let now = 1_700_000_000_000;
  let state = seed;
  return {
    now: () => now++,
    random: () => {
      state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
      return state / 0x7fffffff;
    },
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        now += ms;
        if (signal.aborted) reject(signal.reason);
        else setImmediate(resolve);
      }),
  };
}

/** Collects unhandled rejections while `work` runs, and gives them back. */
export async function unhandledDuring(work: () => Promise<void>): Promise<unknown[]> {
  const seen: unknown[] = [];
  const note = (reason: unknown): void => void seen.push(reason);
  process.on("unhandledRejection", note);
  try {
    await work();
    await new Promise((resolve) => setTimeout(resolve, 5));
  } finally {
    process.off("unhandledRejection", note);
  }
  return seen;
}
