/**
 * Eviction: old tool output becomes a citation with its digest and the way to read it back. It costs no call. The newest
 * result of each tool stays, and so do skills and media.
 */
import { Message, type ModelMessage, sha256, textOf } from "../../kernel/index.ts";
import { SKILL_TOOL } from "./plan.ts";

type ToolResult = Extract<Extract<ModelMessage, { role: "tool" }>["content"][number], { type: "tool-result" }>;

/** One result that may go. `segment` counts the results of the view. */
export interface Evictable {
  readonly index: number;
  readonly part: number;
  readonly segment: string;
  readonly toolName: string;
  readonly text: string;
}

/** A citation is shorter than this; a shorter result is not worth one. */
const CITATION_BYTES = 512;
const MARKER = /^<<cave_(?:cleared|elided) [^\n]{0,400}?>>/;

interface EvictRules {
  /** Only results before this message. */
  readonly before: number;
  /** Keeps the newest result of each tool. */
  readonly keepFreshest: boolean;
}

export function evictableIn(messages: readonly Message[], { before, keepFreshest }: EvictRules): Evictable[] {
  const found: Evictable[] = [];
  const newest = new Map<string, Evictable>();
  let count = 0;
  for (const [index, { value }] of messages.entries()) {
    if (value.role !== "tool") continue;
    for (const [part, result] of value.content.entries()) {
      if (result.type !== "tool-result") continue;
      const segment = `runtime.tool_result.${count++}`;
      const text = readable(result);
      const evictable = { index, part, segment, toolName: result.toolName, text: text ?? "" };
      newest.set(result.toolName, evictable);
      if (index >= before || result.toolName === SKILL_TOOL || text === undefined) continue;
      if (Buffer.byteLength(text) > CITATION_BYTES && !MARKER.test(text)) found.push(evictable);
    }
  }
  const fresh = new Set(keepFreshest ? newest.values() : []);
  return found.filter((evictable) => !fresh.has(evictable));
}

// A failure is told in few words and is not read again, so it is never worth a citation; media cannot be kept as text.
const readable = ({ output }: ToolResult): string | undefined =>
  output.type === "text" || output.type === "json" ? textOf(output) : undefined;

/** What stands in the place of an evicted result. */
export const citationOf = ({ segment, toolName, text }: Evictable, way: string): string =>
  `<<cave_elided segment=${segment} tool=${toolName} sha256=${sha256(text)}>> This tool output was elided to make room. ${way}`;

/** The messages with these results cited; the others are the same objects. */
export function evict(
  messages: readonly Message[],
  citations: readonly { readonly evictable: Evictable; readonly citation: string }[],
): Message[] {
  const byMessage = new Map<number, Map<number, string>>();
  for (const { evictable, citation } of citations) {
    const parts = byMessage.get(evictable.index) ?? new Map<number, string>();
    byMessage.set(evictable.index, parts.set(evictable.part, citation));
  }
  return messages.map((message, index) => {
    const parts = byMessage.get(index);
    const { value } = message;
    if (!parts || value.role !== "tool") return message;
    return new Message({
      ...value,
      content: value.content.map((part, at) => {
        const citation = parts.get(at);
        return citation !== undefined && part.type === "tool-result"
          ? { ...part, output: { type: "text" as const, value: citation } }
          : part;
      }),
    });
  });
}
