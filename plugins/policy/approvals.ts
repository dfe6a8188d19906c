/**
 * A person's word on a call. One question at a time over the whole tree of runs; who does not answer has said no.
 * "always" remembers rules for the conversation, each tied to the rule that asked: it silences that question and
 * no other, and never a denial.
 */
import { type Static, Type } from "@sinclair/typebox";
import { asCaveman, CavemanError, type ToolCall } from "../../kernel/index.ts";
import { inputOf, type ToolPolicyInput } from "./decide-tool-call.ts";
import { segmentsBelow, segmentsOf } from "./named-paths.ts";
import { type Part, PolicyRule, Rule, type Subject, type Verdict } from "./rules.ts";

export type ApprovalAnswer = "yes" | "no" | "always";
/** A call that waits for a person. */
export interface ApprovalRequest extends ToolPolicyInput {
  /** The rule that asks. */
  readonly rule: PolicyRule;
  /** The commands and paths it asks about; empty when it asks about the call as a whole. */
  readonly about: readonly string[];
  /** The rules that "always" would remember. Empty when none can be told: then "always" is a yes to this call alone. */
  readonly always: readonly PolicyRule[];
  /** Aborts when the answer is no longer waited for. */
  readonly signal: AbortSignal;
}
export type Approve = (request: ApprovalRequest) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** What came of a question. All but the first three are a no. */
export type ApprovalOutcome = "yes" | "always" | "remembered" | "no" | "unanswered" | "unavailable" | "failed";

const Grant = Type.Object({ asked: Type.String(), rule: PolicyRule });
export const SavedApprovals = Type.Object({ granted: Type.Array(Grant) });

/**
 * Programs whose second word is a subcommand, with those that stand for a kind of command: whatever follows them, they
 * neither run what they are given nor write where they are told. Of all else only the exact command is remembered.
 */
const KINDS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    git: "add blame branch commit describe ls-files mv restore rev-parse rm shortlog stash status switch tag",
    npm: "audit ci ls outdated run run-script test",
    pnpm: "audit ls outdated run test",
    yarn: "audit outdated run test",
    bun: "outdated run test",
    gh: "issue pr release",
  }).map(([program, subcommands]) => [program, new Set(subcommands.split(" "))]),
);
/** Second words that run what the third names. */
const RUNNERS = new Set(["run", "run-script"]);
/** A third word that names a script. */
const SCRIPT_NAME = /^[a-z][a-z0-9:-]*$/;
/** What lies in a repository's own folder is run by its commands, hooks and settings alike. */
const REPOSITORY = /^\.git$/i;

