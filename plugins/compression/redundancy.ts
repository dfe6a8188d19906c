/**
 * The guard of every compressor that drops units: a unit may go only when one kept unit stands for it, which means that it
 * has nearly all of its words. A unit that nothing stands for is kept after all. A text whose units keep saying new
 * things is a document, and is left whole.
 */
import { Vocabulary } from "./vocabulary.ts";

/** Share of its words that one kept unit must have. */
export const STANDS_FOR = 0.9;
/** Kept templates that are compared with; more would say little and cost much. */
export const MAX_SEEDS = 64;
/** Units kept after all, beyond which the whole is a document. */
export const MAX_PROMOTIONS = 128;

/** Templates up to which each has an example, and how many units there must be for each of them. */
const MAX_KINDS = 32;
const UNITS_OF_KIND = 16;

export interface RedundancyOptions {
  /** Share of its words that one kept unit must have. Default 0.9. */
  readonly standsFor?: number;
  /** Units kept after all, beyond which the whole is a document. Default 128. */
  readonly maxPromotions?: number;
}

/** One unit that others may be like: a line, or the words of an element. Undefined is a unit without words, such as an empty line. */
export type UnitAt = (index: number) => string | undefined;

/**
 * Promotes dropped units that no kept one stands for: `kept[i]` becomes 1.
 * @returns the number of promotions, or undefined when the units are a document and nothing may be dropped.
 */
export function keepNonRedundant(
  units: readonly string[] | UnitAt,
  kept: Uint8Array,
  options: RedundancyOptions = {},
): number | undefined {
  const { standsFor = STANDS_FOR, maxPromotions = MAX_PROMOTIONS } = options;
  const at: UnitAt = typeof units === "function" ? units : (index) => units[index];
  const representatives = new Representatives(standsFor);
  const vocabulary = new Vocabulary();
  const covered = new Set<number>();
  for (let i = 0; i < kept.length && representatives.count < MAX_SEEDS; i++) {
    const unit = kept[i] ? at(i) : undefined;
    if (unit === undefined) continue;
    vocabulary.scan(unit);
    if (covered.has(vocabulary.template)) continue;
    covered.add(vocabulary.template);
    representatives.add(vocabulary);
  }
  let promotions = 0;
  const stoodFor: number[] = [];
  for (let i = 0; i < kept.length; i++) {
    if (kept[i]) continue;
    const unit = at(i);
    if (unit === undefined) continue;
    vocabulary.scan(unit);
    if (vocabulary.count === 0 || covered.has(vocabulary.template)) continue;
    if (!representatives.standFor(vocabulary)) {
      if (++promotions > maxPromotions) return undefined;
      kept[i] = 1;
      representatives.add(vocabulary);
    } else if (stoodFor.length < MAX_KINDS) stoodFor.push(i);
    covered.add(vocabulary.template);
  }
  // Where there are few kinds of units, one of each costs little, and a single other word may be what matters.
  if (covered.size <= Math.min(MAX_KINDS, kept.length / UNITS_OF_KIND)) for (const i of stoodFor) kept[i] = 1;
  return promotions;
}

/** The words of the kept units, each with the units that have it. */
class Representatives {
  count = 0;
  readonly #standsFor: number;
  readonly #having = new Map<number, number[]>();
  #shared = new Int32Array(256);

  constructor(standsFor: number) {
    this.#standsFor = standsFor;
  }

  add({ words, count }: Vocabulary): void {
    const id = this.count++;
    for (let i = 0; i < count; i++) {
      const word = words[i] ?? 0;
      const having = this.#having.get(word);
      if (having) having.push(id);
      else this.#having.set(word, [id]);
    }
    if (this.count > this.#shared.length) this.#shared = new Int32Array(this.count * 2);
  }

  /** Whether one of them has enough of these words. */
  standFor({ words, count }: Vocabulary): boolean {
    const shared = this.#shared.fill(0, 0, this.count);
    const enough = count * this.#standsFor;
    for (let i = 0; i < count; i++) {
      const having = this.#having.get(words[i] ?? 0);
      if (!having) continue;
      for (const id of having) if ((shared[id] = (shared[id] ?? 0) + 1) >= enough) return true;
    }
    return false;
  }
}
