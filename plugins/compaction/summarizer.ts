/** One summary: a real model call through the same hooks, held, counted and priced like any other, within a time limit. */
import {
  type CallId,
  CavemanError,
  codeOf,
  type Message,
  type ModelCall,
  type ResolvedModel,
  type Run,
  View,
} from "../../kernel/index.ts";
import { type ContextGauge, Models } from "../services.ts";
import type { Settings } from "./options.ts";
import { TimeLimit } from "./time-limit.ts";

const OWNER = "compaction";

/** What became of a summary. `paid` says that money was set aside for it, whatever came of it. */
export type Answer = { readonly paid: boolean; readonly callId: CallId | undefined } & (
  | { readonly text: string }
  | { readonly failed: string }
);

export class Summarizer {
  readonly #run: Run;
  readonly #gauge: ContextGauge;
  readonly #settings: Settings;
  #limit: TimeLimit | undefined;
  #told = false;

  constructor(run: Run, gauge: ContextGauge, settings: Settings) {
    this.#run = run;
    this.#gauge = gauge;
    this.#settings = settings;
  }

  /** The model that writes: the cheaper one that was named, when it can be had and its window takes the history. */
  async modelFor(own: ResolvedModel, historyTokens: number): Promise<ResolvedModel> {
    const { summarizerModel } = this.#settings;
    if (summarizerModel === undefined) return own;
    try {
      const named = await this.#run.service(Models).resolve(summarizerModel);
      const window = this.#gauge.windowOf(named);
      if (window !== undefined && window >= historyTokens) return named;
      this.#tell(
        window === undefined ? "its context window is not known" : `its window of ${window} tokens is too small`,
      );
    } catch (error) {
      this.#tell(codeOf(error, "cave_plugin_failed"));
    }
    return own;
  }

  async write(
    head: readonly Message[],
    instruction: Message,
    model: ResolvedModel,
    maxTokens: number,
  ): Promise<Answer> {
    const before = this.#calls();
    this.#limit = new TimeLimit(this.#settings.summaryTimeoutMs);
    try {
      const view = View.of([...head, instruction]);
      const { text, stopped, finish, callId } = await this.#run.call({
        purpose: "summary",
        view,
        maxOutputTokens: maxTokens,
        model,
      });
      const paid = this.#calls() > before;
      if (stopped) return { paid, callId, failed: `stopped: ${stopped.reason}` };
      return finish === "length" ? { paid, callId, failed: "cut off at summaryMaxTokens" } : { paid, callId, text };
    } catch (error) {
      const intended = this.#intended().at(-1);
      const paid = this.#calls() > before;
      return { paid, callId: paid ? intended?.callId : undefined, failed: codeOf(error, "cave_provider_failed") };
    } finally {
      this.#limit.clear();
      this.#limit = undefined;
    }
  }

  /** Puts the time limit on a summary's model once every other plugin has had its say about it. */
  shape(call: ModelCall): void {
    if (call.purpose !== "summary" || !this.#limit || !call.model) return;
    call.setModel({ ...call.model, model: this.#limit.on(call.model.model) });
  }

  #intended() {
    return this.#run.ledger.of("call.intended").filter(({ purpose }) => purpose === "summary");
  }
  #calls(): number {
    return this.#intended().length;
  }
  #tell(why: string): void {
    if (this.#told) return;
    this.#told = true;
    const { message } = new CavemanError("cave_compaction_summarizer_unavailable", { received: why });
    this.#run.notice(OWNER, "cave_compaction_summarizer_unavailable", message);
  }
}
