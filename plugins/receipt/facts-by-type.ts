/** A ledger sorted by type in one pass: each part of the fold asks for its own facts, and costs nothing without any. */
import type { Fact, FactType, Ledger } from "../../kernel/index.ts";

export type FactsOf = <T extends FactType>(type: T) => readonly Fact<T>[];

export function factsOf(ledger: Ledger): FactsOf {
  const byType = new Map<FactType, Fact[]>();
  for (const fact of ledger.facts) {
    const list = byType.get(fact.type);
    if (list) list.push(fact);
    else byType.set(fact.type, [fact]);
  }
  return <T extends FactType>(type: T) => (byType.get(type) ?? []) as unknown as readonly Fact<T>[];
}
