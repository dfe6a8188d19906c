/** A ledger sorted by type in one pass: each part of the fold asks for its own facts, and costs nothing without any. */
import type { Fact, FactType, Ledger } from "../../kernel/index.ts";

export type FactsOf = <T extends FactType>(type: T) => readonly Fact<T>[];

/** What a run records in which nothing out of the ordinary happened. */
const ORDINARY: ReadonlySet<FactType> = new Set<FactType>([
  "run.started",
  "run.settled",
  "budget.opened",
  "budget.closed",
  "call.intended",
  "call.settled",
  "call.priced",
  "tool.admitted",
  "tool.finished",
  "child.spawned",
  "child.settled",
  "subagents.tree",
]);
const NONE: readonly never[] = [];

/** The facts by type, and whether there are others than ordinary ones. */
export function factsOf(ledger: Ledger): { readonly facts: FactsOf; readonly ordinary: boolean } {
  const byType = new Map<FactType, Fact[]>();
  let ordinary = true;
  for (const fact of ledger.facts) {
    const list = byType.get(fact.type);
    if (list) list.push(fact);
    else {
      byType.set(fact.type, [fact]);
      ordinary &&= ORDINARY.has(fact.type);
    }
  }
  return {
    facts: <T extends FactType>(type: T) => (byType.get(type) ?? NONE) as unknown as readonly Fact<T>[],
    ordinary,
  };
}
