/**
 * The memory of one scope. What is said is kept at once; what is recalled for a turn is looked up while the model works
 * and used one turn later, so that no turn waits for it.
 */
import { CavemanError } from "../../kernel/index.ts";
import { Background } from "./background.ts";
import { assertBudget, DEFAULT_RECALL_BUDGET, DEFAULT_TTL, memoryTTLMilliseconds } from "./declaration.ts";
import type { MemoryEngineOptions, SearchOptions } from "./engine-options.ts";
import { OnFirstUse } from "./on-first-use.ts";
import type { Recall } from "./recall.ts";
import type { MemoryLink, MemoryRecord, MemoryTurn } from "./record.ts";
import type { Records } from "./records.ts";
import { checkedScope, fileOf, type MemoryScope, memoryRoot } from "./scope.ts";

/** Characters of each side of a turn that are kept for session search. */
const MOST_TURN = 16_384;

/** The memory of one tenant, agent and namespace. */
export class MemoryEngine {
  readonly scope: Required<MemoryScope>;
  readonly recallBudget: number;
  readonly #options: MemoryEngineOptions;
  readonly #background: Background;
  readonly #records: OnFirstUse<Records>;
  #asked: string | undefined;

  constructor(options: MemoryEngineOptions) {
    const { ttlMs = memoryTTLMilliseconds(DEFAULT_TTL), recallBudget = DEFAULT_RECALL_BUDGET } = options;
    this.scope = checkedScope(options.scope);
    assertBudget(recallBudget, "createMemoryEngine().recallBudget", 0);
    if (ttlMs !== null && !(Number.isSafeInteger(ttlMs) && ttlMs > 0))
      throw new CavemanError("cave_memory_ttl_invalid", {
        place: "createMemoryEngine().ttlMs",
        expected: "positive milliseconds, or null",
        received: String(ttlMs),
      });
    this.#options = options;
    this.recallBudget = recallBudget;
    this.#background = new Background((error) => options.onProblem?.(error));
    const { namespace } = this.scope;
    const storage = options.storage ?? fileOf(options.root ?? memoryRoot(), this.scope);
    const settings = { namespace, recallBudget, ttlMs, storage };
    this.#records = new OnFirstUse(async () => {
      const { Records } = await import("./records.ts");
      return new Records(options, settings, this.#background);
    });
  }

  /** Keeps a fact. The same text is kept once. @throws CavemanError `cave_memory_value_invalid`, `cave_memory_secret_refused`. */
  async remember(text: string): Promise<MemoryRecord> {
    return this.#records.use((records) => records.remember(text));
  }

  /** Replaces a fact by a new version; the old one stays as history. @throws CavemanError `cave_memory_unknown`, `cave_memory_superseded`. */
  async supersede(id: string, text: string): Promise<MemoryRecord> {
    return this.#records.use((records) => records.supersede(id, text));
  }

  /** What answers a query, the best first, within the budget; nothing when nothing does. */
  async search(query: string, options: SearchOptions = {}): Promise<Recall> {
    return this.#records.use((records) => records.search(query, options));
  }

  /** Turns of earlier sessions that answer a query. */
  async searchSessions(
    query: string,
    options: { limit?: number } = {},
  ): Promise<readonly (MemoryTurn & { readonly score: number })[]> {
    return this.#records.use((records) => records.searchSessions(query, options));
  }

  /** Removes a fact for good. What it had replaced does not come back. False when there is none. */
  async forget(id: string): Promise<boolean> {
    return this.#records.use((records) => records.forget(id));
  }
  /** @throws CavemanError `cave_memory_link_invalid`. */
  async link(link: MemoryLink): Promise<void> {
    return this.#records.use((records) => records.link(link));
  }
  /** All versions of a fact, the oldest first. */
  async history(id: string): Promise<readonly MemoryRecord[]> {
    return this.#records.use((records) => records.history(id));
  }
  /** The newest first; `inactive` adds what was replaced or has expired. */
  async list(options: { limit?: number; inactive?: boolean } = {}): Promise<readonly MemoryRecord[]> {
    return this.#records.use((records) => records.list(options));
  }
  /** The whole record of an id or a recovery handle, in whatever state. @throws CavemanError `cave_memory_unknown`. */
  async read(name: string): Promise<MemoryRecord> {
    return this.#records.use((records) => records.read(name));
  }
  /** The whole text of an id or a recovery handle. @throws CavemanError `cave_memory_unknown`. */
  async recover(name: string): Promise<string> {
    return (await this.read(name)).text;
  }

  /** Gives what an earlier turn's look-up found, as text for the model, and starts this turn's. Never waits. */
  beginTurn(text: string, budget = this.recallBudget): string | undefined {
    const ready = this.ready();
    this.#asked = text;
    this.#background.later(() =>
      this.#records.use((records) => records.lookUp(text, budget, () => this.#asked === text)),
    );
    return ready;
  }

  /** What a look-up that has finished found, as text for the model, once. */
  ready(): string | undefined {
    return this.#records.loaded?.ready();
  }

  /** Keeps a turn for session search, and what the sidecar takes from it. Never waits. */
  endTurn(turn: Omit<MemoryTurn, "at">): void {
    const at = this.#options.now?.() ?? Date.now();
    const part = (text: string): string => text.toWellFormed().slice(0, MOST_TURN).toWellFormed();
    const kept = { sessionId: turn.sessionId, at, user: part(turn.user), assistant: part(turn.assistant) };
    this.#background.later(() => this.#records.use((records) => records.keepTurn(kept)));
  }

  /** Waits for what runs in the background. */
  async flush(): Promise<void> {
    await this.#background.flush();
  }

  /** Flushes, consolidates, and takes expired records out of recall. */
  async endSession(): Promise<void> {
    await this.flush();
    await this.#background.quietly(() => this.#records.use((records) => records.endSession()));
    await this.flush();
  }

  /** Flushes and lets go of the files. The engine may be used again. */
  async close(): Promise<void> {
    await this.flush();
    await ((await this.#records.loading) ?? this.#options.storage)?.close();
  }
}

/** @throws CavemanError for a scope, time to live or budget that cannot be used. */
export const createMemoryEngine = (options: MemoryEngineOptions): MemoryEngine => new MemoryEngine(options);
