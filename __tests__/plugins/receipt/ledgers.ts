/** Ledgers by hand: what a kernel would have recorded, without a kernel. */
import {
  type CallBasis,
  type CallId,
  type CallPurpose,
  Ledger,
  type StopReason,
  tokens,
} from "../../../kernel/index.ts";
import type { Foldable } from "../../../plugins/receipt/index.ts";
import "../../../plugins/services.ts";

export interface CallSpec {
  id?: string;
  attempt?: number;
  purpose?: CallPurpose;
  provider?: string;
  model?: string;
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  reasoning?: number;
  basis?: CallBasis;
  sent?: boolean;
  simulated?: boolean;
  errorCode?: string;
  clamp?: number;
  /** Whole units of 1e-12 USD; "unpriced" for a call the catalog does not know; left out without a pricing plugin. */
  pico?: bigint | "unpriced";
}

export class HandRun implements Foldable {
  readonly id: string;
  readonly agent: { readonly id: string };
  readonly children: HandRun[] = [];
  readonly ledger: Ledger;
  now = 1_000;
  #calls = 0;

  constructor(id = "run_1", agentId = "assistant") {
    this.id = id;
    this.agent = { id: agentId };
    this.ledger = new Ledger(() => this.now);
    this.ledger.append("run.started", { agentId, depth: 0, input: "0".repeat(64) });
  }

  call(spec: CallSpec = {}): this {
    const callId = (spec.id ?? `call_${++this.#calls}`) as CallId;
    const attempt = spec.attempt ?? 1;
    this.ledger.append("call.settled", {
      callId,
      attempt,
      purpose: spec.purpose ?? "turn",
      provider: spec.provider ?? "anthropic",
      model: spec.model ?? "claude-haiku-4-5",
      simulated: spec.simulated ?? false,
      usage: {
        input: tokens(spec.input ?? 0),
        output: tokens(spec.output ?? 0),
        cacheRead: tokens(spec.cacheRead ?? 0),
        cacheWrite: tokens(spec.cacheWrite ?? 0),
        reasoning: tokens(spec.reasoning ?? 0),
      },
      basis: spec.basis ?? "provider_reported",
      sent: spec.sent ?? true,
      route: "direct",
      finish: "stop",
      latencyMs: 5,
      allowance: 1_024,
      ...(spec.errorCode ? { errorCode: spec.errorCode } : {}),
      ...(spec.clamp === undefined ? {} : { clampedOutputTokens: spec.clamp }),
    });
    if (spec.pico === "unpriced")
      this.ledger.append("call.priced", {
        callId,
        attempt,
        picoUsd: "0",
        unpriced: true,
        reason: "unknown_model",
        priceBasis: "unpriced",
      });
    else if (spec.pico !== undefined)
      this.ledger.append("call.priced", {
        callId,
        attempt,
        picoUsd: spec.pico.toString(),
        unpriced: false,
        priceBasis: "public_catalog",
      });
    return this;
  }

  tool(
    name: string,
    end: "ok" | "error" | "denied" | "invented" | "late" = "ok",
    toolCallId = `tc_${this.ledger.facts.length}`,
  ): this {
    const nested = false;
    if (end === "denied" || end === "invented")
      this.ledger.append("tool.denied", { toolCallId, name, declared: end === "denied", code: "cave_denied", nested });
    else {
      this.ledger.append("tool.admitted", { toolCallId, name, effect: "read", nested });
      if (end === "late")
        this.ledger.append("tool.denied", { toolCallId, name, declared: true, code: "cave_run_stopping", nested });
      else
        this.ledger.append("tool.finished", {
          toolCallId,
          name,
          effect: "read",
          isError: end === "error",
          durationMs: 1,
          nested,
          argsDigest: "a".repeat(64),
          resultDigest: "b".repeat(64),
        });
    }
    return this;
  }

  child(child: HandRun): this {
    this.children.push(child);
    return this;
  }

  end(stopReason: StopReason = "complete", durationMs = 1_240, code?: string): this {
    this.ledger.append("run.settled", { stopReason, durationMs, openHolds: 0, ...(code ? { code } : {}) });
    return this;
  }
}
