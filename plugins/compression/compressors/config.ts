/**
 * Configuration: all structure. Of many sibling blocks of one kind the edges, what stands out and an example of every
 * category stay. YAML that could be read before can be read afterwards.
 */
import { isAlarming } from "../alarm.ts";
import type { Compressor } from "../compressor.ts";
import { type Block, blocksOf, fieldsOf, recordsIn } from "../config-tree.ts";
import { summaryBudget } from "../invariants.ts";
import { elided } from "../markers.ts";
import { type Records, select } from "../records.ts";
import { terms } from "../relevant.ts";

const MIN_LINES = 14;
/** Siblings of one kind from which some may go. */
const MIN_SIBLINGS = 8;
const HEAD = 3;
const TAIL = 2;
const MAX_RELEVANT = 16;

export const config: Compressor = {
  type: "config",
  keeps:
    "all structure; of many blocks of one kind the first and last, outliers, an example of every category, matches of the query",
  async compress(input, { query }) {
    const lines = input.split("\n");
    if (lines.length < MIN_LINES) return undefined;
    const gone = new Uint8Array(lines.length);
    const markers = new Map<number, string>();
    const roots = blocksOf(lines);
    thin(lines, recordsIn(lines, roots, MIN_SIBLINGS) ?? roots, query, gone, markers);
    if (markers.size === 0) return undefined;
    const out: string[] = [];
    let dropped = 0;
    for (let i = 0; i < lines.length; i++) {
      const marker = markers.get(i);
      if (marker !== undefined) out.push(marker);
      if (gone[i]) dropped++;
      else out.push(lines[i] ?? "");
    }
    const text = out.join("\n");
    if (!(await stillReads(input, text))) return undefined;
    return { text, method: "config", unit: "config lines", kept: lines.length - dropped, dropped };
  },
};

/** Leaves out blocks of one level, or goes into each when they are too few or too different. */
function thin(
  lines: readonly string[],
  blocks: readonly Block[],
  query: string,
  gone: Uint8Array,
  markers: Map<number, string>,
): void {
  const kept = blocks.length >= MIN_SIBLINGS ? choose(lines, blocks, query) : undefined;
  if (!kept) {
    for (const block of blocks) if (block.children.length > 0) thin(lines, block.children, query, gone, markers);
    return;
  }
  let said = false;
  for (let i = 0; i < blocks.length; i++) {
    if (kept.kept[i]) continue;
    const from = blocks[i]?.from ?? 0;
    while (i + 1 < blocks.length && !kept.kept[i + 1]) i++;
    const to = blocks[i]?.to ?? from;
    if (lines.slice(from, to).join("\n").length < 80) continue;
    gone.fill(1, from, to);
    const indent = /^\s*/.exec(lines[from] ?? "")?.[0] ?? "";
    const summary = said ? "" : kept.summary(summaryBudget(to - from < 8 ? 256 : 1_024)).replace(/[\r\n]/g, " ");
    markers.set(from, `${indent}# ${elided(to - from, "config lines", summary && `all elided blocks: ${summary}`)}`);
    said = true;
  }
}

function choose(lines: readonly string[], blocks: readonly Block[], query: string) {
  const fields = blocks.map((block) => fieldsOf(lines, block));
  const names = new Map<string, number>();
  let total = 0;
  for (const each of fields) {
    total += each.size;
    for (const name of each.keys()) names.set(name, (names.get(name) ?? 0) + 1);
  }
  // Single settings say one thing each; only records of several fields repeat themselves.
  if (total < blocks.length * 2 || names.size > 96 || names.size > 3 * (total / blocks.length) + 2) return undefined;
  if (![...names].some(([name, count]) => name !== "key" && count >= blocks.length * 0.8)) return undefined;
  const textOf = (index: number): string => {
    const block = blocks[index];
    return block ? lines.slice(block.from, block.to).join("\n") : "";
  };
  const records: Records = {
    count: blocks.length,
    columns: [...names.keys()].map((name) => ({ name, at: (index) => fields[index]?.get(name) })),
    text: textOf,
  };
  const selection = select(records, { head: HEAD, tail: TAIL, query, queryLimit: MAX_RELEVANT });
  if (!selection) return undefined;
  const wanted = terms(query).length > 0;
  for (let i = 0; i < blocks.length; i++)
    if (!selection.kept[i] && !wanted && isAlarming(textOf(i))) selection.kept[i] = 1;
  return selection.kept.every((one) => one === 1) ? undefined : selection;
}

/** Whether a view of YAML is YAML. Input that was none before need not be. */
async function stillReads(input: string, view: string): Promise<boolean> {
  if (!/^\s*(?:- )?["']?[\w.@/$-]+["']?:(?:\s|$)/m.test(view.slice(0, 4_096))) return true;
  const { parseAllDocuments } = await import("yaml");
  const reads = (text: string): boolean => {
    try {
      const documents = parseAllDocuments(text, { logLevel: "silent", uniqueKeys: false });
      return "empty" in documents || documents.every(({ errors }) => errors.length === 0);
    } catch {
      return false;
    }
  };
  return reads(view) || !reads(input);
}
