/**
 * Coding: the library part of the coding agent. An agent definition over a workspace; a session that runs turns on a
 * kernel it is given, keeps the conversation, the bill and a person's approvals, and saves them; and the plugin
 * `coding`, which taps `admitTool` to record how commands end.
 */
export {
  type CodingAgent,
  type CodingDefinitionOptions,
  codingAgent,
  type ToolMode,
  type WorkspaceTools,
  workspaceOf,
} from "./agent.ts";
export type { AgentsMd } from "./agents-md.ts";
export { type Bill, billOf, cacheShareOf } from "./bill.ts";
export { coding } from "./command-status.ts";
export { errors as codingErrors } from "./errors.ts";
export type { ApprovalRequest, Approve } from "./grants.ts";
export {
  listSessions,
  privateFolder,
  readAgentsMd,
  readPrivately,
  readSkills,
  startSession,
  writePrivately,
} from "./on-first-use.ts";
export type { CodingSession, CodingTurn, TurnOptions } from "./session.ts";
export type { SessionEvent } from "./session-events.ts";
export type { SessionEntry } from "./session-file.ts";
export type { SessionOptions } from "./session-options.ts";
export { SKILL_FOLDERS } from "./skill-folders.ts";
export type { Skills } from "./skills.ts";
export { tellingArgument } from "./telling-argument.ts";
