/** Whether the agent that a worker loaded is the one that is run: ids, names, descriptions, effects and input schemas. */
import { type AgentDefinition, CavemanError, type Tool } from "../../kernel/index.ts";
import { isPlaceable } from "./modes.ts";

interface SeenTool {
  readonly name?: unknown;
  readonly agent?: SeenAgent;
  readonly [field: string]: unknown;
}
interface SeenAgent {
  readonly id?: unknown;
  readonly tools?: readonly SeenTool[];
}

/** @throws CavemanError `cave_sandbox_definition_mismatch` that names the first difference. */
export function assertSameDefinition(agent: AgentDefinition, seen: unknown): void {
  compare(agent, (typeof seen === "object" && seen !== null ? seen : {}) as SeenAgent, `agent ${agent.id}`);
}

function compare(agent: AgentDefinition, seen: SeenAgent, place: string): void {
  same(`${place}.id`, agent.id, seen.id);
  const tools = new Map((seen.tools ?? []).map((tool) => [tool.name, tool]));
  for (const tool of agent.tools) {
    const other = tools.get(tool.name);
    if (tool.subagent) {
      if (!other?.agent) differ(`${place} → ${tool.name}`, "a subagent", other ? "a tool" : "none");
      compare(tool.subagent.agent, other.agent, `${place} → ${tool.name}`);
    } else if (isPlaceable(tool)) {
      if (!other) differ(`${place}, tool ${tool.name}`, "a tool", "none");
      for (const [field, value] of Object.entries(shown(tool)))
        same(`${place}, tool ${tool.name}.${field}`, value, other[field]);
    }
  }
}

const shown = ({
  name,
  description,
  effect,
  inputJSONSchema,
  nestedTools,
}: Tool): Readonly<Record<string, unknown>> => ({
  name,
  description,
  effect,
  input: inputJSONSchema,
  nested: nestedTools.map((each) => each.name),
});

function same(place: string, expected: unknown, received: unknown): void {
  const [here, there] = [canonical(expected), canonical(received)];
  if (here !== there) differ(place, here, there);
}
function differ(place: string, expected: string, received: string): never {
  throw new CavemanError("cave_sandbox_definition_mismatch", {
    place,
    expected: short(expected),
    received: short(received),
  });
}
const short = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** JSON with sorted keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  ) ?? "nothing";
