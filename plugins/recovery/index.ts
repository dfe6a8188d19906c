/**
 * recovery: exact originals of what a model sees a smaller view of. Stored before anything is left out, on disk, by
 * content; the model fetches them back with `cave_retrieve`. Taps `settle` (closes the store). Provides the service
 * `Recovery`; owns the store of originals and `caveman retrieve`.
 */
import { Type } from "@sinclair/typebox";
import { CavemanError, definePlugin, defineService, type Run } from "../../kernel/index.ts";
import { Recovery } from "../services.ts";
import { errors } from "./errors.ts";
import { locate } from "./location.ts";
import { CONTAINS_HANDLE, textOfOriginal } from "./original.ts";
import { RETRIEVE, retrieveTool } from "./retrieve-tool.ts";
import { SavedScope, Scope } from "./scope.ts";
import { OriginalStore, type Put } from "./store.ts";

export const recovery = definePlugin({
  name: "recovery",
  description: "Keeps exact originals of what a model sees a smaller view of, and gives them back.",
  options: Type.Object({
    path: Type.Optional(
      Type.String({
        minLength: 1,
        description: "The store's file. Default: CAVEMAN_CCR_DB, or ccr.db in CAVEMAN_HOME.",
      }),
    ),
    maxBytes: Type.Optional(
      Type.Integer({ minimum: 1, description: "Most bytes it may take. Default: CAVEMAN_CCR_MAX_BYTES, or 512 MiB." }),
    ),
  }),
  errors,
  tools: (run) => {
    const kept = rootOf(run).find(Kept);
    return kept ? [retrieveTool(run, kept.scope, kept.open)] : [];
  },
  commands: () => import("./commands.ts"),
  apply(kernel, options) {
    let store: OriginalStore | undefined;
    const users = new Set<Run>();
    const scopeOf = kernel.perConversation("recovery", SavedScope, (_run, saved) => new Scope(saved));
    const openFor = (run: Run) => (): OriginalStore => {
      users.add(run);
      return (store ??= new OriginalStore(locate(options)));
    };
    kernel.provide(Kept, (run) => ({ scope: scopeOf(run), open: openFor(run) }));

    const keep = (run: Run, original: string, about: Parameters<Recovery["keep"]>[1]): string | undefined => {
      const root = rootOf(run);
      const { scope, open } = root.service(Kept);
      if (CONTAINS_HANDLE.test(original)) return undefined;
      const put = taking(() => open().put(original, about));
      if ("handle" in put) {
        scope.show(put.handle);
        return put.handle;
      }
      if (!told.has(root)) run.notice("recovery", put.problem.code, put.problem.message);
      told.add(root);
      return undefined;
    };
    const told = new WeakSet<Run>();

    kernel.provide(Recovery, (run) => ({
      keep: (original, about) => keep(run, original, about),
      retrieve: (handle) => {
        const { scope, open } = rootOf(run).service(Kept);
        return scope.has(handle) ? textOfOriginal(open().get(handle), handle) : undefined;
      },
      isRecovered: (toolName, text) => toolName === RETRIEVE || CONTAINS_HANDLE.test(text),
    }));

    kernel.hooks.settle.tap({ name: "recovery:close", stage: "receipt" }, ({ run }) => {
      if (users.delete(run) && users.size === 0) {
        store?.close();
        store = undefined;
      }
    });
  },
});

/** A store that cannot even be located, by a wrong setting, takes nothing, like one that cannot be written. */
function taking(put: () => Put): Put {
  try {
    return put();
  } catch (error) {
    if (error instanceof CavemanError) return { problem: error };
    throw error;
  }
}

/** A whole tree of runs shares what its root was shown: parent and child read each other's markers. */
const Kept = defineService<{ readonly scope: Scope; readonly open: () => OriginalStore }>("recovery.kept");
function rootOf(run: Run): Run {
  let root = run;
  while (root.parent) root = root.parent;
  return root;
}

export { locate } from "./location.ts";
export { type About, OriginalStore, type Put, type Stored, type StoreOptions } from "./store.ts";
