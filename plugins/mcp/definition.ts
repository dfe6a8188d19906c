/**
 * A server's tool definition as a model may see it. The text of a definition is written by the server and read by the
 * model, so it is cleaned of what a person reviewing it would not see, bounded, and pinned by the digest of what came.
 */
import { type Bytes, bytes, sha256 } from "../../kernel/index.ts";
import type { Hints } from "./effects.ts";

/** A tool as it came over the wire; nothing about it is believed. */
export interface WireTool {
  readonly name?: unknown;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
}

export interface Definition {
  readonly server: string;
  /** The server's name for it. */
  readonly tool: string;
  /** The model's name for it. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly hints: Hints;
  /** SHA-256 of the definition as it came. */
  readonly digest: string;
  /** Bytes of what a model is shown of it. */
  readonly bytes: Bytes;
}
/** A tool that is not shown, and why. */
export interface Unfit {
  readonly tool: string;
  readonly why: string;
}

const MAX_DESCRIPTION = 2_048;
const MAX_NOTE = 1_024;
const MAX_SCHEMA_BYTES = 65_536;
const MAX_DEPTH = 32;
/** What every vendor takes. */
const MAX_NAME = 64;
const MAX_TOOL_NAME = 256;

/**
 * Characters a reviewer does not see and a model reads: control characters but for tab and line feed, direction
 * marks, zero-width ones (joiners apart, which scripts and emoji need), tags and the supplementary variation selectors.
 */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200B\u200E\u200F\u2028-\u202E\u2060-\u206F\uFEFF\u{E0000}-\u{E01EF}]/gu;

/** Text without unseen characters, cut to a length that is stated. */
export function cleanText(text: string, most: number): string {
  const clean = text.toWellFormed().replace(UNSEEN, "").trim();
  if (clean.length <= most) return clean;
  // A cut inside a surrogate pair would leave half a character.
  const cut = clean.slice(0, most).replace(/[\uD800-\uDBFF]$/, "");
  return `${cut}… [${clean.length - cut.length} more characters left out]`;
}

const unseenIn = (text: string): boolean => text.search(UNSEEN) >= 0;
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/**
 * The model's name of a tool. A name that fits is kept; one that does not is cleaned and carries eight digits of its
 * own hash, so that two names which look alike once cleaned stay apart and neither depends on the other.
 */
export function exposedName(server: string, tool: string): string {
  const clean = tool.replace(/[^A-Za-z0-9_-]+/g, "_");
  const whole = `${server}__${clean}`;
  if (clean === tool && whole.length <= MAX_NAME) return whole;
  return `${whole.slice(0, MAX_NAME - 9)}_${sha256(tool).slice(0, 8)}`;
}

/** Reads one tool. Everything that cannot be shown safely is refused whole rather than repaired. */
export function readDefinition(server: string, wire: WireTool): Definition | Unfit {
  const { name: tool } = wire;
  if (typeof tool !== "string" || tool === "" || tool.length > MAX_TOOL_NAME)
    return { tool: cleanText(String(tool), 40), why: `its name is not a text of 1 to ${MAX_TOOL_NAME} characters` };
  const unfit = (why: string): Unfit => ({ tool: cleanText(tool, 80), why });
  if (!isRecord(wire.inputSchema)) return unfit("it has no input schema");
  let inputSchema: Record<string, unknown>;
  let digest: string;
  try {
    const { title, description, annotations, outputSchema } = wire;
    digest = sha256(
      canonical({ name: tool, title, description, inputSchema: wire.inputSchema, outputSchema, annotations }),
    );
    inputSchema = cleanSchema(wire.inputSchema, 0) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof UnfitSchema) return unfit(error.message);
    throw error;
  }
  inputSchema.type ??= "object";
  if (inputSchema.type !== "object") return unfit("its input is not an object");
  const said = [wire.description, wire.title].find((text) => typeof text === "string" && text.trim() !== "");
  const description =
    cleanText(typeof said === "string" ? said : "", MAX_DESCRIPTION) || `${cleanText(tool, 80)} of ${server}`;
  const size = Buffer.byteLength(JSON.stringify(inputSchema));
  if (size > MAX_SCHEMA_BYTES) return unfit(`its input schema has ${size} bytes, more than ${MAX_SCHEMA_BYTES}`);
  const name = exposedName(server, tool);
  return {
    server,
    tool,
    name,
    description,
    inputSchema,
    digest,
    hints: isRecord(wire.annotations) ? wire.annotations : {},
    bytes: bytes(Buffer.byteLength(JSON.stringify({ name, description, inputSchema }))),
  };
}

/** Parts a list into tools with a name of their own and tools that cannot be told apart. */
export function tellApart(all: readonly Definition[]): { distinct: Definition[]; clashing: Unfit[] } {
  const byName = new Map<string, Definition[]>();
  for (const definition of all) byName.set(definition.name, [...(byName.get(definition.name) ?? []), definition]);
  const distinct: Definition[] = [];
  const clashing: Unfit[] = [];
  for (const [name, same] of byName) {
    const [first] = same;
    if (first && same.every(({ digest }) => digest === first.digest)) distinct.push(first);
    else
      clashing.push(
        ...same.map(({ tool }) => ({ tool, why: `${same.length} tools of its server are called ${name}` })),
      );
  }
  return { distinct, clashing };
}

class UnfitSchema extends Error {}

/** Keywords that say nothing about what is valid, or that would give a schema an identity outside of it. */
const DROPPED: ReadonlySet<string> = new Set(["$schema", "$id", "id", "$comment", "examples"]);
const NOTES: ReadonlySet<string> = new Set(["description", "title"]);
/** Keywords whose members are names and not keywords. */
const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);

function cleanSchema(value: unknown, depth: number, names = false): unknown {
  if (depth > MAX_DEPTH) throw new UnfitSchema(`its input schema is nested deeper than ${MAX_DEPTH}`);
  if (typeof value === "string") {
    if (unseenIn(value)) throw new UnfitSchema("its input schema holds characters that a reviewer cannot see");
    return value.toWellFormed();
  }
  if (Array.isArray(value)) return value.map((part) => cleanSchema(part, depth + 1));
  if (!isRecord(value)) return value;
  const out: [string, unknown][] = [];
  for (const [key, part] of Object.entries(value)) {
    if (unseenIn(key)) throw new UnfitSchema("its input schema holds characters that a reviewer cannot see");
    // An own property of this name would be read as the prototype by whoever copies the schema.
    if (key === "__proto__") throw new UnfitSchema("its input schema names __proto__");
    if (!names && typeof part === "string" && NOTES.has(key)) out.push([key, cleanText(part, MAX_NOTE)]);
    else if (names || !DROPPED.has(key)) out.push([key, cleanSchema(part, depth + 1, !names && NAMED.has(key))]);
  }
  return Object.fromEntries(out);
}

/** JSON with sorted keys, for a digest that does not depend on the order a server writes in. */
function canonical(value: unknown, depth = 0): string {
  if (depth > MAX_DEPTH + 8) throw new UnfitSchema(`its definition is nested deeper than ${MAX_DEPTH}`);
  if (Array.isArray(value)) return `[${value.map((part) => canonical(part, depth + 1)).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? "null";
  const parts = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort();
  return `{${parts.map((key) => `${JSON.stringify(key)}:${canonical(value[key], depth + 1)}`).join(",")}}`;
}
