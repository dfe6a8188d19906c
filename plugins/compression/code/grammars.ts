/**
 * Finds and loads the grammars, each when it is first needed. A published package carries them in `dist/grammars/`;
 * in a checkout they lie in the packages they come from. Whatever is missing or does not load is simply absent, and
 * what would have needed it stays as it is.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Language, Parser, Query } from "web-tree-sitter";
import { type LanguageName, languages } from "./languages.ts";

/** Everything needed to read one language. */
export interface Grammar {
  readonly name: LanguageName;
  readonly parser: Parser;
  readonly language: Language;
  /** Captures `body`, `callback` and `fault`. */
  readonly bodies: Query;
}

/** Where a build puts the grammars, relative to this file's place in it. */
const BUNDLED = new URL("../../../grammars/", import.meta.url);

async function bytesOf(from: string, file: string): Promise<Uint8Array> {
  try {
    return await readFile(new URL(file, BUNDLED));
  } catch {
    return await readFile(createRequire(import.meta.url).resolve(`${from}/${file}`));
  }
}

type TreeSitter = typeof import("web-tree-sitter");
let treeSitter: Promise<TreeSitter> | undefined;
const grammars = new Map<LanguageName, Promise<Grammar | undefined>>();

async function start(): Promise<TreeSitter> {
  const loaded = await import("web-tree-sitter");
  const wasmBinary = await bytesOf("web-tree-sitter", "web-tree-sitter.wasm");
  await loaded.Parser.init({ wasmBinary });
  return loaded;
}

async function load(name: LanguageName): Promise<Grammar | undefined> {
  try {
    const { Language, Parser, Query } = await (treeSitter ??= start());
    const { from, file, bodies } = languages[name];
    const language = await Language.load(await bytesOf(from, file));
    const parser = new Parser();
    parser.setLanguage(language);
    return { name, parser, language, bodies: new Query(language, `${bodies} (ERROR) @fault (MISSING) @fault`) };
  } catch {
    return undefined;
  }
}

/** The grammar of a language; undefined where its parser or its grammar cannot be had. */
export function grammarOf(name: LanguageName): Promise<Grammar | undefined> {
  let grammar = grammars.get(name);
  if (!grammar) grammars.set(name, (grammar = load(name)));
  return grammar;
}

/** What a build must copy into `dist/grammars/`, as package and file in it. */
export const grammarFiles: readonly (readonly [from: string, file: string])[] = [
  ["web-tree-sitter", "web-tree-sitter.wasm"],
  ...Object.values(languages).map(({ from, file }) => [from, file] as const),
];
