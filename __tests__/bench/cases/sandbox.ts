import { setTimeout as sleep } from "node:timers/promises";
import { createCaveman } from "../../../index.ts";
import { scripted } from "../../../plugins/providers/scripted/index.ts";
import { sandbox } from "../../../plugins/sandbox/index.ts";
import plain from "../../plugins/sandbox/agents/plain.ts";
import { type Case, notMeasured, type Row } from "../case.ts";
import { median } from "../median.ts";

const CALLS = 25;
/** How long the model of the second row thinks. */
const THOUGHT_MS = 150;

/** A tool call in required mode: with a worker that starts now, and with one that started while the model thought. */
export default {
  order: 6,
  async rows({ root }) {
    const warm = { id: "sandbox.warm", what: "sandboxed tool call, worker started ahead", unit: "ms", bar: 5 } as const;
    const cold = { id: "sandbox.cold", what: "sandboxed tool call, cold", unit: "ms", bar: 80 } as const;
    const node = { id: "sandbox.open", what: "staging and the first check of an unchanged agent", unit: "ms" } as const;
    try {
      const [opened, coldMs] = await measured(root, false);
      const [, warmMs] = await measured(root, true);
      return [
        { ...cold, value: coldMs },
        { ...warm, value: warmMs },
        { ...node, value: opened },
      ] satisfies Row[];
    } catch (error) {
      return [cold, warm].map((row) => notMeasured(row, error instanceof Error ? error.message : String(error)));
    }
  },
} satisfies Case;

async function measured(rootDir: string, startAhead: boolean): Promise<[opened: number, call: number]> {
  const caveman = createCaveman({ preset: "bare", plugins: [sandbox({ startAhead })] });
  const entryPath = new URL("../../plugins/sandbox/agents/plain.ts", import.meta.url);
  const model = scripted(Array.from({ length: CALLS + 1 }, () => ({ text: "thought" })));
  // The first run also checks the definition in a worker; what is measured is a run like any later one.
  for (let time = 0; time < 2; time++) await (await caveman.kernel.open(plain, { entryPath, rootDir, model })).close();
  const before = performance.now();
  const { run, close } = await caveman.kernel.open(plain, { entryPath, rootDir, model });
  const opened = performance.now() - before;
  const times: number[] = [];
  for (let index = 0; index < CALLS; index++) {
    await run.call({ purpose: "turn" });
    await sleep(THOUGHT_MS);
    const started = performance.now();
    const { isError, code } = await run.tool({ toolCallId: `c${index}`, name: "hello", input: { name: "ann" } });
    times.push(performance.now() - started);
    if (isError) throw new Error(`the call failed with ${code}`);
  }
  await close();
  return [opened, median(times)];
}
