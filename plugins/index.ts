/** Every plugin, by its name. */
import type { PluginFactory } from "../kernel/index.ts";
import { providers } from "./providers/index.ts";
import { receipt } from "./receipt/index.ts";

export { type Receipt, receiptSchema, renderReceipt } from "./receipt/index.ts";
export { providers, receipt };
export * from "./services.ts";

/** The built-in plugins a config may name. */
export const builtinPlugins: Readonly<Record<string, PluginFactory>> = Object.freeze({ providers, receipt } as unknown as Record<string, PluginFactory>);
