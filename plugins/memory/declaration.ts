/** `memory()`: what an agent declares of its memory. What is not kept here is refused at construction. */
import { CavemanError, defineErrors } from "../../kernel/index.ts";
import { errors } from "./errors.ts";

defineErrors(errors);

/** What `memory()` gives: the memory an agent declares. */
export interface MemoryDeclaration {
  readonly kind: "memory";
  readonly namespace: string;
  readonly ttl: string;
  /** Tokens a recall may add to a call. */
  readonly recallBudget: number;
  readonly provenance: "local";
  readonly consent: "local_only";
}
/** What `memory()` takes. */
export interface MemoryOptions {
  readonly namespace: string;
  /** `<n>m`, `<n>h` or `<n>d`. Default `30d`. */
  readonly ttl?: string;
  /** Tokens. Default 800. */
  readonly recallBudget?: number;
  readonly provenance?: string;
  readonly consent?: string;
}

export const DEFAULT_TTL = "30d";
export const DEFAULT_RECALL_BUDGET = 800;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,95}$/;
const AGENT = /^[a-z0-9][a-z0-9_-]{0,95}$/;
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A hundred years: more is a mistake, and would leave the range of dates. */
const LONGEST_TTL = 36_525 * 86_400_000;

/**
 * Declares an agent's memory. Defaults: ttl `30d`, recallBudget 800 tokens, provenance `local`, consent `local_only`.
 * @throws CavemanError `cave_memory_namespace_invalid`, `cave_memory_ttl_invalid`, `cave_memory_recall_budget_invalid`,
 * `cave_memory_provenance_unsupported`, `cave_memory_consent_unsupported`, `cave_option_invalid`.
 */
export function memory(options: MemoryOptions): MemoryDeclaration {
  if (typeof options !== "object" || options === null)
    throw new CavemanError("cave_option_invalid", {
      place: "memory()",
      expected: "{ namespace }",
      received: typeof options,
    });
  const known = ["kind", "namespace", "ttl", "recallBudget", "provenance", "consent"];
  const odd = Object.keys(options).find((key) => !known.includes(key));
  if (odd !== undefined)
    throw new CavemanError("cave_option_invalid", {
      place: "memory()",
      expected: known.slice(1).join(", "),
      received: odd,
    });
  const { namespace, ttl = DEFAULT_TTL, recallBudget = DEFAULT_RECALL_BUDGET } = options;
  const { provenance = "local", consent = "local_only" } = options;
  assertNamespace(namespace);
  memoryTTLMilliseconds(ttl);
  assertBudget(recallBudget, "memory().recallBudget");
  if (provenance !== "local")
    refuse("cave_memory_provenance_unsupported", "memory().provenance", '"local"', provenance);
  if (consent !== "local_only") refuse("cave_memory_consent_unsupported", "memory().consent", '"local_only"', consent);
  return Object.freeze({ kind: "memory", namespace, ttl, recallBudget, provenance: "local", consent: "local_only" });
}

/** Reads what an agent's definition carries; a declaration made by hand is checked like any other. */
export function declarationOf(value: object): MemoryDeclaration {
  const { provenance = "local", consent = "local_only" } = value as Partial<MemoryOptions>;
  if (provenance !== "local" || consent !== "local_only")
    refuse(
      "cave_memory_shared_backend_unavailable",
      "agent().memory",
      "local, local_only",
      `${provenance}, ${consent}`,
    );
  return memory(value as MemoryOptions);
}

/** Milliseconds of `30m`, `12h`, `30d`. @throws CavemanError `cave_memory_ttl_invalid`. */
export function memoryTTLMilliseconds(ttl: string): number {
  const [, digits = "", unit = ""] = /^([1-9]\d{0,9})([mhd])$/.exec(typeof ttl === "string" ? ttl : "") ?? [];
  const milliseconds = Number(digits) * (UNITS[unit] ?? Number.NaN);
  if (milliseconds > 0 && milliseconds <= LONGEST_TTL) return milliseconds;
  return refuse(
    "cave_memory_ttl_invalid",
    "ttl",
    "<n>m, <n>h or <n>d, at most 100 years",
    JSON.stringify(ttl) ?? "nothing",
  );
}

export function assertBudget(value: unknown, place: string, least = 1): void {
  if (!Number.isSafeInteger(value) || (value as number) < least)
    refuse("cave_memory_recall_budget_invalid", place, "a positive whole number of tokens", String(value));
}
export function assertNamespace(value: unknown): void {
  if (typeof value !== "string" || !NAME.test(value))
    refuse("cave_memory_namespace_invalid", "namespace", NAME.source, JSON.stringify(value) ?? "nothing");
}
export function assertTenant(value: unknown): void {
  if (typeof value !== "string" || !(NAME.test(value) || value === SINGLE_TENANT))
    refuse("cave_memory_tenant_invalid", "tenant", NAME.source, JSON.stringify(value) ?? "nothing");
}
export function assertAgent(value: unknown): void {
  if (typeof value !== "string" || !AGENT.test(value))
    refuse("cave_memory_agent_invalid", "agentId", AGENT.source, JSON.stringify(value) ?? "nothing");
}
/** The tenant of those who name none. */
export const SINGLE_TENANT = "_";

function refuse(code: string, place: string, expected: string, received: string): never {
  throw new CavemanError(code, { place, expected, received });
}
