/**
 * The definition API. A definition is one frozen value; making it starts nothing and touches no file. What is wrong
 * with it is refused here, at construction.
 */
import { Type } from "@sinclair/typebox";
import { sha256 } from "./digest.ts";
import { CavemanError } from "./errors.ts";
import { isModel, type LanguageModel, type Reasoning } from "./model.ts";
import { type AnySchema, assertSchema, type Infer, jsonSchemaOf } from "./schema.ts";

export const AUTO = Symbol.for("caveman.auto");
export type Auto = typeof AUTO;
/** The model named by `CAVE_MODEL`, by `.caveman/provider.json`, or by the only credential present. Never a router. */
export const auto = (): Auto => AUTO;

export type ModelSpec = Auto | string | LanguageModel;

/** A text file that is read when a run starts, resolved from the run's `rootDir`. */
export interface FileRef { readonly kind: "file"; readonly path: string }
/** Names a text file. @throws CavemanError `cave_agent_definition_invalid` for an empty path. */
export function file(path: string | URL): FileRef {
  const text = path instanceof URL ? path.href : path;
  if (typeof text !== "string" || text.trim() === "") refuse("cave_agent_definition_invalid", "file()", "a path", typeof path);
  return Object.freeze({ kind: "file", path: text });
}
export const isFileRef = (value: unknown): value is FileRef => typeof value === "object" && value !== null && (value as FileRef).kind === "file";

export type Effect = "read" | "write" | "idempotent" | "external";
const EFFECTS: readonly string[] = ["read", "write", "idempotent", "external"];
const RESULTS: readonly string[] = ["auto", "inline", "page", "compress", "exact_ccr"];

/** A result policy with an inline cap. */
export interface Artifact { readonly kind: "artifact"; readonly strategy: "page" | "verbatim" | "json-index"; readonly maxInlineTokens: number; readonly recovery: "exact_ccr" | "source_ref" }
/** Pages or recovers results above `maxInlineTokens` (default 1,200). Defaults: strategy `page`, recovery `exact_ccr`. */
export function artifact(options: { strategy?: Artifact["strategy"]; maxInlineTokens?: number; recovery?: Artifact["recovery"] } = {}): Artifact {
  const { strategy = "page", maxInlineTokens = 1_200, recovery = "exact_ccr" } = options;
  wholeNumber("cave_tool_definition_invalid", "artifact().maxInlineTokens", maxInlineTokens);
  oneOf("cave_tool_definition_invalid", "artifact().strategy", strategy, ["page", "verbatim", "json-index"]);
  oneOf("cave_tool_definition_invalid", "artifact().recovery", recovery, ["exact_ccr", "source_ref"]);
  return Object.freeze({ kind: "artifact", strategy, maxInlineTokens, recovery });
}
export type ResultPolicy = "auto" | "inline" | "page" | "compress" | "exact_ccr" | Artifact;

/** What a tool's `execute` is given beside its input. */
export interface ToolContext {
  /** Aborts when the run is aborted, its deadline passes, or the tool's time limit is over. */
  readonly signal: AbortSignal;
  readonly toolCallId: string;
  /** Calls one of this tool's `nestedTools` through the same admission, limits and receipt. Rejects when denied or failed. */
  readonly call: (name: string, input: unknown) => Promise<unknown>;
}

export interface Tool<Input = unknown> {
  readonly kind: "tool" | "subagent";
  readonly name: string;
  readonly description: string;
  readonly input: AnySchema;
  /** The draft-07 JSON schema of the input that the model is shown. */
  readonly inputJSONSchema: object;
  readonly output?: AnySchema;
  readonly effect: Effect;
  readonly result: ResultPolicy;
  readonly allowRepeat: boolean;
  /** Milliseconds. */
  readonly timeoutMs: number;
  readonly nestedTools: readonly Tool[];
  readonly execute: (input: Input, context: ToolContext) => unknown;
  readonly subagent?: SubagentSpec;
  /** Digest of what the model sees of the tool and of its code. */
  readonly digest: string;
  readonly schemaSemanticsSHA256?: string;
}

