/**
 * Prefix: what a provider has cached of a request stays what it was. Taps `beforeCall` (restores what drifted, places
 * cache hints; guard), `reserve` (compares the frozen request with the one before), `afterUsage` (accounts the cache),
 * `settle` (the run's totals). Owns the cache epoch of a conversation and the facts `prefix.*`. Never touches a message.
 */
import { type Static, Type } from "@sinclair/typebox";
import { type CallId, definePlugin, type Run } from "../../kernel/index.ts";
import type { BreakCause } from "./accounting.ts";
import { PrefixState, SavedState } from "./conversation-state.ts";
import type { PrefixGuard } from "./guard.ts";

declare module "../../kernel/ledger.ts" {
  interface Facts {
    /** One answered call: its cache epoch, and what the provider read of `readable` tokens it had seen before. */
    "prefix.call": Static<(typeof facts)["prefix.call"]>;
    /** A drift that was undone before anything was sent. */
    "prefix.restored": Static<(typeof facts)["prefix.restored"]>;
    /** Cached tokens that were paid for again, and why; money only where the price list knows it. */
    "prefix.broken": Static<(typeof facts)["prefix.broken"]>;
    /** The totals of a run that made a call. */
    "prefix.run": Static<(typeof facts)["prefix.run"]>;
  }
}

const Count = Type.Integer({ minimum: 0 });
const Pico = Type.Optional(Type.String({ pattern: "^\\d+$" }));
const Inferred = Type.Literal("inferred");
const call = { callId: Type.Unsafe<CallId>({ type: "string" }), attempt: Type.Integer({ minimum: 1 }) };
const cache = { input: Count, cacheRead: Count, cacheWrite: Count };
const causes = [
  "compaction",
  "history",
  "tools",
  "system",
  "context",
  "model",
  "expired",
  "settings",
  "unexplained",
] as const satisfies readonly BreakCause[];

const closed = { additionalProperties: false };
const facts = {
  "prefix.call": Type.Object({ ...call, ...cache, epoch: Count, kept: Type.Boolean(), readable: Count }, closed),
  "prefix.restored": Type.Object(
    { ...call, what: Type.Union([Type.Literal("tools"), Type.Literal("context")]) },
    closed,
  ),
  "prefix.broken": Type.Object(
    {
      ...call,
      epoch: Count,
      cause: Type.Union(causes.map((cause) => Type.Literal(cause))),
      lostTokens: Count,
      lostPicoUsd: Pico,
      basis: Inferred,
    },
    closed,
  ),
  "prefix.run": Type.Object(
    {
      ...cache,
      calls: Count,
      kept: Count,
      restored: Count,
      breaks: Count,
      lostTokens: Count,
      lostPicoUsd: Pico,
      basis: Inferred,
    },
    closed,
  ),
};

/** The guard's code, once a call was first made with this plugin. */
let code: Code | undefined;
type Code = typeof import("./guard.ts");

export const prefix = definePlugin({
  name: "prefix",
  description: "Keeps the prompt prefix that providers cache, places their cache hints, and accounts for every break.",
  options: Type.Object({
    hints: Type.Boolean({
      default: true,
      description: "place cache hints where the catalog says that a model takes them",
    }),
  }),
  facts,
  errors: {
    cave_cache_prefix_drift: {
      meaning: "A request did not begin with the one before it, so a provider's prompt cache could not serve it.",
      remedy: "See the cause in the notice; keep tools, instructions and added context the same from call to call.",
    },
  },
  controls: () => ({ cache_prefix: "active" }),
  apply(kernel, { hints }) {
    const stateOf = kernel.perConversation("prefix", SavedState, (run, saved) => new PrefixState(run, saved));
    const liveOf = kernel.perRun((): { guard?: PrefixGuard } => ({}));
    const guardOf = (run: Run, { PrefixGuard }: Code): PrefixGuard =>
      (liveOf(run).guard ??= new PrefixGuard(run, stateOf(run), hints));
    /** Uses a run's guard: at once when its code is there, else when it is loaded. */
    const guarded = (run: Run, use: (guard: PrefixGuard) => void): void | Promise<void> =>
      code
        ? use(guardOf(run, code))
        : import("./guard.ts").then((loaded) => {
            code = loaded;
            use(guardOf(run, code));
          });
    kernel.hooks.beforeCall.tap({ name: "prefix:guard", stage: "guard", guard: true }, (call) =>
      guarded(call.run, (guard) => guard.shape(call)),
    );
    kernel.hooks.reserve.tap({ name: "prefix:compare", stage: "check" }, (frozen) =>
      guarded(frozen.run, (guard) => guard.compare(frozen)),
    );
    kernel.hooks.afterUsage.tap({ name: "prefix:account", stage: "count" }, (settled) =>
      guarded(settled.run, (guard) => guard.settle(settled)),
    );
    kernel.hooks.settle.tap({ name: "prefix:totals", stage: "work" }, ({ run }) => liveOf(run).guard?.close());
  },
});
