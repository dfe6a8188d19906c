/**
 * Shortens a source by leaving out the bodies of its functions. What declares (imports, types, signatures, comments and
 * docstrings outside bodies) stays to the letter; each body becomes a marker that is legal code and says how many lines
 * it stands for. The result is parsed again and refused unless it has no more faults than the source.
 */
import type { Node, QueryCapture, Tree } from "web-tree-sitter";
import { elidedIn } from "../markers.ts";
import type { Grammar } from "./grammars.ts";
import { languages } from "./languages.ts";

/** A body shorter than this says as much as its marker. */
const LEAST_CHARS = 96;
const LEAST_LINES = 3;
/**
 * Milliseconds after which a source is given up. An honest source of the greatest length takes a fraction of it; what takes longer was made to,
 * with more siblings in a row than a source has.
 */
const PATIENCE = 2_000;

/** Part of a source that a marker may replace. */
export interface Body {
  /** Where the declaration it belongs to begins: its name says more than its body. */
  readonly from: number;
  readonly start: number;
  readonly end: number;
  /** Lines that a marker stands for. */
  readonly lines: number;
  /** What the marker is written with. */
  readonly marker: string;
}

export interface Bodies {
  readonly list: readonly Body[];
  /** Places the parser could make nothing of. */
  readonly faults: number;
}

/** Finds the outermost bodies of a source; undefined when it cannot be parsed. */
export function bodiesOf(grammar: Grammar, source: string): Bodies | undefined {
  const tree = parsed(grammar, source);
  if (!tree) return undefined;
  try {
    const captures = capturesOf(grammar, tree);
    if (!captures) return undefined;
    const faults: number[] = [];
    const found = new Map<number, { node: Node; callback: boolean }>();
    for (const { name, node } of captures) {
      if (name === "fault") faults.push(node.startIndex);
      else {
        const known = found.get(node.startIndex);
        found.set(node.startIndex, { node, callback: name === "callback" || known?.callback === true });
      }
    }
    const ordered = [...found.values()].sort((a, b) => a.node.startIndex - b.node.startIndex);
    const list: Body[] = [];
    let reached = -1;
    ordered.forEach(({ node, callback }, index) => {
      if (node.startIndex < reached) return;
      const next = ordered[index + 1];
      if (callback && next && next.node.startIndex < node.endIndex) return;
      if (faults.some((at) => at >= node.startIndex && at < node.endIndex)) return;
      reached = node.endIndex;
      const body = languages[grammar.name].block === "braces" ? braced(node, source) : indented(node, source);
      if (body && body.lines >= LEAST_LINES && body.end - body.start >= LEAST_CHARS) list.push(body);
    });
    return { list, faults: faults.length };
  } finally {
    tree.delete();
  }
}

function parsed({ parser }: Grammar, source: string): Tree | null {
  const end = performance.now() + PATIENCE;
  const tree = parser.parse(source, null, { progressCallback: () => performance.now() > end });
  // A parser that was stopped would otherwise go on with this source.
  if (!tree) parser.reset();
  return tree;
}

function capturesOf({ bodies }: Grammar, tree: Tree): QueryCapture[] | undefined {
  const end = performance.now() + PATIENCE;
  let late = false;
  const captures = bodies.captures(tree.rootNode, {
    progressCallback: () => {
      late ||= performance.now() > end;
      return late;
    },
  });
  return late ? undefined : captures;
}

function braced(node: Node, source: string): Body | undefined {
  if (source[node.startIndex] !== "{" || source[node.endIndex - 1] !== "}") return undefined;
  const lines = node.endPosition.row - node.startPosition.row - 1;
  const from = node.parent?.startIndex ?? node.startIndex;
  const marker = `{ /* ${elidedIn(lines, "lines")} */ }`;
  return { from, start: node.startIndex, end: node.endIndex, lines, marker };
}

/** A Python block, without the docstring it may begin with. */
function indented(node: Node, source: string): Body | undefined {
  const statements = node.namedChildren.filter((child) => child?.type !== "comment");
  const first = statements[0];
  const doc = first?.type === "expression_statement" && first.namedChildren[0]?.type === "string" ? first : undefined;
  const from = doc ? statements[1] : node.namedChildren[0];
  if (!from || from.startPosition.row === node.parent?.startPosition.row) return undefined;
  const start = from.startIndex;
  const end = start + source.slice(start, node.endIndex).trimEnd().length;
  const lines = source.slice(start, end).split("\n").length;
  return { from: node.parent?.startIndex ?? start, start, end, lines, marker: `...  # ${elidedIn(lines, "lines")}` };
}

/** A source without those of its bodies that may go; undefined when that cannot be done safely. */
export function elide(grammar: Grammar, source: string, bodies: Bodies, going: ReadonlySet<Body>): string | undefined {
  const parts: string[] = [];
  let at = 0;
  for (const body of bodies.list) {
    if (!going.has(body)) continue;
    parts.push(source.slice(at, body.start), body.marker);
    at = body.end;
  }
  if (at === 0) return undefined;
  const shortened = parts.join("") + source.slice(at);
  const again = parsed(grammar, shortened);
  if (!again) return undefined;
  try {
    const faults = capturesOf(grammar, again)?.filter(({ name }) => name === "fault").length;
    return faults !== undefined && faults <= bodies.faults ? shortened : undefined;
  } finally {
    again.delete();
  }
}
