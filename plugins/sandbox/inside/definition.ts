/**
 * What `caveman-agent` is inside a worker: the definition API, as data. The host has checked the definition; here it
 * only has to lead to the tool that is called. Everything else of the framework is inert while the module loads, so
 * that a module may also run what it defines, and an error when a tool uses it.
 */
type Row = Readonly<Record<string, unknown>>;

/** An error with a code, as the framework throws them. */
export class CavemanError extends Error {
  override readonly name: string = "CavemanError";
  readonly code: string;
  readonly detail: Row;
  constructor(code: string, detail: Row = {}) {
    const { message, place, expected, received } = detail;
    const said = [
      message,
      place && `at ${place}`,
      expected && `expected ${expected}`,
      received && `received ${received}`,
    ];
    super(`${code}: ${said.filter(Boolean).join("; ")}`, "cause" in detail ? { cause: detail.cause } : undefined);
    this.code = code;
    this.detail = detail;
  }
}
export const describe = (error: unknown): string => {
  try {
    const said = typeof error === "object" && error !== null ? (error as { message?: unknown }).message : error;
    const text = typeof said === "string" ? said : `a thrown ${error === null ? "null" : typeof error}`;
    return text.length > 2_000 ? `${text.slice(0, 2_000)}…` : text;
  } catch {
    return "an unreadable thrown value";
  }
};
export const codeOf = (error: unknown, fallback: string): string =>
  error instanceof CavemanError ? error.code : fallback;
export const asCaveman = (error: unknown, code: string, detail: Row = {}): CavemanError =>
  error instanceof CavemanError
    ? error
    : new CavemanError(code, { received: describe(error), cause: error, ...detail });

const made = new WeakSet<object>();
const brand = <T extends object>(value: T): Readonly<T> => {
  made.add(value);
  return Object.freeze(value);
};
const kindOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && made.has(value) ? (value as Row).kind : undefined;
export const isAgent = (value: unknown): boolean => kindOf(value) === "agent";
export const isTool = (value: unknown): boolean => kindOf(value) === "tool" || kindOf(value) === "subagent";
export const isFileRef = (value: unknown): boolean => kindOf(value) === "file";

export const AUTO: unique symbol = Symbol.for("caveman.auto") as never;
export const auto = (): typeof AUTO => AUTO;
export const file = (path: string | URL): Row => brand({ kind: "file", path: String(path) });
export const artifact = (options: Row = {}): Row =>
  brand({ strategy: "page", maxInlineTokens: 1_200, recovery: "exact_ccr", ...options, kind: "artifact" });
export const context = (options: Row): Row => brand({ ...options });
export const output = (options: Row): Row => brand({ ...options });
export const memory = (options: Row = {}): Row => brand({ ...options, kind: "memory" });
export const defineConfig = <T>(config: T): T => config;
export const defineErrors = <T>(rows: T): T => rows;

export interface InnerTool {
  readonly kind: "tool" | "subagent";
  readonly name: string;
  readonly description: string;
  readonly effect: string;
  readonly input: unknown;
  readonly inputJSONSchema?: object;
  readonly nestedTools: readonly InnerTool[];
  readonly execute: (input: unknown, context: object) => unknown;
  readonly subagent?: { readonly agent: InnerAgent };
}
export interface InnerAgent {
  readonly kind: "agent";
  readonly id: string;
  readonly tools: readonly InnerTool[];
}

export const tool = (options: Omit<InnerTool, "kind">): InnerTool =>
  brand({
    timeoutMs: 30_000,
    result: "auto",
    allowRepeat: false,
    ...options,
    kind: "tool",
    nestedTools: Object.freeze([...(options.nestedTools ?? [])]),
  });
export const frameworkTool = tool;
export const subagent = (options: { name: string; description: string; agent: InnerAgent }): InnerTool =>
  brand({
    kind: "subagent",
    name: options.name,
    description: options.description,
    effect: "read",
    input: {},
    nestedTools: Object.freeze([]),
    execute: () => undefined,
    subagent: Object.freeze({ ...options }),
  });
export const agent = (options: { id: string; tools?: readonly InnerTool[] }): InnerAgent =>
  brand({ sandbox: "required", ...options, kind: "agent", tools: Object.freeze([...(options.tools ?? [])]) });

/** TypeBox's own marks, so that its schemas and these can be mixed. */
const KIND = Symbol.for("TypeBox.Kind");
const OPTIONAL = Symbol.for("TypeBox.Optional");
const typed = (kind: string, json: Row, options: Row = {}): Row => ({ ...json, ...options, [KIND]: kind });
const object = (properties: Readonly<Record<string, object>>, options?: Row): Row => {
  const required = Object.keys(properties).filter((key) => !(OPTIONAL in (properties[key] ?? {})));
  return typed("Object", { type: "object", ...(required.length > 0 ? { required } : {}), properties }, options);
};
export const schema = Object.freeze({
  string: (options?: Row) => typed("String", { type: "string" }, options),
  number: (options?: Row) => typed("Number", { type: "number" }, options),
  integer: (options?: Row) => typed("Integer", { type: "integer" }, options),
  boolean: (options?: Row) => typed("Boolean", { type: "boolean" }, options),
  null: (options?: Row) => typed("Null", { type: "null" }, options),
  any: (options?: Row) => typed("Any", {}, options),
  literal: (value: unknown, options?: Row) => typed("Literal", { const: value, type: typeof value }, options),
  array: (items: object, options?: Row) => typed("Array", { type: "array", items }, options),
  optional: (inner: object) => ({ ...inner, [OPTIONAL]: "Optional" }),
  union: (anyOf: readonly object[], options?: Row) =>
    anyOf.length === 1 ? { ...anyOf[0], ...options } : typed("Union", { anyOf }, options),
  object,
});

let loading = true;
/** From here on, what a worker does not have is an error. */
export const loaded = (): void => void (loading = false);

/** Stands for a part of the framework that a worker does not have. */
export function absent(name: string): unknown {
  const use = (): unknown => {
    if (loading) return absent(name);
    throw new CavemanError("cave_sandbox_framework_unavailable", { message: `${name} does not exist in a worker` });
  };
  return new Proxy(function absentPart() {}, {
    apply: use,
    construct: () => use() as object,
    get(_target, key) {
      // Awaited, written as JSON or as text, it is an ordinary value; as a list it is empty.
      if (key === "then" || key === "toJSON") return undefined;
      if (key === Symbol.toPrimitive) return () => name;
      if (key === Symbol.iterator) return function* none() {};
      if (key === Symbol.asyncIterator) return async function* none() {};
      return typeof key === "symbol" ? undefined : use();
    },
  });
}
