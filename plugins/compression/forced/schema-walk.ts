/**
 * Walks the JSON schemas of a tool catalog and tells keywords from names: a property may be called `title`, and a
 * default may hold anything.
 */
import type { Tape } from "../json-tape.ts";

/** Keywords under which the keys are names. */
const NAMES = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"]);
/** Keywords whose values are data. */
const DATA = new Set(["default", "const", "enum", "required", "cache_control", "examples", "example"]);
/** Where the schemas of the common tool formats are. */
const SCHEMAS = new Set(["input_schema", "inputSchema", "parameters", "outputSchema", "output_schema", "schema"]);

export interface Keyword {
  readonly name: string;
  /** The node of its key and of its value. */
  readonly key: number;
  readonly value: number;
  /** Whether it stands inside a schema, and not beside one as a tool's own description does. */
  readonly inSchema: boolean;
}

const MAX_DEPTH = 128;

/** Calls `visit` for every keyword of every schema; what it answers `false` for is not entered. */
export function walkSchemas(tape: Tape, visit: (keyword: Keyword) => boolean): void {
  const enter = (node: number, inSchema: boolean, names: boolean, depth: number): void => {
    if (depth > MAX_DEPTH) return;
    if (tape.isArray(node)) {
      for (let child = node + 1; child < tape.after(node); child = tape.after(child))
        enter(child, inSchema, false, depth + 1);
      return;
    }
    if (!tape.isObject(node)) return;
    for (let key = node + 1; key < tape.after(node); ) {
      const value = tape.after(key);
      const name = tape.text(key);
      if (names) enter(value, inSchema, false, depth + 1);
      else if (visit({ name, key, value, inSchema }) && !DATA.has(name))
        enter(value, inSchema || SCHEMAS.has(name), (inSchema && NAMES.has(name)) || false, depth + 1);
      key = tape.after(value);
    }
  };
  enter(0, isSchema(tape), false, 0);
}

/** Whether the whole value is one schema and not a catalog. */
function isSchema(tape: Tape): boolean {
  if (!tape.isObject(0)) return false;
  for (let key = 1; key < tape.after(0); key = tape.after(tape.after(key)))
    if (["$schema", "properties", "$defs", "$ref", "anyOf", "oneOf", "allOf"].includes(tape.text(key))) return true;
  return false;
}

/** A span of the source and what stands there instead. */
export interface Edit {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** The span of a key and its value with one of the commas beside it. */
export function removal({ source, starts, ends }: Tape, { key, value }: Keyword): Edit {
  let from = starts[key] ?? 0;
  let to = ends[value] ?? 0;
  const after = /^\s*,/.exec(source.slice(to, to + 4_096));
  if (after) {
    to += after[0].length;
    // The space before the next key goes too, so that what stays looks as if it had stood here.
    to += /^\s*/.exec(source.slice(to, to + 4_096))?.[0].length ?? 0;
  } else {
    while (from > 0 && /\s/.test(source[from - 1] ?? "")) from--;
    if (source[from - 1] === ",") from--;
  }
  return { from, to, text: "" };
}

/** The source with its edits; one that lies within another is part of it. */
export function edited(source: string, edits: readonly Edit[]): string {
  const out: string[] = [];
  let at = 0;
  for (const { from, to, text } of [...edits].sort((a, b) => a.from - b.from || b.to - a.to)) {
    if (to <= at) continue;
    out.push(source.slice(at, Math.max(at, from)), text);
    at = to;
  }
  out.push(source.slice(at));
  return out.join("");
}
