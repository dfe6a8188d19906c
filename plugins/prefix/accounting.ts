/**
 * What the provider's cache did with a call, and what it cost when it could not. Tokens come from the provider's own
 * report; how many of them a break wasted is inferred, and money is only what the price list makes of them.
 */
import type { Row } from "../../catalog/row.ts";
import { tokens, type Usage } from "../../kernel/index.ts";
import type { Amount, PricedModel, Pricing } from "../services.ts";
import type { Cause } from "./epoch.ts";

/** A cause that was seen in the request, or one that explains a miss the request does not. */
export type BreakCause = Cause | "expired" | "settings" | "unexplained";

/** What was known before the call. */
export interface Expectation {
  readonly cause: Cause | undefined;
  /** Gross input of the request before, in the provider's own count: what a kept prefix can be read from. */
  readonly before: number;
  /** Share of the request's bytes that the request before did not hold. */
  readonly freshShare: () => number;
  /** Milliseconds since the request before. */
  readonly idleMs: number;
  /** Whether settings that vendors cache by are other ones. */
  readonly settingsChanged: boolean;
  /** Whether the cache has answered in this epoch, or was written for it. */
  readonly warm: boolean;
}

export interface Miss {
  readonly cause: BreakCause;
  /** Tokens that would have been read from the cache. */
  readonly lostTokens: number;
}

/** A miss is one when less than this share of what could be read was read: vendors cache in blocks. */
const READ_ENOUGH = 0.5;
/** The least prefix that most vendors cache, in tokens, where the catalog states none. */
const LEAST_PREFIX = 1_024;

/** What a call lost; undefined when it lost nothing that can be told. */
export function missOf(usage: Usage, expected: Expectation, row: Row | undefined): Miss | undefined {
  const { cause, before, freshShare, idleMs, settingsChanged, warm } = expected;
  const { mode, minPrefix = LEAST_PREFIX, ttl } = row?.cache ?? { mode: "unknown" };
  const caches = warm || mode === "explicit" || mode === "implicit";
  const late = ttl !== undefined && idleMs > ttl * 1_000;
  const lost = (): number => {
    if (!caches || before < minPrefix) return 0;
    // What is neither read nor new was known to the cache and is paid for again.
    const fresh = Math.ceil(usage.input * Math.min(1, freshShare()));
    return Math.max(0, Math.min(before, usage.input - fresh) - usage.cacheRead);
  };
  // What had outlived its time would not have been read whatever the request looked like.
  if (cause) return { cause, lostTokens: late ? 0 : lost() };
  if (!warm || usage.cacheRead >= before * READ_ENOUGH) return undefined;
  const lostTokens = lost();
  return lostTokens === 0
    ? undefined
    : { cause: late ? "expired" : settingsChanged ? "settings" : "unexplained", lostTokens };
}

/** What the lost tokens cost over reading them from the cache; undefined when the price list does not say. */
export function lostMoney(
  usage: Usage,
  lostTokens: number,
  model: PricedModel,
  at: number,
  pricing: Pricing | undefined,
): Amount | undefined {
  if (!pricing || lostTokens === 0) return undefined;
  const kept: Usage = {
    ...usage,
    cacheRead: tokens(usage.cacheRead + lostTokens),
    // Tokens that were lost were written again, where a vendor bills writes.
    cacheWrite: tokens(Math.max(0, usage.cacheWrite - lostTokens)),
  };
  const [paid, could] = [pricing.cost(model, usage, at), pricing.cost(model, kept, at)];
  if (!("pico" in paid) || !("pico" in could)) return undefined;
  return String(paid.pico > could.pico ? paid.pico - could.pico : 0n);
}

/** The totals of one run. */
export class Totals {
  calls = 0;
  kept = 0;
  restored = 0;
  breaks = 0;
  input = 0;
  cacheRead = 0;
  cacheWrite = 0;
  lostTokens = 0;
  /** Units of 1e-12 USD over the breaks that have a price. */
  lost = 0n;
  unpriced = false;

  add(usage: Usage, kept: boolean): void {
    this.calls++;
    if (kept) this.kept++;
    this.input += usage.input;
    this.cacheRead += usage.cacheRead;
    this.cacheWrite += usage.cacheWrite;
  }
  broke(lostTokens: number, picoUsd: Amount | undefined): void {
    this.breaks++;
    this.lostTokens += lostTokens;
    if (picoUsd !== undefined) this.lost += BigInt(picoUsd);
    else if (lostTokens > 0) this.unpriced = true;
  }
}
