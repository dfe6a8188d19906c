/**
 * policy: which calls run at all. Taps `admitTool` once, after every count and hold: first the rules of the config,
 * then the caller's `toolPolicy`, then a person, each of whom can only refuse. Owns `toolPolicy` and `approve`.
 */
import { type Static, Type } from "@sinclair/typebox";
import { CavemanError, definePlugin, type Run } from "../../kernel/index.ts";
import { sharedFacts } from "../services.ts";
import { Question, subjectOf, Workspace } from "./admission.ts";
import { Approvals, type Approve, SavedApprovals } from "./approvals.ts";
import type { ToolPolicy } from "./decide-tool-call.ts";
import { errors } from "./errors.ts";
import { describeRule, fallbackOf, PolicyRule, Rule } from "./rules.ts";

export type { ApprovalAnswer, ApprovalOutcome, ApprovalRequest, Approve } from "./approvals.ts";
export {
  decideToolCall,
  TOOL_POLICY_TIMEOUT_MS,
  type ToolBlock,
  type ToolPolicy,
  type ToolPolicyDecision,
  type ToolPolicyInput,
} from "./decide-tool-call.ts";
export { describeRule, type PolicyRule } from "./rules.ts";

declare module "../../kernel/contract.ts" {
  interface RunOptions {
    /** Decides every call of a declared tool, of children and composite tools too. It can refuse, not rewrite. */
    toolPolicy?: ToolPolicy;
    /** Asks a person about calls that a rule asks about, and about calls that act where no rule speaks. */
    approve?: Approve;
  }
}

const Options = Type.Object({
  rules: Type.Array(PolicyRule, { default: [], description: "What to allow, deny or ask about." }),
  workspace: Type.Optional(
    Type.String({ minLength: 1, description: "Folder that path rules start from. Default: the run's rootDir." }),
  ),
  pathArguments: Type.Array(Type.String(), {
    default: [],
    description: "More names of arguments that hold paths.",
  }),
  approvalTimeoutMs: Type.Integer({
    minimum: 0,
    default: 300_000,
    description: "Milliseconds a person may take before the call is refused; 0 waits as long as it takes.",
  }),
});
type Options = Static<typeof Options>;

const callback = <T>(description: string) => Type.Optional(Type.Unsafe<T>({ description }));

export const policy = definePlugin({
  name: "policy",
  description: "Decides which tool calls run: rules, the caller's toolPolicy, a person's approval.",
  options: Options,
  runOptions: Type.Object({
    toolPolicy: callback<ToolPolicy>("a function that answers undefined or { deny: code }"),
    approve: callback<Approve>('a function that answers "yes", "no" or "always"'),
  }),
  facts: sharedFacts.policy,
  errors,
  describe: describeRules,
  controls: ({ options }) => ({
    tool_policy: options.toolPolicy ? "active" : "absent",
    approvals: options.approve ? "active" : "absent",
  }),
  apply(kernel, options) {
    const rules = options.rules.map((rule, index) => new Rule(rule, `plugin policy options.rules[${index}]`));
    const morePaths = new Set(options.pathArguments);
    kernel.perRun(checkCallbacks);
    const workspaceOf = kernel.perRun(
      (run) => new Workspace(options.workspace ?? run.options.rootDir ?? process.cwd()),
    );
    const approvalsOf = kernel.perConversation(
      "policy",
      SavedApprovals,
      (run, saved): Approvals => (run.parent ? approvalsOf(run.parent) : new Approvals(saved)),
    );
    // Without a limit of its own, since a person may be asked; toolPolicy and the question have theirs.
    kernel.hooks.admitTool.tap({ name: "policy", stage: "policy", timeoutMs: Number.POSITIVE_INFINITY }, (call) => {
      const { toolPolicy, approve } = call.run.options;
      if ((rules.length === 0 && !toolPolicy && !approve) || !call.tool || call.problem) return undefined;
      const framework = call.name.startsWith("cave_");
      const applying = framework ? rules.filter((rule) => rule.namesFramework) : rules;
      if (framework && applying.length === 0) return undefined;
      const question = new Question(call, rules, {
        rules: applying,
        toolPolicy: framework ? undefined : toolPolicy,
        approve,
        fallback: framework ? undefined : fallbackOf(rules, approve !== undefined),
        approvals: approvalsOf(call.run),
        approvalTimeoutMs: options.approvalTimeoutMs,
      });
      return question.decide(() => subjectOf(call, workspaceOf(call.run).path, morePaths));
    });
  },
});

/** The rules of a policy plugin's options, one a line, for listings. */
export function describeRules({ rules }: Pick<Options, "rules">): string[] {
  return rules.map(describeRule);
}

function checkCallbacks({ options, parent }: Run): void {
  if (parent) return;
  for (const key of ["toolPolicy", "approve"] as const)
    if (options[key] !== undefined && typeof options[key] !== "function")
      throw new CavemanError("cave_option_invalid", {
        place: `run option ${key}`,
        expected: "a function",
        received: typeof options[key],
      });
}