export interface ToolOptions<S extends AnySchema, O extends AnySchema | undefined = undefined> {
  name: string;
  description: string;
  input: S;
  inputJSONSchema?: object;
  output?: O;
  effect: Effect;
  result?: ResultPolicy;
  allowRepeat?: boolean;
  timeoutMs?: number;
  nestedTools?: readonly Tool[];
  schemaSemanticsSHA256?: string;
  execute: (input: Infer<S>, context: ToolContext) => O extends AnySchema ? Infer<O> | Promise<Infer<O>> : unknown;
}

const TOOL_NAME = /^[a-zA-Z][a-zA-Z0-9_-]{0,127}$/;
const AGENT_ID = /^[a-z0-9][a-z0-9_-]{0,95}$/;

/**
 * Defines a tool. `effect` has no default. Defaults: result `auto`, timeout 30,000 ms, `allowRepeat` false.
 * @throws CavemanError `cave_tool_definition_invalid`, `cave_reserved_tool_name`, `cave_schema_invalid`, `cave_nested_tool_invalid`.
 */
export function tool<const S extends AnySchema, const O extends AnySchema | undefined = undefined>(options: ToolOptions<S, O>): Tool {
  if (typeof options?.name === "string" && options.name.startsWith("cave_")) throw new CavemanError("cave_reserved_tool_name", { received: options.name });
  return frameworkTool(options);
}

/** As `tool()`, for the framework's own tools, whose names begin with `cave_`. */
export function frameworkTool<const S extends AnySchema, const O extends AnySchema | undefined = undefined>(options: ToolOptions<S, O>): Tool {
  const code = "cave_tool_definition_invalid";
  closedKeys(code, "tool()", options, ["name", "description", "input", "inputJSONSchema", "output", "effect", "result", "allowRepeat", "timeoutMs", "nestedTools", "schemaSemanticsSHA256", "execute"]);
  const { name, description, effect, result = "auto", allowRepeat = false, timeoutMs = 30_000, nestedTools = [] } = options;
  const place = `tool ${JSON.stringify(name)}`;
  if (typeof name !== "string" || !TOOL_NAME.test(name)) refuse(code, "tool().name", TOOL_NAME.source, JSON.stringify(name));
  if (typeof description !== "string" || description.trim() === "") refuse(code, `${place}.description`, "text that tells the model when to call it", typeof description);
  oneOf(code, `${place}.effect`, effect, EFFECTS);
  if (typeof result === "string") oneOf(code, `${place}.result`, result, RESULTS);
  else if (result?.kind !== "artifact") refuse(code, `${place}.result`, `one of ${RESULTS.join(", ")} or artifact()`, typeof result);
  wholeNumber(code, `${place}.timeoutMs`, timeoutMs);
  if (typeof allowRepeat !== "boolean") refuse(code, `${place}.allowRepeat`, "true or false", typeof allowRepeat);
  if (typeof options.execute !== "function") refuse(code, `${place}.execute`, "a function", typeof options.execute);
  if (options.inputJSONSchema !== undefined && (typeof options.inputJSONSchema !== "object" || options.inputJSONSchema === null)) refuse(code, `${place}.inputJSONSchema`, "a JSON schema", typeof options.inputJSONSchema);
  assertSchema(options.input, `${place}.input`);
  if (options.output) assertSchema(options.output, `${place}.output`);
  if (options.schemaSemanticsSHA256 !== undefined && !/^[0-9a-f]{64}$/.test(options.schemaSemanticsSHA256)) refuse(code, `${place}.schemaSemanticsSHA256`, "64 lowercase hex digits", "something else");
  if (!Array.isArray(nestedTools)) refuse(code, `${place}.nestedTools`, "a list of tools", typeof nestedTools);
  for (const nested of nestedTools) {
    if (!isTool(nested) || nested.nestedTools.length > 0 || nested.kind === "subagent") throw new CavemanError("cave_nested_tool_invalid", { place, expected: "flat tools built by tool()", received: isTool(nested) ? nested.name : typeof nested });
    if (effect === "read" && nested.effect !== "read") throw new CavemanError("cave_nested_tool_invalid", { place, expected: "only read tools inside a read tool", received: `${nested.name} (${nested.effect})` });
  }
  unique(nestedTools);
  return brand({
    kind: "tool", name, description, input: options.input, inputJSONSchema: jsonSchemaOf(options.input, options.inputJSONSchema, "input", `${place}.input`),
    ...(options.output ? { output: options.output } : {}), effect, result, allowRepeat, timeoutMs, nestedTools: Object.freeze([...nestedTools]),
    ...(options.schemaSemanticsSHA256 ? { schemaSemanticsSHA256: options.schemaSemanticsSHA256 } : {}),
    execute: options.execute as Tool["execute"],
  });
}

