/** The user's messages as sources: what a summary may claim to rest on, named and known by digest. */
import type { Message } from "../../kernel/index.ts";

/** One message of the user. `sha256` is the digest of the whole message, media included. */
export interface UserSource {
  readonly id: string;
  readonly sha256: string;
  readonly text: string;
}

/** Text of a message, part by part. */
function textIn({ value }: Message): string {
  if (typeof value.content === "string") return value.content;
  return value.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The name depends on the content alone, so it stays the same through every rewrite. */
export function userSource(message: Message): UserSource {
  const sha256 = message.digest;
  return { id: `runtime.user.${sha256.slice(0, 16)}`, sha256, text: textIn(message) };
}
