/**
 * Context editing: old tool results leave the model's view before it is full, each replaced by a pointer that reads it
 * back. Taps `compact` (repaint, heal, clear) and `afterUsage` (gauge, a rejection's smaller view). Owns
 * `contextEditing`; provides `ContextGauge`, the one measure of how full a context is, and `Originals`. The editor is
 * loaded when a view first needs one.
 */
import { type Static, Type } from "@sinclair/typebox";
import { definePlugin, type Run } from "../../../kernel/index.ts";
import { ContextGauge, Originals } from "../../services.ts";
import { ledgerFrom, SavedLedger } from "../cleared.ts";
import type { Editor } from "../editor.ts";
import { errors } from "../errors.ts";
import { Gauge } from "../gauge.ts";
import { type ContextEditingOptions, checked, keys } from "../options.ts";
import { RunOriginals } from "../originals.ts";
import { isRejection } from "../rejection.ts";
import { type Trigger, Watch } from "../watch.ts";

declare module "../../../kernel/contract.ts" {
  interface RunOptions {
    /** When old tool results leave the view; `false` keeps them all. Children inherit it. */
    contextEditing?: ContextEditingOptions | false;
  }
}
declare module "../../../kernel/ledger.ts" {
  interface Facts {
    /** Results that left the view; `tokensSaved` is an estimate, `digests` are the originals' fingerprints. */
    "context.cleared": Static<typeof Cleared>;
    "context.clear_declined": Static<typeof Declined>;
  }
}

const closed = { additionalProperties: false };
const triggers = ["frontier", "blocking", "refused", "rejected"] as const satisfies readonly Trigger[];
const trigger = Type.Unsafe<Trigger>({ type: "string", enum: triggers });
const Count = Type.Integer({ minimum: 0 });
const Cleared = Type.Object(
  {
    trigger,
    results: Count,
    tokensSaved: Count,
    basis: Type.Literal("estimate"),
    digests: Type.Array(Type.String()),
  },
  closed,
);
const Declined = Type.Object({ trigger, reason: Type.String() }, closed);

interface Live {
  watch?: Watch;
  editor?: Editor;
}

/** The editor's code, once a view first needed it. */
let code: Code | undefined;
type Code = typeof import("../editor.ts");

export const contextEditing = definePlugin({
  name: "context-editing",
  description: "Clears old tool results from a filling context; each can be read back.",
  options: Type.Object(keys),
  runOptions: Type.Object({
    contextEditing: Type.Optional(
      Type.Unsafe<ContextEditingOptions | false>({ description: "false keeps every result; else as the options" }),
    ),
  }),
  facts: { "context.cleared": Cleared, "context.clear_declined": Declined },
  errors,
  after: ["recovery", "results", "compression"],
  controls: ({ options }) => ({ context_editing: options.contextEditing === false ? "absent" : "active" }),
  apply(kernel, options) {
    const defaults = checked(options, "plugin context-editing options");
    const settingsOf = (run: Run): ContextEditingOptions => {
      const own = run.options.contextEditing;
      return own ? { ...defaults, ...checked(own, "run option contextEditing") } : defaults;
    };
    const ledgerOf = kernel.perConversation("context-editing", SavedLedger, (_run, saved) => ledgerFrom(saved));
    const gaugeOf = kernel.perRun((run) => new Gauge(run, settingsOf(run)));
    const liveOf = kernel.perRun((): Live => ({}));
    const watchOf = (run: Run): Watch =>
      (liveOf(run).watch ??= new Watch(run, settingsOf(run), gaugeOf(run), ledgerOf(run)));
    const editorOf = (run: Run, { Editor }: Code): Editor =>
      (liveOf(run).editor ??= new Editor(watchOf(run), run.service(Originals)));
    /** Uses a run's editor: at once when its code is there, else when it is loaded and the run still goes on. */
    const edit = <T>(run: Run, use: (editor: Editor) => T): T | Promise<T | undefined> =>
      code
        ? use(editorOf(run, code))
        : import("../editor.ts").then((loaded) => {
            code = loaded;
            return run.stopping || run.signal.aborted ? undefined : use(editorOf(run, code));
          });
    kernel.provide(ContextGauge, gaugeOf);
    kernel.provide(Originals, (run) => new RunOriginals(run));

    kernel.hooks.compact.tap("context-editing:clear", (compaction) => {
      const { run } = compaction;
      if (run.options.contextEditing === false) return undefined;
      if (!liveOf(run).editor && watchOf(run).idle(compaction)) return undefined;
      return edit(run, (editor) => editor.rewrite(compaction));
    });
    kernel.hooks.afterUsage.tap({ name: "context-editing:gauge", stage: "count" }, (settled) =>
      gaugeOf(settled.run).settled(settled),
    );
    kernel.hooks.afterUsage.tap({ name: "context-editing:rejected", stage: "decide" }, (settled) => {
      if (settled.error && settled.run.options.contextEditing !== false && isRejection(settled))
        return edit(settled.run, (editor) => editor.rejected(settled));
    });
  },
});