/** What a subagent tool carries. Wallets and limits are read by plugins. */
export interface SubagentSpec {
  readonly agent: AgentDefinition;
  readonly maxInputChars: number; readonly maxCalls: number;
  /** Dollars; undefined when the definition declared none, so that a share of what remains is carved. */
  readonly maxCostUsd?: number;
  readonly maxTokens?: number;
  readonly maxContextTokens: number;
}

/** A tool whose work is a child run. Defaults: maxInputChars 32,768, maxCalls 1, maxContextTokens 128,000. */
export function subagent(options: { name: string; description: string; agent: AgentDefinition; maxInputChars?: number; maxCalls?: number; maxCostUsd?: number; maxTokens?: number; maxContextTokens?: number }): Tool {
  const code = "cave_tool_definition_invalid";
  closedKeys(code, "subagent()", options, ["name", "description", "agent", "maxInputChars", "maxCalls", "maxCostUsd", "maxTokens", "maxContextTokens"]);
  const place = `subagent ${JSON.stringify(options.name)}`;
  if (!isAgent(options.agent)) refuse(code, `${place}.agent`, "an agent built by agent()", typeof options.agent);
  const { maxInputChars = 32_768, maxCalls = 1, maxContextTokens = 128_000, maxCostUsd, maxTokens } = options;
  wholeNumber(code, `${place}.maxInputChars`, maxInputChars);
  wholeNumber(code, `${place}.maxCalls`, maxCalls);
  wholeNumber(code, `${place}.maxContextTokens`, maxContextTokens);
  if (maxTokens !== undefined) wholeNumber(code, `${place}.maxTokens`, maxTokens);
  if (maxCostUsd !== undefined && !(Number.isFinite(maxCostUsd) && maxCostUsd > 0)) refuse(code, `${place}.maxCostUsd`, "a positive number of dollars", String(maxCostUsd));
  const base = tool({ name: options.name, description: options.description, input: Type.Object({ task: Type.String({ minLength: 1 }) }), effect: "read", timeoutMs: 3_600_000, execute: () => undefined });
  const { digest: _, ...rest } = base;
  return brand({ ...rest, kind: "subagent", subagent: Object.freeze({ agent: options.agent, maxInputChars, maxCalls, maxContextTokens, ...(maxCostUsd === undefined ? {} : { maxCostUsd }), ...(maxTokens === undefined ? {} : { maxTokens }) }) });
}

export interface Context {
  readonly id: string; readonly kind: string;
  readonly source: string | FileRef;
  readonly stability: "build" | "session" | "turn"; readonly safety: "S0" | "S1" | "S2" | "S3" | "S4";
  readonly priority: "required" | "optional"; readonly recovery: "none" | "exact_ccr" | "source_ref";
  readonly cacheRegion: "frozen_prefix" | "live_zone" | "uncached";
  readonly privacy: string; readonly opaque: boolean;
  readonly ttlTurns?: number;
}

