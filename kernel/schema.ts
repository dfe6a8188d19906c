/**
 * Schemas: a small wrapper over TypeBox, and the reading of Standard Schema v1. A schema is compiled when it is first
 * used and only once, since compiling costs about two milliseconds.
 */
import { Kind, type Static, type TSchema, Type } from "@sinclair/typebox";
import type { Ajv, ErrorObject, ValidateFunction } from "ajv";
import { CavemanError, nearest } from "./errors.ts";

/** The part of the Standard Schema v1 interface that is read here. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly jsonSchema?: { readonly input: (options: { target: string }) => Record<string, unknown>; readonly output: (options: { target: string }) => Record<string, unknown> } | undefined;
  };
}
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string; readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined }[] };

export type AnySchema = TSchema | StandardSchema<never, unknown> | StandardSchema<unknown, unknown>;
/** The type a schema describes once a value has passed it. */
export type Infer<S> = S extends TSchema ? Static<S> : S extends { readonly "~standard": { readonly types?: infer T } } ? (NonNullable<T> extends { readonly output: infer Output } ? Output : unknown) : unknown;

/** Builders for the schemas of tools and outputs. */
export const schema = Object.freeze({
  string: Type.String, number: Type.Number, integer: Type.Integer, boolean: Type.Boolean, object: Type.Object,
  array: Type.Array, optional: Type.Optional, union: Type.Union, literal: Type.Literal, null: Type.Null, any: Type.Any,
});

export type Check<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

let made: Ajv | undefined;
/** The validator's compiler. It is loaded with the first schema: it is the slowest package to start, and importing ours needs none. */
function ajv(): Ajv {
  if (made) return made;
  const load = process.getBuiltinModule("node:module").createRequire(import.meta.url);
  const { Ajv: Compiler } = load("ajv") as typeof import("ajv");
  return (made = new Compiler({ allErrors: true, strict: false, useDefaults: true, verbose: true }));
}
const compiled = new WeakMap<object, ValidateFunction>();

const isStandard = (value: unknown): value is StandardSchema =>
  (typeof value === "object" || typeof value === "function") && value !== null && typeof (value as StandardSchema)["~standard"]?.validate === "function";

/** Whether a value is a TypeBox schema. */
export const isTypeBox = (value: unknown): value is TSchema => typeof value === "object" && value !== null && Kind in value;

/** Refuses a value that is neither a TypeBox schema nor a Standard Schema. */
export function assertSchema(value: unknown, place: string): asserts value is AnySchema {
  if (!isTypeBox(value) && !isStandard(value)) {
    throw new CavemanError("cave_schema_invalid", { place, expected: "a TypeBox schema or a Standard Schema v1", received: value === null ? "null" : typeof value });
  }
}

function validatorOf(json: object): ValidateFunction {
  let validate = compiled.get(json);
  if (!validate) {
    try {
      validate = ajv().compile(json);
    } catch (cause) {
      throw new CavemanError("cave_schema_invalid", { received: cause instanceof Error ? cause.message : "a schema that does not compile", cause });
    }
    compiled.set(json, validate);
  }
  return validate;
}

/** Checks a value against a plain JSON schema (TypeBox included). Defaults declared in the schema are filled in. */
export function checkJson<T = unknown>(json: object, value: unknown): Check<T> {
  const validate = validatorOf(json);
  return validate(value) ? { ok: true, value: value as T } : { ok: false, problem: problems(validate.errors) };
}

/** Checks a value against a schema of either kind; a Standard Schema may answer with another value. */
export function check(schemaOf: AnySchema, value: unknown): Check<unknown> | Promise<Check<unknown>> {
  if (!isStandard(schemaOf)) return checkJson(schemaOf, value);
  const read = (result: StandardResult<unknown>): Check<unknown> => {
    if (typeof result !== "object" || result === null) return { ok: false, problem: "the validator gave no readable answer" };
    if (!result.issues) return { ok: true, value: result.value };
    return { ok: false, problem: result.issues.slice(0, 5).map((issue) => `${pathOf(issue.path)}${issue.message}`).join("; ") };
  };
  const result = schemaOf["~standard"].validate(value);
  return typeof (result as { then?: unknown })?.then === "function" ? (result as Promise<StandardResult<unknown>>).then(read) : read(result as StandardResult<unknown>);
}

