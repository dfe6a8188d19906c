/**
 * What a rewrite costs in prompt cache. Everything after the first changed byte is no longer a cached prefix: it is sent
 * anew once, at the write or the fresh rate. Against that stands what each later call no longer reads.
 */
import { type ResolvedModel, tokens, type Usage } from "../../kernel/index.ts";
import type { Pricing } from "../services.ts";

// Small enough for the first price tier of every model, large enough that rounding says nothing.
const SAMPLE = 10_000;
const input = (part: Partial<Usage>): Usage => ({
  input: tokens(SAMPLE),
  output: tokens(0),
  cacheRead: tokens(0),
  cacheWrite: tokens(0),
  reasoning: tokens(0),
  ...part,
});

/** Prices of one model's input, each for the same number of tokens. */
interface InputPrices {
  readonly fresh: bigint;
  /** What tokens cost that are sent for the first time: the write rate where the vendor bills writes. */
  readonly anew: bigint;
  readonly read: bigint;
}

/** Undefined when the model has no price. A model without a cache reads at the fresh rate. */
function inputPrices(pricing: Pricing, model: ResolvedModel, at: number): InputPrices | undefined {
  const price = (part: Partial<Usage>): bigint | undefined => {
    const cost = pricing.cost(model, input(part), at);
    return "pico" in cost ? cost.pico : undefined;
  };
  const fresh = price({});
  if (fresh === undefined) return undefined;
  const mode = pricing.row(model)?.cache.mode;
  if (mode === "unsupported") return { fresh, anew: fresh, read: fresh };
  const written = mode === "explicit" ? price({ cacheWrite: tokens(SAMPLE) }) : undefined;
  return { fresh, anew: written ?? fresh, read: price({ cacheRead: tokens(SAMPLE) }) ?? fresh };
}

/**
 * Calls after which a rewrite has paid: `again × (anew − read)` spent once, `saved × read` kept at each call. 0 when a
 * cached read costs no less than sending anew; infinite when nothing is saved.
 */
export function callsToPay(
  pricing: Pricing,
  model: ResolvedModel,
  { again, saved }: { readonly again: number; readonly saved: number },
  at: number,
): number | undefined {
  const prices = inputPrices(pricing, model, at);
  if (!prices) return undefined;
  const { anew, read } = prices;
  if (anew <= read) return 0;
  const kept = BigInt(Math.max(0, Math.floor(saved))) * read;
  if (kept === 0n) return Number.POSITIVE_INFINITY;
  const spent = BigInt(Math.max(0, Math.ceil(again))) * (anew - read);
  return Number((spent * 1_000n) / kept) / 1_000;
}
