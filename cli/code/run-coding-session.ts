/** runCodingSession(): a coding agent's session on this process's terminal, or one turn of it. */

import { type Money, toNumber } from "../../catalog/money.ts";
import { CavemanError } from "../../kernel/index.ts";
import type { Approve, CodingAgent, CodingSession, SessionOptions } from "../../plugins/coding/index.ts";
import { startSession } from "../../plugins/coding/index.ts";
import { EXIT } from "../command.ts";
import { interruptible } from "../interrupt.ts";
import { terminal as processTerminal, type Terminal } from "../render/terminal.ts";
import { ask } from "./approvals.ts";
import { codingKernel, type RuntimeOptions } from "./assemble.ts";
import { given } from "./given.ts";
import { History } from "./history.ts";
import { interactive, type Stage } from "./interactive.ts";
import { Keyboard, type KeySource } from "./keyboard.ts";
import { type Mode, permits, policyOf } from "./mode.ts";
import { oneShot } from "./one-shot.ts";
import { Screen } from "./screen.ts";
import { TurnView } from "./turn-view.ts";
import { wordsFromStdin } from "./words-from-stdin.ts";

export interface CodingSessionRun
  extends Pick<SessionOptions, "run" | "maxUsd" | "repositoryInstructions" | "save" | "resume">,
    RuntimeOptions {
  readonly agent: CodingAgent;
  /** One turn with these words, and out. Without it: a prompt at a terminal, or the words from a pipe. */
  readonly prompt?: string;
  /** Prints the result of one turn as JSON on stdout. Default false. */
  readonly json?: boolean;
  /** What needs a person's yes at the start. Default `ask`. */
  readonly mode?: Mode;
  /** Lines under the banner of an interactive session, or before a turn. */
  readonly hints?: readonly string[];
  readonly terminal?: Terminal;
}

/**
 * Runs a session and gives its exit code: 0 done, 1 failed, 3 stopped by a guard, 130 interrupted. Where no person
 * can be asked, calls that need a yes are refused.
 * @throws CavemanError for wrong options, before anything is spent.
 */
export async function runCodingSession(options: CodingSessionRun): Promise<number> {
  const { agent, json = false, terminal = processTerminal() } = options;
  const person = terminal.person && process.stdin.isTTY === true && !json;
  const words = options.prompt ?? (person ? undefined : await wordsFromStdin());
  const stage: Stage = {
    view: undefined,
    abort: undefined,
    mode: options.mode ?? (agent.observeOnly ? "observe" : "ask"),
    asking: false,
  };
  const screen = new Screen(terminal, { together: words === undefined, streams: terminal.person && !json });
  const keyboard = person
    ? new Keyboard(process.stdin as KeySource, (sequence) => screen.control(sequence))
    : undefined;
  const { rules, approvalTimeoutMs, writeReceipts, maxUsd, repositoryInstructions, save } = options;
  const kernel = codingKernel(given({ rules, approvalTimeoutMs, writeReceipts }));
  const approve = keyboard && asker(screen, keyboard, stage);
  const toolPolicy = policyOf(
    () => stage.mode,
    (call) => stage.view?.asked(call),
  );
  const open = async (resume?: string | true, left?: Money): Promise<CodingSession> => {
    // What another session of this process has spent stays spent.
    if (left !== undefined && left <= 0n) throw new CavemanError("cave_coding_budget_spent");
    return startSession(agent, {
      kernel,
      run: { ...LIMITS, ...options.run, toolPolicy },
      onEvent: (event) => stage.view?.event(event),
      onNotice: (notice) => screen.say(`  ! ${notice}`, "yellow"),
      ...given({ maxUsd: left === undefined ? maxUsd : toNumber(left), repositoryInstructions, save, resume, approve }),
    });
  };
  const onSignal = (): void => {
    const running = stage.abort !== undefined;
    stage.abort?.();
    // What the turn had started is ended first.
    setTimeout(() => process.exit(EXIT.interrupted), running ? SETTLING_MS : 0);
  };
  try {
    const session = await open(options.resume);
    try {
      if (words === undefined && keyboard) {
        process.on("SIGTERM", onSignal).on("SIGHUP", onSignal);
        const history = await History.of(agent.workspace, options.save);
        return await interactive({ session, screen, keyboard, history, stage, open, hints: options.hints ?? [] });
      }
      for (const hint of options.hints ?? []) screen.say(hint, "dim");
      return await one(session, words ?? "", { screen, keyboard, stage, json });
    } finally {
      await session.close();
    }
  } finally {
    process.off("SIGTERM", onSignal).off("SIGHUP", onSignal);
    keyboard?.close();
  }
}

/** Asks the person at the keyboard, unless the mode has already said yes. */
const asker =
  (screen: Screen, keyboard: Keyboard, stage: Stage): Approve =>
  async (request) => {
    if (permits(stage.mode, request)) return "yes";
    stage.asking = true;
    try {
      return await ask(request, screen, keyboard, () => stage.abort?.());
    } finally {
      stage.asking = false;
    }
  };

/** What a turn may take to end its commands when the process is told to end. */
const SETTLING_MS = 1_000;

/** A turn of real work makes more calls than the guards of a short run allow. */
const LIMITS = { maxModelCalls: 250, maxToolCalls: 500 } as const;

async function one(
  session: CodingSession,
  words: string,
  {
    screen,
    keyboard,
    stage,
    json,
  }: {
    readonly screen: Screen;
    readonly keyboard: Keyboard | undefined;
    readonly stage: Stage;
    readonly json: boolean;
  },
): Promise<number> {
  const interrupt = interruptible(screen.terminal);
  // At a terminal in raw mode Ctrl-C is a key and no signal.
  const pressed = (): void => void process.emit("SIGINT");
  const stop = keyboard?.listen((key) => {
    if (key.type === "key" && key.ctrl && key.name === "c") pressed();
  });
  stage.view = new TurnView(screen);
  stage.abort = pressed;
  try {
    return await oneShot({ session, words, screen, view: stage.view, signal: interrupt.signal, json });
  } finally {
    stop?.();
    interrupt.done();
    stage.view = undefined;
    stage.abort = undefined;
  }
}
