/** Which tools fit a few words: BM25 over names, descriptions and parameter names. */
import type { Definition } from "./definition.ts";

const K1 = 1.2;
const B = 0.75;
/** A word of the name says more than one of the description. */
const NAME_WEIGHT = 3;

interface Entry {
  readonly definition: Definition;
  readonly counts: ReadonlyMap<string, number>;
  readonly length: number;
}

export class ToolIndex {
  readonly #entries: readonly Entry[];
  readonly #found = new Map<string, number>();
  readonly #averageLength: number;

  constructor(definitions: readonly Definition[]) {
    this.#entries = definitions.map(entryOf);
    for (const { counts } of this.#entries)
      for (const word of counts.keys()) this.#found.set(word, (this.#found.get(word) ?? 0) + 1);
    this.#averageLength =
      this.#entries.reduce((sum, { length }) => sum + length, 0) / Math.max(1, this.#entries.length);
  }

  /** The best first; a tool that shares no word with the query is none of them. Equal scores go by name. */
  search(query: string): Definition[] {
    const words = new Set(wordsOf(query));
    const scored = this.#entries.map((entry) => ({ definition: entry.definition, score: this.#score(entry, words) }));
    return scored
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score || (a.definition.name < b.definition.name ? -1 : 1))
      .map(({ definition }) => definition);
  }

  #score({ counts, length }: Entry, words: ReadonlySet<string>): number {
    let score = 0;
    for (const word of words) {
      const count = counts.get(word);
      if (count === undefined) continue;
      const inTools = this.#found.get(word) ?? 0;
      const rarity = Math.log(1 + (this.#entries.length - inTools + 0.5) / (inTools + 0.5));
      score += (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / this.#averageLength));
    }
    return score;
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
