/** A process that measures one runtime: it is sent shapes, and answers with the milliseconds of one model call. */
import { driverOf, type Target } from "./drivers.ts";
import type { Shape } from "./shape.ts";

/** One round: runs of one shape for about `ms`, after a warm-up when the shape is new. */
export interface Round extends Shape {
  readonly ms: number;
  /** Milliseconds of warm-up before the shape's first round. Default 500. */
  readonly warmUpMs?: number;
}
export type Reply = { readonly perCallMs: number } | { readonly error: string };

const drive = await driverOf(process.argv[2] as Target);
const warm = new Set<string>();

/** Repeats until the time is over, at least once, and gives the milliseconds of a run. */
async function repeat(shape: Shape, ms: number): Promise<number> {
  const started = performance.now();
  let runs = 0;
  let now = started;
  do {
    await drive(shape);
    runs++;
    now = performance.now();
  } while (now - started < ms);
  return (now - started) / runs;
}

async function answer({ ms, warmUpMs = 500, calls, resultBytes }: Round): Promise<Reply> {
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
