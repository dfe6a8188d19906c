/** Which of an agent's tools run where: the mode of its definition, and what its ancestors demand. */
import { type AgentDefinition, CavemanError, type Run, type Tool, type ToolCall } from "../../kernel/index.ts";

export type Mode = AgentDefinition["sandbox"];

/** Runs whose contained agents are fixtures, because the plugin was told so. */
const fixtures = new WeakSet<Run>();
export const treatAsFixture = (run: Run): void => void fixtures.add(run);
const own = (agent: AgentDefinition, asFixture: boolean): Mode =>
  asFixture && agent.sandbox === "required" ? "fixture" : agent.sandbox;

/** Under a contained ancestor everything is contained; what insists on the host is refused. */
function inherited(mode: Mode, contained: boolean, id: string): Mode {
  if (!contained) return mode;
  if (mode === "host")
    throw new CavemanError("cave_host_sandbox_nested_under_required", {
      place: `agent ${id}`,
      expected: "required",
      received: "host",
    });
  return "required";
}

/** The mode of a run. @throws CavemanError `cave_host_sandbox_nested_under_required`. */
export function modeOf(run: Run): Mode {
  const { agent, parent } = run;
  return inherited(own(agent, fixtures.has(run)), parent !== undefined && modeOf(parent) === "required", agent.id);
}

/** Tools of the framework are code of the host: they are never placed. */
const isFramework = ({ name }: Tool): boolean => name.startsWith("cave_");
export const isPlaceable = (tool: Tool): boolean => tool.kind === "tool" && !isFramework(tool);

/**
 * Whether a definition has tools that need a worker, its subagents included.
 * @throws CavemanError `cave_host_sandbox_nested_under_required` for a host agent anywhere under a contained one.
 */
export function needsWorkers(agent: AgentDefinition, asFixture: boolean, contained = false): boolean {
  const mode = inherited(own(agent, asFixture), contained, agent.id);
  let needs = false;
  for (const tool of agent.tools) {
    if (tool.subagent) needs = needsWorkers(tool.subagent.agent, asFixture, mode === "required") || needs;
    else if (mode === "required" && isPlaceable(tool)) needs = true;
  }
  return needs;
}

/** Whether the run's definition has tools that need a worker. */
export const wantsWorkers = (run: Run): boolean => needsWorkers(run.agent, fixtures.has(run));

/** How a worker finds the tool of a call. */
export interface Place {
  readonly path: readonly string[];
  readonly tool: string;
  readonly nestedIn: string | undefined;
}

/** The place of a call's tool in the definition; undefined for a tool that a plugin brought. */
export function placeOf({ run, tool, parent }: ToolCall): Place | undefined {
  if (!tool || !isPlaceable(tool)) return undefined;
  const path = pathOf(run);
  if (run.agent.tools.includes(tool)) return { path, tool: tool.name, nestedIn: undefined };
  const outer = parent?.tool;
  return outer && run.agent.tools.includes(outer) ? { path, tool: tool.name, nestedIn: outer.name } : undefined;
}

/** The names of the subagent tools that lead from the root to a run. */
export function pathOf(run: Run): readonly string[] {
  return run.parent ? [...pathOf(run.parent), run.spawnedBy?.name ?? ""] : [];
}

export const rootOf = (run: Run): Run => (run.parent ? rootOf(run.parent) : run);
