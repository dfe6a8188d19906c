/** What one input of the corpus is. */

/** What must be found: the text itself, or a pattern. */
export type Fact = string | RegExp;

export interface CorpusInput {
  readonly name: string;
  /** What detection must say it is. */
  readonly type: string;
  /**
   * Whether there is anything to leave out, judged by what the input is and never by what came out: prose, random
   * identifiers, what is small, and what says something new on every line are not.
   */
  readonly compressible: boolean;
  /** Why not, for those that are not. */
  readonly why?: string;
  readonly query?: string;
  readonly text: string;
  /** Must be in what the model sees. */
  readonly visible: readonly Fact[];
  /** Must be in what can be fetched back. */
  readonly recoverable: readonly Fact[];
}

export const holds = (text: string, fact: Fact): boolean =>
  typeof fact === "string" ? text.includes(fact) : fact.test(text);
