/** The plugins a coding session runs on. */
import { createKernel, type Kernel, type Plugin } from "../../kernel/index.ts";
import { coding as commandStatus } from "../../plugins/coding/index.ts";
import { type PolicyRule, policy, receipt } from "../../plugins/index.ts";
import { coding } from "../../presets/index.ts";
import { given } from "./given.ts";

/** Everything that acts is asked about, unless a rule says otherwise. */
const ASK: PolicyRule = { decision: "ask", effect: ["write", "idempotent", "external"] };

export interface RuntimeOptions {
  /** What may run without asking, and what may not run at all. */
  readonly rules?: readonly PolicyRule[];
  /** Milliseconds a person may take to answer; then the call is refused, and recorded as unanswered. Default 300,000. */
  readonly approvalTimeoutMs?: number;
  /** Writes a receipt of each turn under `.caveman/runs` of the workspace. Default false. */
  readonly writeReceipts?: boolean;
}

/** The plugins: the preset `coding`, with rules and receipts as the session wants them. */
function codingPlugins({ rules = [], approvalTimeoutMs, writeReceipts = false }: RuntimeOptions = {}): Plugin[] {
  const own = new Map<string, Plugin>([
    ["policy", policy({ rules: [ASK, ...rules], ...given({ approvalTimeoutMs }) })],
    ["receipt", receipt({ write: writeReceipts })],
  ]);
  return [...coding().map((plugin) => own.get(plugin.name) ?? plugin), commandStatus()];
}

export const codingKernel = (options?: RuntimeOptions): Kernel => createKernel({ plugins: codingPlugins(options) });

/**
 * Rules from the words of `--allow`: `edits` for changes of files in the workspace that are not hidden, anything else for commands that
 * begin with it; separated by semicolons.
 */
export const allowed = (words: string): PolicyRule[] =>
  words
    .split(";")
    .map((word) => word.trim())
    .filter((word) => word !== "")
    .flatMap((word): PolicyRule[] =>
      word === "edits"
        ? ["edit_file", "write_file"].flatMap((tool): PolicyRule[] => [
            { decision: "allow", tool, path: "**" },
            // Hidden files and folders hold hooks and settings that others run.
            ...["**/.*", "**/.*/**"].map((path): PolicyRule => ({ decision: "ask", tool, path })),
          ])
        : [{ decision: "allow", tool: "bash", command: word }],
    );
