/** A conversation: history and plugin state across runs. Transactional, one owner at a time, JSON and back. */
import {
  CavemanError,
  type Conversation,
  illegality,
  Message,
  type ModelMessage,
  type Tokens,
} from "../../kernel/index.ts";

const SCHEMA = "caveman.conversation.v1";

class InMemory implements Conversation {
  readonly kind = "conversation" as const;
  messages: readonly Message[] = [];
  states: Readonly<Record<string, unknown>> = {};
  #owned = false;

  acquire(): void {
    if (this.#owned) throw new CavemanError("cave_conversation_in_use");
    this.#owned = true;
  }
  commit(messages: readonly Message[], states: Readonly<Record<string, unknown>>): void {
    this.messages = [...messages];
    this.states = states;
  }
  release(): void {
    this.#owned = false;
  }
  toJSON(): unknown {
    return {
      schema: SCHEMA,
      messages: this.messages.map(({ value, outputTokens }) => ({ value: pack(value), outputTokens })),
      states: this.states,
    };
  }
}

// Bytes and URLs do not survive JSON; they are written as tagged objects.
const pack = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString("base64") };
  if (value instanceof URL) return { $url: value.href };
  if (Array.isArray(value)) return value.map(pack);
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, pack(part)]));
  return value;
};
const unpack = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(unpack);
  if (typeof value !== "object" || value === null) return value;
  const { $bytes, $url } = value as { $bytes?: unknown; $url?: unknown };
  if (typeof $bytes === "string") return new Uint8Array(Buffer.from($bytes, "base64"));
  if (typeof $url === "string") return new URL($url);
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, unpack(part)]));
};

/**
 * A new conversation, or one restored from its `toJSON()`.
 * @throws CavemanError `cave_conversation_invalid` for a damaged form, before anything is spent.
 */
export function createConversation(saved?: unknown): Conversation {
  const state = new InMemory();
  if (saved === undefined) return state;
  const bad = (received: string): never => {
    throw new CavemanError("cave_conversation_invalid", {
      expected: `the JSON of a conversation (${SCHEMA})`,
      received,
    });
  };
  if (typeof saved !== "object" || saved === null || (saved as { schema?: unknown }).schema !== SCHEMA)
    return bad("another shape");
  const { messages, states } = saved as { messages?: unknown; states?: unknown };
  if (!Array.isArray(messages) || typeof states !== "object" || states === null) return bad("no messages or no states");
  const roles = ["system", "user", "assistant", "tool"];
  const list = messages.map(
    (entry: { value?: { role?: unknown; content?: unknown }; outputTokens?: unknown } | null, index) => {
      const { value, outputTokens } = entry ?? {};
      if (
        !value ||
        !roles.includes(String(value.role)) ||
        !(Array.isArray(value.content) || typeof value.content === "string")
      )
        return bad(`message ${index} unreadable`);
      return new Message(
        unpack(value) as ModelMessage,
        typeof outputTokens === "number" ? (outputTokens as Tokens) : undefined,
      );
    },
  );
  const problem = illegality(list);
  if (problem) bad(problem);
  state.commit(list, states as Record<string, unknown>);
  return state;
}
