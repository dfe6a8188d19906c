/** What a person entered in this workspace, kept between sessions: bounded, private, and no reason to fail. */
import { join } from "node:path";
import { privateFolder, readPrivately, writePrivately } from "../../plugins/coding/index.ts";

const ENTRIES = 500;
const ENTRY_CHARACTERS = 10_000;
const FILE_BYTES = 8 * 1_024 * 1_024;
const FILE = "history.json";

export class History {
  readonly entries: string[];
  readonly #path: string | undefined;
  #writing: Promise<void> = Promise.resolve();

  private constructor(entries: string[], path: string | undefined) {
    this.entries = entries;
    this.#path = path;
  }

  /** The history of a workspace; an empty one where none can be read, one that is not kept where none can be written. */
  static async of(workspace: string, keep = true): Promise<History> {
    const folder = keep ? await privateFolder(workspace).catch(() => undefined) : undefined;
    if (folder === undefined) return new History([], undefined);
    const path = join(folder, FILE);
    try {
      const read: unknown = JSON.parse((await readPrivately(path, FILE_BYTES)).text);
      const entries = Array.isArray(read) ? read.filter((entry): entry is string => typeof entry === "string") : [];
      return new History(entries.slice(-ENTRIES), path);
    } catch {
      return new History([], path);
    }
  }

  /** Adds a line, unless it repeats the last one. */
  add(line: string): void {
    if (line.trim() === "" || line.length > ENTRY_CHARACTERS || this.entries.at(-1) === line) return;
    this.entries.push(line);
    this.entries.splice(0, this.entries.length - ENTRIES);
    const path = this.#path;
    if (path === undefined) return;
    const text = JSON.stringify(this.entries);
    this.#writing = this.#writing.then(() => writePrivately(path, text)).catch(() => undefined);
  }

  /** Waits until what was added is on disk. */
  flush(): Promise<void> {
    return this.#writing;
  }
}