/** Labels a context segment. Build-stable segments enter the frozen prefix, the others stay in the live zone. */
export function context(options: Pick<Context, "id" | "kind" | "source" | "stability"> & Partial<Context>): Context {
  const code = "cave_agent_definition_invalid";
  closedKeys(code, "context()", options, ["id", "kind", "source", "stability", "safety", "priority", "recovery", "cacheRegion", "privacy", "opaque", "ttlTurns"]);
  const { id, stability, safety = "S0", priority = "required", recovery = "none" } = options;
  const { cacheRegion = stability === "build" ? "frozen_prefix" : "live_zone", privacy = "local_sensitive", opaque = false } = options;
  if (typeof id !== "string" || id.trim() === "") refuse(code, "context().id", "a name", typeof id);
  if (typeof options.source !== "string" && !isFileRef(options.source)) refuse(code, `context ${id}.source`, "text or file()", typeof options.source);
  oneOf(code, `context ${id}.stability`, stability, ["build", "session", "turn"]);
  oneOf(code, `context ${id}.safety`, safety, ["S0", "S1", "S2", "S3", "S4"]);
  oneOf(code, `context ${id}.priority`, priority, ["required", "optional"]);
  oneOf(code, `context ${id}.cacheRegion`, cacheRegion, ["frozen_prefix", "live_zone", "uncached"]);
  if (cacheRegion === "frozen_prefix" && stability !== "build") refuse(code, `context ${id}.cacheRegion`, "build-stable content in the frozen prefix", stability);
  return brand({ ...options, safety, priority, recovery, cacheRegion, privacy, opaque });
}

export interface OutputSpec { readonly maxTokens?: number; readonly schema?: AnySchema; readonly jsonSchema?: object }
/** A token budget on the answer and, optionally, its shape. */
export function output(options: { maxTokens?: number; schema?: AnySchema; jsonSchema?: object }): OutputSpec {
  const code = "cave_agent_definition_invalid";
  closedKeys(code, "output()", options, ["maxTokens", "schema", "jsonSchema"]);
  if (options.maxTokens !== undefined) wholeNumber(code, "output().maxTokens", options.maxTokens);
  if (!options.schema) return brand({ ...options });
  assertSchema(options.schema, "output().schema");
  return brand({ ...options, jsonSchema: jsonSchemaOf(options.schema, options.jsonSchema, "output", "output().schema") });
}

export interface AgentDefinition {
  readonly kind: "agent";
  readonly id: string; readonly instructions: string | FileRef;
  readonly model: ModelSpec; readonly reasoning: Reasoning;
  readonly tools: readonly Tool[]; readonly contexts: readonly Context[];
  readonly output?: OutputSpec;
  readonly sandbox: "required" | "fixture" | "host";
  /** Declared memory; read by the memory plugin. */
  readonly memory?: object;
}

/**
 * Defines an agent. Defaults: model `auto()`, reasoning `low`, sandbox `required`.
 * @throws CavemanError `cave_agent_definition_invalid`, `cave_duplicate_tool_name`.
 */
export function agent(options: { id: string; instructions: string | FileRef; model?: ModelSpec; reasoning?: Reasoning; tools?: readonly Tool[]; contexts?: readonly Context[]; output?: OutputSpec; sandbox?: AgentDefinition["sandbox"]; memory?: object }): AgentDefinition {
  const code = "cave_agent_definition_invalid";
  closedKeys(code, "agent()", options, ["id", "instructions", "model", "reasoning", "tools", "contexts", "output", "sandbox", "memory"]);
  const { id, instructions, model = AUTO, reasoning = "low", tools = [], contexts = [], sandbox = "required" } = options;
  if (typeof id !== "string" || !AGENT_ID.test(id)) refuse(code, "agent().id", AGENT_ID.source, JSON.stringify(id));
  if (!isFileRef(instructions) && (typeof instructions !== "string" || instructions.trim() === "")) refuse(code, `agent ${id}.instructions`, "text or file()", typeof instructions);
  if (!isModelSpec(model)) refuse(code, `agent ${id}.model`, "auto(), \"provider/model\" or a LanguageModelV4 object", typeof model === "string" ? JSON.stringify(model) : typeof model);
  oneOf(code, `agent ${id}.reasoning`, reasoning, ["off", "minimal", "low", "medium", "high"]);
  oneOf(code, `agent ${id}.sandbox`, sandbox, ["required", "fixture", "host"]);
  if (options.memory !== undefined && (typeof options.memory !== "object" || options.memory === null)) refuse(code, `agent ${id}.memory`, "memory()", typeof options.memory);
  for (const [field, list] of [["tools", tools], ["contexts", contexts]] as const) if (!Array.isArray(list)) refuse(code, `agent ${id}.${field}`, "a list", typeof list);
  for (const segment of contexts) if (!made.has(segment as object)) refuse(code, `agent ${id}.contexts`, "segments built by context()", typeof segment);
  if (options.output !== undefined && !made.has(options.output)) refuse(code, `agent ${id}.output`, "output()", typeof options.output);
  for (const entry of tools) if (!isTool(entry)) refuse(code, `agent ${id}.tools`, "tools built by tool() or subagent()", typeof entry);
  unique(tools);
  const ids = contexts.map((segment) => segment.id);
  if (new Set(ids).size !== ids.length) refuse(code, `agent ${id}.contexts`, "unique ids", ids.join(", "));
  return brand({
    kind: "agent", id, instructions, model, reasoning, tools: Object.freeze([...tools]), contexts: Object.freeze([...contexts]), sandbox,
    ...(options.output ? { output: options.output } : {}), ...(options.memory ? { memory: options.memory } : {}),
  });
}

