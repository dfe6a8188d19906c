/** Stands in for the providers plugin: whatever an agent, a child or a fallback names, one scripted model answers. */
import { definePlugin, type Plugin, type ResolvedModel } from "../../kernel/index.ts";
import { Models, ProviderFaults } from "../../plugins/index.ts";
import { classify } from "../../plugins/providers/index.ts";

export const simulatedProviders = (model: ResolvedModel): Plugin =>
  definePlugin({
    name: "providers",
    description: "Answers every call from a script; no provider is reached.",
    apply(kernel) {
      kernel.provide(Models, () => ({ resolved: model, prepare: async () => model, resolve: async () => model }));
      kernel.provide(ProviderFaults, () => ({ classify: (cause) => classify(cause, kernel.clock.now()) }));
      kernel.hooks.beforeCall.tap({ name: "providers:resolve", stage: "resolve", guard: true }, (call) =>
        call.setModel(model),
      );
    },
  })();