export class Approvals {
  readonly #granted: { readonly asked: string; readonly rule: Rule }[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(saved?: unknown) {
    for (const { asked, rule } of (saved as Static<typeof SavedApprovals> | undefined)?.granted ?? []) {
      try {
        if (rule.decision === "allow") this.#granted.push({ asked, rule: new Rule(rule, "a saved approval") });
      } catch {
        // What can no longer be read is asked again.
      }
    }
  }

  /** What still has to be asked. */
  open(verdicts: readonly Verdict[], subject: Subject): Verdict[] {
    return verdicts.filter(
      ({ part, rule, decision }) =>
        decision === "ask" &&
        !this.#granted.some((grant) => grant.asked === keyOf(rule) && covers(grant.rule, subject, part)),
    );
  }

  /** Asks, after whoever asked before. */
  async ask(
    call: ToolCall,
    subject: Subject,
    asked: readonly Verdict[],
    approve: Approve,
    timeoutMs: number,
  ): Promise<ApprovalOutcome> {
    const before = this.#turn;
    const turn = Promise.withResolvers<void>();
    this.#turn = turn.promise;
    try {
      await before;
      const left = this.open(asked, subject);
      if (left.length === 0) return "remembered";
      if (call.signal.aborted) return "unanswered";
      return await this.#answer(call, subject, left, approve, timeoutMs);
    } finally {
      turn.resolve();
    }
  }

  async #answer(
    call: ToolCall,
    subject: Subject,
    asked: readonly Verdict[],
    approve: Approve,
    timeoutMs: number,
  ): Promise<ApprovalOutcome> {
    const limit = new AbortController();
    const { promise: silence, resolve } = Promise.withResolvers<"unanswered">();
    const quit = (): void => resolve("unanswered");
    const timer = timeoutMs > 0 ? setTimeout(quit, timeoutMs) : undefined;
    call.signal.addEventListener("abort", quit, { once: true });
    const grants = asked.map((verdict) => ({ asked: keyOf(verdict.rule), rule: suggested(verdict, subject) }));
    const always = grants.flatMap(({ rule }) => (rule ? [rule] : []));
    const whole = grants.length === always.length;
    try {
      const request: ApprovalRequest = Object.freeze({
        ...copied(call),
        rule: asked[0]?.rule.spec ?? { decision: "ask" as const },
        about: asked.flatMap(({ part }) => written(part)),
        always: whole ? distinct(always) : [],
        signal: limit.signal,
      });
      const answer = await Promise.race([Promise.resolve(approve(request)), silence]);
      if (answer === "always" && whole)
        for (const { asked: key, rule } of grants)
          if (rule) this.#granted.push({ asked: key, rule: new Rule(rule, "an approval") });
      if (answer === "yes" || answer === "no" || answer === "always" || answer === "unanswered") return answer;
      throw new CavemanError("cave_approval_failed", {
        place: "approve",
        expected: '"yes", "no" or "always"',
        received: "something else",
      });
    } catch (cause) {
      const error = asCaveman(cause, "cave_approval_failed", { place: "approve", received: "a thrown error", cause });
      call.run.notice("policy", error.code, error.message);
      return "failed";
    } finally {
      clearTimeout(timer);
      call.signal.removeEventListener("abort", quit);
      limit.abort();
    }
  }

  toJSON(): Static<typeof SavedApprovals> {
    return { granted: this.#granted.map(({ asked, rule }) => ({ asked, rule: { ...rule.spec } })) };
  }
}

const keyOf = ({ spec }: Rule): string => JSON.stringify(Object.entries(spec).sort(([a], [b]) => (a < b ? -1 : 1)));

/** A grant for whole folders does not reach into a repository's own one. */
const covers = (grant: Rule, subject: Subject, part: Part): boolean =>
  grant.matches(subject, part) && (grant.spec.path === undefined || grant.spec.exact === true || !ofRepository(part));
const ofRepository = (part: Part): boolean =>
  part.kind === "path" && part.path.real.some((path) => segmentsOf(path).some((name) => REPOSITORY.test(name)));

/** The getter for the arguments does not survive a spread. */
function copied(call: ToolCall): ToolPolicyInput {
  const input = inputOf(call);
  return { ...input, args: input.args };
}

/** The narrowest rule that would spare the next question of this kind. */
function suggested({ part, rule }: Verdict, { tool, agentPath, workspace }: Subject): PolicyRule | undefined {
  const base = { decision: "allow" as const, tool, agent: `/${agentPath.join("/")}` };
  if (part.kind === "call") return base;
  if (part.kind === "command") {
    const { words, plain, unreadable } = part.command;
    if (!plain || unreadable || words.length === 0) return undefined;
    const kind = kindOf(words);
    return kind ? { ...base, command: quoted(kind) } : { ...base, command: quoted(words), exact: true };
  }
  const [path, ...others] = part.path.real;
  if (path === undefined || others.length > 0) return undefined;
  if (ofRepository(part)) return { ...base, path, exact: true };
  if (rule.spec.path !== undefined)
    return { ...base, path: rule.spec.path, ...(rule.spec.exact ? { exact: true } : {}) };
  return segmentsBelow(workspace, path) ? { ...base, path: "**" } : { ...base, path, exact: true };
}

/** The words that say what kind of command it is; undefined when only the whole command does. */
function kindOf([program = "", second = "", third = ""]: readonly string[]): readonly string[] | undefined {
  if (!KINDS.get(program)?.has(second)) return undefined;
  if (!RUNNERS.has(second)) return [program, second];
  return SCRIPT_NAME.test(third) ? [program, second, third] : undefined;
}

const quoted = (words: readonly string[]): string =>
  words.map((word) => (/^[\w./:@%+,=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(" ");

const written = (part: Part): string[] =>
  part.kind === "command" ? [part.command.words.join(" ")] : part.kind === "path" ? [part.path.written] : [];

const distinct = (rules: readonly PolicyRule[]): PolicyRule[] => [
  ...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values(),
];
