/** The caller's own decision on a tool call: what it is asked, what it may answer, and how an answer is read. */
import { CavemanError, type Effect, type ToolCall } from "../../kernel/index.ts";

/** Milliseconds a policy may take. */
export const TOOL_POLICY_TIMEOUT_MS = 10_000;

export interface ToolPolicyInput {
  readonly runId: string;
  readonly agentId: string;
  /** The subagent tools that lead from the root to this call; empty at the root. */
  readonly agentPath: readonly string[];
  readonly toolCallId: string;
  /** The composite tool this call is made from. */
  readonly parentToolCallId?: string;
  readonly name: string;
  readonly effect: Effect;
  /** The checked arguments: a frozen copy, since a policy decides admission alone. */
  readonly args: unknown;
}
/** `undefined` and `{ allow: true }` admit; a deny code is `[a-z][a-z0-9_]*`, at most 64 long, and never content. */
export type ToolPolicyDecision = undefined | { readonly allow: true } | { readonly deny: string };
// Also void: a policy with no return statement on one of its paths admits there.
export type ToolPolicy = (
  input: ToolPolicyInput,
  signal: AbortSignal,
) => ToolPolicyDecision | void | Promise<ToolPolicyDecision | void>;

/** A refused call as the model reads it, or undefined for an admitted one. */
export type ToolBlock = { readonly block: true; readonly reason: string } | undefined;

const REASON = /^[a-z][a-z0-9_]{0,63}$/;

/**
 * Decides one call, as a run does.
 * @throws CavemanError `cave_tool_policy_failed`, `cave_tool_policy_decision_invalid`, `cave_tool_policy_reason_invalid`.
 */
export async function decideToolCall(policy: ToolPolicy, input: ToolPolicyInput): Promise<ToolBlock> {
  const reason = await askPolicy(policy, input, new AbortController().signal);
  return reason === undefined ? undefined : { block: true, reason: `cave_tool_denied:${reason}` };
}

/** The deny code, or undefined; at once when the policy does not wait. */
export function askPolicy(
  policy: ToolPolicy,
  input: ToolPolicyInput,
  outer: AbortSignal,
): string | undefined | Promise<string | undefined> {
  const limit = new AbortController();
  let answer: unknown;
  let waits: boolean;
  try {
    answer = policy(input, limit.signal);
    waits = typeof answer === "object" && answer !== null && typeof (answer as { then?: unknown }).then === "function";
  } catch (cause) {
    throw failed("a thrown error", cause);
  }
  return waits ? inTime(answer as PromiseLike<unknown>, limit, outer) : reasonIn(answer);
}

function inTime(answer: PromiseLike<unknown>, limit: AbortController, outer: AbortSignal): Promise<string | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const timer = setTimeout(() => {
    limit.abort();
    reject(failed("none"));
  }, TOOL_POLICY_TIMEOUT_MS);
  const onAbort = (): void => {
    limit.abort(outer.reason);
    reject(outer.reason);
  };
  if (outer.aborted) onAbort();
  outer.addEventListener("abort", onAbort, { once: true });
  Promise.resolve(answer).then(resolve, (cause: unknown) => reject(failed("a rejection", cause)));
  return promise.then(reasonIn).finally(() => {
    clearTimeout(timer);
    outer.removeEventListener("abort", onAbort);
  });
}

const failed = (received: string, cause?: unknown): CavemanError =>
  new CavemanError("cave_tool_policy_failed", {
    place: "toolPolicy",
    expected: `an answer within ${TOOL_POLICY_TIMEOUT_MS} ms`,
    received,
    cause,
  });

function reasonIn(answer: unknown): string | undefined {
  if (answer === undefined) return undefined;
  let keys: string[];
  let deny: unknown;
  let allow: unknown;
  try {
    if (typeof answer !== "object" || answer === null) throw new TypeError("not an object");
    keys = Object.keys(answer);
    ({ deny, allow } = answer as { deny?: unknown; allow?: unknown });
  } catch (cause) {
    throw invalid(answer === null ? "null" : typeof answer, cause);
  }
  if (keys.length === 1 && keys[0] === "allow" && allow === true) return undefined;
  if (keys.length !== 1 || keys[0] !== "deny" || typeof deny !== "string") throw invalid("another shape");
  if (REASON.test(deny)) return deny;
  // The code may be anybody's text, so it is not repeated.
  throw new CavemanError("cave_tool_policy_reason_invalid", {
    place: "toolPolicy",
    expected: `a deny code that fits ${REASON.source}`,
    received: `${deny.length} characters that do not`,
  });
}

const invalid = (received: string, cause?: unknown): CavemanError =>
  new CavemanError("cave_tool_policy_decision_invalid", {
    place: "toolPolicy",
    expected: 'undefined, { allow: true } or { deny: "code" }',
    received,
    cause,
  });

/** What a policy, a rule or a person is told of a call. */
export function inputOf(call: ToolCall): ToolPolicyInput {
  const { run, toolCallId, name, parent, tool } = call;
  let args: { readonly copy: unknown } | undefined;
  return {
    runId: run.id,
    agentId: run.agent.id,
    agentPath: agentPathOf(call),
    toolCallId,
    ...(parent ? { parentToolCallId: parent.toolCallId } : {}),
    name,
    effect: tool?.effect ?? "external",
    get args() {
      // Copied when first looked at: many policies only read names.
      return (args ??= { copy: frozenCopy(call.input) }).copy;
    },
  };
}

export function agentPathOf({ run }: ToolCall): string[] {
  const path: string[] = [];
  for (let at = run; at.spawnedBy && at.parent; at = at.parent) path.unshift(at.spawnedBy.name);
  return path;
}

function frozenCopy(value: unknown): unknown {
  const copy: unknown = structuredClone(value);
  const freeze = (part: unknown): void => {
    if (typeof part !== "object" || part === null || Object.isFrozen(part) || ArrayBuffer.isView(part)) return;
    Object.freeze(part);
    for (const inner of Object.values(part)) freeze(inner);
  };
  freeze(copy);
  return copy;
}
