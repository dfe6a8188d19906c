/**
 * tokens: how many tokens a text is. Taps nothing; provides the service `Tokenizer`: `o200k_base` exact, and for each
 * model whether that figure is exact, modelled or unknown. Every figure is inferred: what bills is the provider's report.
 */
import { Type } from "@sinclair/typebox";
import { definePlugin } from "../../kernel/index.ts";
import { Tokenizer } from "../services.ts";
import { STAND_INS } from "./bindings.ts";
import { createTokenizer } from "./tokenizer.ts";

export const tokens = definePlugin({
  name: "tokens",
  description: "Counts tokens with o200k_base, and says how far a count may be trusted.",
  options: Type.Object({
    standIns: Type.Array(Type.String({ minLength: 1 }), {
      default: [...STAND_INS],
      description: "Providers for whose models o200k_base stands in, marked as modelled. Others are unmeasured.",
    }),
  }),
  apply(kernel, options) {
    const tokenizer = createTokenizer(new Set(options.standIns.map((name) => name.toLowerCase())));
    kernel.provide(Tokenizer, () => tokenizer);
  },
});

let shared: Tokenizer | undefined;
/** The tokenizer without a kernel, for commands and tools of your own. */
export const o200kTokenizer = (): Tokenizer => (shared ??= createTokenizer(new Set(STAND_INS)));
