/** Every plugin, by its name. */
import type { PluginFactory } from "../kernel/index.ts";
import { breakers } from "./breakers/index.ts";
import { budget } from "./budget/index.ts";
import { coding } from "./coding/index.ts";
import { compaction } from "./compaction/index.ts";
import { compression } from "./compression/index.ts";
import { contextEditing } from "./context-editing/plugin/index.ts";
import { limits } from "./limits/index.ts";
import { mcp } from "./mcp/index.ts";
import { memoryPlugin } from "./memory/index.ts";
import { policy } from "./policy/index.ts";
import { prefix } from "./prefix/index.ts";
import { pricing } from "./pricing/index.ts";
import { providers } from "./providers/index.ts";
import { receipt } from "./receipt/index.ts";
import { recovery } from "./recovery/index.ts";
import { results } from "./results/index.ts";
import { retry } from "./retry/index.ts";
import { sandbox } from "./sandbox/index.ts";
import { shell } from "./shell/index.ts";
import { subagents } from "./subagents/index.ts";
import { tokens } from "./tokens/index.ts";

export { createBudgetController } from "./budget/index.ts";
export type { CompressContext, Compressed, Compressor, ContentType } from "./compression/index.ts";
export {
  createMemoryEngine,
  createMemoryWorkflow,
  type EmbeddingAdapter,
  type MemoryDeclaration,
  MemoryEngine,
  type MemoryHit,
  type MemoryOptions,
  type MemoryRecord,
  type MemoryStorage,
  type MemoryWorkflow,
  memory,
  memoryTTLMilliseconds,
  openAIEmbeddings,
  sqliteMemoryStorage,
} from "./memory/index.ts";
export {
  type ApprovalAnswer,
  type ApprovalRequest,
  type Approve,
  decideToolCall,
  describeRules,
  type PolicyRule,
  type ToolPolicy,
  type ToolPolicyDecision,
  type ToolPolicyInput,
} from "./policy/index.ts";
export { type Receipt, receiptSchema, renderReceipt } from "./receipt/index.ts";
export { OriginalStore, type StoreOptions } from "./recovery/index.ts";
export { type ProbeCheck, type ProbeReport, probeSandbox, type SandboxProfile } from "./sandbox/index.ts";
export * from "./services.ts";
export {
  CommandSessions,
  type ExecutionBackend,
  localBackend,
  type ShellTools,
  type ShellToolsOptions,
  shellTools,
  unifiedDiff,
} from "./shell/index.ts";
export { o200kTokenizer } from "./tokens/index.ts";
export {
  breakers,
  budget,
  compaction,
  compression,
  contextEditing,
  limits,
  mcp,
  memoryPlugin,
  policy,
  prefix,
  pricing,
  providers,
  receipt,
  recovery,
  results,
  retry,
  sandbox,
  shell,
  subagents,
  tokens,
};

/** The built-in plugins a config may name. */
export const builtinPlugins = Object.freeze(
  Object.fromEntries(
    [
      breakers,
      budget,
      coding,
      compaction,
      compression,
      contextEditing,
      limits,
      mcp,
      memoryPlugin,
      policy,
      prefix,
      pricing,
      providers,
      receipt,
      recovery,
      results,
      retry,
      sandbox,
      shell,
      subagents,
      tokens,
    ].map((plugin) => [plugin.pluginName, plugin]),
  ) as unknown as Record<string, PluginFactory>,
);
