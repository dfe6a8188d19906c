/** The public face of the kernel. */
export * from "./contract.ts";
export * from "./definition.ts";
export { canonicalJson, sha256 } from "./digest.ts";
export { asCaveman, CavemanError, codeOf, defineErrors, describe, type ErrorDetail, type ErrorRow, errorCodes, errorRow, nearest } from "./errors.ts";
export { HOOKS, type HookFacade, type HookFacades, type HookName, STAGES, type Stage, type TapFn, type TapInfo, type TapOptions } from "./hooks.ts";
export { createKernel, defineService, type Kernel, type KernelOptions, type Started, systemClock } from "./kernel.ts";
export { type CallId, type Fact, type Facts, type FactType, Ledger, type RunId, type StopReason } from "./ledger.ts";
export * from "./model.ts";
export { definePlugin, isPlugin, KERNEL_RUN_OPTIONS, type Plugin, type PluginFactory, type PluginKernel, type PluginSpec } from "./plugin.ts";
export { type AnySchema, type Check, check, checkJson, checkOptions, type Infer, type StandardSchema, schema } from "./schema.ts";
export { textOf } from "./tool.ts";
export { illegality, Message, type Rewrite, Transcript, View } from "./transcript.ts";
