/**
 * Models without a vendor, for tests and dry runs: `scripted` answers in process, `startModelServer` answers over HTTP on the
 * vendors' own wires. Both play the same scripts.
 */
export { scripted, type ScriptedModel, type ScriptedOptions } from "./model.ts";
export {
  type Script, ScriptError, type ScriptFault, type ScriptFinish, type ScriptStep, type ScriptToolCall, type ScriptUsage,
} from "./script.ts";
export { type ModelServer, type ModelServerOptions, startModelServer } from "./server.ts";
export type { Vendor, WireRequest } from "./wire.ts";
