#!/usr/bin/env node
/** The command line: reads arguments, loads one command, turns its end into an exit code. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import yargs, { type Argv } from "yargs";
import { type Command, EXIT, plainText, shielded } from "./command.ts";
import { commands, fromPlugins } from "./commands/index.ts";
import { type Terminal, terminal } from "./render/terminal.ts";

/** Runs one command line and gives its exit code. */
export async function main(argv: readonly string[], io: Terminal = terminal()): Promise<number> {
  try {
    return await dispatch(argv, io);
  } catch (error) {
    const [{ printError }, { isUsageError }] = await Promise.all([import("./render/error.ts"), import("./errors.ts")]);
    printError(error, io);
    return isUsageError(error) ? EXIT.usage : EXIT.failed;
  }
}

/** The oldest Node.js whose type stripping and built-ins the runtime needs. */
const NODE_FLOOR = [22, 19] as const;

async function dispatch(argv: readonly string[], io: Terminal): Promise<number> {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major < NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor < NODE_FLOOR[1])) {
    io.err(
      `cave_node_unsupported: expected Node.js ${NODE_FLOOR.join(".")} or newer, received ${process.versions.node}.\n  → Install a newer Node.js.\n`,
    );
    return EXIT.usage;
  }
  const name = argv.find((word) => !word.startsWith("-"));
  const known =
    name === undefined || Object.hasOwn(commands, name)
      ? commands
      : { ...commands, ...(await (await import("./plugin-commands.ts")).pluginCommands()) };
  let code: number = EXIT.done;
  let problem: string | undefined;
  const parser = yargs(shielded(argv))
    .scriptName("caveman")
    .locale("en")
    .usage("$0 <command>")
    .wrap(io.person ? Math.min(100, process.stdout.columns ?? 100) : 100)
    .parserConfiguration({
      "parse-positional-numbers": false,
      "boolean-negation": false,
      // Of an option given twice the last one counts; words of a list all do.
      "duplicate-arguments-array": name !== undefined && Object.hasOwn(known, name) && takesList(known[name]),
      "dot-notation": false,
      "camel-case-expansion": false,
    })
    .strict()
    .demandCommand(1, "a command is missing")
    .help()
    .alias("h", "help")
    .version(false)
    .option("version", { type: "boolean", describe: "Show the version" })
    .epilogue(
      `Plugins bring more, with a help of their own: ${fromPlugins.join(", ")}\n\nExit codes: 0 done, 1 failed, 2 usage or config, 3 stopped by a guard, 130 interrupted`,
    )
    .exitProcess(false)
    .fail((message, error) => {
      if (error && error.name !== "YError") throw error;
      problem ??= message || error?.message;
    });
  if (argv.length === 1 && argv[0] === "--version") {
    io.out(`${await (await import("./package.ts")).packageVersion()}\n`);
    return EXIT.done;
  }
  for (const command of Object.values(known)) {
    parser.command(
      command.usage,
      command.describe,
      (builder) => build(builder, command),
      async (args) => {
        const typed = Object.fromEntries(Object.entries(args).map(([key, value]) => [key, asTyped(value)]));
        if (problem === undefined) code = await (await command.load()).execute(typed, io);
      },
    );
  }
  if (argv.length === 0) {
    io.err(`${await parser.getHelp()}\n`);
    return EXIT.usage;
  }
  await parser.parseAsync();
  if (problem === undefined) return code;
  const { usage } = await import("./errors.ts");
  throw usage(...(await explainUsage(problem, name, known, argv)));
}

const takesList = (command: Command | undefined): boolean => command?.usage.includes("..]") === true;

const asTyped = (value: unknown): unknown =>
  typeof value === "string" ? plainText(value) : Array.isArray(value) ? value.map(asTyped) : value;

function build(builder: Argv, command: Command): Argv {
  for (const [name, describe] of Object.entries(command.positionals))
    builder.positional(name, { type: "string", describe });
  for (const [name, option] of Object.entries(command.options))
    builder.option(name, { ...option, requiresArg: option.type !== "boolean" });
  return builder;
}

/** What is wrong with a command line, with the nearest name that would have been right. */
async function explainUsage(
  problem: string,
  name: string | undefined,
  known: Readonly<Record<string, Command>>,
  argv: readonly string[],
): Promise<[message: string, remedy: string]> {
  const { mistyped } = await import("./errors.ts");
  const command = name !== undefined && Object.hasOwn(known, name) ? known[name] : undefined;
  if (!command)
    return [
      name === undefined ? "A command is missing" : `Unknown command ${mistyped(name, Object.keys(known))}`,
      `Commands: ${Object.keys(known).join(", ")}.`,
    ];
  const remedy = `Run caveman ${name} --help.`;
  const unknown = /^Unknown arguments?: (.*)$/.exec(problem)?.[1]?.split(", ") ?? [];
  const first = unknown[0];
  if (first === undefined) return [problem, remedy];
  const names = [...Object.keys(command.options), "help"];
  return [
    names.length > 0 && argv.some((word) => word.startsWith("-") && word.replace(/^-+/, "").startsWith(first))
      ? `Unknown option of ${name}: ${mistyped(first, names)}`
      : `Too many arguments for ${name}: "${first}"`,
    remedy,
  ];
}

/** A full disk takes nothing, and that is no success; a reader that went away has what it wanted. */
function endOf(failure: NodeJS.ErrnoException | undefined): number {
  if (!failure || failure.code === "EPIPE") return EXIT.done;
  process.stderr.write(`cave_cli_failed: the output could not be written: ${failure.code ?? failure.message}.\n`);
  return EXIT.failed;
}

const invoked = process.argv[1];
if (invoked !== undefined && realpathSync(invoked) === fileURLToPath(import.meta.url)) {
  // A stray rejection in a user's tool or plugin ends the process, but never with a stack trace.
  const stray = async (error: unknown): Promise<void> => {
    const { printError } = await import("./render/error.ts");
    printError(error, terminal());
    process.exit(EXIT.failed);
  };
  process.on("uncaughtException", stray).on("unhandledRejection", stray);
  let failure: NodeJS.ErrnoException | undefined;
  const io = terminal(process.stdout, process.stderr, (error) => void (failure ??= error));
  const code = await main(process.argv.slice(2), io);
  // Both streams are flushed first: a pipe may still hold the end of the output.
  process.stdout.write("", () =>
    process.stderr.write("", () => process.exit(code === EXIT.done ? endOf(failure) : code)),
  );
}
