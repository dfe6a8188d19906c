/** The commands of a session: a word after a slash, answered without the model. */

import { type CodingSession, listSessions } from "../../plugins/coding/index.ts";
import { ContextGauge, Models } from "../../plugins/services.ts";
import { printableLine } from "../render/printable.ts";
import { costOf, leftOf, tokensOf } from "./bill-lines.ts";
import { grouped, plural } from "./figures.ts";
import { isMode, MODES, type Mode } from "./mode.ts";

/** What a command sees and may do. */
export interface SessionContext {
  readonly session: CodingSession;
  readonly mode: Mode;
  setMode(mode: Mode): void;
  /** Goes on with another session. */
  resume(id: string): Promise<void>;
}
/** Lines to show; `exit` ends the session. */
export interface Answer {
  readonly lines: readonly string[];
  readonly exit?: boolean;
}
interface SlashCommand {
  readonly usage: string;
  readonly describe: string;
  readonly run: (context: SessionContext, argument: string) => Answer | Promise<Answer>;
}

export const slashCommands: Readonly<Record<string, SlashCommand>> = {
  help: {
    usage: "/help",
    describe: "these commands and the keys",
    run: () => ({
      lines: [
        ...Object.values(slashCommands).map(({ usage, describe }) => `${usage.padEnd(16)} ${describe}`),
        "",
        "Enter sends; a backslash before it, Alt-Enter or Ctrl-J begins a new line. Up and Down go through what you sent.",
        "Ctrl-C stops the turn, or clears the line; twice at an empty line it leaves. Ctrl-D leaves.",
      ],
    }),
  },
  cost: {
    usage: "/cost",
    describe: "what this session has cost",
    run: ({ session }) => ({
      lines: [
        `${costOf(session.totals)} for ${plural(session.totals.calls, "call")} in ${plural(session.turns, "completed turn")}`,
        ...(session.remaining === undefined ? [] : [leftOf(session.remaining)]),
      ],
    }),
  },
  tokens: {
    usage: "/tokens",
    describe: "tokens used, and how full the context is",
    run: ({ session }) => ({ lines: [tokensOf(session.totals), contextOf(session)] }),
  },
  mode: {
    usage: "/mode [name]",
    describe: `what needs your yes: ${Object.keys(MODES).join(", ")}`,
    run: (context, argument) => {
      if (argument === "")
        return {
          lines: Object.entries(MODES).map(
            ([name, means]) => `${name === context.mode ? "→" : " "} ${name.padEnd(8)} ${means}`,
          ),
        };
      if (!isMode(argument))
        return { lines: [`There is no mode ${printableLine(argument)}. Modes: ${Object.keys(MODES).join(", ")}.`] };
      if (context.session.agent.observeOnly && argument !== "observe")
        return { lines: ["This session was started with --observe-only; it has no tools that act."] };
      context.setMode(argument);
      return { lines: [`${argument}: ${MODES[argument]}`] };
    },
  },
  plugins: {
    usage: "/plugins",
    describe: "the plugins this session runs on",
    run: ({ session }) => ({
      lines: session.kernel.plugins.flatMap(({ name, spec, options }) => [
        `${name.padEnd(16)} ${spec.description ?? ""}`,
        ...(spec.describe?.(options as never) ?? []).map((line) => `${" ".repeat(18)}${line}`),
      ]),
    }),
  },
  save: {
    usage: "/save [title]",
    describe: "save now, under a title; every turn is saved anyway",
    run: async ({ session }, argument) => ({
      lines: [`saved: ${await session.save(argument === "" ? undefined : argument)}`],
    }),
  },
  resume: {
    usage: "/resume [id]",
    describe: "list saved sessions, or go on with one",
    run: async (context, argument) => {
      if (argument !== "") {
        await context.resume(argument);
        const { session } = context;
        return { lines: [`session ${session.id}, ${plural(session.turns, "turn")}: ${session.title || "(untitled)"}`] };
      }
      const sessions = await listSessions(context.session.agent.workspace, 20);
      if (sessions.length === 0) return { lines: ["There is no saved session in this workspace."] };
      return {
        lines: sessions.map(
          ({ id, turns, title }) =>
            `${id}  ${plural(turns, "turn").padEnd(9)} ${title || "(untitled)"}${id === context.session.id ? "  (this one)" : ""}`,
        ),
      };
    },
  },
  exit: { usage: "/exit", describe: "leave; the session can be resumed", run: () => ({ lines: [], exit: true }) },
};

/** Whether a line is a command: a slash and a word, so that a path at the start of a line is none. */
export const isSlashCommand = (line: string): boolean => /^\/[a-z]*(\s|$)/.test(line);

export async function runSlashCommand(line: string, context: SessionContext): Promise<Answer> {
  const [, name = "", argument = ""] = /^\/([a-z]*)\s*([\s\S]*)$/.exec(line) ?? [];
  const command = Object.hasOwn(slashCommands, name)
    ? slashCommands[name]
    : name === "quit"
      ? slashCommands.exit
      : undefined;
  if (!command) return { lines: [`There is no command /${name}. /help lists them.`] };
  return command.run(context, argument.trim());
}

function contextOf({ lastRun }: CodingSession): string {
  const last = lastRun?.ledger.of("call.settled").findLast(({ purpose, sent }) => sent && purpose !== "summary");
  if (!lastRun || !last) return "context: no call was made yet";
  const model = lastRun.find(Models)?.resolved;
  const window = (model && lastRun.find(ContextGauge)?.windowOf(model)) ?? model?.contextWindow;
  return `context: ${grouped(last.usage.input)} tokens in the last call${window ? ` of ${grouped(window)} (${Math.round((100 * last.usage.input) / window)}%)` : ""}`;
}
