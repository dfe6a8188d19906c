/** Starting a session, and taking up a saved one. */
import { money } from "../../catalog/money.ts";
import { agent, CavemanError, type Conversation } from "../../kernel/index.ts";
import { createConversation } from "../../plugins/conversation/index.ts";
import { lost } from "./aftermath.ts";
import { type CodingAgent, workspaceOf } from "./agent.ts";
import { readAgentsMd } from "./agents-md.ts";
import { NOTHING } from "./bill.ts";
import { CodingSession } from "./session.ts";
import { SessionFile, sessionId } from "./session-file.ts";
import { dollars, type SessionOptions, type Start } from "./session-options.ts";
import { SKILL_FOLDERS } from "./skill-folders.ts";
import { readSkills } from "./skills.ts";

/** Without them a session has no bill, or nobody who is asked before something acts. */
const NEEDED: readonly string[] = ["receipt", "pricing", "policy", "shell"];

/**
 * Starts a session, or takes up a saved one.
 * @throws CavemanError `cave_coding_session_unknown`, `cave_coding_session_invalid`, `cave_option_invalid`,
 * `cave_plugin_missing`.
 */
export async function startSession(codingAgent: CodingAgent, options: SessionOptions): Promise<CodingSession> {
  const { kernel, resume, save = true } = options;
  for (const name of NEEDED)
    if (!kernel.plugins.some((plugin) => plugin.name === name))
      throw new CavemanError("cave_plugin_missing", {
        place: "the kernel of a coding session",
        expected: `plugin ${name}`,
        received: kernel.plugins.map((plugin) => plugin.name).join(", ") || "none",
      });
  const workspace = workspaceOf(codingAgent.workspace);
  if (options.maxUsd !== undefined) dollars(options.maxUsd);
  const opened =
    resume === undefined ? undefined : await SessionFile.open(workspace, resume === true ? undefined : resume);
  const notices: string[] = [];
  const { definition, repository } = await withRepository(codingAgent, options, notices);
  if (opened) {
    const { saved, file } = opened;
    const { schema: _, conversation, totals, running, ...state } = saved;
    const { picoUsd, ...counts } = totals;
    if (running !== undefined)
      notices.push("the last turn of this session was cut off; it goes on from the turn before");
    return new CodingSession(codingAgent, options, {
      definition,
      repository,
      file: save ? file : undefined,
      state: running === undefined ? state : { ...state, aftermath: lost(running) },
      conversation: restored(conversation, file.path),
      totals: { ...counts, spent: money(BigInt(picoUsd)) },
      notices,
    });
  }
  const now = Date.now();
  const id = sessionId(now);
  let file: SessionFile | undefined;
  try {
    if (save) file = await SessionFile.create(workspace, id);
  } catch (cause) {
    notices.push(cause instanceof CavemanError ? cause.message : "the session cannot be saved");
  }
  const state = { id, title: "", createdAt: now, updatedAt: now, turns: 0 };
  return new CodingSession(codingAgent, options, {
    definition,
    repository,
    file,
    state,
    conversation: createConversation(),
    totals: NOTHING,
    notices,
  });
}

/** A saved conversation without the approvals in it: those are given by a person, not by a file. */
function restored(saved: unknown, path: string): Conversation {
  const { states, ...rest } = (typeof saved === "object" && saved !== null ? saved : {}) as { states?: object };
  const { policy: _, ...others } = (states ?? {}) as Record<string, unknown>;
  try {
    return createConversation({ ...rest, states: others });
  } catch (cause) {
    throw new CavemanError("cave_coding_session_invalid", {
      place: path,
      received: "a conversation that cannot be read",
      cause,
    });
  }
}

async function withRepository(
  { definition, workspace }: CodingAgent,
  { repositoryInstructions = false }: SessionOptions,
  notices: string[],
): Promise<Pick<Start, "definition" | "repository">> {
  if (!repositoryInstructions) return { definition, repository: { files: [], skills: [] } };
  const folders = typeof repositoryInstructions === "object" ? repositoryInstructions.skills : SKILL_FOLDERS;
  const [agents, skills] = await Promise.all([readAgentsMd(workspace), readSkills(workspace, folders)]);
  notices.push(...agents.notices, ...skills.notices);
  const { id, instructions, model, reasoning, sandbox, memory } = definition;
  return {
    repository: { files: agents.files, skills: skills.names },
    definition: agent({
      id,
      instructions,
      model,
      reasoning,
      sandbox,
      tools: [...definition.tools, ...skills.tools],
      contexts: [...definition.contexts, ...skills.contexts, ...agents.contexts],
      ...(memory ? { memory } : {}),
    }),
  };
}
