/** What a session tells while a turn runs. */
import type { Run, RunEvent } from "../../kernel/index.ts";
import "../services.ts";
import "./command-status.ts";

/** The events of a turn: those of its run, calls that were refused, and commands that did not end well. */
export type SessionEvent =
  | RunEvent
  | {
      readonly type: "tool_denied";
      readonly toolCallId: string;
      readonly name: string;
      readonly code: string;
      /** Short deny code of the policy, and what came of asking a person, where that decided. */
      readonly reason?: string;
      readonly answer?: string;
    }
  /** A command that ended otherwise than with exit code 0; its `tool_end` follows. */
  | { readonly type: "command_failed"; readonly toolCallId: string; readonly status: string };

/** What makes no event of a run, only facts: a refusal (the policy's, and the kernel's right after it), and a command's end. */
export function watchFacts(run: Run, tell: (event: SessionEvent) => void): void {
  const decided = new Map<string, { reason?: string; answer?: string }>();
  run.ledger.subscribe((fact) => {
    if (fact.type === "policy.decided" && fact.decision === "deny")
      decided.set(fact.toolCallId, {
        ...(fact.reason === undefined ? {} : { reason: fact.reason }),
        ...(fact.answer === undefined ? {} : { answer: fact.answer }),
      });
    else if (fact.type === "tool.denied") {
      const { toolCallId, name, code } = fact;
      tell({ type: "tool_denied", toolCallId, name, code, ...decided.get(toolCallId) });
    } else if (fact.type === "coding.command_failed")
      tell({ type: "command_failed", toolCallId: fact.toolCallId, status: fact.status });
  });
}
