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
    if (turn.stopReason === "aborted")
      screen.line(screen.style("yellow", "  stopped; the next turn is told what was done"));
    else if (turn.error) printError(turn.error, safely(screen));
    else if (turn.stopReason !== "complete")
      screen.line(screen.style("yellow", `  stopped: ${turn.stopReason.replaceAll("_", " ")}`));
    screen.line(screen.style("dim", `  ${billLine(turn.bill, turn.remaining)}`));
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
