/** The elements of a page or a document as a tree, as tolerant as a browser where it matters. */
import { decoded, piecesOf } from "./tags.ts";

export interface Element {
  readonly name: string;
  readonly attributes: string;
  readonly children: (Element | string)[];
  /** Where it begins in the source, and where it ends. */
  readonly start: number;
  end: number;
  /** Where its content begins and ends. */
  readonly contentStart: number;
  contentEnd: number;
}
export interface MarkupTree {
  readonly root: Element;
  /** Characters of comments and declarations. */
  readonly asideChars: number;
  readonly asides: number;
  /** Closing tags that closed nothing, and elements that never ended. */
  readonly faults: number;
}

/** Deeper elements are taken as siblings, so that no page can exhaust the stack. */
const DEEPEST = 200;
const VOID = new Set([
  "area",
  "base",
  "br",
  "col",
  "embed",
  "hr",
  "img",
  "input",
  "link",
  "meta",
  "source",
  "track",
  "wbr",
]);
/** What an opening tag ends when it is still open: a list item ends the one before it. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  li: ["li"],
  dt: ["dt", "dd"],
  dd: ["dt", "dd"],
  tr: ["tr", "td", "th"],
  td: ["td", "th"],
  th: ["td", "th"],
  option: ["option"],
  tbody: ["thead", "tbody", "tr", "td", "th"],
  tfoot: ["tbody", "tr", "td", "th"],
};
/** Where that search stops. */
const FENCES = new Set(["table", "ul", "ol", "dl", "select", "body", "html"]);
/** What ends an open paragraph. */
const BLOCKS = new Set(
  "address article aside blockquote details div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul".split(
    " ",
  ),
);

export function treeOf(source: string, dialect: "html" | "xml"): MarkupTree {
  const html = dialect === "html";
  const root: Element = {
    name: "",
    attributes: "",
    children: [],
    start: 0,
    end: source.length,
    contentStart: 0,
    contentEnd: source.length,
  };
  const stack: Element[] = [root];
  /** How many of each name are open, so that a stray closing tag costs nothing. */
  const openNames = new Map<string, number>();
  let asideChars = 0;
  let asides = 0;
  let faults = 0;
  const top = (): Element => stack[stack.length - 1] ?? root;
  const pop = (contentEnd: number, end: number): void => {
    const element = stack.pop();
    if (!element) return;
    element.contentEnd = contentEnd;
    element.end = end;
    openNames.set(element.name, (openNames.get(element.name) ?? 1) - 1);
  };
  const closeImplied = (name: string, at: number): void => {
    if (BLOCKS.has(name) && top().name === "p") pop(at, at);
    const ended = ENDS[name];
    if (!ended) return;
    for (let depth = stack.length - 1; depth > 0 && stack.length - depth <= 8; depth--) {
      const open = stack[depth] as Element;
      if (FENCES.has(open.name)) return;
      if (!ended.includes(open.name)) continue;
      while (stack.length > depth) pop(at, at);
    }
  };
  for (const piece of piecesOf(source, dialect)) {
    if (piece.kind === "text") top().children.push(piece.raw ? piece.text : decoded(piece.text));
    else if (piece.kind === "aside") {
      asides++;
      asideChars += piece.end - piece.start;
    } else if (piece.kind === "open") {
      if (html) closeImplied(piece.name, piece.start);
      const element: Element = {
        name: piece.name,
        attributes: piece.attributes,
        children: [],
        start: piece.start,
        end: piece.end,
        contentStart: piece.end,
        contentEnd: piece.end,
      };
      top().children.push(element);
      if (piece.empty && (!html || piece.name.includes(":"))) continue;
      if (html && (VOID.has(piece.name) || (piece.empty && piece.name !== "div"))) continue;
      if (stack.length > DEEPEST) {
        faults++;
        continue;
      }
      stack.push(element);
      openNames.set(piece.name, (openNames.get(piece.name) ?? 0) + 1);
    } else if ((openNames.get(piece.name) ?? 0) > 0) {
      while (top().name !== piece.name && stack.length > 1) {
        faults++;
        pop(piece.start, piece.start);
      }
      pop(piece.start, piece.end);
    } else faults++;
  }
  while (stack.length > 1) {
    faults++;
    pop(source.length, source.length);
  }
  return { root, asideChars, asides, faults };
}

/** An attribute's value; empty when it is written without one; undefined when it is not there. */
export function attribute(element: Element, name: string): string | undefined {
  if (!element.attributes.toLowerCase().includes(name)) return undefined;
  for (const [, key, quoted, single, bare] of element.attributes.matchAll(ATTRIBUTE)) {
    if (key?.toLowerCase() === name) return decoded(quoted ?? single ?? bare ?? "");
  }
  return undefined;
}
const ATTRIBUTE = /([^\s"'<>/=]+)(?:\s{0,8}=\s{0,8}(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+)))?/g;

/** All attributes in the order written. */
export function attributesOf(element: Element): [name: string, value: string][] {
  return [...element.attributes.matchAll(ATTRIBUTE)].map(([, key, quoted, single, bare]) => [
    key ?? "",
    decoded(quoted ?? single ?? bare ?? ""),
  ]);
}

export const isElement = (child: Element | string): child is Element => typeof child !== "string";

/** All text below an element, as it stands. */
export function textOf(element: Element): string {
  let out = "";
  for (const child of element.children) out += isElement(child) ? (child.name === "br" ? "\n" : textOf(child)) : child;
  return out;
}

/** The rows of a table, whatever groups them. */
export function rowsOf(element: Element): Element[] {
  return element.children
    .filter(isElement)
    .flatMap((child) => (child.name === "tr" ? [child] : child.name === "table" ? [] : rowsOf(child)));
}
