/**
 * The memory of one scope. What is said is kept at once; what is recalled for a turn is looked up while the model works
 * and used one turn later, so that no turn waits for it.
 */
import { setImmediate } from "node:timers/promises";
import { asCaveman, CavemanError } from "../../kernel/index.ts";
import { assertBudget, DEFAULT_RECALL_BUDGET, DEFAULT_TTL, memoryTTLMilliseconds } from "./declaration.ts";
import { DEFAULT_MIN_SIMILARITY, type EmbeddingAdapter, similarity, vectorsOf } from "./embedding.ts";
import { estimatedTokens } from "./estimate.ts";
import { type Candidate, type CountTokens, packed, type Recall, shown } from "./recall.ts";
import { type MemoryLink, type MemoryRecord, type MemoryTurn, RELATIONS } from "./record.ts";
import { DEFAULT_DEPTH, related } from "./related.ts";
import { checkedScope, fileOf, type MemoryScope, memoryRoot } from "./scope.ts";
import { secretIn } from "./secrets.ts";
import { sqliteMemoryStorage } from "./sqlite-storage.ts";
import type { MemoryStorage } from "./storage.ts";

/** Characters of one memory. */
const DEFAULT_MAX_CHARS = 8_192;
const DEFAULT_LIMIT = 5;
const MOST_HITS = 50;
/** Characters of a query that are read. */
const MOST_QUERY = 2_000;
/** Characters of each side of a turn that are kept for session search. */
const MOST_TURN = 16_384;

/** Model work beside the conversation; its output is kept as what it is, a guess. */
export interface MemorySidecar {
  /** What is worth remembering of a turn. */
  extract?(turn: MemoryTurn): Promise<readonly string[]>;
  /** At the end of a session: texts that replace several records. What they replace stays as evidence. */
  consolidate?(
    records: readonly MemoryRecord[],
  ): Promise<readonly { readonly text: string; readonly supersedes: readonly string[] }[]>;
}

export interface MemoryEngineOptions {
  readonly scope: MemoryScope;
  /** Milliseconds; null keeps for ever. Default: 30 days. */
  readonly ttlMs?: number | null;
  /** Tokens a recall may take; 0 for no limit. Default 800. */
  readonly recallBudget?: number;
  /** Folder of the files. Default: `CAVE_AGENT_MEMORY_ROOT`, or `~/.caveman/agent-memory`. */
  readonly root?: string;
  /** Another place to keep memories; it holds this scope alone. */
  readonly storage?: MemoryStorage;
  readonly embedding?: EmbeddingAdapter;
  readonly sidecar?: MemorySidecar;
  readonly countTokens?: CountTokens;
  readonly maxChars?: number;
  /** Epoch milliseconds. */
  readonly now?: () => number;
  /** Told of failures in the background, which never fail a turn. */
  readonly onProblem?: (error: CavemanError) => void;
}

export interface SearchOptions {
  readonly limit?: number;
  /** Tokens; 0 for no limit. */
  readonly budget?: number;
  /** How far relations are followed, at most 3. Default 1. */
  readonly depth?: number;
}

