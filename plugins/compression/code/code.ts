/** Source code: what it declares stays to the letter, bodies of functions become markers. */

import type { Compressed, Compressor } from "../compressor.ts";
import { keepRelevant } from "../relevant.ts";
import { type Bodies, bodiesOf, elide } from "./bodies.ts";
import { type Grammar, grammarOf } from "./grammars.ts";
import { guessLanguages } from "./languages.ts";

/** A longer source is generated or bundled, and takes longer to parse than it is worth. */
const LONGEST = 524_288;
/** Languages that are tried. */
const TRIED = 2;
/** Lines for each place the parser could make nothing of; beyond that the guess was wrong. */
const LINES_PER_FAULT = 40;
/** Bodies a query may keep. */
const RELEVANT_BODIES = 16;

export const code: Compressor = {
  type: "code",
  keeps: "Imports, types, signatures, comments and docstrings; bodies that the query is about.",
  compress: async (input, { query }) => {
    if (input.length > LONGEST) return undefined;
    const read = await parsed(input);
    if (!read) return undefined;
    const { grammar, bodies } = read;
    const { list } = bodies;
    const kept = new Uint8Array(list.length);
    const text = (index: number): string | undefined => list[index] && input.slice(list[index].from, list[index].end);
    keepRelevant(list.length, text, query, kept, RELEVANT_BODIES);
    const going = list.filter((_, index) => kept[index] === 0);
    const view = elide(grammar, input, bodies, new Set(going));
    if (view === undefined) return undefined;
    const dropped = going.reduce((sum, { lines }) => sum + lines, 0);
    const lines = input.split("\n").length;
    return { text: view, method: grammar.name, unit: "lines", kept: lines - dropped, dropped } satisfies Compressed;
  },
};

/** The source in the language that the parser has the least trouble with. */
async function parsed(input: string): Promise<{ grammar: Grammar; bodies: Bodies } | undefined> {
  let best: { grammar: Grammar; bodies: Bodies } | undefined;
  for (const name of guessLanguages(input).slice(0, TRIED)) {
    const grammar = await grammarOf(name);
    const bodies = grammar && bodiesOf(grammar, input);
    if (!bodies) continue;
    if (!best || bodies.faults < best.bodies.faults) best = { grammar, bodies };
    if (best.bodies.faults === 0) break;
  }
  const lines = input.split("\n").length;
  return best && best.bodies.list.length > 0 && best.bodies.faults <= 1 + lines / LINES_PER_FAULT ? best : undefined;
}
