/**
 * The connections of one kernel, shared by its runs: a server is started for the first run that uses it and closed
 * with the last, or a stated time after. A server that went away is started again for the next call, a few times.
 */
import { CavemanError } from "../../kernel/index.ts";
import { type Connection, connect } from "./connection.ts";
import { type Definition, readDefinition, tellApart, type Unfit } from "./definition.ts";
import type { ServerSpec } from "./options.ts";

/** What a run is told of a server while it uses it. */
export interface Watcher {
  readonly listChanged: (server: string) => void;
  readonly refused: (server: string, method: string) => void;
}

/** A server's tools, read at one moment. */
export interface Listing {
  readonly definitions: readonly Definition[];
  readonly unfit: readonly Unfit[];
}

/** Times a server that went away is started again. */
const MAX_RESTARTS = 3;

export class Pool {
  readonly #links = new Map<string, Link>();
  readonly #keepAliveMs: number;

  constructor(keepAliveMs: number) {
    this.#keepAliveMs = keepAliveMs;
  }

  /** The link to a server, for a run; give it back with `release`. */
  acquire(spec: ServerSpec, cwd: string, watcher: Watcher): Link {
    const key = `${spec.name}\0${cwd}`;
    let link = this.#links.get(key);
    if (!link) this.#links.set(key, (link = new Link(spec, cwd)));
    link.join(watcher);
    return link;
  }
  /** Resolves when nothing that this run kept alive is left. */
  async release(link: Link, watcher: Watcher): Promise<void> {
    if (!link.leave(watcher)) return;
    if (this.#keepAliveMs > 0) link.closeAfter(this.#keepAliveMs, () => this.#drop(link));
    else await this.#drop(link);
  }
  #drop(link: Link): Promise<void> {
    for (const [key, other] of this.#links) if (other === link) this.#links.delete(key);
    return link.close();
  }
  /** Process ids of the stdio servers that are up. */
  get pids(): readonly number[] {
    return [...this.#links.values()].flatMap(({ pid }) => pid ?? []);
  }
}

/** One server and its connection, whichever that is at the moment. */
export class Link {
  readonly spec: ServerSpec;
  readonly #cwd: string;
  readonly #watchers = new Set<Watcher>();
  readonly #ended = new AbortController();
  #opening: Promise<Connection> | undefined;
  #connection: Connection | undefined;
  #listing: Promise<Listing> | undefined;
  #starts = 0;
  #idle: NodeJS.Timeout | undefined;

  constructor(spec: ServerSpec, cwd: string) {
    this.spec = spec;
    this.#cwd = cwd;
  }

  join(watcher: Watcher): void {
    clearTimeout(this.#idle);
    this.#watchers.add(watcher);
    // A run reads the list for itself: a server may have changed it without a word.
    this.#listing = undefined;
  }
  /** Whether nobody is left. */
  leave(watcher: Watcher): boolean {
    return this.#watchers.delete(watcher) && this.#watchers.size === 0;
  }
  closeAfter(ms: number, close: () => Promise<void>): void {
    this.#idle = setTimeout(() => void close(), ms);
  }
  get pid(): number | undefined {
    return this.#connection?.pid;
  }

  /** The server's tools, read again when it said that they changed or when it was started again. */
  async listing(): Promise<Listing> {
    const connection = await this.#open();
    const listing = (this.#listing ??= this.#read(connection));
    return listing.catch((error: unknown) => {
      if (this.#listing === listing) this.#listing = undefined;
      throw error;
    });
  }

  /**
   * Calls a tool, if it still is the one that this run was shown.
   * @throws CavemanError `cave_mcp_definition_changed`, `cave_mcp_server_lost`, `cave_mcp_tool_failed`, `cave_tool_timeout`.
   */
  async call(definition: Definition, input: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    const { definitions } = await this.listing();
    const now = definitions.find(({ tool }) => tool === definition.tool);
    if (now?.digest !== definition.digest) {
      const place = `${this.spec.name}, tool ${definition.name}`;
      throw new CavemanError("cave_mcp_definition_changed", {
        place,
        received: now ? "another definition" : "none any more",
      });
    }
    const connection = await this.#open();
    signal.throwIfAborted();
    return connection.call(definition.tool, input, signal);
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    this.#ended.abort(new CavemanError("cave_run_closed"));
    const connection = await this.#opening?.catch(() => undefined);
    await connection?.close();
  }

  /** The live connection. One that went away is replaced, once for all calls that find it gone. */
  #open(): Promise<Connection> {
    if (this.#opening && this.#connection?.alive !== false) return this.#opening;
    const before = this.#connection;
    this.#connection = undefined;
    this.#listing = undefined;
    const opening = this.#start(before);
    this.#opening = opening;
    opening.catch(() => {
      if (this.#opening === opening) this.#opening = undefined;
    });
    return opening;
  }

  async #start(before: Connection | undefined): Promise<Connection> {
    await before?.close();
    if (this.#ended.signal.aborted) throw this.#ended.signal.reason;
    if (++this.#starts > 1 + MAX_RESTARTS)
      throw new CavemanError("cave_mcp_server_lost", { place: this.spec.name, received: `${this.#starts - 1} starts` });
    const connection = await connect(this.spec, this.#cwd, this.#ended.signal, {
      listChanged: () => {
        this.#listing = undefined;
        for (const watcher of this.#watchers) watcher.listChanged(this.spec.name);
      },
      refused: (method) => {
        for (const watcher of this.#watchers) watcher.refused(this.spec.name, method);
      },
    });
    this.#connection = connection;
    return connection;
  }

  async #read(connection: Connection): Promise<Listing> {
    const wire = await connection.list();
    const { tools: wanted } = this.spec.options;
    const read = wire
      .filter(({ name }) => !wanted || (typeof name === "string" && wanted.includes(name)))
      .map((tool) => readDefinition(this.spec.name, tool));
    const { distinct, clashing } = tellApart(read.filter((entry) => "digest" in entry));
    return {
      // The order a server lists in is no part of a definition: the model's tool list must not move with it.
      definitions: distinct.sort((a, b) => (a.name < b.name ? -1 : 1)),
      unfit: [...read.filter((entry) => "why" in entry), ...clashing],
    };
  }
}
