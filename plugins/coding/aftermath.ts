/**
 * What the next turn is told of one that did not complete. The conversation forgets such a turn, but what it did to the
 * files stays, and the person remembers having asked.
 */
import type { RunEvent } from "../../kernel/index.ts";
import { tellingArgument } from "./telling-argument.ts";

const REQUEST_CHARACTERS = 1_000;
const CALLS = 40;
const CALL_CHARACTERS = 200;

export class Aftermath {
  readonly #request: string;
  readonly #calls = new Map<string, { readonly said: string; state: string }>();

  constructor(request: string) {
    this.#request = request;
  }
  watch(event: RunEvent): void {
    if (event.type === "tool_start")
      this.#calls.set(event.toolCallId, {
        said: `${event.name} ${tellingArgument(event.input)}`.trim().slice(0, CALL_CHARACTERS),
        state: "not finished",
      });
    else if (event.type === "tool_end") {
      const call = this.#calls.get(event.toolCallId);
      if (call) call.state = event.isError ? "failed" : "done";
    }
  }
  /** `ended` as in "was stopped by the person". */
  told(ended: string): string {
    const calls = [...this.#calls.values()];
    return [
      `[The turn before this one ${ended}; it is not part of this conversation.`,
      `It had been asked: ${JSON.stringify(this.#request.slice(0, REQUEST_CHARACTERS))}`,
      ...(calls.length > 0
        ? [
            `Calls it had made: ${calls
              .slice(-CALLS)
              .map(({ said, state }) => `${JSON.stringify(said)} (${state})`)
              .join("; ")}.`,
            "Files may have changed: read them again before you rely on them.]",
          ]
        : ["It had made no calls.]"]),
    ].join("\n");
  }
}

/** For a turn that a process did not live to see the end of. */
export const lost = (request: string): string =>
  `[The turn before this one was cut off when the program ended; it is not part of this conversation.\nIt had been asked: ${JSON.stringify(request.slice(0, REQUEST_CHARACTERS))}\nWhat it changed is not known: read files again before you rely on them.]`;
