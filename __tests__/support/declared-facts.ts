/** Holds what runs recorded against the facts that their plugins declare. */
import { checkJson, type FactType, type Plugin, type PluginFactory, type Run } from "../../kernel/index.ts";

const KERNEL_FACTS = [
  "run.started",
  "call.intended",
  "call.settled",
  "call.abandoned",
  "tool.admitted",
  "tool.denied",
  "tool.finished",
  "tool.speculated",
  "child.spawned",
  "child.settled",
  "transcript.compacted",
  "notice",
  "run.stopped",
  "run.settled",
] as const satisfies readonly FactType[];
/** The facts that plugins record. */
export type PluginFact = Exclude<FactType, (typeof KERNEL_FACTS)[number]>;

const familyOf = (run: Run): Run[] => [run, ...run.children.flatMap(familyOf)];

/** The facts of plugins in a run and its children, without what the ledger adds. */
export const pluginFactsOf = (root: Run): { readonly type: PluginFact; readonly data: object }[] =>
  familyOf(root).flatMap(({ ledger }) =>
    ledger.facts.flatMap(({ type, seq: _, at: __, ...data }) =>
      (KERNEL_FACTS as readonly string[]).includes(type) ? [] : [{ type: type as PluginFact, data }],
    ),
  );

/** What is wrong with these facts: recorded by nobody's declaration, or with other fields than were declared. */
export function undeclaredIn(root: Run, plugins: readonly (Plugin | PluginFactory)[]): string[] {
  const declared = new Map(plugins.flatMap(({ spec }) => Object.entries(spec.facts ?? {})));
  const wrong = pluginFactsOf(root).flatMap(({ type, data }) => {
    const schema = declared.get(type);
    if (!schema) return [`${type}: no plugin declares it`];
    if (schema.additionalProperties !== false) return [`${type}: its schema leaves more fields open`];
    const checked = checkJson(schema, data);
    return checked.ok ? [] : [`${type}: ${checked.problem}`];
  });
  return [...new Set(wrong)];
}
