/** The prefix of one run's calls: put back where it drifted, compared as it is frozen, accounted as it is answered. */
import {
  type FrozenCall,
  type ModelCall,
  type ModelTool,
  type Run,
  type SettledCall,
  sha256,
} from "../../kernel/index.ts";
import { Pricing } from "../services.ts";
import { type Expectation, lostMoney, missOf, Totals } from "./accounting.ts";
import type { Epoch, PrefixState } from "./conversation-state.ts";
import { type Cause, type Comparison, compare, newestUser, otherModel, sameMessage, sameTools } from "./epoch.ts";
import { type Dialect, dialectOf, Marking, placeMarks, withCacheKey } from "./hints.ts";
import { isSaved, type Request } from "./sent.ts";

const OWNER = "prefix";
const NO_TOOLS: readonly ModelTool[] = Object.freeze([]);
const functionTools = (tools: FrozenCall["request"]["tools"] = []): readonly ModelTool[] =>
  tools.filter((tool) => tool.type === "function");

/** A request between its freezing and its answer. */
interface Pending {
  readonly frozen: FrozenCall;
  readonly request: Request;
  /** The newest request of this model; of another one when this model was not called before. */
  readonly before: Epoch | undefined;
  readonly comparison: Comparison;
  readonly settings: string;
}

const modelOf = ({ provider, id }: { readonly provider: string; readonly id: string }): string => `${provider}/${id}`;

export class PrefixGuard {
  readonly #run: Run;
  readonly #state: PrefixState;
  readonly #hints: boolean;
  readonly #totals = new Totals();
  readonly #told = new Set<string>();
  readonly #marking = new Marking();
  #shaped: Pick<ModelCall, "additions" | "tools"> = { additions: [], tools: NO_TOOLS };
  #pending: Pending | undefined;
  #settings = { text: "", digest: "" };

  constructor(run: Run, state: PrefixState, hints: boolean) {
    this.#run = run;
    this.#state = state;
    this.#hints = hints;
  }

