/** Saved sessions: one JSON file each under `.caveman/sessions`, written whole after every turn. */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { CavemanError, checkJson, describe } from "../../kernel/index.ts";
import { privateFolder, readPrivately, writePrivately } from "./private-folder.ts";

const SCHEMA = "caveman.coding-session.v1";
/** A longer file is not taken up again. */
const MAX_BYTES = 256 * 1_024 * 1_024;
/** Sessions that are kept in a workspace; the oldest go. */
const KEPT = 50;

const count = Type.Integer({ minimum: 0 });
const Totals = Type.Object(
  {
    calls: count,
    inputTokens: count,
    outputTokens: count,
    cacheReadTokens: count,
    cacheWriteTokens: count,
    reasoningTokens: count,
    /** Units of 1e-12 USD. */
    picoUsd: Type.String({ pattern: "^[0-9]{1,30}$" }),
    unpriced: Type.Boolean(),
    simulated: Type.Boolean(),
    bounded: Type.Boolean(),
  },
  { additionalProperties: false },
);
const Session = Type.Object(
  {
    schema: Type.Literal(SCHEMA),
    id: Type.String({ pattern: "^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$" }),
    title: Type.String(),
    createdAt: Type.Integer({ minimum: 0 }),
    updatedAt: Type.Integer({ minimum: 0 }),
    /** Turns that were completed. */
    turns: count,
    totals: Totals,
    conversation: Type.Unknown(),
    /** What the next turn is told about one that did not complete. */
    aftermath: Type.Optional(Type.String()),
    /** The turn that was running when this was written. */
    running: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
export type SavedSession = Static<typeof Session>;
/** A saved session, as a list shows it. */
export interface SessionEntry {
  readonly id: string;
  readonly title: string;
  readonly turns: number;
  readonly updatedAt: number;
}

const ID = /^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$/;
const FILE = /^([0-9]{8}-[0-9]{6}-[0-9a-f]{6})\.json$/;

/** A name that sorts by time. */
export function sessionId(now: number): string {
  const [day = "", time = ""] = new Date(now).toISOString().slice(0, 19).replace(/[-:]/g, "").split("T");
  return `${day}-${time}-${crypto.randomUUID().slice(0, 6)}`;
}

export class SessionFile {
  readonly path: string;
  readonly #folder: string;
  /** When this process last wrote or read it. */
  #mtimeMs: number | undefined;

  private constructor(folder: string, id: string, mtimeMs?: number) {
    this.#folder = folder;
    this.path = join(folder, `${id}.json`);
    this.#mtimeMs = mtimeMs;
  }

  /** Where a new session goes. @throws CavemanError `cave_coding_session_unsaved`. */
  static async create(workspace: string, id: string): Promise<SessionFile> {
    try {
      const folder = await privateFolder(workspace);
      await prune(folder);
      return new SessionFile(folder, id);
    } catch (cause) {
      throw new CavemanError("cave_coding_session_unsaved", { received: describe(cause), cause });
    }
  }

  /**
   * A saved session: of this id or its beginning, or the newest.
   * @throws CavemanError `cave_coding_session_unknown`, `cave_coding_session_invalid`.
   */
  static async open(workspace: string, name?: string): Promise<{ file: SessionFile; saved: SavedSession }> {
    const folder = join(workspace, ".caveman", "sessions");
    const ids = await idsIn(folder);
    const fitting = name === undefined ? ids.slice(-1) : ids.filter((id) => name !== "" && id.startsWith(name));
    const id = fitting.find((entry) => entry === name) ?? fitting[0];
    if (id === undefined || (fitting.length > 1 && !fitting.includes(name ?? "")))
      throw new CavemanError("cave_coding_session_unknown", {
        place: folder,
        expected: fitting.length > 1 ? `one of ${fitting.join(", ")}` : ids.slice(-5).join(", ") || "a saved session",
        received: name === undefined ? "none" : JSON.stringify(name),
      });
    const path = join(folder, `${id}.json`);
    try {
      await privateFolder(workspace);
      const { text, mtimeMs } = await readPrivately(path, MAX_BYTES);
      const checked = checkJson<SavedSession>(Session, JSON.parse(text));
      if (!checked.ok) throw new Error(checked.problem);
      if (checked.value.id !== id) throw new Error("it holds another session than its name says");
      return { file: new SessionFile(folder, id, mtimeMs), saved: checked.value };
    } catch (cause) {
      throw new CavemanError("cave_coding_session_invalid", { place: path, received: describe(cause), cause });
    }
  }

  /** Whether somebody else wrote it since this process did. */
  async taken(): Promise<boolean> {
    const found = await stat(this.path).catch(() => undefined);
    return found !== undefined && found.mtimeMs !== this.#mtimeMs;
  }

  /** @throws CavemanError `cave_coding_session_unsaved`. */
  async write(session: Omit<SavedSession, "schema">): Promise<void> {
    try {
      await writePrivately(this.path, `${JSON.stringify({ schema: SCHEMA, ...session })}\n`);
      this.#mtimeMs = (await stat(this.path)).mtimeMs;
    } catch (cause) {
      throw new CavemanError("cave_coding_session_unsaved", { place: this.path, received: describe(cause), cause });
    }
  }

  /** The same folder under another name. */
  sibling(id: string): SessionFile {
    return new SessionFile(this.#folder, id);
  }
}

/** The sessions of a workspace, newest first; those that cannot be read are left out. */
export async function listSessions(workspace: string, limit = KEPT): Promise<SessionEntry[]> {
  const entries: SessionEntry[] = [];
  for (const id of (await idsIn(join(workspace, ".caveman", "sessions"))).reverse()) {
    if (entries.length >= limit) break;
    const opened = await SessionFile.open(workspace, id).catch(() => undefined);
    if (opened) {
      const { title, turns, updatedAt } = opened.saved;
      entries.push({ id, title, turns, updatedAt });
    }
  }
  return entries;
}

/** Ids in the order of their last change. */
async function idsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const found: { id: string; at: number }[] = [];
  for (const name of names) {
    const id = FILE.exec(name)?.[1];
    if (id === undefined) continue;
    const at = await stat(join(folder, name)).catch(() => undefined);
    if (at) found.push({ id, at: at.mtimeMs });
  }
  return found.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1)).map(({ id }) => id);
}

async function prune(folder: string): Promise<void> {
  const ids = await idsIn(folder);
  for (const id of ids.slice(0, Math.max(0, ids.length - KEPT + 1)))
    if (ID.test(id)) await rm(join(folder, `${id}.json`), { force: true });
}
