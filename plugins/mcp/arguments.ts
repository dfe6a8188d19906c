/**
 * A first look at the arguments of a tool. The server checks them whole; here only the shape of the top level is
 * compared. A foreign schema is never compiled: its patterns could hang this process, and a compiler writes code.
 */
import type { StandardSchema } from "../../kernel/index.ts";

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const fits: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: Array.isArray,
  object: isRecord,
};

export function topLevel(
  inputSchema: Readonly<Record<string, unknown>>,
): StandardSchema<unknown, Record<string, unknown>> {
  return {
    "~standard": {
      version: 1,
      vendor: "caveman-agent",
      validate: (value) => {
        if (!isRecord(value)) return { issues: [{ message: "must be an object" }] };
        const issues = problemsOf(inputSchema, value);
        return issues.length > 0 ? { issues: issues.map((message) => ({ message })) } : { value: { ...value } };
      },
      jsonSchema: { input: () => ({ ...inputSchema }), output: () => ({ ...inputSchema }) },
    },
  };
}

function problemsOf(schema: Readonly<Record<string, unknown>>, value: Readonly<Record<string, unknown>>): string[] {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const problems: string[] = [];
  for (const key of Array.isArray(schema.required) ? schema.required : []) {
    if (typeof key === "string" && !Object.hasOwn(value, key)) problems.push(`${key} is required`);
  }
  for (const [key, part] of Object.entries(value)) {
    const known = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (known === undefined) {
      if (schema.additionalProperties === false && !isRecord(schema.patternProperties))
        problems.push(`there is no ${key.slice(0, 80)}; known: ${Object.keys(properties).join(", ").slice(0, 400)}`);
      continue;
    }
    const types = isRecord(known) ? [known.type].flat().filter((type) => typeof type === "string") : [];
    if (types.length > 0 && !types.some((type) => fits[type]?.(part) ?? true))
      problems.push(`${key} must be ${types.join(" or ")}`);
  }
  return problems;
}