/** Whether a value can name a model: auto(), `provider/model`, or a model object. */
export const isModelSpec = (value: unknown): value is ModelSpec => value === AUTO || isModel(value) || (typeof value === "string" && /^[a-z0-9][a-z0-9_.-]*\/\S+$/i.test(value));

const made = new WeakSet<object>();
export const isTool = (value: unknown): value is Tool => typeof value === "object" && value !== null && made.has(value) && (value as Tool).kind !== undefined && "execute" in value;
export const isAgent = (value: unknown): value is AgentDefinition => typeof value === "object" && value !== null && made.has(value) && (value as AgentDefinition).kind === "agent";

function brand<T extends object>(given: T & { digest?: string }): T extends { execute: unknown } ? Tool : T;
function brand(given: Record<string, unknown>): unknown {
  const value: object = "execute" in given ? Object.assign(Object.create(TOOL) as object, given) : given;
  made.add(value);
  return Object.freeze(value);
}

/** Digests stand on the prototype: what an accessor of a single object closes over, V8 keeps until the next full collection. */
const TOOL = {
  get digest(): string {
    const { name, description, inputJSONSchema, effect, subagent: spec, execute } = this as unknown as Tool;
    return sha256(JSON.stringify({ name, description, inputJSONSchema, effect, source: spec ? identity(spec.agent) : String(execute) }));
  },
};

/** What a child is, for the digest of the tool that runs it. */
const identity = (child: AgentDefinition): unknown => ({ ...child, model: typeof child.model === "object" ? child.model.modelId : String(child.model), tools: child.tools.map((entry) => entry.digest) });

function unique(tools: readonly Tool[]): void {
  const seen = new Set<string>();
  for (const { name } of tools) {
    if (seen.has(name)) throw new CavemanError("cave_duplicate_tool_name", { received: name });
    seen.add(name);
  }
}

function refuse(code: string, place: string, expected: string, received: string): never {
  throw new CavemanError(code, { place, expected, received });
}
const oneOf = (code: string, place: string, value: unknown, allowed: readonly string[]): void =>
  void (typeof value === "string" && allowed.includes(value) ? undefined : refuse(code, place, allowed.join(", "), JSON.stringify(value) ?? "nothing"));
const wholeNumber = (code: string, place: string, value: unknown): void =>
  void (Number.isSafeInteger(value) && (value as number) > 0 ? undefined : refuse(code, place, "a positive whole number", String(value)));
function closedKeys(code: string, place: string, value: unknown, known: readonly string[]): void {
  if (typeof value !== "object" || value === null) refuse(code, place, "an object", value === null ? "null" : typeof value);
  for (const key of Object.keys(value)) if (!known.includes(key)) refuse(code, place, known.join(", "), key);
}
