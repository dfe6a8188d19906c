/** One turn on a screen: shown while it runs, then its bill. */
import type { CodingSession, CodingTurn } from "../../plugins/coding/index.ts";
import { printError } from "../render/error.ts";
import { billLine } from "./bill-lines.ts";
import { onlyStyles, printable } from "./printable.ts";
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
    else if (turn.error) printError(turn.error, safely(screen));
    else if (turn.stopReason !== "complete") screen.say(`  stopped: ${turn.stopReason.replaceAll("_", " ")}`, "yellow");
    screen.say(`  ${billLine(turn.bill, turn.remaining)}`, "dim");
    return turn;
  } finally {
    unwatch();
  }
}

/** Errors may quote what a provider or a tool said. */
export const safely = (screen: Screen) => ({
  ...screen.terminal,
  style: (style: Parameters<Screen["style"]>[0], text: string) => screen.style(style, printable(text)),
  err: (text: string) => screen.line(onlyStyles(text).trimEnd()),
});
