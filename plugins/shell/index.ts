/**
 * Shell: a workspace's files and commands as tools, behind a boundary that holds, with every output capped at its
 * source. Taps `admitTool` (tells a tool its run, refuses contained agents) and `settle` (waits until no command is
 * left). With `workspace` it brings the tools itself; without, it serves the `shellTools()` of definitions.
 */
import { Type } from "@sinclair/typebox";
import { CavemanError, definePlugin, defineService, type Run, type Tool } from "../../kernel/index.ts";
import { bind, SavedStamps, Stamps, Unfinished } from "./binding.ts";
import { errors } from "./errors.ts";
import { keys } from "./options.ts";
import { isShellTool, shellTools } from "./tools.ts";

export type { ExecRequest, ExecResult, ExecutionBackend } from "./commands/backend.ts";
export type { OnOutput, OutputChunk } from "./commands/live-output.ts";
export { type LocalLimits, localBackend } from "./commands/local.ts";
export { type CommandRead, CommandSessions, type CommandState } from "./commands/sessions.ts";
export { unifiedDiff } from "./files/diff.ts";
export { type FileChange, OUTPUT_CAPS, type ShellToolName, type ShellToolsOptions } from "./options.ts";
export { type ShellTools, shellTools } from "./tools.ts";

/** The tools that a run got from the plugin, for what is asked outside of `apply`. */
const OwnTools = defineService<readonly Tool[] | undefined>("shell.tools");

export const shell = definePlugin({
  name: "shell",
  description: "Reads, searches and changes the files of a workspace, and runs commands in it.",
  options: Type.Object({
    workspace: Type.Optional(
      Type.String({
        minLength: 1,
        description: "the folder the tools work in; without it the plugin brings no tools of its own",
      }),
    ),
    subagents: Type.Optional(Type.Boolean({ default: false, description: "whether subagents get the tools as well" })),
    ...keys,
  }),
  errors,
  // results looks for tools whose results are paged.
  before: ["results"],
  controls: (run) => ({ shell: run.find(OwnTools) ? "active" : "absent" }),
  tools: (run) => run.find(OwnTools) ?? [],
  prepare(run) {
    if (run.find(OwnTools) && run.agent.sandbox === "required") throw hostRequired(run);
  },
  apply(kernel, options) {
    const { workspace, subagents = false, ...rest } = options;
    const tools = workspace === undefined ? undefined : shellTools({ workspace, ...rest });
    const stampsOf = kernel.perConversation("shell", SavedStamps, (_run, saved) => new Stamps(saved));
    const unfinishedOf = kernel.perRun(() => new Unfinished());
    kernel.provide(OwnTools, (run) => (subagents || run.depth === 0 ? tools : undefined));

    kernel.hooks.admitTool.tap({ name: "shell", stage: "place" }, (call) => {
      const { run } = call;
      if (!isShellTool(call.tool)) return undefined;
      if (run.agent.sandbox === "required")
        return { deny: { code: "cave_shell_host_required", message: hostRequired(run).message } };
      bind(call, { run, stamps: stampsOf(run), unfinished: unfinishedOf(run) });
      return undefined;
    });

    kernel.hooks.settle.tap({ name: "shell", stage: "work" }, ({ run }) => unfinishedOf(run).settle());
  },
});

const hostRequired = (run: Run): CavemanError =>
  new CavemanError("cave_shell_host_required", { place: `agent ${run.agent.id}` });