  /** Before a request freezes: restores what may be restored, and adds the hints its model takes. */
  shape(call: ModelCall): void {
    if (call.purpose === "summary" || !call.model) return;
    const sent = this.#state.of(modelOf(call.model))?.sent;
    if (sent && !isSaved(sent)) {
      this.#restoreTools(call, sent);
      this.#restoreContext(call, sent);
    }
    this.#shaped = { additions: call.additions, tools: call.tools };
    const dialect = this.#dialect(call.model, call.tools);
    if (dialect === "openai") {
      const options = withCacheKey(call.settings.providerOptions, this.#state.key);
      if (options !== call.settings.providerOptions) call.setSettings({ providerOptions: options ?? {} });
    } else if (dialect) call.setModel(this.#marking.of(call.model));
  }

  /** The same tools in another order are put back in the order that was sent; other tools are somebody's decision. */
  #restoreTools(call: ModelCall, { tools }: Request): void {
    if (call.tools === tools || call.tools.length !== tools.length) return;
    if (sameTools(call.tools, tools)) {
      // Equal bytes: the list that was sent keeps its identity, which others compare by.
      call.setTools(tools);
      return;
    }
    const byName = new Map(call.tools.map((tool) => [tool.name, tool]));
    const same = tools.every((tool) => {
      const other = byName.get(tool.name);
      return other !== undefined && JSON.stringify(other) === JSON.stringify(tool);
    });
    if (!same) return;
    call.setTools(tools);
    this.#restored(call, "tools", "the tools stood in another order");
  }

  /** Context that was sent before the same user message and is missing now was followed by messages that stay: it stays too. */
  #restoreContext(call: ModelCall, sent: Request): void {
    const { additions } = call;
    if (sent.additions.length <= additions.length || this.#userAt(call.view, sent) !== sent.userAt) return;
    if (!additions.every((message, i) => sameMessage(message, sent.additions[i]))) return;
    for (const message of sent.additions.slice(additions.length)) call.addContext(message);
    this.#restored(call, "context", "context that was sent before was left out");
  }

  #restored({ callId, attempt }: ModelCall, what: "tools" | "context", why: string): void {
    this.#totals.restored++;
    this.#run.record("prefix.restored", { callId, attempt, what });
    // What drifts in one call usually drifts in all: it is said once, and counted every time.
    if (this.#told.has(what)) return;
    this.#told.add(what);
    this.#run.notice(OWNER, "cave_cache_prefix_drift", `The prefix of ${callId} drifted, and was restored: ${why}.`);
  }

  // A run that can make one call only would pay for a write that nobody reads.
  #dialect(model: FrozenCall["model"], tools: readonly ModelTool[]): Dialect | undefined {
    if (!this.#hints || (tools.length === 0 && !this.#run.options.conversation)) return undefined;
    return dialectOf(model, this.#run.find(Pricing)?.row(model));
  }

  // Settings rarely change, and their content is nobody's affair once a conversation is saved.
  #digest(text: string): string {
    if (this.#settings.text !== text) this.#settings = { text, digest: sha256(text) };
    return this.#settings.digest;
  }

  #userAt(view: Request["view"], sent: Request | undefined): number {
    const known = sent && sent.view.epoch === view.epoch && sent.view.length <= view.length ? sent : undefined;
    return newestUser(view, known?.view.length, known?.userAt);
  }

  /** On the frozen request: what is sent is what is compared. */
  compare(frozen: FrozenCall): void {
    this.#pending = undefined;
    if (frozen.purpose === "summary") return;
    const { prompt, view, model } = frozen;
    const { additions, tools } = this.#shaped;
    const before = this.#state.of(modelOf(model));
    const sent = before && !isSaved(before.sent) ? before.sent : undefined;
    const systemLength = Math.max(0, prompt.length - view.length - additions.length);
    const request: Request = {
      view,
      system: systemTexts(prompt, systemLength),
      tools: frozen.toolsKey === tools ? tools : functionTools(frozen.request.tools),
      additions,
      userAt: this.#userAt(view, sent),
      length: prompt.length,
    };
    const newest = before ?? this.#state.newest;
    const comparison: Comparison = before
      ? compare(before.sent, request, sent ? "compaction" : "history")
      : newest
        ? otherModel(newest.sent, request)
        : { freshBytes: () => view.bytes };
    const { reasoning, toolChoice, providerOptions } = frozen.request;
    const settings = this.#digest(JSON.stringify([reasoning, toolChoice, providerOptions]));
    this.#pending = { frozen, request, before: newest, comparison, settings };
    const dialect = this.#dialect(model, request.tools);
    if (dialect === "anthropic" || dialect === "bedrock")
      placeMarks(prompt, { dialect, systemLength, before: comparison.cause ? undefined : sent?.length });
  }

  /** Once the answer is there. A request that never left, or failed, has left nothing in a cache that can be told. */
  settle(settled: SettledCall): void {
    const pending = this.#pending;
    if (!pending || settled.frozen !== pending.frozen) return;
    this.#pending = undefined;
    if (!settled.sent || settled.replayed || settled.error || settled.basis === "bound") return;
    const { frozen, request, before, comparison, settings } = pending;
    const { usage, callId, attempt } = settled;
    const { model, at } = frozen;
    const { cause } = comparison;
    const number = before && cause === undefined ? before.number : this.#state.next();
    const pricing = this.#run.find(Pricing);
    const row = pricing?.row(model);
    const expected: Expectation = {
      cause,
      before: before?.input ?? 0,
      freshShare: () => comparison.freshBytes() / Math.max(1, request.view.bytes + frozen.overheadBytes),
      idleMs: at - (before?.at ?? at),
      settingsChanged: before !== undefined && before.settings !== settings,
      warm: before?.warm === true,
    };
    this.#totals.add(usage, cause === undefined);
    this.#run.record("prefix.call", {
      callId,
      attempt,
      epoch: number,
      kept: cause === undefined,
      input: usage.input,
      cacheRead: usage.cacheRead,
      cacheWrite: usage.cacheWrite,
      readable: cause === undefined ? expected.before : 0,
    });
    const miss = missOf(usage, expected, row);
    if (miss)
      this.#broke(settled, number, miss.cause, miss.lostTokens, lostMoney(usage, miss.lostTokens, model, at, pricing));
    const cached = usage.cacheRead + usage.cacheWrite > 0;
    this.#state.keep(modelOf(model), {
      number,
      sent: request,
      input: usage.input,
      at,
      settings,
      warm: cached || (cause === undefined && before?.warm === true),
    });
  }

  #broke(
    { callId, attempt }: SettledCall,
    epoch: number,
    cause: Cause | "expired" | "settings" | "unexplained",
    lostTokens: number,
    picoUsd: string | undefined,
  ): void {
    this.#totals.broke(lostTokens, picoUsd);
    this.#run.record("prefix.broken", {
      callId,
      attempt,
      epoch,
      cause,
      lostTokens,
      ...(picoUsd === undefined ? {} : { lostPicoUsd: picoUsd }),
      basis: "inferred",
    });
    if (cause === "expired" || cause === "settings" || cause === "unexplained") return;
    const cost = lostTokens > 0 ? `; about ${lostTokens} tokens that were cached are paid for again` : "";
    this.#run.notice(
      OWNER,
      "cave_cache_prefix_drift",
      `The cached prefix of ${callId} changed (${cause}): cache epoch ${epoch} begins${cost}.`,
    );
  }

  /** The run's totals, once. */
  close(): void {
    const { calls, kept, restored, breaks, input, cacheRead, cacheWrite, lostTokens, lost, unpriced } = this.#totals;
    if (calls === 0) return;
    this.#run.record("prefix.run", {
      calls,
      kept,
      restored,
      breaks,
      input,
      cacheRead,
      cacheWrite,
      lostTokens,
      ...(unpriced ? {} : { lostPicoUsd: String(lost) }),
      basis: "inferred",
    });
  }
}

const texts = new WeakMap<object, readonly string[]>();
/** The texts before the view; the same array for the same system message, so that comparing is an identity. */
function systemTexts(prompt: FrozenCall["prompt"], length: number): readonly string[] {
  const first = prompt[0];
  if (length !== 1 || first?.role !== "system")
    return prompt
      .slice(0, length)
      .map((message) => (message.role === "system" ? message.content : JSON.stringify(message)));
  let found = texts.get(first);
  if (!found) texts.set(first, (found = [first.content]));
  return found;
}
