/** One tokenizer a process: the exact counter, or, where its ranks cannot be read, a stated approximation. */
import { describe, type Message, type Tokens, tokens } from "../../kernel/index.ts";
import type { PricedModel, Tokenizer, TokenizerIdentity } from "../services.ts";
import { bindingOf } from "./bindings.ts";
import { Counter } from "./counter.ts";
import { messageText } from "./message-text.ts";
import { DIGEST, o200kRanks, type Ranks, REVISION } from "./ranks.ts";

export const EXACT: TokenizerIdentity = Object.freeze({
  backend: "o200k_base",
  revision: REVISION,
  digest: DIGEST,
  exactness: "exact",
  surface: "text",
});
/** The same counter for a model whose own encoding is not public or not here. */
const STAND_IN: TokenizerIdentity = Object.freeze({ ...EXACT, digest: "", exactness: "modelled" });

/** Made once: what it remembers of merged pieces serves every run. */
export function createTokenizer(standIns: ReadonlySet<string>, load: () => Ranks = o200kRanks): Tokenizer {
  let counter: ((text: string) => number) | undefined;
  let identity = EXACT;
  const counting = (): ((text: string) => number) => {
    if (counter) return counter;
    try {
      const exact = new Counter(load());
      counter = (text) => exact.count(text);
    } catch (error) {
      counter = approximate;
      identity = Object.freeze({
        backend: "approx/chars-per-four",
        revision: "1",
        digest: "",
        exactness: "modelled",
        surface: "text",
        reason: `the ranks of o200k_base cannot be read: ${describe(error)}`,
      });
    }
    return counter;
  };
  const counted = new WeakMap<Message, Tokens>();
  const count = (text: string): Tokens => tokens(counting()(text));
  return Object.freeze({
    get identity() {
      counting();
      return identity;
    },
    identityOf(model: PricedModel) {
      const binding = bindingOf(model, standIns);
      if (binding === undefined) return undefined;
      counting();
      return identity === EXACT && binding === "modelled" ? STAND_IN : identity;
    },
    count,
    countMessage(message: Message) {
      let known = counted.get(message);
      if (known === undefined) counted.set(message, (known = count(messageText(message.value))));
      return known;
    },
  });
}

/** A quarter of the characters (code points), at least one for any text. */
function approximate(text: string): number {
  if (text === "") return 0;
  let points = text.length;
  for (let at = 0; at < text.length; at++)
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) points--;
  return Math.max(1, Math.floor(points / 4));
}
