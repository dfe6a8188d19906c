/** What a conversation remembers of its compactions: the capsule in its view, and how the originals are read back. */
import { type Static, Type } from "@sinclair/typebox";
import { checkJson } from "../../kernel/index.ts";
import { type ContextSummary, ContextSummarySchema } from "./capsule-schema.ts";

export const SavedState = Type.Object({
  capsule: Type.Optional(
    Type.Object({ digest: Type.String({ pattern: "^[0-9a-f]{64}$" }), summary: ContextSummarySchema }),
  ),
  originals: Type.Array(Type.String(), { maxItems: 64 }),
});
/** Ways back that a capsule names; older ones are found in the originals of the next. */
const ORIGINALS_NAMED = 16;

export class CompactionState {
  #capsule: { readonly digest: string; readonly summary: ContextSummary } | undefined;
  #originals: readonly string[] = [];

  constructor(saved: unknown) {
    const read = saved === undefined ? undefined : checkJson<Static<typeof SavedState>>(SavedState, saved);
    if (!read?.ok) return;
    this.#capsule = read.value.capsule;
    this.#originals = read.value.originals;
  }
  /** The capsule that a new one supersedes. Only one that this plugin put in the view is one. */
  get capsule(): { readonly digest: string; readonly summary: ContextSummary } | undefined {
    return this.#capsule;
  }
  /** The ways back, newest first, with one more in front. */
  originalsWith(call: string | undefined): string[] {
    return [...(call === undefined ? [] : [call]), ...this.#originals.filter((one) => one !== call)].slice(
      0,
      ORIGINALS_NAMED,
    );
  }
  took(digest: string, summary: ContextSummary, originals: readonly string[]): void {
    this.#capsule = { digest, summary };
    this.#originals = originals;
  }
  toJSON(): unknown {
    return { ...(this.#capsule ? { capsule: this.#capsule } : {}), originals: [...this.#originals] };
  }
}
