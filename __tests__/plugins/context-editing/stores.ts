/** Stores for tests of plugins that take content out of the view: where originals go, and the tool that reads them back. */
import { createHash } from "node:crypto";
import { definePlugin, frameworkTool, type Run, schema, tool } from "../../../kernel/index.ts";
import { Recovery, StoredOutputs } from "../../../plugins/services.ts";

/** Exact originals in memory, content-addressed, with `cave_retrieve`. `full` makes every store fail. */
export function recoveryStore(options: { full?: boolean } = {}) {
  const originals = new Map<string, string>();
  const service: Recovery = {
    keep(original) {
      // A text that carries a handle stands for an original and is none.
      if (options.full || /ccr_[0-9a-f]{32}/.test(original)) return undefined;
      const handle = `ccr_${createHash("sha256").update(original).digest("hex").slice(0, 32)}`;
      originals.set(handle, original);
      return handle;
    },
    retrieve: (handle) => originals.get(handle),
    isRecovered: (toolName, text) => toolName === "cave_retrieve" || /ccr_[0-9a-f]{32}/.test(text),
  };
  const plugin = definePlugin({
    name: "recovery",
    tools: () => [
      frameworkTool({
        name: "cave_retrieve",
        description: "Reads an original back.",
        input: schema.object({ recovery_handle: schema.string() }),
        effect: "read",
        execute: ({ recovery_handle }) => originals.get(recovery_handle) ?? "unknown handle",
      }),
    ],
    apply: (kernel) => kernel.provide(Recovery, () => service),
  });
  return { plugin, originals };
}

/** Outputs kept while a run lasts, with `read_tool_output`. */
export function outputStore() {
  const outputs = new Map<string, string>();
  const plugin = definePlugin({
    name: "results",
    tools: () => [
      tool({
        name: "read_tool_output",
        description: "Reads an output back.",
        input: schema.object({ handle: schema.string() }),
        effect: "read",
        execute: ({ handle }) => outputs.get(handle) ?? "unknown handle",
      }),
    ],
    apply: (kernel) =>
      kernel.provide(StoredOutputs, () => ({
        keep(text) {
          const handle = `tool_${outputs.size + 1}`;
          outputs.set(handle, text);
          return handle;
        },
        read: (handle) => outputs.get(handle),
      })),
  });
  return { plugin, outputs };
}

/** Every text the model was ever shown in a run's history, tool results and messages alike. */
export const textsOf = (run: Run): string[] =>
  run.transcript.history.flatMap(({ value }) =>
    typeof value.content === "string"
      ? [value.content]
      : value.content.flatMap((part) =>
          part.type === "text" || part.type === "reasoning"
            ? [part.text]
            : part.type === "tool-result" && "value" in part.output
              ? [typeof part.output.value === "string" ? part.output.value : JSON.stringify(part.output.value)]
              : [],
        ),
  );
