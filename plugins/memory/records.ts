/** The records of one scope: what is checked before it is kept, how a query is answered, what waits for the next turn. */
import { CavemanError } from "../../kernel/index.ts";
import type { Background } from "./background.ts";
import { assertBudget } from "./declaration.ts";
import type { EmbeddingAdapter } from "./embedding.ts";
import type { MemoryEngineOptions, SearchOptions } from "./engine-options.ts";
import { estimatedTokens } from "./estimate.ts";
import { type Candidate, packed, type Recall, shown } from "./recall.ts";
import { type MemoryLink, type MemoryRecord, type MemoryTurn, RELATIONS } from "./record.ts";
import { DEFAULT_DEPTH, related } from "./related.ts";
import { secretIn } from "./secrets.ts";
import { SqliteStorage } from "./sqlite-storage.ts";
import type { Entry, MemoryStorage } from "./storage.ts";
import { DEFAULT_MIN_SIMILARITY, similarity, vectorsOf } from "./vectors.ts";

/** Characters of one memory. */
const DEFAULT_MAX_CHARS = 8_192;
const DEFAULT_LIMIT = 5;
const MOST_HITS = 50;
/** Characters of a query that are read. */
const MOST_QUERY = 2_000;

/** What the engine has checked. */
interface Settings {
  readonly namespace: string;
  /** Tokens. */
  readonly recallBudget: number;
  /** Milliseconds; null keeps for ever. */
  readonly ttlMs: number | null;
  /** Where records are kept: a storage, or the file of one. */
  readonly storage: MemoryStorage | string;
}

export class Records {
  readonly #options: MemoryEngineOptions;
  readonly #settings: Settings;
  readonly #background: Background;
  readonly #storage: MemoryStorage;
  #finished: Recall | undefined;

  constructor(options: MemoryEngineOptions, settings: Settings, background: Background) {
    const { storage } = settings;
    this.#options = options;
    this.#settings = settings;
    this.#background = background;
    this.#storage = typeof storage === "string" ? new SqliteStorage(storage) : storage;
  }

  async remember(text: string): Promise<MemoryRecord> {
    const [record] = await this.#storage.add([this.#entry(text)]);
    if (!record) throw new CavemanError("cave_memory_storage_unavailable", { received: "no record" });
    this.#embedLater(record);
    return record;
  }

  async supersede(id: string, text: string): Promise<MemoryRecord> {
    const entry = this.#entry(text);
    this.#finished = undefined;
    const record = await this.#storage.supersede(id, entry);
    this.#embedLater(record);
    return record;
  }

  async search(query: string, options: SearchOptions): Promise<Recall> {
    const { limit = DEFAULT_LIMIT, budget = this.#settings.recallBudget, depth = DEFAULT_DEPTH } = options;
    assertBudget(budget, "search().budget", 0);
    const asked = String(query).slice(0, MOST_QUERY);
    const most = Math.max(1, Math.min(MOST_HITS, Math.floor(limit) || 1));
    const at = this.#now();
    const found: readonly Candidate[] = await this.#storage.search(asked, { limit: most, at });
    const { embedding } = this.#options;
    const hits = embedding ? await this.#withMeaning(embedding, asked, found, most, at) : found;
    const all = [...hits, ...(depth > 0 ? await related(this.#storage, hits, depth, at) : [])];
    return packed(all, this.#settings.namespace, budget, this.#options.countTokens ?? estimatedTokens);
  }

  async searchSessions(
    query: string,
    { limit = DEFAULT_LIMIT }: { limit?: number },
  ): Promise<readonly (MemoryTurn & { readonly score: number })[]> {
    return this.#storage.searchTurns(String(query).slice(0, MOST_QUERY), {
      limit: Math.max(1, Math.min(MOST_HITS, limit)),
      at: this.#now(),
    });
  }

  async forget(id: string): Promise<boolean> {
    this.#finished = undefined;
    return this.#storage.forget(id);
  }
  async link(link: MemoryLink): Promise<void> {
    if (!RELATIONS.includes(link.relation))
      throw new CavemanError("cave_memory_link_invalid", {
        expected: RELATIONS.join(", "),
        received: String(link.relation),
      });
    await this.#storage.link(link);
  }
  async history(id: string): Promise<readonly MemoryRecord[]> {
    return this.#storage.history(id, this.#now());
  }
  async list({
    limit = 100,
    inactive = false,
  }: {
    limit?: number;
    inactive?: boolean;
  }): Promise<readonly MemoryRecord[]> {
    return this.#storage.list({ limit, inactive, at: this.#now() });
  }
  async read(name: string): Promise<MemoryRecord> {
    const at = this.#now();
    const record = name.startsWith("mem_") ? await this.#storage.get(name, at) : await this.#storage.byHandle(name, at);
    if (!record) throw new CavemanError("cave_memory_unknown", { received: name.slice(0, 80) });
    return record;
  }

  /** Keeps what answers a text for `ready`, unless the talk has moved on meanwhile. */
  async lookUp(text: string, budget: number, current: () => boolean): Promise<void> {
    const recall = await this.search(text, { budget });
    if (current() && recall.hits.length > 0) this.#finished = recall;
  }

  /** What a look-up that has finished found, as text for the model, once. */
  ready(): string | undefined {
    const ready = this.#finished;
    this.#finished = undefined;
    return ready && shown(ready.hits, this.#settings.namespace);
  }

  /** A turn that shows a credential is not kept, not indexed and not given to a sidecar. */
  async keepTurn(turn: MemoryTurn): Promise<void> {
    if (secretIn(turn.user) !== undefined || secretIn(turn.assistant) !== undefined) return;
    await this.#storage.addTurn(turn, this.#expiresAt(turn.at));
    for (const text of (await this.#options.sidecar?.extract?.(turn)) ?? [])
      await this.#background.quietly(() => this.remember(text));
  }

  /** Takes expired records out of recall, and lets the sidecar consolidate the others. */
  async endSession(): Promise<void> {
    await this.#storage.sweep(this.#now());
    const { consolidate } = this.#options.sidecar ?? {};
    if (!consolidate) return;
    const records = await this.list({});
    for (const { text, supersedes } of await consolidate(records))
      for (const id of supersedes) await this.#background.quietly(() => this.supersede(id, text));
  }

  async close(): Promise<void> {
    await this.#storage.close();
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now();
  }
  #expiresAt(at: number): number | undefined {
    const { ttlMs } = this.#settings;
    return ttlMs === null ? undefined : at + ttlMs;
  }
  #entry(said: unknown): Entry {
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
    await this.#background.quietly(async () => {
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
    this.#background.later(async () => {
      const [vector] = await vectorsOf(embedding, [record.text]);
      if (vector) await this.#storage.setVector(record.id, embedding.model, vector);
    });
  }
}
