/**
 * The attempts of one model call. Same model first, while the provider says that it may work later; then the fallback
 * models in order. What may have been billed is not repeated.
 */
import type { ResolvedModel, SettledCall } from "../../kernel/index.ts";
import { Models, type ProviderFault } from "../services.ts";
import { backoffMs, MAX_WAIT_MS } from "./backoff.ts";
import { faultOf, unbilled } from "./fault.ts";
import { DEFAULT_MAX_ATTEMPTS, type Plan } from "./options.ts";
import { denominationOf, heldFor, heldOn, spendOf, unitsOf } from "./spend.ts";

/** Tries of one model while another is left to fall back on. */
const TRIES_BEFORE_FALLBACK = 2;

export class Attempts {
  readonly #plan: Plan;
  readonly #fallbacks: string[];
  /** Sum of what repeated attempts held. */
  #reserved = 0n;
  #repeats = 0;
  /** Tries of the model that is called now. */
  #tries = 0;
  #asked = false;
  #compacted = false;

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#fallbacks = [...plan.fallbackModels];
  }

  /** Books the attempt that is over; when it failed, asks for another one if it may. */
  async settled(settled: SettledCall): Promise<void> {
    const { run } = settled;
    this.#tries++;
    if (this.#asked) {
      this.#asked = false;
      this.#repeats++;
      this.#reserved += heldFor(settled) ?? 0n;
      run.record("breaker.tripped", {
        kind: "retry_attempted",
        count: this.#repeats,
        ...spendOf(settled, denominationOf(run)),
      });
    }
    if (!settled.error || settled.replayed || run.signal.aborted || run.stopping) return;
    const fault = faultOf(settled);
    const elsewhere = canElsewhere(fault);
    if (!fault.retryable && !fault.tooLarge && !(elsewhere && this.#fallbacks.length > 0)) return;
    if (!unbilled(settled, fault) && !this.#plan.repeatBilled) {
      run.notice(
        "retry",
        "cave_retry_billed",
        `The attempt failed with ${fault.code} and may have been billed, so it is booked and not repeated.`,
      );
      return;
    }
    if (!(await this.#again(settled, fault, elsewhere)))
      run.record("breaker.tripped", {
        kind: "retry_exhausted",
        count: settled.attempt,
        ...spendOf(settled, denominationOf(run)),
      });
  }

  async #again(settled: SettledCall, fault: ProviderFault, elsewhere: boolean): Promise<boolean> {
    if (fault.tooLarge && !this.#compacted && settled.purpose !== "summary") {
      this.#compacted = true;
      return this.#ask(settled, { compact: "rejected" });
    }
    const wait =
      fault.retryAfterMs && fault.retryAfterMs > 0
        ? fault.retryAfterMs
        : backoffMs(this.#plan.backoffMs, this.#tries, settled.run.clock.random());
    const here = fault.retryable && !fault.tooLarge && wait <= MAX_WAIT_MS;
    if (here && (this.#fallbacks.length === 0 || this.#tries < TRIES_BEFORE_FALLBACK))
      return this.#ask(settled, { afterMs: wait });
    if (!elsewhere) return false;
    for (let spec = this.#fallbacks.shift(); spec !== undefined; spec = this.#fallbacks.shift()) {
      const model = await this.#resolve(settled, spec);
      if (model && this.#ask(settled, { model })) {
        this.#tries = 0;
        return true;
      }
    }
    // No other model is left or can be paid; this one may still come back.
    return here && this.#ask(settled, { afterMs: wait });
  }

  async #resolve({ run }: SettledCall, spec: string): Promise<ResolvedModel | undefined> {
    try {
      return await run.service(Models).resolve(spec);
    } catch {
      run.notice(
        "retry",
        "cave_retry_fallback_unavailable",
        `The fallback model ${JSON.stringify(spec)} cannot be called.`,
      );
      return undefined;
    }
  }

  #ask(settled: SettledCall, again: Parameters<SettledCall["again"]>[0]): boolean {
    if (!this.#affords(settled, again.model)) return false;
    this.#asked = true;
    settled.again(again);
    return true;
  }

  /** Money bounds the repetitions of a run that has a budget and a `maxSpend`; their number bounds all others. */
  #affords(settled: SettledCall, model: ResolvedModel | undefined): boolean {
    const { maxSpend, maxAttempts } = this.#plan;
    const held = heldFor(settled);
    const unit = denominationOf(settled.run);
    if (maxSpend === undefined || held === undefined || !unit)
      return settled.attempt < (maxAttempts ?? DEFAULT_MAX_ATTEMPTS);
    if (maxAttempts !== undefined && settled.attempt >= maxAttempts) return false;
    const next = model ? heldOn(model, held, settled, unit) : held;
    return this.#reserved + next <= unitsOf(maxSpend, unit);
  }
}

/** Whether another model may take what this one did not. A request that is wrong in itself is wrong everywhere. */
const canElsewhere = ({ status, retryable, tooLarge, code }: ProviderFault): boolean =>
  retryable ||
  tooLarge ||
  (status !== undefined && status !== 400 && status !== 422) ||
  /^cave_provider_(?:quota|auth|unreachable)$/.test(code);
