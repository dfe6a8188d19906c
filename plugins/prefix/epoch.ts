/**
 * A cache epoch: the requests to one model whose every next one begins with the whole of the one before. Comparing
 * costs what is new: views of one transcript share their beginning by identity, tools and system texts are compared by
 * identity before their bytes, and history is walked only where somebody rewrote it.
 */
import type { ModelMessage, ModelTool, View } from "../../kernel/index.ts";
import { chainOf, digestOfTexts, digestOfTools, isSaved, type Request, type SavedRequest, type Sent } from "./sent.ts";

/** Why a request does not begin with the one before. */
export type Cause = "compaction" | "history" | "tools" | "system" | "context" | "model";

export interface Comparison {
  /** Absent when the new request begins with the one before. */
  readonly cause?: Cause;
  /** UTF-8 bytes of the new view that were not part of the one before: asked for when something was lost. */
  readonly freshBytes: () => number;
}

/** Compares a request with the one before it in its epoch. */
export function compare(before: Sent, now: Request, rewritten: "compaction" | "history"): Comparison {
  if (isSaved(before)) return compareSaved(before, now);
  const shared = sharedMessages(before.view, now.view);
  const freshBytes = (): number => now.view.bytes - now.view.bytesUpTo(before.view.length);
  if (!sameTexts(before.system, now.system)) return { cause: "system", freshBytes };
  if (!sameTools(before.tools, now.tools)) return { cause: "tools", freshBytes };
  if (shared < before.view.length)
    return { cause: rewritten, freshBytes: () => newBytes(before.view, now.view, shared) };
  return sameContext(before, now) ? { freshBytes } : { cause: "context", freshBytes };
}

/** Compares the first request of a model with the newest one of another model: nothing of it is in this one's cache. */
export function otherModel(before: Sent, now: Request): Comparison {
  const shared = isSaved(before) ? Math.min(before.count, now.view.length) : sharedMessages(before.view, now.view);
  return { cause: "model", freshBytes: () => now.view.bytes - now.view.bytesUpTo(shared) };
}

function compareSaved(before: SavedRequest, now: Request): Comparison {
  const cause: Cause | undefined =
    before.system !== digestOfTexts(now.system)
      ? "system"
      : before.tools !== digestOfTools(now.tools)
        ? "tools"
        : before.count > now.view.length || before.chain !== chainOf(now.view, before.count)
          ? "history"
          : before.context
            ? "context"
            : undefined;
  const freshBytes = (): number => now.view.bytes - now.view.bytesUpTo(before.count);
  return cause ? { cause, freshBytes } : { freshBytes };
}

/** Leading messages that are the same, by identity, or by their bytes where a rewrite made them anew. */
function sharedMessages(before: View, now: View): number {
  let shared = now.sharedWith(before);
  const most = Math.min(before.length, now.length);
  while (shared < most) {
    const [a, b] = [before.at(shared), now.at(shared)];
    if (a !== b && a?.digest !== b?.digest) break;
    shared++;
  }
  return shared;
}

/** After a rewrite: bytes of messages that the view before did not hold anywhere, as objects or as bytes. */
function newBytes(before: View, now: View, shared: number): number {
  const known = new Set(before.messages);
  let digests: Set<string> | undefined;
  let fresh = 0;
  for (let i = shared; i < now.length; i++) {
    const message = now.at(i);
    if (!message || known.has(message)) continue;
    digests ??= new Set(before.messages.map(({ digest }) => digest));
    if (!digests.has(message.digest)) fresh += message.bytes;
  }
  return fresh;
}

const sameTexts = (a: readonly string[], b: readonly string[]): boolean =>
  a === b || (a.length === b.length && a.every((text, i) => text === b[i]));

export const sameTools = (a: readonly ModelTool[], b: readonly ModelTool[]): boolean =>
  a === b || (a.length === b.length && digestOfTools(a) === digestOfTools(b));

/**
 * Added context is followed by messages that stay, so it is part of what the next request must begin with. It may
 * appear where the request before had ended, and it must stay where it was.
 */
function sameContext(before: Request, now: Request): boolean {
  if (before.additions.length === 0) return now.additions.length === 0 || now.userAt >= before.view.length;
  return before.userAt === now.userAt && sameAdditions(before.additions, now.additions);
}
const sameAdditions = (a: readonly ModelMessage[], b: readonly ModelMessage[]): boolean =>
  a === b || (a.length === b.length && a.every((message, i) => sameMessage(message, b[i])));
export const sameMessage = (a: ModelMessage, b: ModelMessage | undefined): boolean =>
  a === b || (b !== undefined && JSON.stringify(a) === JSON.stringify(b));

/** Index of the newest user message. `known` is the answer for the first `upTo` messages of the same view. */
export function newestUser(view: View, upTo = 0, known = -1): number {
  for (let i = view.length - 1; i >= upTo; i--) if (view.at(i)?.role === "user") return i;
  return known;
}
