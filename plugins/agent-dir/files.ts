/** Reading an agent directory from disk: listings, texts and modules. Nothing outside the directory is opened. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, join, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { loadFailure, refuse } from "./errors.ts";

const MODULE = /^(?<stem>[^.].*?)\.(?:m?ts|m?js)$/;

const isMissing = (cause: unknown): boolean =>
  typeof cause === "object" &&
  cause !== null &&
  "code" in cause &&
  (cause.code === "ENOENT" || cause.code === "ENOTDIR");

/** The text of a file, or undefined when there is none. @throws CavemanError `cave_agent_dir_load_failed`. */
export async function textOf(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, "utf8");
  } catch (cause) {
    if (isMissing(cause)) return undefined;
    throw loadFailure(file, cause);
  }
}

export interface Entry {
  readonly stem: string;
  readonly path: string;
}

/** Entries of a folder in name order; none when the folder does not exist. Hidden entries are passed over. */
async function entries(
  folder: string,
  keep: (name: string, directory: boolean) => string | undefined,
): Promise<Entry[]> {
  let names: string[];
  try {
    names = await readdir(folder);
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw loadFailure(folder, cause);
  }
  const out: Entry[] = [];
  for (const name of names.filter((entry) => !entry.startsWith(".")).sort()) {
    const path = join(folder, name);
    // stat follows links, so that a dangling one is reported here and not half-way through a run.
    const found = await stat(path).catch((cause: unknown) => {
      throw loadFailure(path, cause);
    });
    const stem = keep(name, found.isDirectory());
    if (stem !== undefined) out.push({ stem, path });
  }
  return out;
}

/** The modules of a folder. Declarations (`x.d.ts`) and tests (`x.test.ts`) are not tools. */
export const modulesIn = (folder: string): Promise<Entry[]> =>
  entries(folder, (name, directory) =>
    directory || /\.(?:d|test|spec)\.m?[jt]s$/.test(name) ? undefined : MODULE.exec(name)?.groups?.stem,
  );

export const markdownIn = (folder: string): Promise<Entry[]> =>
  entries(folder, (name, directory) => (!directory && name.endsWith(".md") ? basename(name, ".md") : undefined));

export const foldersIn = (folder: string): Promise<Entry[]> =>
  entries(folder, (name, directory) => (directory ? name : undefined));

/** The default export of a module. @throws CavemanError `cave_agent_dir_load_failed` when it throws or has none. */
export async function defaultExport(file: string): Promise<unknown> {
  let module: Record<string, unknown>;
  try {
    module = (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (cause) {
    throw loadFailure(file, cause);
  }
  if (module.default === undefined)
    refuse(
      "cave_agent_dir_load_failed",
      file,
      "a default export",
      "none",
      "Export the definition with `export default`.",
    );
  return module.default;
}

/** The real path of a file, refused when a link leads out of its folder. */
export async function insideOf(folder: string, file: string): Promise<string> {
  try {
    const [root, real] = await Promise.all([realpath(folder), realpath(file)]);
    if (real.startsWith(root + sep)) return real;
  } catch (cause) {
    throw loadFailure(file, cause);
  }
  return refuse(
    "cave_agent_dir_invalid",
    file,
    `a file inside ${folder}`,
    "a link that leads out of it",
    "Put the file itself there.",
  );
}
