/** One call before those who decide: the rules, the caller's policy, a person. Each can only refuse. */
import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { CavemanError, type Denial, type Run, type ToolCall } from "../../kernel/index.ts";
import type { PolicyDecided } from "../services.ts";
import type { ApprovalOutcome, Approvals, Approve } from "./approvals.ts";
import { agentPathOf, askPolicy, inputOf, type ToolPolicy } from "./decide-tool-call.ts";
import { judge, partsOf, type Rule, type Subject, strictest, type Verdict } from "./rules.ts";

/** The folder paths are measured from; its real path is looked up when a path first is. */
export class Workspace {
  readonly #folder: string;
  #path: string | undefined;
  constructor(folder: string) {
    this.#folder = folder;
  }
  get path(): string {
    if (this.#path === undefined) {
      const full = resolve(this.#folder);
      try {
        this.#path = realpathSync.native(full);
      } catch {
        this.#path = full;
      }
    }
    return this.#path;
  }
}

/** What rules are asked about a call. */
export const subjectOf = (call: ToolCall, workspace: string, morePaths: ReadonlySet<string>): Subject => ({
  tool: call.name,
  effect: call.tool?.effect ?? "external",
  agentPath: agentPathOf(call),
  parts: partsOf(call.input, workspace, morePaths),
  workspace,
});

export interface Deciders {
  readonly rules: readonly Rule[];
  readonly toolPolicy: ToolPolicy | undefined;
  readonly approve: Approve | undefined;
  readonly fallback: Rule | undefined;
  readonly approvals: Approvals;
  readonly approvalTimeoutMs: number;
}

export class Question {
  readonly #call: ToolCall;
  readonly #all: readonly Rule[];
  readonly #by: Deciders;

  constructor(call: ToolCall, all: readonly Rule[], by: Deciders) {
    this.#call = call;
    this.#all = all;
    this.#by = by;
  }

  decide(subjectOf: () => Subject): Denial | undefined | Promise<Denial | undefined> {
    const { rules, fallback } = this.#by;
    const subject = rules.length > 0 || fallback ? subjectOf() : undefined;
    const verdicts = subject ? judge(rules, subject, fallback) : [];
    const worst = strictest(verdicts);
    if (worst?.decision === "deny")
      return this.#deny("rule", worst.rule.spec.reason ?? "denied_by_rule", worst, "A rule of this run refuses it.");
    const answer = this.#askPolicy();
    if (!(answer instanceof Promise)) return answer ?? this.#askPerson(worst, verdicts, subject);
    return answer.then((denial) => denial ?? this.#askPerson(worst, verdicts, subject));
  }

  #askPolicy(): Denial | undefined | Promise<Denial | undefined> {
    const { toolPolicy } = this.#by;
    if (!toolPolicy) return undefined;
    const read = (reason: string | undefined): Denial | undefined =>
      reason === undefined ? undefined : this.#deny("tool_policy", reason);
    try {
      const { speculative, signal } = this.#call;
      // Ahead of its turn nothing waits, so what would is given up at once.
      const reason = askPolicy(
        toolPolicy,
        inputOf(this.#call),
        speculative === undefined ? signal : AbortSignal.abort(),
      );
      if (!(reason instanceof Promise)) return read(reason);
      if (speculative !== undefined) {
        reason.catch(() => undefined);
        return early;
      }
      return reason.then(read, (error: unknown) => this.#unreadable(error));
    } catch (error) {
      return this.#unreadable(error);
    }
  }

  /** What cannot be read as a decision ends the run, and every run above it: nobody is left who could decide. */
  #unreadable(error: unknown): Denial {
    const failure =
      error instanceof CavemanError ? error : new CavemanError("cave_tool_policy_failed", { cause: error });
    if (!this.#call.signal.aborted)
      for (let at: Run | undefined = this.#call.run; at; at = at.parent) at.stop("error", failure);
    this.#record({ decision: "deny", by: "tool_policy", reason: "unreadable" });
    return { deny: { code: failure.code, message: failure.message } };
  }

  #askPerson(worst: Verdict | undefined, verdicts: readonly Verdict[], subject: Subject | undefined) {
    if (worst?.decision !== "ask" || !subject) {
      if (this.#by.toolPolicy || worst) this.#allow(this.#by.toolPolicy ? "tool_policy" : "rule", worst);
      return undefined;
    }
    const { approvals, approve, approvalTimeoutMs } = this.#by;
    const open = approvals.open(verdicts, subject);
    if (open.length === 0) return this.#answered("remembered", worst, 0);
    if (this.#call.speculative !== undefined) return early;
    if (!approve) return this.#answered("unavailable", worst, 0);
    const { clock } = this.#call.run;
    const since = clock.now();
    return approvals
      .ask(this.#call, subject, open, approve, approvalTimeoutMs)
      .then((outcome) => this.#answered(outcome, worst, clock.now() - since));
  }

  #answered(answer: ApprovalOutcome, asked: Verdict, waitedMs: number): Denial | undefined {
    const more = { answer, waitedMs };
    if (answer === "yes" || answer === "always" || answer === "remembered")
      return void this.#allow("person", asked, more);
    const [reason, text] = NO[answer];
    return this.#deny("person", reason, asked, text, more);
  }

  #deny(
    by: PolicyDecided["by"],
    reason: string,
    verdict?: Verdict,
    text = "",
    more: Partial<PolicyDecided> = {},
  ): Denial {
    this.#record({ decision: "deny", by, reason, ...this.#ruleOf(verdict), ...more });
    const message = `cave_tool_denied:${reason}`;
    return { deny: { code: "cave_tool_denied", message: text ? `${message}. ${text}` : message } };
  }
  #allow(by: PolicyDecided["by"], verdict?: Verdict, more: Partial<PolicyDecided> = {}): void {
    this.#record({ decision: "allow", by, ...this.#ruleOf(verdict), ...more });
  }
  #ruleOf(verdict: Verdict | undefined): { rule?: number } {
    const rule = verdict ? this.#all.indexOf(verdict.rule) : -1;
    return rule < 0 ? {} : { rule };
  }
  #record(decided: Omit<PolicyDecided, "toolCallId" | "name">): void {
    const { run, toolCallId, name } = this.#call;
    if (run.outcome === undefined) run.record("policy.decided", { toolCallId, name, ...decided });
  }
}

const NO = {
  no: ["not_approved", "A person refused it. Do something else, or ask what is wanted."],
  unanswered: ["approval_unanswered", "Nobody answered in time. Do without it."],
  unavailable: ["approval_unavailable", "It needs a person's approval, and there is nobody to ask. Do without it."],
  failed: ["approval_failed", "The approval could not be had. Do without it."],
} as const satisfies Record<string, readonly [string, string]>;

const early: Denial = Object.freeze({
  deny: Object.freeze({
    code: "cave_policy_speculation_denied",
    message: "This call is decided when its turn comes.",
  }),
});
