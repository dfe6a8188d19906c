/** A process that measures one runtime: it is sent shapes, and answers with the milliseconds of one model call. */
import { driverOf, type Target } from "./drivers.ts";
import { median } from "./median.ts";
import type { Shape } from "./shape.ts";

/** One round: runs of one shape for about `ms`, after a warm-up when the shape is new. */
export interface Round extends Shape {
  readonly ms: number;
  /**
   * Milliseconds of warm-up before the shape's first round. Default 5,000: what is measured is a process that serves, and
   * until the compiler has settled, a runtime of many small functions takes up to twice as long as it will.
   */
  readonly warmUpMs?: number;
}
export type Reply = { readonly perCallMs: number } | { readonly error: string };

const drive = await driverOf(process.argv[2] as Target);
const warm = new Set<string>();

/**
 * Repeats until the time is over, at least once, and gives the milliseconds of a run: the median, because on a busy
 * machine a mean measures the neighbours.
 */
async function repeat(shape: Shape, ms: number): Promise<number> {
  const runs: number[] = [];
  const end = performance.now() + ms;
  let now = 0;
  do {
    const started = performance.now();
    await drive(shape);
    now = performance.now();
    runs.push(now - started);
  } while (now < end);
  return median(runs);
}

async function answer({ ms, warmUpMs = 5_000, calls, resultBytes }: Round): Promise<Reply> {
  const shape = { calls, resultBytes };
  const key = `${calls}/${resultBytes}`;
  try {
    if (!warm.has(key)) await repeat(shape, warmUpMs);
    warm.add(key);
    return { perCallMs: (await repeat(shape, ms)) / calls };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

process.on("message", (round: Round) => {
  void answer(round).then((reply) => process.send?.(reply));
});
process.send?.({ perCallMs: 0 });
