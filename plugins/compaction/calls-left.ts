import type { Parts } from "./work.ts";

/** Model calls left under `maxModelCalls`. A summary that leaves no call to use it is money for nothing. */
export function callsLeft({ run, plugins }: Pick<Parts, "run" | "plugins">): number {
  const limits = plugins.find(({ name }) => name === "limits");
  if (!limits) return Number.POSITIVE_INFINITY;
  const own = (run.options as { readonly maxModelCalls?: unknown }).maxModelCalls;
  const most = own ?? (limits.options as { readonly maxModelCalls?: unknown }).maxModelCalls ?? 64;
  const made = new Set(run.ledger.of("call.intended").map(({ callId }) => callId)).size;
  return typeof most === "number" ? most - made : Number.POSITIVE_INFINITY;
}
