/**
 * Assistant messages that say nothing. An interrupted or failed answer can leave one behind, and strict providers refuse
 * every later request that carries it. Leaving it out gives the same bytes each time, so no cache is broken.
 */
import type { Message } from "../../kernel/index.ts";

/** An assistant message without a call and without a word. */
export function isEmptyAssistant({ value }: Message): boolean {
  if (value.role !== "assistant") return false;
  return value.content.every((part) => (part.type === "text" || part.type === "reasoning") && blank(part));
}
// Signed or encrypted reasoning has no text and must go back to its vendor.
const blank = (part: { readonly text: string; readonly providerOptions?: unknown }): boolean =>
  part.text.trim() === "" && part.providerOptions === undefined;

/** The same array when there is nothing to leave out. */
export function dropEmptyFailureAssistants(messages: readonly Message[]): readonly Message[] {
  return messages.some(isEmptyAssistant) ? messages.filter((message) => !isEmptyAssistant(message)) : messages;
}
