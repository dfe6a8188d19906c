/** One turn on a screen: shown while it runs, then its bill. */
import type { CodingSession, CodingTurn } from "../../plugins/coding/index.ts";
import { coded } from "../render/error.ts";
import { printableLine } from "../render/printable.ts";
import { billLine } from "./bill-lines.ts";
import type { Screen } from "./screen.ts";
import type { TurnView } from "./turn-view.ts";
import { watch } from "./watchers.ts";

export async function shownTurn(
  session: CodingSession,
  words: string,
  { screen, view, signal }: { readonly screen: Screen; readonly view: TurnView; readonly signal: AbortSignal },
): Promise<CodingTurn> {
  const unwatch = watch(session.agent, {
    onOutput: (chunk) => view.output(chunk),
    onChange: (change) => view.change(change),
  });
  try {
    const turn = await session.turn(words, { signal });
    if (turn.stopReason === "aborted") screen.say("  stopped; the next turn is told what was done", "yellow");
    else if (turn.error) sayError(turn.error, screen);
    else if (turn.stopReason !== "complete") screen.say(`  stopped: ${turn.stopReason.replaceAll("_", " ")}`, "yellow");
    screen.say(`  ${billLine(turn.bill, turn.remaining)}`, "dim");
    return turn;
  } finally {
    unwatch();
  }
}

/** An error on a screen: it may quote what a provider, a tool or a file said. */
export function sayError(error: unknown, screen: Screen): void {
  const { code, message, remedy } = coded(error);
  screen.say(`${code}: ${printableLine(message)}`, "red");
  if (remedy) screen.say(`  → ${printableLine(remedy)}`, "dim");
}
