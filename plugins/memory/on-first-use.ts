/** What is loaded with the first call that needs it, so that importing the package does not load it. */
import { asCaveman } from "../../kernel/index.ts";

/**
 * Calls made while it loads go on in their order once it is there; from then on they do not wait. A failure to load is
 * `cave_memory_storage_unavailable`, and the next call tries again.
 */
export class OnFirstUse<T> {
  readonly #load: () => Promise<T>;
  #loading: Promise<T> | undefined;
  #loaded: T | undefined;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  /** Undefined until it is loaded. */
  get loaded(): T | undefined {
    return this.#loaded;
  }
  /** Undefined when nothing has asked for it yet. */
  get loading(): Promise<T> | undefined {
    return this.#loading;
  }

  use<R>(work: (loaded: T) => R | Promise<R>): R | Promise<R> {
    return this.#loaded === undefined ? this.#start().then(work) : work(this.#loaded);
  }

  #start(): Promise<T> {
    if (this.#loading) return this.#loading;
    const loading = this.#load().catch((error: unknown) => {
      throw asCaveman(error, "cave_memory_storage_unavailable", { place: "the code of memory" });
    });
    // The first to be told: a call that finds it loaded comes after those that waited for it.
    loading.then(
      (loaded) => {
        this.#loaded = loaded;
      },
      () => {
        this.#loading = undefined;
      },
    );
    this.#loading = loading;
    return loading;
  }
}
