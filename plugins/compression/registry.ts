/** The compressors of an engine: one a type. */
import type { Compressor } from "./compressor.ts";
import type { ContentType } from "./content-type.ts";

/** Loads a compressor when its type is first met, so that an unused parser costs nothing. */
export type Load = () => Compressor | Promise<Compressor>;
interface Entry {
  readonly keeps: string;
  readonly load: Load;
}

export class Registry {
  readonly #entries = new Map<ContentType, Entry>();
  #recognisers: readonly Compressor[] = [];

  /** Adds a compressor, in place of the one its type had. */
  register(compressor: Compressor): this {
    this.#entries.set(compressor.type, { keeps: compressor.keeps, load: () => compressor });
    const others = this.#recognisers.filter(({ type }) => type !== compressor.type);
    this.#recognisers = compressor.recognises ? [compressor, ...others] : others;
    return this;
  }
  /** Adds a compressor that is imported when it is first used. */
  lazily(type: ContentType, keeps: string, load: Load): this {
    this.#entries.set(type, { keeps, load });
    return this;
  }
  /** The compressor of a type. */
  find(type: ContentType): Compressor | Promise<Compressor> | undefined {
    return this.#entries.get(type)?.load();
  }
  has(type: ContentType): boolean {
    return this.#entries.has(type);
  }
  /** The type that a registered compressor recognises; the one registered last is asked first. */
  recognise(input: string): ContentType | undefined {
    return this.#recognisers.find((compressor) => recognises(compressor, input))?.type;
  }
  /** Every type with what its compressor keeps. */
  list(): { readonly type: ContentType; readonly keeps: string }[] {
    return [...this.#entries].map(([type, { keeps }]) => ({ type, keeps }));
  }
  /** A registry of its own with the same compressors. */
  fork(): Registry {
    const copy = new Registry();
    for (const [type, entry] of this.#entries) copy.#entries.set(type, entry);
    copy.#recognisers = this.#recognisers;
    return copy;
  }
}

function recognises(compressor: Compressor, input: string): boolean {
  try {
    return compressor.recognises?.(input) === true;
  } catch {
    return false;
  }
}
