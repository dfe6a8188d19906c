/**
 * Models without a vendor, for tests and dry runs: `scripted` answers in process, `startModelServer` answers over HTTP on the
 * vendors' own wires. Both play the same scripts.
 */
export { type ScriptedModel, type ScriptedOptions, scripted } from "./model.ts";
export type { Script } from "./script.ts";
export { ScriptError } from "./script-error.ts";
export { type ModelServer, type ModelServerOptions, startModelServer } from "./server.ts";
export type { ScriptFault, ScriptFinish, ScriptStep, ScriptToolCall, ScriptUsage } from "./step.ts";
export type { Vendor, WireRequest } from "./wire.ts";
