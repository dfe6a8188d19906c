/** The session at a terminal: prompt, turn, bill, prompt. */
import type { Money } from "../../catalog/money.ts";
import type { CodingSession } from "../../plugins/coding/index.ts";
import { EXIT } from "../command.ts";
import { printableLine } from "../render/printable.ts";
import { busy } from "./busy.ts";
import type { History } from "./history.ts";
import type { Keyboard } from "./keyboard.ts";
import { MODES, type Mode } from "./mode.ts";
import { prompt } from "./prompt.ts";
import type { Screen } from "./screen.ts";
import { isSlashCommand, runSlashCommand, type SessionContext, slashCommands } from "./slash-commands.ts";
import { sayError, shownTurn } from "./turn.ts";
import { TurnView } from "./turn-view.ts";

/** The turn that runs now: who is told of its events, and how it is stopped. */
export interface Stage {
  view: TurnView | undefined;
  abort: (() => void) | undefined;
  mode: Mode;
  /** A question is on the screen. */
  asking: boolean;
}

interface Interactive {
  readonly session: CodingSession;
  readonly screen: Screen;
  readonly keyboard: Keyboard;
  readonly history: History;
  readonly stage: Stage;
  /** Takes up another session, with what is left of the limit. */
  readonly open: (resume: string, left: Money | undefined) => Promise<CodingSession>;
  readonly hints: readonly string[];
}

/** Runs until the person leaves; gives the exit code. */
export async function interactive(terminal: Interactive): Promise<number> {
  const { screen, keyboard, history, stage } = terminal;
  let session = terminal.session;
  for (const line of banner(session, stage.mode, terminal.hints)) screen.say(line, "dim");
  let leaving = false;
  const context: SessionContext = {
    get session() {
      return session;
    },
    get mode() {
      return stage.mode;
    },
    setMode: (mode) => void (stage.mode = mode),
    resume: async (id) => void (session = await terminal.open(id, session.remaining)),
  };
  for (;;) {
    const entered = await prompt(screen, keyboard, {
      lead: stage.mode === "observe" ? "observe› " : stage.mode === "edits" ? "edits› " : "› ",
      history: history.entries,
      completions: Object.keys(slashCommands).map((name) => `/${name}`),
    });
    if (entered.type === "end") break;
    if (entered.type === "interrupt") {
      if (entered.empty && leaving) break;
      leaving = entered.empty;
      if (leaving) screen.say("Ctrl-C again leaves; /help lists commands", "dim");
      continue;
    }
    leaving = false;
    const words = entered.text.trim();
    if (words === "") continue;
    history.add(words);
    try {
      if (isSlashCommand(words)) {
        const { lines, exit = false } = await runSlashCommand(words, context);
        for (const line of lines) screen.say(`  ${printableLine(line)}`.trimEnd());
        if (exit) break;
      } else await oneTurn(session, words, terminal);
    } catch (error) {
      // What is refused before it starts ends no session.
      sayError(error, screen);
    }
  }
  await history.flush();
  // In one piece, so that it can be copied.
  const goOn = `caveman code --workspace ${quoted(session.agent.workspace)} --resume ${session.id}`;
  if (session.turns > 0 && session.path !== undefined)
    screen.line(screen.style("dim", printableLine(`to go on: ${goOn}`)));
  return EXIT.done;
}

/** While a turn runs, only Ctrl-C is heard: what is typed ahead must not answer a question that comes later. */
async function oneTurn(session: CodingSession, words: string, { screen, keyboard, stage }: Interactive): Promise<void> {
  const controller = new AbortController();
  let pressed = 0;
  const interrupt = (): void => {
    pressed++;
    if (pressed === 1) {
      screen.line(screen.style("yellow", "  stopping…"));
      controller.abort();
    } else if (pressed > 2) process.exit(EXIT.interrupted);
    else screen.line(screen.style("yellow", "  still stopping; Ctrl-C once more leaves at once"));
  };
  const stop = keyboard.listen((key) => {
    if (key.type === "end" || (key.type === "key" && key.ctrl && key.name === "c")) interrupt();
  });
  stage.view = new TurnView(screen);
  stage.abort = interrupt;
  const { view } = stage;
  const quiet = busy(
    screen,
    () => view.waitingFor,
    () => stage.asking,
  );
  try {
    await shownTurn(session, words, { screen, view, signal: controller.signal });
  } finally {
    quiet();
    stop();
    stage.view = undefined;
    stage.abort = undefined;
  }
}

function banner(session: CodingSession, mode: Mode, hints: readonly string[]): string[] {
  const { agent, repository } = session;
  const read = [...repository.files, ...repository.skills.map((name) => `skill ${name}`)];
  return [
    `caveman code · ${agent.modelID ?? "model from the environment"} · ${agent.workspace}`,
    agent.observeOnly
      ? "observe-only: it has no tools that change files or run commands"
      : `mode ${mode}: ${MODES[mode]}`,
    ...(agent.observeOnly ? [] : ["Commands run with your own rights. /help lists commands."]),
    ...(read.length > 0 ? [`read from the repository, whose words they are: ${read.join(", ")}`] : []),
    ...(session.turns > 0 ? [`resumed session ${session.id}, ${session.turns} turns: ${session.title}`] : []),
    ...hints,
  ];
}

const quoted = (path: string): string => (/^[\w./@+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`);
