/**
 * Which part of a view goes and which stays: the newest messages, the user's own words as far as they are allowed for,
 * the first request and the last, skills that were read. Everything before the tail that is none of these may go.
 */
import { Message, type ModelMessage } from "../../kernel/index.ts";

/** The tool that reads a skill; its results are instructions in use. */
export const SKILL_TOOL = "cave_skill";

interface PlanOptions {
  readonly keepRecentTokens: number;
  readonly pinnedUserTokens: number;
  readonly preserveFirstUserMessage: boolean;
  readonly tokensOf: (message: Message) => number;
  /** Digest of the capsule that a new one will supersede. */
  readonly capsuleDigest?: string | undefined;
}

/** What stands in a rewritten view where a message of the old one stood. */
interface Kept {
  readonly index: number;
  /** The message, or what is left of it: a skill's call and result without their neighbours. */
  readonly message: Message;
}
export interface Plan {
  readonly messages: readonly Message[];
  /** Where the tail begins: everything from here on stays as it is. */
  readonly tailFrom: number;
  /** Index of the capsule that is superseded. */
  readonly capsule: number | undefined;
  /** What stays of the part before the tail, in order. */
  readonly kept: readonly Kept[];
  /** Messages before the tail of which nothing, or not everything, stays. */
  readonly removed: readonly Message[];
  /** User messages before the tail that go, and all that stay. */
  readonly usersGone: readonly Message[];
  readonly usersShown: readonly Message[];
}

export function planOf(messages: readonly Message[], options: PlanOptions): Plan {
  const tailFrom = tailOf(messages, options);
  const capsule = findCapsule(messages, options.capsuleDigest);
  const isUser = (at: number): boolean => messages[at]?.role === "user" && at !== capsule;
  const users = messages.flatMap((_, at) => (isUser(at) ? [at] : []));
  const pinned = pinnedUsers(messages, users, tailFrom, options);
  const skills = skillsIn(messages, tailFrom);
  const kept: Kept[] = [];
  const removed: Message[] = [];
  const usersGone: Message[] = [];
  for (let at = 0; at < tailFrom; at++) {
    const message = messages[at];
    if (!message) continue;
    // A system message inside the history is its author's instruction.
    if (pinned.has(at) || message.role === "system") {
      kept.push({ index: at, message });
      continue;
    }
    const skill = skills.get(at);
    if (skill) kept.push({ index: at, message: skill });
    if (skill?.digest === message.digest) continue;
    removed.push(message);
    if (isUser(at)) usersGone.push(message);
  }
  const usersShown = users.flatMap((at) => {
    const message = messages[at];
    return message && (at >= tailFrom || pinned.has(at)) ? [message] : [];
  });
  return { messages, tailFrom, capsule, kept, removed, usersGone, usersShown };
}

/** The view after a plan: what is kept, the capsule, the tail. */
export const rebuilt = ({ messages, kept, tailFrom }: Plan, capsule: Message): Message[] => [
  ...kept.map(({ message }) => message),
  capsule,
  ...messages.slice(tailFrom),
];

/** The tail holds at least the last turn, and no result without its call. */
function tailOf(messages: readonly Message[], { keepRecentTokens, tokensOf }: PlanOptions): number {
  let from = messages.length;
  let sum = 0;
  while (from > 0) {
    const message = messages[from - 1];
    if (!message) break;
    sum += tokensOf(message);
    if (sum > keepRecentTokens && from < messages.length) break;
    from--;
  }
  while (from > 0 && messages[from]?.role === "tool") from--;
  return from;
}

function findCapsule(messages: readonly Message[], digest: string | undefined): number | undefined {
  if (digest === undefined) return undefined;
  // Only a user message can be one, so nothing else is hashed.
  const at = messages.findIndex((message) => message.role === "user" && message.digest === digest);
  return at < 0 ? undefined : at;
}

function pinnedUsers(
  messages: readonly Message[],
  users: readonly number[],
  tailFrom: number,
  { pinnedUserTokens, preserveFirstUserMessage, tokensOf }: PlanOptions,
): ReadonlySet<number> {
  const pinned = new Set<number>();
  const first = users[0];
  const last = users.at(-1);
  if (first !== undefined && preserveFirstUserMessage) pinned.add(first);
  if (last !== undefined) pinned.add(last);
  let left = pinnedUserTokens;
  for (const at of [...users].reverse()) {
    const message = messages[at];
    if (!message || at >= tailFrom) continue;
    left -= tokensOf(message);
    if (left < 0) break;
    pinned.add(at);
  }
  return pinned;
}

type AssistantMessage = Extract<ModelMessage, { role: "assistant" }>;
type ToolMessage = Extract<ModelMessage, { role: "tool" }>;

/** The newest reading of each skill before the tail, as a call and a result of its own. */
function skillsIn(messages: readonly Message[], tailFrom: number): ReadonlyMap<number, Message> {
  const seen = new Set<string>();
  const found = new Map<number, Message>();
  for (let at = messages.length - 2; at >= 0; at--) {
    const asked = messages[at]?.value;
    const answered = messages[at + 1]?.value;
    if (asked?.role !== "assistant" || answered?.role !== "tool") continue;
    const ids = new Set<string>();
    for (const part of asked.content) {
      if (part.type !== "tool-call" || part.toolName !== SKILL_TOOL) continue;
      const name = JSON.stringify(part.input);
      const read = answered.content.some(
        (result) =>
          result.type === "tool-result" &&
          result.toolCallId === part.toolCallId &&
          (result.output.type === "text" || result.output.type === "json"),
      );
      if (!read || seen.has(name)) continue;
      seen.add(name);
      ids.add(part.toolCallId);
    }
    if (ids.size === 0 || at >= tailFrom) continue;
    const call = reduced(messages[at], asked, ids);
    const result = reduced(messages[at + 1], answered, ids);
    if (call && result) found.set(at, call).set(at + 1, result);
  }
  return found;
}

function reduced(
  message: Message | undefined,
  value: AssistantMessage | ToolMessage,
  ids: ReadonlySet<string>,
): Message | undefined {
  const mine = (part: { readonly type: string; readonly toolCallId?: string }): boolean =>
    part.toolCallId !== undefined && ids.has(part.toolCallId);
  if (value.content.every(mine)) return message;
  return value.role === "assistant"
    ? new Message({ role: "assistant", content: value.content.filter(mine) })
    : new Message({ role: "tool", content: value.content.filter(mine) });
}
