/** A summariser that does what its instruction says, read from the instruction alone, as a model would. */
import { CONTEXT_SUMMARY_SCHEMA, type ContextSummary } from "../../../plugins/compaction/public.ts";

/** What an instruction asks for. */
function askedFor(instruction: string): { generation: number; required: { id: string; sha256: string }[] } {
  const generation = Number(/"generation" is (\d+)/.exec(instruction)?.[1] ?? 0);
  const block = /These user messages leave with it[^\n]*\n((?:- \S+ [0-9a-f]{64}\n?)*)/.exec(instruction)?.[1] ?? "";
  const required = [...block.matchAll(/^- (\S+) ([0-9a-f]{64})$/gm)].map(([, id = "", sha256 = ""]) => ({
    id,
    sha256,
  }));
  return { generation, required };
}

/** A capsule that answers an instruction truthfully. */
export const capsuleFor = (instruction: string, more: Partial<ContextSummary> = {}): ContextSummary => {
  const { generation, required } = askedFor(instruction);
  return {
    schema: CONTEXT_SUMMARY_SCHEMA,
    generation,
    objective: "Do what the first message says",
    constraints_restated: [],
    decisions: [],
    artifacts: [],
    facts: [],
    state: { completed: [], active: [], blocked: [] },
    next: [],
    citations: [],
    lookup_hints: [],
    sources: required,
    critical_anchors: [],
    ...more,
  };
};

/** Quotes the user messages that leave as anchors, in their own words. */
export const faithful = ({
  instruction,
  messages,
}: {
  readonly instruction: string;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}): string => {
  const { required, generation } = askedFor(instruction);
  const users = messages.filter(({ role }) => role === "user").flatMap(({ content }) => textsOf(content));
  // Without hashing anything itself, a model pairs ids and messages by their order.
  const leaving = users.filter((text) => text.startsWith("One more thing."));
  const anchors = required.flatMap(({ id }, at) => {
    const text = leaving[leaving.length - required.length + at];
    return text ? [{ id: `g${generation}.${at}`, text, source_id: id }] : [];
  });
  return JSON.stringify(capsuleFor(instruction, { critical_anchors: anchors }));
};

const textsOf = (content: unknown): string[] =>
  typeof content === "string"
    ? [content]
    : Array.isArray(content)
      ? content.flatMap((part: { type?: unknown; text?: unknown }) =>
          part.type === "text" && typeof part.text === "string" ? [part.text] : [],
        )
      : [];
