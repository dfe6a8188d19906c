/**
 * How full the context is. What the provider last reported counts exactly what it read, system and tools included; only
 * what came after it is counted here. Before the first report everything is counted.
 */
import type { Message, ResolvedModel, Run, SettledCall, View } from "../../kernel/index.ts";
import { type ContextGauge, type ContextSize, Pricing, Tokenizer } from "../services.ts";
import { type ContextWindowOverlay, editBudget } from "./geometry.ts";
import { callsToPay } from "./payback.ts";

/** Tokens a provider adds around one message. */
const FRAMING = 4;
type Basis = ContextSize["basis"];

export class Gauge implements ContextGauge {
  cacheState: ContextGauge["cacheState"] = "unknown";
  readonly #run: Run;
  readonly #overlay: ContextWindowOverlay;
  #anchor: { readonly view: View; readonly input: number; readonly model: string } | undefined;
  /** Running sums of one epoch's messages, so that a call pays for its new ones only. */
  #sums: { readonly epoch: number; readonly model: string; readonly upTo: number[] } | undefined;
  #overhead: number | undefined;

  constructor(run: Run, overlay: ContextWindowOverlay) {
    this.#run = run;
    this.#overlay = overlay;
  }

  /** Takes a settled call's report as the new anchor. */
  settled({ frozen, usage, basis, sent, replayed, error, purpose }: SettledCall): void {
    if (purpose === "summary" || error || !sent || replayed) return;
    if (basis !== "provider_reported" && basis !== "simulated") return;
    this.#anchor = { view: frozen.view, input: usage.input + usage.output, model: keyOf(frozen.model) };
    this.cacheState = usage.cacheRead > 0 ? "warm" : usage.cacheWrite > 0 ? "unknown" : "cold";
    this.#overhead = Math.ceil(frozen.overheadBytes / 4);
  }

  windowOf(model: ResolvedModel): number | undefined {
    return this.#overlay.contextTokens ?? model.contextWindow ?? this.#run.find(Pricing)?.row(model)?.limits.context;
  }
  frontierOf(model: ResolvedModel): number | undefined {
    const contextWindow = this.windowOf(model);
    const budget = editBudget(
      contextWindow === undefined ? {} : ({ contextWindow } as Pick<ResolvedModel, "contextWindow">),
      this.#overlay,
    );
    return Number.isFinite(budget) ? budget : undefined;
  }

  sizeOf(view: View, model: ResolvedModel | undefined): ContextSize {
    const anchor = this.#anchor;
    // The anchor's output is the assistant message that follows its view; counting the two apart would count it twice.
    if (anchor && (!model || anchor.model === keyOf(model)) && view.sharedWith(anchor.view) === anchor.view.length) {
      let tokens = anchor.input;
      for (let at = anchor.view.length; at < view.length; at++) {
        const message = view.at(at);
        if (!message || (at === anchor.view.length && message.role === "assistant")) continue;
        tokens += this.messageTokens(message, model);
      }
      return { tokens, basis: "reported" };
    }
    return { tokens: this.#counted(view, model) + this.#overheadTokens(), basis: this.#basisOf(model) };
  }

  messageTokens(message: Message, model: ResolvedModel | undefined): number {
    const tokenizer = this.#tokenizerFor(model);
    const counted = tokenizer ? tokenizer.countMessage(message) : Math.ceil(message.bytes / 4);
    // Some vendors keep reasoning by reference: tokens without bytes.
    return FRAMING + Math.max(counted, message.outputTokens ?? 0);
  }
  textTokens(text: string, model: ResolvedModel | undefined): number {
    return this.#tokenizerFor(model)?.count(text) ?? Math.ceil(Buffer.byteLength(text) / 4);
  }

  callsToPay(model: ResolvedModel, rewrite: { readonly again: number; readonly saved: number }): number | undefined {
    if (this.cacheState === "cold") return 0;
    const pricing = this.#run.find(Pricing);
    return pricing && callsToPay(pricing, model, rewrite, this.#run.clock.now());
  }

  #counted(view: View, model: ResolvedModel | undefined): number {
    const key = model ? keyOf(model) : "";
    if (this.#sums?.epoch !== view.epoch || this.#sums.model !== key)
      this.#sums = { epoch: view.epoch, model: key, upTo: [0] };
    const { upTo } = this.#sums;
    for (let at = upTo.length; at <= view.length; at++) {
      const message = view.at(at - 1);
      upTo.push((upTo[at - 1] ?? 0) + (message ? this.messageTokens(message, model) : 0));
    }
    return upTo[view.length] ?? 0;
  }

  /** Tokens of system and tools: measured on the last request, before the first one read from the definition. */
  #overheadTokens(): number {
    if (this.#overhead !== undefined) return this.#overhead;
    const { agent, tools } = this.#run;
    const shown = [...tools.values()].map(({ name, description, inputJSONSchema }) => ({
      name,
      description,
      inputSchema: inputJSONSchema,
    }));
    const system = [agent.instructions, ...agent.contexts.map(({ source }) => source)];
    return Math.ceil((Buffer.byteLength(JSON.stringify(shown)) + Buffer.byteLength(JSON.stringify(system))) / 4);
  }

  #tokenizerFor(model: ResolvedModel | undefined): Tokenizer | undefined {
    const tokenizer = this.#run.find(Tokenizer);
    return tokenizer && (!model || tokenizer.identityOf(model)) ? tokenizer : undefined;
  }
  #basisOf(model: ResolvedModel | undefined): Basis {
    const tokenizer = this.#tokenizerFor(model);
    if (!tokenizer) return "estimate";
    return (model ? tokenizer.identityOf(model)?.exactness : undefined) ?? tokenizer.identity.exactness;
  }
}

const keyOf = ({ provider, id }: ResolvedModel): string => `${provider}/${id}`;
