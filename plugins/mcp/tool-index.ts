/** Which tools fit a few words: BM25 over names, descriptions and parameter names. */
import { bm25, type Counted } from "../bm25.ts";
import type { Definition } from "./definition.ts";

/** Descriptions are short: a word that comes again says less than in a long text. */
const K1 = 1.2;
/** A word of the name says more than one of the description. */
const NAME_WEIGHT = 3;

interface Entry extends Counted<string> {
  readonly definition: Definition;
}

export class ToolIndex {
  readonly #entries: readonly Entry[];

  constructor(definitions: readonly Definition[]) {
    this.#entries = definitions.map(entryOf);
  }

  /** The best first; a tool that shares no word with the query is none of them. Equal scores go by name. */
  search(query: string): Definition[] {
    const scores = bm25(this.#entries, new Set(wordsOf(query)), { k1: K1 });
    return this.#entries
      .map(({ definition }, at) => ({ definition, score: scores[at] ?? 0 }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.definition.name < b.definition.name ? -1 : 1))
      .map(({ definition }) => definition);
  }
}

function entryOf(definition: Definition): Entry {
  const { properties } = definition.inputSchema;
  const parameters = typeof properties === "object" && properties !== null ? Object.keys(properties) : [];
  const counts = new Map<string, number>();
  const add = (text: string, weight: number): void => {
    for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + weight);
  };
  add(`${definition.server} ${definition.tool}`, NAME_WEIGHT);
  add(definition.description, 1);
  add(parameters.join(" "), 1);
  return { definition, counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) };
}

/** Words in any script, `camelCase` and `snake_case` parted, an English plural read as its singular. */
function wordsOf(text: string): string[] {
  const parted = text
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .normalize("NFKC")
    .toLowerCase();
  return (parted.match(/[\p{L}\p{N}]{1,256}/gu) ?? []).map((word) =>
    word.length > 3 ? word.replace(/(?<=[^s])s$/, "") : word,
  );
}
