/**
 * Runs an agent many times on the preset it is told, with minor collections alone, and prints how many bytes a run left on
 * the heap. Meant for a process of its own with `--expose-gc`.
 */
import { agent, createCaveman, schema, tool } from "../../index.ts";
import { scripted } from "../../plugins/testing.ts";
import type { PresetName } from "../../presets/index.ts";

const CALLS = 5;
const model = () =>
  scripted(
    (_request, index) => (index < CALLS ? { toolCalls: [{ name: "look", input: { page: index } }] } : { text: "done" }),
    { as: "anthropic/claude-haiku-4-5" },
  );
const look = tool({
  name: "look",
  description: "Looks at one page.",
  input: schema.object({ page: schema.integer() }),
  effect: "read",
  execute: ({ page }) => `page ${page}`,
});
const reader = agent({ id: "reader", instructions: "Read.", tools: [look], sandbox: "host" });
const runtime = createCaveman({
  preset: process.argv[2] as PresetName,
  run: { budget: { maxUsd: 100 }, assumeMeteredCredential: true },
});

const minor = globalThis.gc as unknown as (options: { type: "minor" }) => void;
async function runs(count: number): Promise<number> {
  for (let made = 0; made < count; made++) {
    const { stopReason } = await runtime.run(reader, "Go on.", {
      model: model(),
      maxModelCalls: 20,
      deadlineMs: 600_000,
    });
    if (stopReason !== "complete") throw new Error(`the run stopped with ${stopReason}`);
    if (made % 10 === 0) for (let pass = 0; pass < 2; pass++) minor({ type: "minor" });
  }
  for (let pass = 0; pass < 2; pass++) minor({ type: "minor" });
  return process.memoryUsage().heapUsed;
}

const before = await runs(150);
const RUNS = 150;
console.log(JSON.stringify({ bytesPerRun: Math.round(((await runs(RUNS)) - before) / RUNS) }));
