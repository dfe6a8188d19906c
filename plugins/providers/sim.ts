/** `sim/<name>`: a scripted model whose script is a file of the user's. */
import { readFile, stat } from "node:fs/promises";
import { isAbsolute, join, relative, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { CavemanError, describe, type LanguageModel } from "../../kernel/index.ts";
import { type Script, scripted } from "./scripted/index.ts";

const ENDINGS = [".ts", ".mjs", ".js", ".json"] as const;

/**
 * Loads `<root>/<name>` with the first of the endings .ts, .mjs, .js, .json. The default export (of JSON: the value) is
 * an array of steps, a function, or `{ script, as }`.
 * @throws CavemanError `cave_sim_script_invalid`.
 */
export async function simulatedModel(name: string, root: string): Promise<LanguageModel> {
  const path = await findScript(name, root);
  const { script, as } = shapeOf(await contentOf(path), path, `sim/${name}`);
  try {
    return scripted(script, { as });
  } catch (cause) {
    throw new CavemanError("cave_sim_script_invalid", { place: path, received: describe(cause), cause });
  }
}

async function findScript(name: string, root: string): Promise<string> {
  const base = resolve(root, name);
  const within = relative(resolve(root), base);
  if (within.startsWith("..") || isAbsolute(within))
    throw new CavemanError("cave_sim_script_invalid", {
      place: `sim/${name}`,
      expected: "a script inside the script folder",
      received: "a path that leaves it",
    });
  for (const ending of ENDINGS) {
    const path = `${base}${ending}`;
    if ((await stat(path).catch(() => undefined))?.isFile()) return path;
  }
  throw new CavemanError("cave_sim_script_invalid", {
    place: `sim/${name}`,
    expected: `${join(root, name)} with one of ${ENDINGS.join(", ")}`,
    received: "no such file",
  });
}

async function contentOf(path: string): Promise<unknown> {
  try {
    if (path.endsWith(".json")) return JSON.parse(await readFile(path, "utf8"));
    const loaded: unknown = await import(pathToFileURL(path).href);
    return (loaded as { default?: unknown }).default;
  } catch (cause) {
    throw new CavemanError("cave_sim_script_invalid", { place: path, received: describe(cause), cause });
  }
}

const isScript = (value: unknown): value is Script => Array.isArray(value) || typeof value === "function";

function shapeOf(value: unknown, path: string, name: string): { script: Script; as: string } {
  if (isScript(value)) return { script: value, as: name };
  const { script, as = name } = (typeof value === "object" && value !== null ? value : {}) as {
    script?: unknown;
    as?: unknown;
  };
  if (!isScript(script))
    throw new CavemanError("cave_sim_script_invalid", {
      place: path,
      expected: "a default export that is an array of steps, a function, or { script, as }",
      received: value === null ? "null" : value === undefined ? "no default export" : typeof value,
    });
  if (typeof as !== "string" || !/^[^/\s]+\/\S+$/.test(as))
    throw new CavemanError("cave_sim_script_invalid", {
      place: `${path}, as`,
      expected: "provider/model",
      received: typeof as,
    });
  return { script, as };
}
