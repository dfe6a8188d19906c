/** One turn and out: for a prompt on the command line, and for pipes. */
import { toNumber } from "../../catalog/money.ts";
import { type CodingSession, type CodingTurn, cacheShareOf } from "../../plugins/coding/index.ts";
import { EXIT } from "../command.ts";
import { errorJson } from "../render/error.ts";
import { onlyStyles, printable, printableJson } from "../render/printable.ts";
import type { Screen } from "./screen.ts";
import { shownTurn } from "./turn.ts";
import type { TurnView } from "./turn-view.ts";

interface OneShot {
  readonly session: CodingSession;
  readonly words: string;
  readonly screen: Screen;
  readonly view: TurnView;
  readonly signal: AbortSignal;
  readonly json: boolean;
}

export async function oneShot({ session, words, screen, view, signal, json }: OneShot): Promise<number> {
  const turn = await shownTurn(session, words, { screen, view, signal });
  const { terminal } = screen;
  if (json) terminal.out(`${printableJson(JSON.stringify(report(session, turn, view), null, 2))}\n`);
  else if (!terminal.person && turn.text !== "") terminal.out(`${onlyStyles(printable(turn.text))}\n`);
  if (signal.aborted) return EXIT.interrupted;
  if (turn.error) return EXIT.failed;
  return turn.stopReason === "complete" ? EXIT.done : EXIT.stopped;
}

/** As JSON. Dollars are list prices times reported usage: `claimBasis` is always `inferred`. */
const report = (
  session: CodingSession,
  { text, stopReason, error, bill, remaining, receipt }: CodingTurn,
  { denied }: TurnView,
) => ({
  sessionId: session.id,
  workspace: session.agent.workspace,
  stopReason,
  text,
  ...(error ? { error: errorJson(error) } : {}),
  denied,
  bill: {
    calls: bill.calls,
    inputTokens: bill.inputTokens,
    outputTokens: bill.outputTokens,
    cacheReadTokens: bill.cacheReadTokens,
    cacheWriteTokens: bill.cacheWriteTokens,
    reasoningTokens: bill.reasoningTokens,
    ...(cacheShareOf(bill) === undefined ? {} : { cacheShare: cacheShareOf(bill) }),
    ...(bill.unpriced ? { unpriced: true } : { costUsd: toNumber(bill.spent) }),
    simulated: bill.simulated,
    claimBasis: "inferred",
    ...(remaining === undefined ? {} : { remainingUsd: toNumber(remaining) }),
  },
  receipt,
});
