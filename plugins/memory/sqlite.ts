/** The storage of this machine, for those who make one of their own accord. */
import { OnFirstUse } from "./on-first-use.ts";
import type { MemoryStorage } from "./storage.ts";

/**
 * A storage in the file at `path`, made when it is first used; `:memory:` keeps it in this process. Its code is loaded
 * with the first call, which answers with a promise; from then on calls answer at once.
 */
export function sqliteMemoryStorage(path: string): MemoryStorage {
  const sqlite = new OnFirstUse(async () => new (await import("./sqlite-storage.ts")).SqliteStorage(path));
  return {
    add: (entries) => sqlite.use((storage) => storage.add(entries)),
    supersede: (id, entry) => sqlite.use((storage) => storage.supersede(id, entry)),
    forget: (id) => sqlite.use((storage) => storage.forget(id)),
    get: (id, at) => sqlite.use((storage) => storage.get(id, at)),
    byHandle: (handle, at) => sqlite.use((storage) => storage.byHandle(handle, at)),
    history: (id, at) => sqlite.use((storage) => storage.history(id, at)),
    list: (options) => sqlite.use((storage) => storage.list(options)),
    search: (query, options) => sqlite.use((storage) => storage.search(query, options)),
    link: (link) => sqlite.use((storage) => storage.link(link)),
    links: (id) => sqlite.use((storage) => storage.links(id)),
    addTurn: (turn, expiresAt) => sqlite.use((storage) => storage.addTurn(turn, expiresAt)),
    searchTurns: (query, options) => sqlite.use((storage) => storage.searchTurns(query, options)),
    vectors: (model) => sqlite.use((storage) => storage.vectors(model)),
    setVector: (id, model, vector) => sqlite.use((storage) => storage.setVector(id, model, vector)),
    sweep: (at) => sqlite.use((storage) => storage.sweep(at)),
    close: () => (sqlite.loading ? sqlite.use((storage) => storage.close()) : undefined),
  };
}
