/**
 * XML: of many siblings of one name those stay that say something of their own; the rest becomes a comment with what is
 * true of all of them. Everything else stays to the letter.
 */
import type { Compressed, Compressor } from "../compressor.ts";
import { shorten } from "../tables/elide.ts";
import { LEAST_ROWS, type Row } from "../tables/rows.ts";
import { attributesOf, type Element, isElement, treeOf } from "./tree.ts";

/** Fields of one element that are compared with its siblings'. */
const MOST_FIELDS = 64;

export const xml: Compressor = {
  type: "xml",
  keeps: "The structure; of repeated siblings the first, the last, errors, extremes and rare kinds.",
  compress: (input, { query }) => {
    const { root, faults } = treeOf(input, "xml");
    if (faults > 0) return undefined;
    const view = new Shortening(input, query);
    const text = view.write(root);
    if (view.dropped === 0) return undefined;
    return { text, method: "siblings", unit: "elements", kept: view.kept, dropped: view.dropped } satisfies Compressed;
  },
};

class Shortening {
  kept = 0;
  dropped = 0;
  readonly #source: string;
  readonly #query: string;

  constructor(source: string, query: string) {
    this.#source = source;
    this.#query = query;
  }

  /** An element as it was, but for runs of siblings in it. */
  write(element: Element): string {
    const children = element.children.filter(isElement);
    if (children.length === 0) return this.#source.slice(element.start, element.end);
    const parts: string[] = [this.#source.slice(element.start, element.contentStart)];
    let at = element.contentStart;
    const mixed = element.children.some((child) => !isElement(child) && child.trim() !== "");
    for (let index = 0; index < children.length; ) {
      let end = index + 1;
      while (end < children.length && children[end]?.name === children[index]?.name) end++;
      const run = children.slice(index, end);
      const shorter = !mixed && run.length >= LEAST_ROWS ? this.#run(run, at) : undefined;
      if (shorter !== undefined) {
        parts.push(shorter);
        at = run[run.length - 1]?.end ?? at;
      } else {
        for (const child of run) {
          this.kept++;
          parts.push(this.#source.slice(at, child.start), this.write(child));
          at = child.end;
        }
      }
      index = end;
    }
    parts.push(this.#source.slice(at, element.end));
    return parts.join("");
  }

  #run(run: readonly Element[], from: number): string | undefined {
    const columns: string[] = [];
    const places = new Map<string, number>();
    const before = (index: number): number => (index === 0 ? from : (run[index - 1]?.end ?? from));
    const rows = run.map((element, index): Row => {
      const cells: string[] = [];
      for (const [path, value] of fieldsOf(element)) {
        let place = places.get(path);
        if (place === undefined) {
          place = columns.push(path) - 1;
          places.set(path, place);
        }
        cells[place] = cells[place] === undefined ? value : `${cells[place]} ${value}`;
      }
      return { text: this.#source.slice(before(index), element.end), cells: Array.from(cells, (cell) => cell ?? "") };
    });
    const space = /^\s*/.exec(rows[1]?.text ?? "")?.[0] ?? "";
    const name = run[0]?.name ?? "element";
    const shorter = shorten(
      { columns, rows },
      this.#query,
      `${name} elements`,
      (marker) => `${space}<!-- ${marker.replaceAll("--", "- -")} -->`,
      (row) => {
        const element = run[row];
        return element ? this.#source.slice(before(row), element.start) + this.write(element) : "";
      },
    );
    if (!shorter) return undefined;
    this.kept += shorter.kept;
    this.dropped += shorter.dropped;
    return shorter.text;
  }
}

/** What an element says: its attributes and the text of its leaves, each under its path. */
function fieldsOf(element: Element): [path: string, value: string][] {
  const fields: [string, string][] = [];
  const add = (path: string, value: string): void => {
    if (value !== "") fields.push([fields.length < MOST_FIELDS ? path : "and", value]);
  };
  const visit = (at: Element, path: string): void => {
    for (const [name, value] of attributesOf(at)) add(path ? `${path}@${name}` : name, value);
    const text = at.children
      .filter((child) => !isElement(child))
      .join(" ")
      .replace(/\s+/g, " ")
      .trim();
    add(path || "text", text);
    for (const child of at.children) if (isElement(child)) visit(child, path ? `${path}/${child.name}` : child.name);
  };
  visit(element, "");
  return fields;
}
