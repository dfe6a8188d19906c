/** The tools of a run, counted. */
import { type Ledger, sha256 } from "../../kernel/index.ts";
import { type ReceiptTool, UNDECLARED } from "./schema.ts";

export interface Tools {
  readonly rows: ReceiptTool[];
  /** Names that an agent declared; every other one is a model's invention. */
  readonly declared: Pick<ReadonlySet<string>, "has">;
}

/**
 * Tools in the order they were first asked for. A name that no agent declared is a model's invention, and content: its
 * digest stands for it. Providers may use a tool call id again, so a call is open from its admission to its end. One that
 * was refused, before its admission or after, is a call that ended in an error.
 */
export function toolsOf(ledger: Ledger): Tools {
  const rows: ReceiptTool[] = [];
  const declared = new Map<string, ReceiptTool>();
  const undeclared = new Map<string, ReceiptTool>();
  const running = new Set<string>();
  const rowOf = (known: Map<string, ReceiptTool>, key: string, fresh: () => ReceiptTool): ReceiptTool => {
    let row = known.get(key);
    if (!row) {
      known.set(key, (row = fresh()));
      rows.push(row);
    }
    return row;
  };
  const tool = (name: string): ReceiptTool => rowOf(declared, name, () => ({ name, calls: 0, errors: 0 }));
  const invented = (name: string, nameDigest = sha256(name)): ReceiptTool =>
    rowOf(undeclared, nameDigest, () => ({ name: UNDECLARED, calls: 0, errors: 0, nameDigest }));
  for (const fact of ledger.facts) {
    if (fact.type === "tool.admitted") {
      tool(fact.name).calls++;
      running.add(fact.toolCallId);
    } else if (fact.type === "tool.denied") {
      const row = fact.declared ? tool(fact.name) : invented(fact.name, fact.nameDigest);
      if (!fact.declared || !running.delete(fact.toolCallId)) row.calls++;
      row.errors++;
      row.denied = (row.denied ?? 0) + 1;
    } else if (fact.type === "tool.finished" && running.delete(fact.toolCallId) && fact.isError)
      tool(fact.name).errors++;
  }
  return { rows, declared };
}
