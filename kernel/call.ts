/** The life of one model call: attempts, each shaped, frozen, reserved, sent and settled. */
import type { Again, CallOutcome, CallRequest, Compaction, Hold, Replay, Run, SettledCall, Stop } from "./contract.ts";
import { CavemanError, describe } from "./errors.ts";
import { isRefusal, isReplay } from "./hooks.ts";
import type { CallId, Fact, Facts } from "./ledger.ts";
import { type CallBasis, type CallPurpose, type ModelContent, noUsage, type ResolvedModel, tokens, type Usage } from "./model.ts";
import { Frozen, type Host, Shape } from "./request.ts";
import { type Answer, send } from "./send.ts";
import { illegality, type Rewrite, View } from "./transcript.ts";

class Settled implements SettledCall {
  readonly run: Run; readonly frozen: Frozen; readonly usage: Usage; readonly basis: CallBasis; readonly sent: boolean; readonly replayed: boolean;
  readonly content: readonly ModelContent[]; readonly finish: string; readonly latencyMs: number; readonly error: CavemanError | undefined;
  readonly cause: unknown; wanted: Again | undefined;

  constructor(frozen: Frozen, answer: Answer, usage: Usage, basis: CallBasis, replayed: boolean) {
    this.run = frozen.run; this.frozen = frozen; this.usage = usage; this.basis = basis; this.sent = answer.sent; this.replayed = replayed;
    this.content = answer.content; this.finish = answer.finish;
    this.latencyMs = frozen.run.clock.now() - frozen.at;
    this.error = answer.error; this.cause = answer.cause;
  }
  get callId(): CallId { return this.frozen.callId; }
  get attempt(): number { return this.frozen.attempt; }
  get purpose(): CallPurpose { return this.frozen.purpose; }
  get signal(): AbortSignal { return settling; }
  get holds(): readonly Hold[] { return this.frozen.holds.list; }
  again(request: Again): void { if (this.error) this.wanted ??= request; }
}

/** Settlement is never raced against an abort: what was spent is booked whatever became of the run. */
export const settling: AbortSignal = new AbortController().signal;

/** Runs a call to its end. @throws CavemanError when it fails, is refused with an error, or the run is aborted. */
export async function callModel(run: Host, request: CallRequest): Promise<CallOutcome> {
  const callId = run.nextCallId();
  let view = request.view ?? (run.hooks.has("compact") ? await compacted(run, run.transcript.view, "pressure", request.purpose) : run.transcript.view);
  let model = request.model;
  let compactedOnce = false;
  for (let attempt = 1; ; attempt++) {
    let stop = run.standing();
    if (stop) return stopped(run, callId, stop);
    const shape = new Shape(run, callId, attempt, request, view, model);
    const shaping = run.hooks.fire("beforeCall", shape);
    if (shaping instanceof Promise) await shaping;
    stop = run.standing();
    if (stop) return stopped(run, callId, stop);
    if (!shape.model) throw new CavemanError("cave_model_missing", { place: `agent ${run.agent.id}` });
    run.resolved = shape.model;
    const frozen = new Frozen(shape, shape.model);
    const admission = run.hooks.fire("reserve", frozen);
    const decision = admission instanceof Promise ? await admission : admission;
    const refused = isRefusal(decision) ? decision.refuse : undefined;
    if (refused || run.signal.aborted || run.stopping) {
      report(run, frozen.holds.close(false));
      run.record("call.abandoned", { callId, attempt, code: refused?.code ?? "cave_run_stopping" });
      stop = run.standing();
      if (stop) return stopped(run, callId, stop);
      if (refused?.compact && !compactedOnce) {
        compactedOnce = true;
        view = await compacted(run, view, "refused", request.purpose);
        continue;
      }
      const refusal = refused ?? { code: "cave_run_aborted", message: "The run was aborted." };
      if (refused?.stop) {
        run.stop(refused.stop);
        return stopped(run, callId, run.standing() ?? { reason: refused.stop, code: refused.code });
      }
      throw new CavemanError(refusal.code, { message: refusal.message });
    }
    const replay = isReplay(decision) ? decision.replay : undefined;
    run.ledger.append("call.intended", { type: "call.intended", seq: run.ledger.facts.length, at: frozen.at, callId, attempt, purpose: frozen.purpose, provider: frozen.model.provider, model: frozen.model.id, allowance: frozen.allowance });
    const settled = concluded(frozen, replay ? replayed(replay) : await send(shape, frozen), replay);
    const accounting = run.hooks.fire("afterUsage", settled);
    if (accounting instanceof Promise) await accounting;
    report(run, frozen.holds.close(settled.sent));
    if (!settled.error) return outcome(callId, settled, run.resolved);
    if (!settled.wanted || run.signal.aborted || run.stopping) {
      stop = run.standing();
      if (stop && settled.wanted) return stopped(run, callId, stop);
      throw settled.error;
    }
    const { afterMs, model: next, compact } = settled.wanted;
    if (settled.content.length > 0) run.emit({ type: "attempt_reset", callId, attempt });
    if (afterMs) await run.clock.sleep(afterMs, run.signal).catch(() => undefined);
    if (next) model = next;
    if (compact) view = await compacted(run, view, compact, request.purpose);
  }
}

