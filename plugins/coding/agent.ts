/** The definition of a coding agent: an ordinary agent() over one workspace. */
import { realpathSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { type AgentDefinition, agent, auto, type ModelSpec, type Tool } from "../../kernel/index.ts";
import { refuse } from "./errors.ts";
import { CODING_INSTRUCTIONS, OBSERVE_ONLY } from "./instructions.ts";

/** Tools over a workspace, and how what they started is ended: what `shellTools()` gives. */
export type WorkspaceTools = readonly Tool[] & { close(): Promise<void> };

/** What the definition of a coding agent is made from. */
export interface CodingDefinitionOptions {
  /** The folder the agent works in: its real path, as `workspaceOf` gives it. */
  readonly workspace: string;
  readonly tools: WorkspaceTools;
  /** `provider/model` or a model object. Default: `auto()`. */
  readonly model?: ModelSpec;
  /** Added to the built-in coding instructions. */
  readonly instructions?: string;
  /** `direct` shows the model its tools as they are. */
  readonly toolMode?: ToolMode;
  /** Keeps only tools whose effect is `read`. Default false. */
  readonly observeOnly?: boolean;
  /** Declared memory, for the memory plugin. */
  readonly memory?: object;
}
/** How the model sees its tools. */
export type ToolMode = "direct";

/** A coding agent over one folder. */
export interface CodingAgent {
  readonly definition: AgentDefinition;
  /** Real path of the folder it works in. */
  readonly workspace: string;
  /** `provider/model` where one is named; undefined for `auto()`. */
  readonly modelID: string | undefined;
  readonly toolMode: ToolMode;
  readonly observeOnly: boolean;
  /** Ends the commands its tools left running. */
  close(): Promise<void>;
}

/** The real path of a workspace. @throws CavemanError `cave_coding_workspace_invalid`. */
export function workspaceOf(path: string = process.cwd()): string {
  const place = "workspace";
  if (typeof path !== "string" || path === "" || path.includes("\0"))
    refuse("cave_coding_workspace_invalid", place, "the path of a folder", JSON.stringify(path) ?? typeof path);
  let real: string;
  try {
    real = realpathSync.native(resolve(path));
  } catch {
    return refuse("cave_coding_workspace_invalid", place, "a folder", `nothing at ${JSON.stringify(resolve(path))}`);
  }
  if (!statSync(real).isDirectory()) refuse("cave_coding_workspace_invalid", place, "a folder", JSON.stringify(real));
  return real;
}

/** @throws CavemanError `cave_option_invalid`, and what `agent()` refuses. */
export function codingAgent(options: CodingDefinitionOptions): CodingAgent {
  const { workspace, tools, model = auto(), instructions, toolMode = "direct", observeOnly = false } = options;
  const place = "createCodingAgent()";
  if (toolMode !== "direct") refuse("cave_option_invalid", `${place}.toolMode`, '"direct"', JSON.stringify(toolMode));
  if (instructions !== undefined && typeof instructions !== "string")
    refuse("cave_option_invalid", `${place}.instructions`, "text", typeof instructions);
  const said = [CODING_INSTRUCTIONS, ...(observeOnly ? [OBSERVE_ONLY] : []), ...(instructions ? [instructions] : [])];
  const definition = agent({
    id: "coding",
    instructions: said.join("\n\n"),
    model,
    reasoning: "off",
    sandbox: "host",
    tools: observeOnly ? tools.filter((tool) => tool.effect === "read") : [...tools],
    ...(options.memory ? { memory: options.memory } : {}),
  });
  return Object.freeze({
    definition,
    workspace,
    modelID:
      typeof model === "string" ? model : typeof model === "object" ? `${model.provider}/${model.modelId}` : undefined,
    toolMode,
    observeOnly,
    close: () => tools.close(),
  });
}
