/** The coding agent as a library: the documented functions, put together from the plugins and the terminal session. */
import { CavemanError, CavemanRunError, type Kernel } from "../../index.ts";
import {
  type CodingAgent,
  type CodingDefinitionOptions,
  type CodingSession,
  type CodingTurn,
  codingAgent,
  type SessionOptions,
  startSession,
  type TurnOptions,
  workspaceOf,
} from "../../plugins/coding/index.ts";
import { type ShellToolName, type ShellToolsOptions, shellTools } from "../../plugins/shell/index.ts";
import { codingKernel, type RuntimeOptions } from "./assemble.ts";
import { given } from "./given.ts";
import { setWatchers, Watchers } from "./watchers.ts";

export type {
  ApprovalRequest,
  Bill,
  CodingAgent,
  CodingSession,
  CodingTurn,
  SessionEvent,
} from "../../plugins/coding/index.ts";
export { type CodingSessionRun, runCodingSession } from "./run-coding-session.ts";

/** The tools of a coding agent, and of one that only looks. */
export const CODING_TOOLS: readonly ShellToolName[] = [
  "bash",
  "read_file",
  "grep",
  "list_files",
  "write_file",
  "edit_file",
];
const OBSERVING: readonly ShellToolName[] = ["read_file", "grep", "list_files"];

export interface CodingAgentOptions
  extends Omit<CodingDefinitionOptions, "tools" | "workspace">,
    Omit<ShellToolsOptions, "workspace"> {
  /** The folder it works in. Default: the working directory. */
  readonly workspace?: string;
}

/**
 * A coding agent over a workspace. Its `definition` is an ordinary agent() with host tools: they run with your own
 * rights. Files are read and written inside the workspace only; `bash` is not contained.
 * @throws CavemanError `cave_coding_workspace_invalid`, `cave_option_invalid`.
 */
export function createCodingAgent(options: CodingAgentOptions = {}): CodingAgent {
  const { workspace: folder, model, instructions, toolMode, observeOnly = false, memory, ...shell } = options;
  const workspace = workspaceOf(folder);
  const watchers = new Watchers();
  watchers.add(shell);
  const tools = shellTools({
    tools: observeOnly ? OBSERVING : CODING_TOOLS,
    ...shell,
    ...watchers.callbacks,
    workspace,
  });
  const agent = codingAgent({
    workspace,
    tools,
    observeOnly,
    ...given({ model, instructions, toolMode, memory }),
  });
  setWatchers(agent, watchers);
  return agent;
}

export type StartOptions = Omit<SessionOptions, "kernel"> &
  RuntimeOptions & { /** Default: the coding plugins. */ readonly kernel?: Kernel };

/**
 * Starts a session over a coding agent, or takes up a saved one with `resume`.
 * @throws CavemanError `cave_option_invalid` for an option that the given kernel would ignore; and what `startSession` does.
 */
export async function startCodingSession(agent: CodingAgent, options: StartOptions = {}): Promise<CodingSession> {
  const { kernel, rules, approvalTimeoutMs, writeReceipts, ...session } = options;
  const runtime = given({ rules, approvalTimeoutMs, writeReceipts });
  const [ignored] = Object.keys(runtime);
  // A rule that is never asked would be taken for one that protects.
  if (kernel !== undefined && ignored !== undefined)
    throw new CavemanError("cave_option_invalid", {
      place: `startCodingSession().${ignored}`,
      expected: `${ignored} or a kernel of your own, whose plugins decide it`,
      received: "both",
    });
  return startSession(agent, { ...session, kernel: kernel ?? codingKernel(runtime) });
}

/** One turn. @throws CavemanRunError with the receipt when it fails; a stop by a guard is a normal result. */
export async function runCodingTurn(
  session: CodingSession,
  prompt: string,
  options?: TurnOptions,
): Promise<CodingTurn> {
  const turn = await session.turn(prompt, options);
  if (turn.error) throw new CavemanRunError(turn.error, turn.receipt);
  return turn;
}
