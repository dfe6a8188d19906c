/** The cache epochs of a conversation: one a model, since each model has a cache of its own. */
import { type Static, Type } from "@sinclair/typebox";
import { type Run, sha256 } from "../../kernel/index.ts";
import { type Sent, savedForm } from "./sent.ts";

/** Epochs kept: a fallback and a cheaper model for some turns come back to theirs. */
const MAX_EPOCHS = 4;

const Hash = Type.String({ pattern: "^[0-9a-f]{64}$" });
const Count = Type.Integer({ minimum: 0 });
const SavedEpoch = Type.Object({
  model: Type.String(),
  number: Count,
  input: Count,
  at: Type.Number(),
  warm: Type.Boolean(),
  settings: Type.String(),
  sent: Type.Object({ count: Count, chain: Hash, system: Hash, tools: Hash, context: Type.Boolean() }),
});
export const SavedState = Type.Object({ key: Type.String(), last: Count, epochs: Type.Array(SavedEpoch) });
type SavedState = Static<typeof SavedState>;

/** The newest request of an epoch. */
export interface Epoch {
  /** Counts from 1 over all models of the conversation. */
  readonly number: number;
  readonly sent: Sent;
  /** Its gross input, as the provider counted it. */
  readonly input: number;
  /** When it was sent, epoch milliseconds. */
  readonly at: number;
  /** Whether the provider has read or written its cache in this epoch. */
  readonly warm: boolean;
  /** Digest of the settings that vendors cache by. */
  readonly settings: string;
}

export class PrefixState {
  /** The cache key of the conversation: says nothing about it. */
  readonly key: string;
  #last: number;
  readonly #epochs = new Map<string, Epoch>();

  constructor(run: Run, saved: unknown) {
    // The kernel has checked it against the schema.
    const state = saved as SavedState | undefined;
    this.key = state?.key ?? `cave-${sha256(`${run.id} ${run.path.join("/")}`).slice(0, 24)}`;
    this.#last = state?.last ?? 0;
    for (const { model, ...epoch } of state?.epochs ?? []) this.#epochs.set(model, epoch);
  }

  of(model: string): Epoch | undefined {
    return this.#epochs.get(model);
  }
  /** The epoch of the model that was called last. */
  get newest(): Epoch | undefined {
    return [...this.#epochs.values()].at(-1);
  }
  next(): number {
    return ++this.#last;
  }
  keep(model: string, epoch: Epoch): void {
    // Written last, so that the one not used for longest is the first.
    this.#epochs.delete(model);
    this.#epochs.set(model, epoch);
    if (this.#epochs.size > MAX_EPOCHS) this.#epochs.delete(this.#epochs.keys().next().value ?? "");
  }
  toJSON(): SavedState {
    const epochs = [...this.#epochs].map(([model, { sent, ...epoch }]) => ({ model, ...epoch, sent: savedForm(sent) }));
    return { key: this.key, last: this.#last, epochs };
  }
}
