import { checkOptions, type Infer, type Plugin, schema } from "../kernel/index.ts";
import { compaction, compression, contextEditing, prefix, recovery, results, shell, tokens } from "../plugins/index.ts";
import { standard } from "./standard.ts";

const codingOptions = schema.object({
  workspace: schema.optional(
    schema.string({ minLength: 1, description: "The folder whose files and commands the preset brings as tools." }),
  ),
});
/** Options of the preset `coding`. */
export type CodingOptions = Infer<typeof codingOptions>;

/**
 * For agents that work in a folder: everything the default has, the files and commands of the workspace, and a context that
 * costs less and loses nothing: long results compressed with their originals kept, the provider's prompt cache guarded,
 * stale results cleared, history compacted. Its agents say `sandbox: "host"`; policy and approvals guard them. Without
 * `workspace` the tools come from the agent's own definition.
 * @throws CavemanError `cave_option_invalid`.
 */
export function coding(options?: CodingOptions): Plugin[] {
  const { workspace } = checkOptions(codingOptions, options ?? {}, "preset coding options");
  return [
    ...standard().map((plugin) => {
      if (plugin.name === results.pluginName) return results({ readTool: "always" });
      return plugin.name === shell.pluginName && workspace !== undefined
        ? shell({ workspace, keepCommands: true })
        : plugin;
    }),
    tokens(),
    recovery(),
    compression(),
    prefix(),
    contextEditing(),
    compaction(),
  ];
}

coding.options = codingOptions;
