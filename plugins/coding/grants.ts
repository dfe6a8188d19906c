/**
 * A person's "always", kept for the session. The policy keeps it with the conversation, which forgets what a turn that
 * failed had brought; the person said it all the same, and is not asked again. It is never read from a file: a file in
 * a workspace is not a person.
 */
import type { RunOptions } from "../../kernel/index.ts";

/** Asks a person about a call: the run option `approve`. */
export type Approve = NonNullable<RunOptions["approve"]>;
/** What a person is asked about. */
export type ApprovalRequest = Parameters<Approve>[0];

export class Grants {
  readonly #given = new Set<string>();

  /** Asks `approve`, unless the person has already said always to all that this call asks about. */
  asking(approve: Approve): Approve {
    return async (request) => {
      const keys = request.always.map((rule) => JSON.stringify([sorted(request.rule), sorted(rule)]));
      if (keys.length > 0 && keys.every((key) => this.#given.has(key))) return "always";
      const answer = await approve(request);
      if (answer === "always") for (const key of keys) this.#given.add(key);
      return answer;
    };
  }
  get size(): number {
    return this.#given.size;
  }
}

const sorted = (rule: object): [string, unknown][] => Object.entries(rule).sort(([a], [b]) => (a < b ? -1 : 1));
