/**
 * Tool catalogs. `toolschema` shortens long descriptions to their lead and every sentence that constrains, and drops what
 * only annotates; `toolschema-annotations` cuts four annotations out of schemas and leaves every other byte as it was.
 */
import type { Compressor } from "../compressor.ts";
import { readJson, type Tape } from "../json-tape.ts";
import { type Edit, edited, removal, walkSchemas } from "./schema-walk.ts";

const WHOLE_BYTES = 160;
const LEAD_BYTES = 80;
const DROPPED = new Set(["examples", "example", "$comment", "title", "$schema"]);
const ANNOTATIONS = new Set(["$schema", "title", "examples", "deprecated"]);

export const toolschema: Compressor = {
  type: "toolschema",
  keeps:
    "names, types, enums, required, defaults, constants, references, short descriptions, and of long ones the lead and every constraint",
  compress(input) {
    const tape = readJson(input);
    if (!tape) return undefined;
    const edits: Edit[] = [];
    let kept = 0;
    walkSchemas(tape, (keyword) => {
      const { name, value, inSchema } = keyword;
      if (inSchema && DROPPED.has(name)) {
        edits.push(removal(tape, keyword));
        return false;
      }
      const shorter = name === "description" && tape.isString(value) ? shortened(tape, value) : undefined;
      if (shorter) edits.push(shorter);
      else kept++;
      return true;
    });
    return viewOf(tape, edits, kept, "toolschema");
  },
};

export const toolschemaAnnotations: Compressor = {
  type: "toolschema-annotations",
  keeps: "every byte but $schema, title, examples and deprecated of schemas",
  compress(input) {
    const tape = readJson(input);
    if (!tape) return undefined;
    const edits: Edit[] = [];
    let kept = 0;
    walkSchemas(tape, (keyword) => {
      const annotation = keyword.inSchema && ANNOTATIONS.has(keyword.name);
      if (annotation) edits.push(removal(tape, keyword));
      else kept++;
      return !annotation;
    });
    return viewOf(tape, edits, kept, "toolschema-annotations");
  },
};

function viewOf(tape: Tape, edits: readonly Edit[], kept: number, method: string) {
  if (edits.length === 0) return undefined;
  const text = edited(tape.source, edits);
  // Neighbouring removals share commas; what does not parse is not shown.
  return readJson(text) ? { text, method, unit: "annotations", kept, dropped: edits.length } : undefined;
}

function shortened(tape: Tape, node: number): Edit | undefined {
  const value: unknown = JSON.parse(tape.raw(node));
  if (typeof value !== "string") return undefined;
  const short = shortDescription(value);
  return short.length < value.length
    ? { from: tape.starts[node] ?? 0, to: tape.ends[node] ?? 0, text: JSON.stringify(short) }
    : undefined;
}

const CONSTRAINT =
  /\b(?:must|should|shall|never|always|only|require[sd]?|mandatory|at (?:least|most)|max(?:imum)?|min(?:imum)?|defaults?|format|one of|cannot|can't|don't|do not|not|between|limit(?:ed)?|up to|exactly|unless|before|after|if|when|ISO|UTC|bytes|characters|seconds|milliseconds|deprecated|absolute|relative|inclusive|exclusive|empty|null|instead|important|warning)\b|\d/i;

/** The lead and every sentence that constrains. Shortening it again changes nothing. */
export function shortDescription(text: string): string {
  if (Buffer.byteLength(text) <= WHOLE_BYTES) return text;
  const [first = "", ...rest] = text.split(/(?<=[.!?…])\s+|\n+/).filter((sentence) => sentence.trim() !== "");
  const constraints = rest.filter((sentence) => CONSTRAINT.test(sentence));
  const lead = CONSTRAINT.test(first) ? first : leadOf(first);
  const short = [lead, ...constraints].join(" ");
  return short.length < text.length ? short : text;
}

function leadOf(sentence: string): string {
  if (Buffer.byteLength(sentence) <= LEAD_BYTES + 3) return sentence;
  const words = sentence.split(" ");
  let lead = "";
  for (const word of words) {
    const next = lead === "" ? word : `${lead} ${word}`;
    if (Buffer.byteLength(next) > LEAD_BYTES) break;
    lead = next;
  }
  return lead === "" ? sentence : `${lead}…`;
}
