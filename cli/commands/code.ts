/** `caveman code`: the coding agent, at a terminal, for one turn, or in a pipe. */
import { existsSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { LanguageModel } from "../../kernel/index.ts";
import { workspaceOf } from "../../plugins/coding/index.ts";
import { allowed } from "../code/assemble.ts";
import { given } from "../code/given.ts";
import { createCodingAgent, runCodingSession } from "../code/index.ts";
import { exampleCopy, exampleModel, isExampleCopy } from "../code/offline.ts";
import { Screen } from "../code/screen.ts";
import { sayError } from "../code/turn.ts";
import { wordsFromStdin } from "../code/words-from-stdin.ts";
import { type Args, EXIT, text } from "../command.ts";
import { isUsageError, usage } from "../errors.ts";
import type { Terminal } from "../render/terminal.ts";
import { CREDENTIALS, credentialsIn } from "../simulated.ts";

export async function execute(args: Args, terminal: Terminal): Promise<number> {
  try {
    return await code(args, terminal);
  } catch (error) {
    sayError(error, new Screen(terminal));
    return isUsageError(error) ? EXIT.usage : EXIT.failed;
  }
}

async function code(args: Args, terminal: Terminal): Promise<number> {
  const maxUsd = args["max-usd"];
  if (maxUsd !== undefined && !(typeof maxUsd === "number" && Number.isFinite(maxUsd) && maxUsd > 0))
    throw usage("--max-usd must be a positive number of dollars", "For example --max-usd 0.50.");
  const resume = resumeOf(args);
  const person = terminal.person && process.stdin.isTTY === true && args.json !== true;
  // Read before anything is made: a call without words leaves no folder behind.
  const prompt = text(args, "prompt") ?? (person ? undefined : await wordsFromStdin());
  if (prompt !== undefined && prompt.trim() === "") throw usage("The prompt is empty", "Leave it out for a session.");
  const { workspace, model, example } = await placeOf(args);
  const rules = [
    ...allowed(text(args, "allow") ?? ""),
    // A throwaway copy and a script of ours: without a person to ask, what it does is permitted, and no more.
    ...(example && !person ? allowed("edits; node --test") : []),
  ];
  const agent = createCodingAgent({
    workspace,
    observeOnly: args["observe-only"] === true,
    ...given({ model }),
    // The example is tested by the very program that runs this.
    ...(example
      ? { env: { PATH: [dirname(process.execPath), process.env.PATH].filter(Boolean).join(delimiter) } }
      : {}),
  });
  return runCodingSession({
    agent,
    terminal,
    rules,
    writeReceipts: true,
    json: args.json === true,
    repositoryInstructions: args.instructions === true,
    hints: example ? exampleHints(workspace) : [],
    ...given({ maxUsd, prompt, resume }),
  });
}

function resumeOf(args: Args): string | true | undefined {
  const id = text(args, "resume");
  if (id !== undefined && args.continue === true)
    throw usage("--resume and --continue exclude each other", "Pass one of them.");
  return args.continue === true || id === "last" ? true : id;
}

interface Place {
  readonly workspace: string;
  readonly model: string | LanguageModel | undefined;
  /** Whether the scripted example runs, because there is no model to call. */
  readonly example: boolean;
}

async function placeOf(args: Args): Promise<Place> {
  const model = text(args, "model");
  const given = text(args, "workspace");
  const workspace = workspaceOf(given);
  const { env } = process;
  const callable =
    model !== undefined ||
    env.CAVE_MODEL ||
    credentialsIn(env).length > 0 ||
    existsSync(join(workspace, ".caveman/provider.json"));
  if (callable) return { workspace, model, example: false };
  if (given === undefined) return { workspace: await exampleCopy(), model: await exampleModel(), example: true };
  if (await isExampleCopy(workspace)) return { workspace, model: await exampleModel(), example: true };
  throw usage(
    "No provider credential is set, so there is no model to work in that workspace",
    `Set ${CREDENTIALS.slice(0, 3).join(", ")} or pass --model. Without --workspace, a scripted session on an example project runs.`,
  );
}

const exampleHints = (workspace: string): string[] => [
  "simulated: no provider credential is set, so a script plays the model; no model is called.",
  `It works on a copy of the example project in ${workspace}; delete it when you like. Try: fix the failing test`,
];
