/**
 * Accepted tool definitions. The lock file holds the digest of each and is meant to be committed; beside it a file of
 * pending ones holds what was seen and refused, so that a person accepts exactly what was shown.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { CavemanError, checkJson, describe } from "../../kernel/index.ts";
import { makeFolder, systemCode } from "../private-file.ts";
import type { Definition } from "./definition.ts";

const Digest = Type.String({ pattern: "^[0-9a-f]{64}$" });
const Lock = Type.Object(
  {
    schema: Type.Literal("caveman.mcp-lock.v1"),
    servers: Type.Record(Type.String(), Type.Record(Type.String(), Digest)),
  },
  { additionalProperties: false },
);
const PendingTool = Type.Object(
  {
    digest: Digest,
    /** What was accepted before, when the tool is a changed one. */
    was: Type.Optional(Digest),
    description: Type.String(),
    inputSchema: Type.Record(Type.String(), Type.Unknown()),
  },
  { additionalProperties: false },
);
const Pending = Type.Object(
  {
    schema: Type.Literal("caveman.mcp-pending.v1"),
    servers: Type.Record(Type.String(), Type.Record(Type.String(), PendingTool)),
  },
  { additionalProperties: false },
);
export type PendingTool = Static<typeof PendingTool>;
type ByServer<T> = Record<string, Record<string, T>>;

/** `accepted` as it is; `changed` another than was accepted; `added` to a known server; `unseen` server. */
export type Standing = "accepted" | "changed" | "added" | "unseen";

export class LockFile {
  readonly path: string;
  readonly pendingPath: string;
  readonly accepted: ByServer<string>;
  readonly pending: ByServer<PendingTool>;

  /** Reads both files; one that is not there is empty. @throws CavemanError `cave_mcp_lock_invalid`. */
  constructor(path: string) {
    this.path = path;
    this.pendingPath = `${path.replace(/(?:\.lock)?\.json$/, "")}.pending.json`;
    this.accepted = byServer(read(this.path, Lock)?.servers);
    this.pending = byServer(read(this.pendingPath, Pending)?.servers);
  }

  standing({ server, tool, digest }: Pick<Definition, "server" | "tool" | "digest">): Standing {
    const known = this.accepted[server];
    if (!known) return "unseen";
    const accepted = known[tool];
    return accepted === undefined ? "added" : accepted === digest ? "accepted" : "changed";
  }

  /** Writes what a run learned: tools it may trust on first use, and tools it refused. Nothing new writes nothing. */
  learn(trusted: readonly Definition[], refused: readonly Definition[]): void {
    if (trusted.length > 0) {
      for (const { server, tool, digest } of trusted) own(this.accepted, server)[tool] = digest;
      this.#write();
    }
    const fresh = refused.filter(({ server, tool, digest }) => this.pending[server]?.[tool]?.digest !== digest);
    if (fresh.length === 0) return;
    for (const { server, tool, digest, description, inputSchema } of fresh) {
      const was = this.accepted[server]?.[tool];
      own(this.pending, server)[tool] = { digest, ...(was === undefined ? {} : { was }), description, inputSchema };
    }
    this.#writePending();
  }

  /** Accepts what is pending of a server, or one tool of it; gives their names. */
  accept(server: string, tool?: string): string[] {
    const waiting = Object.entries(this.pending[server] ?? {}).filter(([name]) => tool === undefined || name === tool);
    for (const [name, { digest }] of waiting) {
      own(this.accepted, server)[name] = digest;
      delete this.pending[server]?.[name];
    }
    if (Object.keys(this.pending[server] ?? {}).length === 0) delete this.pending[server];
    if (waiting.length > 0) {
      this.#write();
      this.#writePending();
    }
    return waiting.map(([name]) => name);
  }

  #write(): void {
    write(this.path, { schema: "caveman.mcp-lock.v1", servers: sorted(this.accepted) });
  }
  #writePending(): void {
    if (Object.keys(this.pending).length === 0) rmSync(this.pendingPath, { force: true });
    else write(this.pendingPath, { schema: "caveman.mcp-pending.v1", servers: sorted(this.pending) });
  }
}

// Tool names come from servers: `constructor` and `__proto__` are names like others, and never look anything up.
const blank = <T>(): Record<string, T> => Object.create(null) as Record<string, T>;
function byServer<T>(given: Readonly<Record<string, Readonly<Record<string, T>>>> | undefined): ByServer<T> {
  const out = blank<Record<string, T>>();
  for (const [server, tools] of Object.entries(given ?? {})) out[server] = Object.assign(blank<T>(), tools);
  return out;
}
const own = <T>(all: ByServer<T>, server: string): Record<string, T> => (all[server] ??= blank<T>());

function sorted<T>(all: ByServer<T>): ByServer<T> {
  const order = <V>(record: Record<string, V>): Record<string, V> => {
    const out = blank<V>();
    for (const [key, value] of Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))) out[key] = value;
    return out;
  };
  const out = blank<Record<string, T>>();
  for (const [server, tools] of Object.entries(order(all))) out[server] = order(tools);
  return out;
}

function read<S extends TSchema>(path: string, shape: S): Static<S> | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw new CavemanError("cave_mcp_lock_invalid", { place: path, received: describe(error) });
  }
  try {
    const checked = checkJson<Static<S>>(shape, JSON.parse(text));
    if (checked.ok) return checked.value;
    throw new CavemanError("cave_mcp_lock_invalid", { place: path, received: checked.problem });
  } catch (error) {
    if (error instanceof CavemanError) throw error;
    throw new CavemanError("cave_mcp_lock_invalid", { place: path, expected: "JSON", received: describe(error) });
  }
}

/** Whole or not at all: a temporary file renamed into place. */
function write(path: string, value: unknown): void {
  const half = `${path}.${process.pid}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  try {
    makeFolder(dirname(path), 0o777); // the lock is committed with the project, so its folder is like any other
    writeFileSync(half, `${JSON.stringify(value, null, 2)}\n`, { flag: "wx" });
    renameSync(half, path);
  } catch (error) {
    rmSync(half, { force: true });
    throw new CavemanError("cave_mcp_lock_unwritable", { place: path, received: systemCode(error) ?? describe(error) });
  }
}
