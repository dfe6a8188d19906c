/** What recorded calls would cost at a row's prices, with the row's cache empty at first and then still warm. */
import { add, isPriced, type Money, priceUsage, type Row, ZERO } from "../../catalog/index.ts";
import { PromptCache } from "./prompt-cache.ts";
import type { RecordedCall } from "./recorded.ts";

export interface Bill {
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly cost: Money;
  /** Why `cost` is not the whole cost. */
  readonly unpriced?: string;
}

/** `cold` is the first run; `warm` the same run again at once, within the cache's time to live. */
export function bills(row: Row, calls: readonly RecordedCall[]): { readonly cold: Bill; readonly warm: Bill } {
  const cache = new PromptCache(row.cache);
  const first = calls[0]?.at ?? 0;
  const again = (calls.at(-1)?.at ?? first) - first + 1;
  return { cold: bill(row, calls, cache, 0), warm: bill(row, calls, cache, again) };
}

function bill(row: Row, calls: readonly RecordedCall[], cache: PromptCache, later: number): Bill {
  const sums = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
  let cost: Money = ZERO;
  let unpriced: string | undefined;
  for (const { segments, at, usage } of calls) {
    if (!usage) continue;
    const { input, output, reasoning } = usage;
    const { read, write } = cache.ask(segments, at + later, input);
    sums.inputTokens += input - read - write;
    sums.cacheReadTokens += read;
    sums.cacheWriteTokens += write;
    sums.outputTokens += output;
    const priced = priceUsage(
      row,
      { input, output, reasoning, cacheRead: read, cacheWrite: write },
      new Date(at + later),
    );
    if (isPriced(priced)) cost = add(cost, priced.cost);
    else unpriced ??= priced.unpriced;
  }
  return { ...sums, cost, ...(unpriced === undefined ? {} : { unpriced }) };
}
