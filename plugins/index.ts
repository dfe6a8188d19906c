/** Every plugin, by its name. */
import type { PluginFactory } from "../kernel/index.ts";
import { providers } from "./providers/index.ts";
import { receipt } from "./receipt/index.ts";

export { providers, receipt };
export { type ReceiptCall, type Receipt } from "./receipt/schema.ts";
export { renderReceipt } from "./receipt/render.ts";
export * from "./services.ts";

/** The built-in plugins a config may name. */
export const builtinPlugins: Readonly<Record<string, PluginFactory>> = Object.freeze({ providers, receipt } as unknown as Record<string, PluginFactory>);