/** The memory of one tenant, agent and namespace. */
export class MemoryEngine {
  readonly scope: Required<MemoryScope>;
  readonly recallBudget: number;
  readonly #options: MemoryEngineOptions;
  readonly #storage: MemoryStorage;
  readonly #expiry: number | undefined;
  #finished: Recall | undefined;
  #asked: string | undefined;
  #work: Promise<void> = Promise.resolve();

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
    this.#expiry = ttlMs ?? undefined;
    this.#storage = options.storage ?? sqliteMemoryStorage(fileOf(options.root ?? memoryRoot(), this.scope));
  }

  /** Keeps a fact. The same text is kept once. @throws CavemanError `cave_memory_value_invalid`, `cave_memory_secret_refused`. */
  async remember(text: string): Promise<MemoryRecord> {
    const [record] = await this.#storage.add([this.#entry(text)]);
    if (!record) throw new CavemanError("cave_memory_storage_unavailable", { received: "no record" });
    this.#embedLater(record);
    return record;
  }

  /** Replaces a fact by a new version; the old one stays as history. @throws CavemanError `cave_memory_unknown`, `cave_memory_superseded`. */
  async supersede(id: string, text: string): Promise<MemoryRecord> {
    const entry = this.#entry(text);
    this.#finished = undefined;
    const record = await this.#storage.supersede(id, entry);
    this.#embedLater(record);
    return record;
  }

  /** What answers a query, the best first, within the budget; nothing when nothing does. */
  async search(query: string, options: SearchOptions = {}): Promise<Recall> {
    const { limit = DEFAULT_LIMIT, budget = this.recallBudget, depth = DEFAULT_DEPTH } = options;
    assertBudget(budget, "search().budget", 0);
    const asked = String(query).slice(0, MOST_QUERY);
    const most = Math.max(1, Math.min(MOST_HITS, Math.floor(limit) || 1));
    const at = this.#now();
    const found: readonly Candidate[] = await this.#storage.search(asked, { limit: most, at });
    const hits = this.#options.embedding
      ? await this.#withMeaning(this.#options.embedding, asked, found, most, at)
      : found;
    const all = [...hits, ...(depth > 0 ? await related(this.#storage, hits, depth, at) : [])];
    return packed(all, this.scope.namespace, budget, this.#options.countTokens ?? estimatedTokens);
  }

  /** Turns of earlier sessions that answer a query. */
  async searchSessions(
    query: string,
    { limit = DEFAULT_LIMIT }: { limit?: number } = {},
  ): Promise<readonly (MemoryTurn & { readonly score: number })[]> {
    return this.#storage.searchTurns(String(query).slice(0, MOST_QUERY), {
      limit: Math.max(1, Math.min(MOST_HITS, limit)),
      at: this.#now(),
    });
  }

  /** Removes a fact for good. What it had replaced does not come back. False when there is none. */
  async forget(id: string): Promise<boolean> {
    this.#finished = undefined;
    return this.#storage.forget(id);
  }
  /** @throws CavemanError `cave_memory_link_invalid`. */
  async link(link: MemoryLink): Promise<void> {
    if (!RELATIONS.includes(link.relation))
      throw new CavemanError("cave_memory_link_invalid", {
        expected: RELATIONS.join(", "),
        received: String(link.relation),
      });
    await this.#storage.link(link);
  }
  /** All versions of a fact, the oldest first. */
  async history(id: string): Promise<readonly MemoryRecord[]> {
    return this.#storage.history(id, this.#now());
  }
  /** The newest first; `inactive` adds what was replaced or has expired. */
  async list({
    limit = 100,
    inactive = false,
  }: {
    limit?: number;
    inactive?: boolean;
  } = {}): Promise<readonly MemoryRecord[]> {
    return this.#storage.list({ limit, inactive, at: this.#now() });
  }
  /** The whole record of an id or a recovery handle, in whatever state. @throws CavemanError `cave_memory_unknown`. */
  async read(name: string): Promise<MemoryRecord> {
    const at = this.#now();
    const record = name.startsWith("mem_") ? await this.#storage.get(name, at) : await this.#storage.byHandle(name, at);
    if (!record) throw new CavemanError("cave_memory_unknown", { received: name.slice(0, 80) });
    return record;
  }
  /** The whole text of an id or a recovery handle. @throws CavemanError `cave_memory_unknown`. */
  async recover(name: string): Promise<string> {
    return (await this.read(name)).text;
  }

  /** Gives what an earlier turn's look-up found, as text for the model, and starts this turn's. Never waits. */
  beginTurn(text: string, budget = this.recallBudget): string | undefined {
    const ready = this.ready();
    this.#asked = text;
    this.#later(async () => {
      const recall = await this.search(text, { budget });
      if (this.#asked === text && recall.hits.length > 0) this.#finished = recall;
    });
    return ready;
  }

  /** What a look-up that has finished found, as text for the model, once. */
  ready(): string | undefined {
    const ready = this.#finished;
    this.#finished = undefined;
    return ready && shown(ready.hits, this.scope.namespace);
  }

  /** Keeps a turn for session search, and what the sidecar takes from it. Never waits. */
  endTurn(turn: Omit<MemoryTurn, "at">): void {
    const at = this.#now();
    const part = (text: string): string => text.toWellFormed().slice(0, MOST_TURN).toWellFormed();
    const kept = { sessionId: turn.sessionId, at, user: part(turn.user), assistant: part(turn.assistant) };
    this.#later(async () => {
      // A turn that shows a credential is not kept, not indexed and not given to a sidecar.
      if (secretIn(kept.user) !== undefined || secretIn(kept.assistant) !== undefined) return;
      await this.#storage.addTurn(kept, this.#expiresAt(at));
      for (const text of (await this.#options.sidecar?.extract?.(kept)) ?? [])
        await this.#quietly(() => this.remember(text));
    });
  }

  /** Waits for what runs in the background. */
  async flush(): Promise<void> {
    let seen: Promise<void> | undefined;
    while (seen !== this.#work) await (seen = this.#work);
  }

  /** Flushes, consolidates, and takes expired records out of recall. */
  async endSession(): Promise<void> {
    await this.flush();
    await this.#quietly(async () => {
      await this.#storage.sweep(this.#now());
      const { consolidate } = this.#options.sidecar ?? {};
      if (!consolidate) return;
      const records = await this.list();
      for (const { text, supersedes } of await consolidate(records))
        for (const id of supersedes) await this.#quietly(() => this.supersede(id, text));
    });
    await this.flush();
  }

  /** Flushes and lets go of the files. The engine may be used again. */
  async close(): Promise<void> {
    await this.flush();
    await this.#storage.close();
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now();
  }
  #expiresAt(at: number): number | undefined {
    return this.#expiry === undefined ? undefined : at + this.#expiry;
  }
  #entry(said: unknown): { text: string; at: number; expiresAt?: number } {
    const most = this.#options.maxChars ?? DEFAULT_MAX_CHARS;
    const text = typeof said === "string" ? said.trim() : "";
    if (text === "" || text.length > most || !text.isWellFormed() || text.includes("\0"))
      throw new CavemanError("cave_memory_value_invalid", {
        expected: `1 to ${most} characters of text`,
        received: typeof said === "string" ? `${said.length} characters` : typeof said,
      });
    const secret = secretIn(text);
    if (secret !== undefined) throw new CavemanError("cave_memory_secret_refused", { received: secret });
    const at = this.#now();
    const expiresAt = this.#expiresAt(at);
    return { text, at, ...(expiresAt === undefined ? {} : { expiresAt }) };
  }

  async #withMeaning(
    adapter: EmbeddingAdapter,
    query: string,
    found: readonly Candidate[],
    limit: number,
    at: number,
  ): Promise<readonly Candidate[]> {
    const hits = new Map(found.map((candidate) => [candidate.record.id, candidate]));
    await this.#quietly(async () => {
      const [asked] = await vectorsOf(adapter, [query]);
      if (!asked) return;
      const least = adapter.minSimilarity ?? DEFAULT_MIN_SIMILARITY;
      const near = (await this.#storage.vectors(adapter.model))
        .map(({ id, vector }) => ({ id, score: similarity(asked, vector) }))
        .filter(({ score }) => score >= least)
        .sort((a, b) => b.score - a.score)
        .slice(0, limit);
      for (const { id, score } of near) {
        const record = hits.get(id)?.record ?? (await this.#storage.get(id, at));
        if (record?.state === "active") hits.set(id, { record, score: Math.max(score, hits.get(id)?.score ?? 0) });
      }
    });
    return [...hits.values()].sort((a, b) => b.score - a.score).slice(0, limit);
  }

  #embedLater(record: MemoryRecord): void {
    const { embedding } = this.#options;
    if (!embedding) return;
    this.#later(async () => {
      const [vector] = await vectorsOf(embedding, [record.text]);
      if (vector) await this.#storage.setVector(record.id, embedding.model, vector);
    });
  }
  /** One thing after the other, after what is going on now. */
  #later(work: () => Promise<void>): void {
    this.#work = this.#work.then(() => setImmediate()).then(() => this.#quietly(work));
  }
  async #quietly(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#options.onProblem?.(asCaveman(error, "cave_memory_storage_unavailable"));
    }
  }
}

/** @throws CavemanError for a scope, time to live or budget that cannot be used. */
export const createMemoryEngine = (options: MemoryEngineOptions): MemoryEngine => new MemoryEngine(options);