const stopped = (run: Host, callId: CallId, stop: Stop): CallOutcome => ({ callId, content: [], finish: "stopped", usage: noUsage, basis: "bound", text: "", model: run.resolved, stopped: stop });

function outcome(callId: CallId, settled: Settled, model: ResolvedModel | undefined): CallOutcome {
  let text = "";
  for (const part of settled.content) if (part.type === "text") text += part.text;
  return { callId, content: settled.content, finish: settled.finish, usage: settled.usage, basis: settled.basis, text, model };
}

const replayed = ({ content, finish, usage }: Replay["replay"]): Answer => ({ content: [...content], finish, usage, error: undefined, cause: undefined, sent: true, received: 0 });

/** An attempt that is over, and the fact of it. */
function concluded(frozen: Frozen, answer: Answer, replay: Replay["replay"] | undefined): Settled {
  const { callId, attempt, purpose, model, allowance } = frozen;
  const basis: CallBasis = replay ? replay.basis : answer.usage ? (model.simulated ? "simulated" : "provider_reported") : "bound";
  const usage = answer.usage ?? (answer.sent ? bound(frozen, answer) : noUsage);
  const settled = new Settled(frozen, answer, usage, basis, replay !== undefined);
  const fact: Facts["call.settled"] & Partial<Fact<"call.settled">> = {
    type: "call.settled", seq: frozen.run.ledger.facts.length, at: frozen.at + settled.latencyMs, callId, attempt, purpose, provider: model.provider, model: model.id, simulated: model.simulated, usage, basis, sent: answer.sent,
    route: replay ? "replay" : model.route, finish: answer.finish, latencyMs: settled.latencyMs, allowance,
  };
  if (allowance < frozen.asked) fact.clampedOutputTokens = allowance;
  if (answer.error) fact.errorCode = answer.error.code;
  frozen.run.ledger.append("call.settled", fact);
  return settled;
}

/** What a provider that gave no usage can have billed: the whole request, and what it wrote, or all it was allowed. */
function bound(frozen: Frozen, answer: Answer): Usage {
  const output = answer.error && frozen.run.signal.aborted ? Math.min(answer.received, frozen.allowance) : frozen.allowance;
  return { ...noUsage, input: tokens(frozen.inputBound()), output: tokens(output) };
}

class Pressure implements Compaction {
  readonly run: Host; readonly reason: Compaction["reason"]; readonly model: ResolvedModel | undefined; readonly signal: AbortSignal;
  readonly rewrites: Rewrite[] = []; view: View;

  constructor(run: Host, view: View, reason: Compaction["reason"]) {
    this.run = run; this.view = view; this.reason = reason; this.model = run.resolved; this.signal = run.signal;
  }
  pressureOf(view: View): number | undefined {
    const window = this.model?.contextWindow;
    return window === undefined ? undefined : view.bytes / window;
  }
  /** Why a rewrite cannot stand, or undefined. */
  problem({ view }: Rewrite): CavemanError | undefined {
    if (!(view instanceof View)) return new CavemanError("cave_plugin_failed", { expected: "a View made by view.rewrite()", received: typeof view });
    const illegal = illegality(view.messages);
    if (illegal) return new CavemanError("cave_transcript_illegal", { received: illegal });
    return view.bytes < this.view.bytes ? undefined : new CavemanError("cave_plugin_failed", { expected: "a smaller view", received: `${view.bytes} bytes for ${this.view.bytes}` });
  }
  take(rewrite: Rewrite): void {
    this.run.record("transcript.compacted", { by: rewrite.by, reason: this.reason, beforeBytes: this.view.bytes, afterBytes: rewrite.view.bytes, dropped: rewrite.dropped });
    this.rewrites.push(rewrite);
    this.view = rewrite.view;
  }
}

async function compacted(run: Host, view: View, reason: Compaction["reason"], purpose: CallPurpose): Promise<View> {
  if (purpose === "summary" || !run.hooks.has("compact")) return view;
  const payload = new Pressure(run, view, reason);
  await run.hooks.fire("compact", payload);
  if (payload.view !== view) run.transcript.adopt(payload.view);
  return payload.view;
}

function report(run: Run, failures: readonly unknown[]): void {
  for (const failure of failures) run.notice("kernel", "cave_plugin_failed", `closing a hold: ${describe(failure)}`);
}
