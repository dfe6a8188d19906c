/**
 * Declarative rules. A call is judged part by part: every simple command it runs, every path it names, or the call as
 * a whole when it has neither. The strictest verdict on a part is the verdict on the call.
 *
 * On each part the most specific rule decides: a rule yields to one that covers only some of what it covers itself.
 * Rules of which neither is the narrower stand side by side, and the strictest of them decides: deny, ask, allow.
 */
import { homedir } from "node:os";
import { isAbsolute } from "node:path";
import { type Static, Type } from "@sinclair/typebox";
import { CavemanError, type Effect } from "../../kernel/index.ts";
import { begins, commandOf, commandsOf, mayRun, type SimpleCommand } from "./command-words.ts";
import { Glob } from "./glob.ts";
import { type NamedPath, namedPath, pathArguments, segmentsBelow, segmentsOf } from "./named-paths.ts";

const EFFECTS = ["read", "write", "idempotent", "external"] as const;
const EffectName = Type.Unsafe<Effect>({ type: "string", enum: [...EFFECTS] });
export const PolicyRule = Type.Object(
  {
    decision: Type.Unsafe<"allow" | "deny" | "ask">({ type: "string", enum: ["allow", "deny", "ask"] }),
    tool: Type.Optional(Type.String({ minLength: 1, description: "Name of the tool; * and ? are wildcards." })),
    effect: Type.Optional(
      Type.Union([EffectName, Type.Array(EffectName, { minItems: 1 })], { description: "Effect of the tool." }),
    ),
    path: Type.Optional(
      Type.String({
        minLength: 1,
        description: "Glob over the real paths the call names, from the workspace; absolute and ~/ paths as they are.",
      }),
    ),
    command: Type.Optional(
      Type.String({ minLength: 1, description: "First words of a command, word by word: git status." }),
    ),
    exact: Type.Optional(
      Type.Boolean({ description: "The command is these words and no more, or the path has no wildcards." }),
    ),
    agent: Type.Optional(
      Type.String({ minLength: 1, description: "Subagent tools that lead to the call: / is the root, ** any." }),
    ),
    reason: Type.Optional(
      Type.String({ pattern: "^[a-z][a-z0-9_]{0,63}$", description: "Deny code the model reads." }),
    ),
  },
  { additionalProperties: false },
);
/** Conditions that are left out match everything; those that are there must all match. */
export type PolicyRule = Static<typeof PolicyRule>;
export type Decision = PolicyRule["decision"];

/** One part of a call. */
export type Part =
  | { readonly kind: "call" }
  | { readonly kind: "path"; readonly path: NamedPath }
  | { readonly kind: "command"; readonly command: SimpleCommand };

/** What rules are asked about. */
export interface Subject {
  readonly tool: string;
  readonly effect: Effect;
  readonly agentPath: readonly string[];
  readonly parts: readonly Part[];
  readonly workspace: string;
}

const STRICTNESS: Readonly<Record<Decision, number>> = { deny: 2, ask: 1, allow: 0 };

/** A rule made ready. */
export class Rule {
  readonly spec: PolicyRule;
  readonly decision: Decision;
  readonly command: readonly string[] | undefined;
  readonly #exact: boolean;
  readonly #tool: Glob | undefined;
  readonly #effects: ReadonlySet<Effect> | undefined;
  readonly #path: { readonly glob: Glob; readonly below: boolean } | undefined;
  readonly #agent: Glob | undefined;

