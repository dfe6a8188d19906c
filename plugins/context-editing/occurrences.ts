/**
 * Tool results as they occur in a view. A provider may use a tool call id again, so an occurrence is named by its id and
 * its place among the results of that id, and known again by the digest of what it said.
 */
import { Message, type ModelMessage, sha256, textOf } from "../../kernel/index.ts";

type ToolMessage = Extract<ModelMessage, { role: "tool" }>;
/** One tool result, as a part of a tool message. */
export type ToolResult = Extract<ToolMessage["content"][number], { type: "tool-result" }>;

/** A tool result and where it stands: message `index`, part `part`. */
export interface Occurrence {
  readonly index: number;
  readonly part: number;
  readonly result: ToolResult;
}

/** SHA-256 over the whole content of a result: kinds, complete texts, and of media their type and bytes. */
export type OccurrenceFingerprint = string;

/** Every tool result of a view, oldest first. */
export function occurrencesIn(messages: readonly Message[]): Occurrence[] {
  const found: Occurrence[] = [];
  for (const [index, { value }] of messages.entries()) {
    if (value.role !== "tool") continue;
    for (const [part, result] of value.content.entries())
      if (result.type === "tool-result") found.push({ index, part, result });
  }
  return found;
}

const fingerprints = new WeakMap<ToolResult, OccurrenceFingerprint>();

/** Equal for equal content, whatever the call was named. */
export function fingerprintToolResultOccurrence(result: ToolResult): OccurrenceFingerprint {
  let made = fingerprints.get(result);
  if (made === undefined) {
    // The message form writes bytes as base64, so media count in full.
    const digest = new Message({ role: "tool", content: [{ ...result, toolCallId: "", toolName: "" }] }).digest;
    fingerprints.set(result, (made = sha256(`caveman.tool-result.v1\0${digest}`)));
  }
  return made;
}

/** Whether a result is text alone. Media cannot be kept as text, so they are never cleared. */
export const isText = ({ output }: ToolResult): boolean =>
  output.type === "text" || output.type === "json" || output.type === "error-text" || output.type === "error-json";

/** A result's text as the model reads it. */
export const textOfResult = ({ output }: ToolResult): string => textOf(output);

/** One occurrence's coordinate: its key, how many results its call id has in this view, and its fingerprint. */
export interface OccurrenceKey {
  readonly key: string;
  readonly groupCount: number;
  readonly fp: OccurrenceFingerprint;
  readonly occurrence: ToolResult;
}

/** Its fingerprint is made when read: hashing every result of a long view at each call would cost more than the call. */
class LazyKey implements OccurrenceKey {
  readonly key: string;
  readonly groupCount: number;
  readonly occurrence: ToolResult;

  constructor(key: string, groupCount: number, occurrence: ToolResult) {
    this.key = key;
    this.groupCount = groupCount;
    this.occurrence = occurrence;
  }
  get fp(): OccurrenceFingerprint {
    return fingerprintToolResultOccurrence(this.occurrence);
  }
}

/** The coordinates of one view's tool results; made anew for each view and never kept. */
export interface OccurrenceIndex {
  /** The result at this place, or undefined when there is none. */
  keyAt(index: number, part?: number): OccurrenceKey | undefined;
  /** The coordinate of this very object, else of the only result of its call id; undefined when that is ambiguous. */
  keyOf(result: ToolResult): OccurrenceKey | undefined;
  /** The place of a coordinate. */
  find(key: string): Occurrence | undefined;
  /** How many results a call id has. */
  countOf(toolCallId: string): number;
}

export const keyFor = (toolCallId: string, ordinal: number): string => JSON.stringify([toolCallId, ordinal]);

/** A key's parts, or undefined for what is no key. */
export function partsOf(key: string): { readonly toolCallId: string; readonly ordinal: number } | undefined {
  try {
    const [toolCallId, ordinal] = JSON.parse(key) as [unknown, unknown];
    return typeof toolCallId === "string" && Number.isSafeInteger(ordinal)
      ? { toolCallId, ordinal: ordinal as number }
      : undefined;
  } catch {
    return undefined;
  }
}

export function indexOccurrences(messages: readonly Message[]): OccurrenceIndex {
  const groups = new Map<string, Occurrence[]>();
  const keys = new Map<ToolResult, string>();
  for (const occurrence of occurrencesIn(messages)) {
    const { toolCallId } = occurrence.result;
    const group = groups.get(toolCallId) ?? [];
    groups.set(toolCallId, group);
    keys.set(occurrence.result, keyFor(toolCallId, group.length));
    group.push(occurrence);
  }
  const find = (key: string): Occurrence | undefined => {
    const parts = partsOf(key);
    return parts && groups.get(parts.toolCallId)?.[parts.ordinal];
  };
  const of = (result: ToolResult, key: string): OccurrenceKey =>
    new LazyKey(key, groups.get(result.toolCallId)?.length ?? 0, result);
  return {
    find,
    countOf: (toolCallId) => groups.get(toolCallId)?.length ?? 0,
    keyAt(index, part = 0) {
      const value = messages[index]?.value;
      const result = value?.role === "tool" ? value.content[part] : undefined;
      const key = result?.type === "tool-result" ? keys.get(result) : undefined;
      return result?.type === "tool-result" && key !== undefined ? of(result, key) : undefined;
    },
    keyOf(result) {
      const own = keys.get(result);
      if (own !== undefined) return of(result, own);
      const group = groups.get(result.toolCallId);
      const only = group?.length === 1 ? group[0]?.result : undefined;
      return only && of(only, keyFor(only.toolCallId, 0));
    },
  };
}

/** The message with other outputs at some of its parts. */
export function withOutputs(message: Message, outputs: ReadonlyMap<number, ToolResult["output"]>): Message {
  const { value } = message;
  if (value.role !== "tool") return message;
  return new Message({
    ...value,
    content: value.content.map((part, at) => {
      const output = outputs.get(at);
      return output && part.type === "tool-result" ? { ...part, output } : part;
    }),
  });
}