const pathOf = (path: readonly unknown[] | undefined): string =>
  path?.length ? `${path.map((part) => (typeof part === "object" && part !== null && "key" in part ? String(part.key) : String(part))).join(".")}: ` : "";

/** The draft-07 JSON schema a provider is shown. */
export function jsonSchemaOf(schemaOf: AnySchema, given: object | undefined, side: "input" | "output", place: string): object {
  if (given) return given;
  if (isTypeBox(schemaOf)) return schemaOf;
  const convert = isStandard(schemaOf) ? schemaOf["~standard"].jsonSchema : undefined;
  if (!convert) {
    throw new CavemanError("cave_schema_invalid", { place, expected: "a Standard Schema that writes JSON Schema, or inputJSONSchema beside it", received: "a validation-only schema" });
  }
  return convert[side]({ target: "draft-07" });
}

function problems(errors: readonly ErrorObject[] | null | undefined): string {
  return (errors ?? []).slice(0, 5).map((error) => {
    const where = error.instancePath.slice(1).replaceAll("/", ".") || "value";
    if (error.keyword === "additionalProperties") {
      const key = String(error.params.additionalProperty);
      const known = Object.keys((error.parentSchema as { properties?: object } | undefined)?.properties ?? {});
      const meant = nearest(key, known);
      return `${where} has no "${key}"${meant ? `, did you mean "${meant}"?` : known.length ? `; known: ${known.join(", ")}` : ""}`;
    }
    const allowed = error.keyword === "enum" ? `: ${(error.params.allowedValues as unknown[]).join(", ")}` : error.keyword === "const" ? `: ${String(error.params.allowedValue)}` : "";
    return `${where} ${error.message ?? "is wrong"}${allowed}`;
  }).join("; ");
}

/** Checks options against their schema. @throws CavemanError with the place and the nearest valid name. */
export function checkOptions<S extends TSchema>(json: S, value: unknown, place: string, code = "cave_option_invalid"): Static<S> {
  const strict = json.type === "object" && json.additionalProperties === undefined ? closed(json) : json;
  const result = checkJson<Static<S>>(strict, structuredCopy(value));
  if (!result.ok) throw new CavemanError(code, { place, received: result.problem });
  return result.value;
}

const closedForms = new WeakMap<object, TSchema>();
function closed<S extends TSchema>(json: S): TSchema {
  let form = closedForms.get(json);
  if (!form) closedForms.set(json, (form = { ...json, additionalProperties: false }));
  return form;
}

// Ajv writes defaults into what it checks; the caller's own objects are never touched, functions and models pass by reference.
function structuredCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structuredCopy);
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  // Spread and not assigned anew, so that a key "__proto__" stays a key, and is refused as any other unknown one.
  const copy: Record<string, unknown> = { ...value };
  for (const key of Object.keys(copy)) {
    if (copy[key] === undefined) delete copy[key];
    else if (typeof copy[key] === "object") copy[key] = structuredCopy(copy[key]);
  }
  return copy;
}

/** Levels of a model's JSON: whatever walks deeper values, JSON.stringify first of all, may run out of stack. */
const MAX_DEPTH = 512;

/** Arguments are read twice, for the transcript and for their tool: of what was read for `keep`, when short and flat, a copy is kept. */
let kept: { readonly text: string; readonly value: object } | undefined;
function isFlat(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  for (const key in value) if (typeof (value as Record<string, unknown>)[key] === "object") return false;
  return true;
}

/** What a model wrote as JSON; nothing is an empty object. Undefined when it is malformed or nested too deep. `keep`: it is read again soon. */
export function modelJson(text: string, keep = false): { readonly value: unknown } | undefined {
  if (kept?.text === text) return { value: { ...kept.value } };
  try {
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text);
    if (keep && text.length < MAX_DEPTH && isFlat(value)) kept = { text, value: { ...value } };
    if (text.length <= 2 * MAX_DEPTH) return { value };
    for (let level = [value], depth = 0; level.length > 0; depth++) {
      if (depth > MAX_DEPTH) return undefined;
      level = level.flatMap((part) => (typeof part === "object" && part !== null ? Object.values(part) : []));
    }
    return { value };
  } catch {
    return undefined;
  }
}
