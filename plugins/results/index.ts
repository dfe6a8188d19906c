/**
 * results: what the model is shown of a tool's result. Taps `admitTool` twice: `results:source` puts the first output
 * stage in place, before any other plugin looks at the output, `results:place` the last, after whatever shortened it.
 * Owns the result policies, the service `StoredOutputs` and the tool `read_tool_output`.
 */
import { type Static, Type } from "@sinclair/typebox";
import { type Conversation, definePlugin, defineService } from "../../kernel/index.ts";
import { StoredOutputs } from "../services.ts";
import { errors } from "./errors.ts";
import { OutputStore } from "./output-store.ts";
import { Placement, pages } from "./placement.ts";
import {
  handleIn,
  isReadToolOutput,
  READ_TOOL_OUTPUT,
  readStored,
  readToolOutput,
  requestIn,
} from "./read-tool-output.ts";

export { MAX_ENTRY_BYTES, MAX_STORE_BYTES } from "./output-store.ts";
export { PAGE_BYTES } from "./read-tool-output.ts";

declare module "../../kernel/ledger.ts" {
  interface Facts {
    /** A result was over its cap: its bytes, what is left of them in context, and where the whole is. */
    "output.capped": Static<typeof Capped>;
  }
}

const Capped = Type.Object(
  {
    toolCallId: Type.String(),
    name: Type.String(),
    bytes: Type.Integer({ minimum: 0 }),
    shownBytes: Type.Integer({ minimum: 0 }),
    kept: Type.Union([Type.Literal("memory"), Type.Literal("recovery"), Type.Literal("nowhere")]),
  },
  { additionalProperties: false },
);

const Options = Type.Object({
  maxInlineBytes: Type.Integer({
    minimum: 1_024,
    default: 32_768,
    description: "Most bytes of a result that stay in context; artifact() sets its own.",
  }),
  maxPartBytes: Type.Integer({
    minimum: 1_024,
    default: 4 * 1024 * 1024,
    description: "Most bytes of an image or file in a result.",
  }),
  readTool: Type.Unsafe<"auto" | "always" | "never">({
    type: "string",
    enum: ["auto", "always", "never"],
    default: "auto",
    description:
      "Adds read_tool_output: when a tool's result policy is page, to every agent with tools, or not at all.",
  }),
});

/** Whose results a run keeps and how they are read, for what is asked outside of `apply`. */
const Reading = defineService<{
  readonly store: OutputStore;
  readonly readTool: Static<typeof Options>["readTool"];
}>("results.reading");

export const results = definePlugin({
  name: "results",
  description: "Caps what a tool's result takes of the context, and keeps the whole to be read page by page.",
  options: Options,
  facts: { "output.capped": Capped },
  errors,
  tools(run) {
    const state = run.find(Reading);
    if (!state || run.tools.has(READ_TOOL_OUTPUT) || state.readTool === "never") return [];
    const wanted = state.readTool === "always" ? run.tools.size > 0 : [...run.tools.values()].some(pages);
    return wanted ? [readToolOutput(state.store)] : [];
  },
  apply(kernel, options) {
    // The runs of a conversation share a store, since its history names their handles. A child has its own.
    const ofConversation = new WeakMap<Conversation, OutputStore>();
    const storeOf = kernel.perRun((run) => {
      const { conversation } = run.options;
      const shared = conversation && ofConversation.get(conversation);
      const store = shared ?? new OutputStore(kernel.clock);
      if (conversation && !shared) ofConversation.set(conversation, store);
      return store;
    });
    kernel.provide(StoredOutputs, storeOf);
    kernel.provide(Reading, (run) => ({ store: storeOf(run), readTool: options.readTool }));

    const placement = new Placement(options.maxInlineBytes, options.maxPartBytes, storeOf);
    // What a composite tool calls goes to its code, not to the model.
    kernel.hooks.admitTool.tap({ name: "results:source", stage: "replay" }, (call) => {
      if (!call.parent) call.output(placement.bound);
    });
    kernel.hooks.admitTool.tap({ name: "results:place", stage: "place" }, (call) => {
      if (call.parent) return;
      if (call.name === READ_TOOL_OUTPUT && call.tool && !call.problem) {
        // Answered here whoever declared the tool and wherever tools run: the store is this process's own.
        const store = storeOf(call.run);
        if (isReadToolOutput(call.tool) || store.find(handleIn(call.input)))
          call.replay((input) => readStored(store, requestIn(input)));
      }
      call.output(placement.place);
    });
  },
});
