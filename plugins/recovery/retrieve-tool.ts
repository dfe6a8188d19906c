/** `cave_retrieve`: the model fetches back what it was shown a smaller view of. */
import { Type } from "@sinclair/typebox";
import { asCaveman, CavemanError, frameworkTool, type Run, type Tool, textOf } from "../../kernel/index.ts";
import { textOfOriginal } from "./original.ts";
import type { Selection } from "./query.ts";
import type { Delivery, Scope } from "./scope.ts";
import type { OriginalStore } from "./store.ts";

export const RETRIEVE = "cave_retrieve";
const POINTER = /^\s*(?:<<)?(?:ccr:)?(ccr_[0-9a-f]{32})(?:>>)?\s*$/;

type Select = (original: string, query: string) => Selection | undefined;
/** Loaded with the first query: most originals are fetched whole, if at all. */
let select: Select | undefined;
async function loadSelect(): Promise<Select> {
  try {
    return (select = (await import("./query.ts")).select);
  } catch (error) {
    throw asCaveman(error, "cave_recovery_store_unavailable", { place: "the code of queries" });
  }
}

export function retrieveTool(run: Run, scope: Scope, store: () => OriginalStore): Tool {
  return frameworkTool({
    name: RETRIEVE,
    description:
      "Gets back the exact original behind a ccr_ handle of a marker. With query: only its matching parts. Call it when the shown view cannot answer; one broad query beats many narrow ones.",
    input: Type.Object({ recovery_handle: Type.String(), query: Type.Optional(Type.String()) }),
    effect: "read",
    result: "inline",
    execute: ({ recovery_handle: given, query: asked = "" }, { toolCallId }) => {
      // A model may copy the whole pointer in which the handle stands.
      const handle = POINTER.exec(given)?.[1] ?? given;
      if (!scope.has(handle)) throw new CavemanError("cave_recovery_handle_out_of_scope");
      const query = asked.trim().replace(/\s+/g, " ");
      const earlier = scope.earlier(handle, query);
      if (earlier && stillShown(run, earlier))
        return "The result of this same cave_retrieve call still stands above, unchanged. Use it, or ask without a query for the whole original.";
      const original = textOfOriginal(store().get(handle), handle);
      const answered = (by?: Select): string => {
        const text = by && !scope.exhausted(handle) ? (by(original, query)?.text ?? original) : original;
        scope.delivered(handle, query, { toolCallId, text });
        return text;
      };
      if (query === "") return answered();
      return select ? answered(select) : loadSelect().then(answered);
    },
  });
}

/** Whether the model can still read an earlier answer: nothing cleared, compacted or shortened it. */
function stillShown(run: Run, { toolCallId, text }: Delivery): boolean {
  return run.transcript.view.messages.some(
    ({ value }) =>
      value.role === "tool" &&
      value.content.some(
        (part) => part.type === "tool-result" && part.toolCallId === toolCallId && textOf(part.output) === text,
      ),
  );
}
