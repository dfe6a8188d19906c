/** Every plugin, by its name. */
import type { PluginFactory } from "../kernel/index.ts";
import { breakers } from "./breakers/index.ts";
import { budget } from "./budget/index.ts";
import { compaction } from "./compaction/index.ts";
import { contextEditing } from "./context-editing/index.ts";
import { limits } from "./limits/index.ts";
import { policy } from "./policy/index.ts";
import { pricing } from "./pricing/index.ts";
import { providers } from "./providers/index.ts";
import { receipt } from "./receipt/index.ts";
import { results } from "./results/index.ts";
import { retry } from "./retry/index.ts";
import { subagents } from "./subagents/index.ts";

export { createBudgetController } from "./budget/index.ts";
export {
  type ApprovalAnswer,
  type ApprovalRequest,
  type Approve,
  decideToolCall,
  type PolicyRule,
  type ToolPolicy,
  type ToolPolicyDecision,
  type ToolPolicyInput,
} from "./policy/index.ts";
export { type Receipt, receiptSchema, renderReceipt } from "./receipt/index.ts";
export * from "./services.ts";
export {
  breakers,
  budget,
  compaction,
  contextEditing,
  limits,
  policy,
  pricing,
  providers,
  receipt,
  results,
  retry,
  subagents,
};

/** The built-in plugins a config may name. */
export const builtinPlugins = Object.freeze({
  breakers,
  budget,
  compaction,
  "context-editing": contextEditing,
  limits,
  policy,
  pricing,
  providers,
  receipt,
  results,
  retry,
  subagents,
} as unknown as Record<string, PluginFactory>);
