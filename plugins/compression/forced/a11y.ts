/**
 * A browser's accessibility tree, as `Accessibility.getFullAXTree` gives it: roles, names, values and states as indented
 * lines, each with a handle made of the node's backend id.
 */

import type { Compressor } from "../compressor.ts";
import { elided } from "../markers.ts";
import { relevant } from "../relevant.ts";

const MAX_MATCHES = 12;
const MAX_NAME = 400;
/** Roles that say nothing without a name. */
const SILENT = new Set([
  "generic",
  "none",
  "presentation",
  "InlineTextBox",
  "LineBreak",
  "ignored",
  "group",
  "paragraph",
  "Section",
  "LayoutTable",
  "LayoutTableRow",
  "LayoutTableCell",
]);
const STATES = [
  "focused",
  "checked",
  "pressed",
  "selected",
  "expanded",
  "disabled",
  "required",
  "invalid",
  "readonly",
  "modal",
  "level",
];

interface AXNode {
  readonly id: string;
  readonly role: string;
  readonly name: string;
  readonly value: string;
  readonly states: readonly string[];
  readonly ignored: boolean;
  readonly handle: string;
  readonly children: readonly string[];
}
interface Line {
  readonly depth: number;
  readonly text: string;
  readonly parent: number;
}

export const a11y: Compressor = {
  type: "a11y",
  keeps: "roles, names, values and states with handles; with a query the best matches and the rows they stand in",
  compress(input, { query }) {
    const nodes = nodesOf(input);
    if (!nodes) return undefined;
    const lines = linesOf(nodes);
    if (lines.length === 0) return undefined;
    const shown = query ? matching(lines, query) : lines.map((_, index) => index);
    const dropped = nodes.size - shown.length;
    const text = shown.map((index) => `${"  ".repeat(lines[index]?.depth ?? 0)}${lines[index]?.text}`);
    if (dropped > 0) text.push(elided(dropped, "nodes"));
    return { text: text.join("\n"), method: query ? "a11y-query" : "a11y", unit: "nodes", kept: shown.length, dropped };
  },
};

type Plain = Readonly<Record<string, unknown>>;
const isPlain = (value: unknown): value is Plain =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string => {
  const inner = isPlain(value) ? value.value : undefined;
  return typeof inner === "string" || typeof inner === "number" || typeof inner === "boolean" ? String(inner) : "";
};

function nodesOf(input: string): Map<string, AXNode> | undefined {
  let tree: unknown;
  try {
    tree = JSON.parse(input);
  } catch {
    return undefined;
  }
  const list = isPlain(tree) ? (tree.nodes ?? (isPlain(tree.result) ? tree.result.nodes : undefined)) : tree;
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const nodes = new Map<string, AXNode>();
  for (const node of list) {
    if (!isPlain(node) || typeof node.nodeId !== "string" || !("role" in node || node.ignored === true))
      return undefined;
    const { backendDOMNodeId: backend, properties, childIds } = node;
    nodes.set(node.nodeId, {
      id: node.nodeId,
      role: textOf(node.role),
      name: textOf(node.name).replace(/\s+/g, " ").trim().slice(0, MAX_NAME),
      value: textOf(node.value).replace(/\s+/g, " ").slice(0, MAX_NAME),
      states: Array.isArray(properties) ? properties.flatMap(stateOf) : [],
      ignored: node.ignored === true,
      handle: typeof backend === "number" && Number.isSafeInteger(backend) ? ` [u${backend.toString(36)}]` : "",
      children: Array.isArray(childIds) ? childIds.filter((id) => typeof id === "string") : [],
    });
  }
  return nodes;
}

function stateOf(property: unknown): string[] {
  if (!isPlain(property) || typeof property.name !== "string" || !STATES.includes(property.name)) return [];
  const value = textOf(property.value);
  if (value === "" || value === "false") return [];
  return [value === "true" ? property.name : `${property.name}=${value}`];
}

/** The tree without nodes that say nothing: their children take their place. No recursion: a page may be deep. */
function linesOf(nodes: Map<string, AXNode>): Line[] {
  const children = new Set([...nodes.values()].flatMap((node) => node.children));
  const roots = [...nodes.keys()].filter((id) => !children.has(id));
  const lines: Line[] = [];
  const seen = new Set<string>();
  const open = roots.reverse().map((id) => ({ id, depth: 0, parent: -1 }));
  for (let next = open.pop(); next; next = open.pop()) {
    const node = nodes.get(next.id);
    if (!node || seen.has(next.id)) continue;
    seen.add(next.id);
    const above = lines[next.parent]?.text;
    const silent =
      node.ignored ||
      (SILENT.has(node.role) &&
        !(node.name && node.role !== "InlineTextBox" && node.role !== "group" && node.role !== "paragraph") &&
        !node.value &&
        node.states.length === 0) ||
      // A text that repeats the name of what it stands in.
      (node.role === "StaticText" && (node.name === "" || above?.includes(`"${node.name}"`) === true));
    const at = silent ? next.parent : lines.length;
    if (!silent) {
      const states = node.states.length > 0 ? ` (${node.states.join(", ")})` : "";
      const role = node.role === "StaticText" ? "text" : node.role;
      lines.push({
        depth: next.depth,
        parent: next.parent,
        text: `${role}${node.name ? ` "${node.name}"` : ""}${node.value ? ` = "${node.value}"` : ""}${states}${node.role === "StaticText" ? "" : node.handle}`,
      });
    }
    const depth = Math.min(silent ? next.depth : next.depth + 1, 40);
    for (const id of node.children.toReversed()) open.push({ id, depth, parent: at });
  }
  return lines;
}

/** The best matches with what they stand in; of a match in a row, the row. */
function matching(lines: readonly Line[], query: string): number[] {
  const shown = new Set<number>();
  for (const index of relevant(lines.length, (at) => lines[at]?.text, query, MAX_MATCHES)) {
    let row: number | undefined;
    for (let at = index; at >= 0; at = lines[at]?.parent ?? -1) {
      shown.add(at);
      if (/^(?:row|listitem|option|treeitem|menuitem)\b/.test(lines[at]?.text ?? "")) row ??= at;
    }
    if (row !== undefined)
      for (let at = row + 1; at < lines.length && (lines[at]?.depth ?? 0) > (lines[row]?.depth ?? 0); at++)
        shown.add(at);
  }
  return [...shown].sort((a, b) => a - b);
}