  /** @throws CavemanError `cave_policy_rule_invalid`. */
  constructor(spec: PolicyRule, place: string) {
    const refuse = (expected: string, received: string): never => {
      throw new CavemanError("cave_policy_rule_invalid", { place, expected, received });
    };
    this.spec = Object.freeze({ ...spec });
    this.decision = spec.decision;
    this.#exact = spec.exact ?? false;
    if (spec.path !== undefined && spec.command !== undefined)
      refuse("a path or a command: each part of a call is judged on its own", "both in one rule");
    if (this.#exact && spec.path === undefined && spec.command === undefined)
      refuse("exact beside a path or a command", "exact alone");
    if (spec.command !== undefined) {
      const [command, ...more] = commandsOf(spec.command);
      if (!command?.plain || command.unreadable || more.length > 0)
        refuse("the words of one plain command", JSON.stringify(spec.command));
      this.command = command?.words;
    }
    if (spec.path !== undefined) this.#path = pathPattern(spec.path, this.#exact, refuse);
    this.#tool = spec.tool === undefined ? undefined : new Glob([spec.tool]);
    this.#effects = spec.effect === undefined ? undefined : new Set([spec.effect].flat());
    this.#agent = spec.agent === undefined ? undefined : new Glob(spec.agent.split("/").filter((name) => name !== ""));
  }

  get hasPath(): boolean {
    return this.#path !== undefined;
  }

  /** Framework tools answer only to rules that name them. */
  get namesFramework(): boolean {
    return this.spec.tool?.startsWith("cave_") === true;
  }

  matches(subject: Subject, part: Part): boolean {
    const { tool, effect, agentPath, workspace } = subject;
    if (this.#tool && !this.#tool.matches([tool])) return false;
    if (this.#effects && !this.#effects.has(effect)) return false;
    if (this.#agent && !this.#agent.matches(agentPath)) return false;
    const cautious = this.decision !== "allow";
    if (this.command) {
      if (part.kind !== "command") return false;
      return (cautious ? mayRun : begins)(part.command, this.command, this.#exact);
    }
    if (!this.#path) return true;
    return part.kind === "path" && this.#matchesPath(part.path, workspace, cautious);
  }

  /** Caution looks at every reading of a path and takes an unknown one for a match; trust needs every reading to match. */
  #matchesPath({ real, lexical }: NamedPath, workspace: string, cautious: boolean): boolean {
    const one = (path: string): boolean => {
      const segments = this.#path?.below ? segmentsBelow(workspace, path) : segmentsOf(path);
      return segments !== undefined && this.#path?.glob.matches(segments, cautious) === true;
    };
    if (!cautious) return real.length > 0 && real.every(one);
    return real.length === 0 || real.some(one) || (lexical !== undefined && one(lexical));
  }

  /** Whether it covers nothing that `other` does not cover. */
  within(other: Rule): boolean {
    if (other.#agent && !(this.#agent && other.#agent.covers(this.#agent))) return false;
    if (other.command && !this.#withinCommand(other)) return false;
    if (other.#path && !this.#withinPath(other.#path)) return false;
    // A command is a shell tool's, and a tool that is named has one effect, so either says more than an effect does.
    if (other.#tool && !this.command && !(this.#tool && other.#tool.covers(this.#tool))) return false;
    if (!other.#effects || this.command || this.#tool?.literal) return true;
    const { size } = other.#effects;
    return this.#effects !== undefined && this.#effects.size <= size && this.#effects.isSubsetOf(other.#effects);
  }
  #withinCommand(other: Rule): boolean {
    const { command = [] } = other;
    const own = this.command;
    if (!own || !command.every((word, index) => own[index] === word)) return false;
    return !other.#exact || (this.#exact && own.length === command.length);
  }
  #withinPath({ glob, below }: { readonly glob: Glob; readonly below: boolean }): boolean {
    return this.#path !== undefined && this.#path.below === below && glob.covers(this.#path.glob);
  }
}

function pathPattern(pattern: string, exact: boolean, refuse: (expected: string, received: string) => never) {
  const home = pattern === "~" || pattern.startsWith("~/");
  const full = home ? `${exact ? homedir() : homedir().replaceAll(/[*?]/g, "?")}${pattern.slice(1)}` : pattern;
  const segments = full.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..")) refuse("a path without ..", JSON.stringify(pattern));
  return { glob: new Glob(segments, exact), below: !isAbsolute(full) };
}

/** Where no rule speaks, a tool that acts needs a person. */
const ASK_BEFORE_ACTING = new Rule({ decision: "ask", effect: ["write", "idempotent", "external"] }, "the default");

/**
 * What holds where no rule speaks. Rules that only deny or ask leave the rest alone. A rule that allows says that not
 * everything is, and somebody who can be asked is there to be asked: then what acts is asked about.
 */
export const fallbackOf = (rules: readonly Rule[], canAsk: boolean): Rule | undefined =>
  canAsk || rules.some(({ decision }) => decision === "allow") ? ASK_BEFORE_ACTING : undefined;

/** What the rules say of one part. */
export interface Verdict {
  readonly part: Part;
  readonly decision: Decision;
  readonly rule: Rule;
}

/** The verdict on every part that a rule speaks of; `fallback` speaks where none does. */
export function judge(rules: readonly Rule[], subject: Subject, fallback?: Rule): Verdict[] {
  const commands = subject.parts.some(({ kind }) => kind === "command");
  const verdicts: Verdict[] = [];
  for (const part of subject.parts) {
    // Where a call runs a command, its paths only say where: they answer to rules about paths, and to no others.
    const aside = commands && part.kind === "path";
    const matching = rules.filter((rule) => !(aside && !rule.hasPath) && rule.matches(subject, part));
    const rule = mostSpecific(matching) ?? (!aside && fallback?.matches(subject, part) ? fallback : undefined);
    if (rule) verdicts.push({ part, decision: rule.decision, rule });
  }
  return verdicts;
}

function mostSpecific(matching: readonly Rule[]): Rule | undefined {
  if (matching.length < 2) return matching[0];
  const standing = matching.filter(
    (rule) => !matching.some((other) => other !== rule && other.within(rule) && !rule.within(other)),
  );
  return standing.reduce((strictest, rule) => (stricter(rule, strictest) ? rule : strictest));
}
const stricter = (a: { decision: Decision }, b: { decision: Decision }): boolean =>
  STRICTNESS[a.decision] > STRICTNESS[b.decision];

/** The verdict on the call. */
export const strictest = (verdicts: readonly Verdict[]): Verdict | undefined =>
  verdicts.length === 0 ? undefined : verdicts.reduce((worst, verdict) => (stricter(verdict, worst) ? verdict : worst));

const unreadablePath: NamedPath = { written: "", real: [], lexical: undefined };
const COMMANDS: readonly string[] = ["command", "cmd", "commands"];

/** The parts of a call, read from its arguments. */
export function partsOf(args: unknown, workspace: string, morePaths: ReadonlySet<string>): Part[] {
  const parts: Part[] = [];
  if (typeof args === "object" && args !== null && !Array.isArray(args))
    for (const [key, value] of Object.entries(args)) {
      if (!COMMANDS.includes(key.toLowerCase())) continue;
      for (const command of commandsIn(key, value)) parts.push({ kind: "command", command });
    }
  const paths = pathArguments(args, morePaths);
  if (!paths) parts.push({ kind: "path", path: unreadablePath });
  else for (const written of paths) parts.push({ kind: "path", path: namedPath(written, workspace) });
  return parts.length > 0 ? parts : [{ kind: "call" }];
}

function commandsIn(key: string, value: unknown): SimpleCommand[] {
  if (typeof value === "string") return commandsOf(value);
  if (!Array.isArray(value)) return [];
  const words = value.filter((word) => typeof word === "string");
  return key.toLowerCase() === "commands" ? words.flatMap(commandsOf) : commandOf(words);
}

/** A rule in one line, as a listing shows it. */
export function describeRule({ decision, tool, effect, path, command, exact, agent, reason }: PolicyRule): string {
  const said = [
    command === undefined ? "" : `command ${exact ? "is" : "begins"} "${command}"`,
    path === undefined ? "" : `path ${exact ? "is " : ""}${path}`,
    tool === undefined ? "" : `tool ${tool}`,
    effect === undefined ? "" : `effect ${[effect].flat().join(" or ")}`,
    agent === undefined ? "" : `agent ${agent}`,
  ].filter((text) => text !== "");
  return `${decision} ${said.join(", ") || "everything"}${reason === undefined ? "" : ` (${reason})`}`;
}
