/**
 * HTML as readable text: headings, paragraphs, lists, links, tables and code as Markdown writes them. What is left out
 * (scripts, styles, navigation, consent banners, what is hidden) is counted where it was.
 */
import type { Compressed, Compressor } from "../compressor.ts";
import { elided } from "../markers.ts";
import { shorten } from "../tables/elide.ts";
import type { Row } from "../tables/rows.ts";
import { INLINE, Page } from "./readable.ts";
import { attribute, type Element, isElement, type MarkupTree, rowsOf, textOf, treeOf } from "./tree.ts";

/** A page that is not markup at all, read as such, would lose its text. */
const LEAST_TAGS = 3;
/** Share of a page's unlinked text that may go with its chrome. Beyond it the chrome is content, and stays. */
const MOST_TEXT_GONE = 0.2;

export const html: Compressor = {
  type: "html",
  keeps:
    "Everything a reader sees, as text: headings, links, tables, code. Scripts, styles and navigation are counted.",
  compress: (input, { query }) => {
    const tree = treeOf(input, "html");
    const page = new Page(tree.root);
    let view = new Rendering(page, query, true);
    view.page(tree);
    const whole = page.weight(tree.root);
    if (view.goneText > Math.max(MOST_TEXT_GONE * (whole.text - whole.linked), 400)) {
      view = new Rendering(page, query, false);
      view.page(tree);
    }
    if (view.elements < LEAST_TAGS) return undefined;
    return {
      text: view.text(),
      method: "readable",
      unit: "parts",
      kept: view.elements,
      dropped: view.dropped,
    } satisfies Compressed;
  },
};

/** Blocks with an empty line before them. */
const PARTED = new Set(["p", "section", "article", "hr", "dl"]);

class Rendering {
  elements = 0;
  dropped = 0;
  /** Visible characters outside links that went with chrome. */
  goneText = 0;
  readonly #page: Page;
  readonly #query: string;
  /** Whether chrome goes. */
  readonly #strict: boolean;
  readonly #blocks: string[] = [];
  /** The paragraph being written. */
  #line = "";
  #unseen = 0;
  #unseenChars = 0;

  constructor(page: Page, query: string, strict: boolean) {
    this.#query = query;
    this.#page = page;
    this.#strict = strict;
  }

  page({ root, asides, asideChars }: MarkupTree): void {
    this.#unseen += asides;
    this.#unseenChars += asideChars;
    this.#children(root, "", false);
    this.#flush("");
    if (this.#unseen > 0) {
      this.#blocks.push(elided(this.#unseen, "scripts, styles and comments", `${this.#unseenChars} characters`));
      this.dropped += this.#unseen;
    }
  }

  text(): string {
    return `${this.#blocks
      .join("\n")
      .replace(/\n{3,}/g, "\n\n")
      .trim()}\n`;
  }

  #children(element: Element, indent: string, article: boolean): void {
    let before: Element | string = "";
    for (const child of element.children) {
      if (!isElement(child)) this.#line += child;
      else if (INLINE.has(child.name) && !this.#page.weight(child).blocks)
        this.#line += apart(this.#line, before, child, this.#inline(child, article));
      else this.#block(child, indent, article);
      before = child;
    }
  }

  #block(element: Element, indent: string, inArticle: boolean): void {
    const { name } = element;
    if (this.#leaveOut(element, indent, inArticle)) return;
    this.elements++;
    const article = inArticle || name === "main" || name === "article" || attribute(element, "role") === "main";
    if (name === "br") this.#line += "\n";
    else if (name === "pre") this.#fence(element, indent);
    else if (name === "table") this.#table(element, indent, article);
    else {
      this.#flush(indent);
      if (name === "title") this.#paragraph(`title: ${flat(textOf(element))}`, indent);
      else if (/^h[1-6]$/.test(name)) this.#heading(element, indent, article);
      else if (name === "li") this.#item(element, indent, article);
      else if (name === "select") this.#paragraph(`[select: ${optionsOf(element).join(" | ")}]`, indent);
      else this.#container(element, indent, article);
    }
  }

  #heading(element: Element, indent: string, article: boolean): void {
    this.#blocks.push("");
    this.#paragraph(`${"#".repeat(Number(element.name[1]))} ${flat(this.#inlineChildren(element, article))}`, indent);
  }

  #container(element: Element, indent: string, article: boolean): void {
    const { name } = element;
    const inner = name === "blockquote" ? `${indent}> ` : indent;
    if (PARTED.has(name)) this.#blocks.push("");
    this.#children(element, inner, article);
    this.#flush(inner);
    const href = name === "a" ? attribute(element, "href") : undefined;
    if (href && !href.startsWith("#")) this.#paragraph(`(${href})`, indent);
  }

  #item(element: Element, indent: string, article: boolean): void {
    const at = this.#blocks.length;
    this.#children(element, indent === "" ? "  " : `${indent}  `, article);
    this.#flush(`${indent}  `);
    let first = at;
    while (first < this.#blocks.length && (this.#blocks[first] ?? "").trim() === "") first++;
    if (first < this.#blocks.length)
      this.#blocks.splice(at, first - at + 1, `${indent}- ${(this.#blocks[first] ?? "").trimStart()}`);
  }

  #leaveOut(element: Element, indent: string, article: boolean): boolean {
    const part = this.#page.partOf(element, article);
    if (part === "content") return false;
    const weight = this.#page.weight(element);
    if (part === "unseen" || (part === "hidden" && weight.text === 0)) {
      this.#unseenPart(element);
      return true;
    }
    if (!this.#strict) return false;
    this.#flush(indent);
    this.goneText += weight.text - weight.linked;
    const labels = labelsOf(element);
    if (part === "navigation") {
      this.dropped += weight.links;
      this.#blocks.push(indent + elided(weight.links, "navigation links", labels));
    } else {
      this.dropped++;
      const what = part === "hidden" ? "hidden part" : "banner";
      this.#blocks.push(indent + elided(1, what, `${weight.text} characters, ${flat(textOf(element)).slice(0, 60)}`));
    }
    return true;
  }

  #unseenPart(element: Element): string {
    this.#unseen++;
    this.#unseenChars += element.end - element.start;
    return "";
  }

  #inline(element: Element, article: boolean): string {
    const { name } = element;
    if (name === "br") return "\n";
    const part = this.#page.partOf(element, article);
    // An anchor's `#` or `¶` is hidden from readers that do not see it.
    if (part === "unseen" || (part === "hidden" && this.#page.weight(element).text <= 2))
      return this.#unseenPart(element);
    this.elements++;
    if (name === "img") {
      const alt = attribute(element, "alt")?.trim();
      const src = attribute(element, "src") ?? "";
      if (alt) return src && !src.startsWith("data:") ? `![${alt}](${src})` : `![${alt}]`;
      return this.#unseenPart(element);
    }
    if (name === "input")
      return attribute(element, "type") === "hidden"
        ? ""
        : ` [${attribute(element, "type") ?? "text"} ${attribute(element, "name") ?? ""}${attribute(element, "value") ? `=${attribute(element, "value")}` : ""}] `;
    const inner = this.#inlineChildren(element, article);
    if (name === "a") {
      const href = attribute(element, "href");
      const label = flat(inner);
      if (!label) return "";
      return !href || href.startsWith("#") || href.startsWith("javascript:") || href === label
        ? label
        : `[${label}](${href})`;
    }
    if ((name === "code" || name === "kbd" || name === "samp" || name === "tt") && inner.trim())
      return inner.includes("`") ? inner : `\`${inner.trim()}\``;
    if (name === "button" && inner.trim()) return ` [${flat(inner)}] `;
    if (name === "del" || name === "s") return inner.trim() ? `~~${inner.trim()}~~` : "";
    if (name === "sup" && /^\d+$/.test(inner.trim())) return `^${inner.trim()}`;
    return inner;
  }

  #inlineChildren(element: Element, article: boolean): string {
    let out = "";
    let before: Element | string = "";
    for (const child of element.children) {
      if (!isElement(child)) out += child;
      else if (INLINE.has(child.name)) out += apart(out, before, child, this.#inline(child, article));
      else if (this.#page.partOf(child, article) === "unseen") this.#unseenPart(child);
      else {
        this.elements++;
        out += ` ${this.#inlineChildren(child, article)} `;
      }
      before = child;
    }
    return out;
  }

  #fence(element: Element, indent: string): void {
    this.#flush(indent);
    const code = textOf(element).replace(/^\n|\s+$/g, "");
    const language =
      /\b(?:language|lang|highlight-source)-([\w+#-]+)/.exec(
        `${element.attributes} ${element.children
          .filter(isElement)
          .map((child) => child.attributes)
          .join(" ")}`,
      )?.[1] ?? "";
    this.#blocks.push(`\`\`\`${language}`, code, "```");
  }

  #table(element: Element, indent: string, article: boolean): void {
    this.#flush(indent);
    const rows = rowsOf(element);
    if (isLayout(element, rows) || rows.some((row) => this.#page.weight(row).tables)) {
      for (const cell of rows.flatMap((row) => row.children.filter(isElement)))
        if (!this.#leaveOut(cell, indent, article)) this.#container(cell, indent, article);
      return;
    }
    const lines = rows.map((row): Row => {
      const cells = row.children
        .filter(isElement)
        .map((cell) => flat(this.#inlineChildren(cell, article)).replaceAll("|", "\\|"));
      this.elements += cells.length;
      return { text: `${indent}| ${cells.join(" | ")} |\n`, cells };
    });
    const written = lines.filter(({ cells }) => cells.some((cell) => cell !== ""));
    const headed = rows[0]?.children.some((cell) => isElement(cell) && cell.name === "th") === true;
    const [head, ...body] = headed ? written : [undefined, ...written];
    const columns = head?.cells ?? [];
    const shorter = shorten(
      { columns, rows: body.filter((row) => row !== undefined) },
      this.#query,
      "rows",
      (marker) => `${indent}| ${marker} |\n`,
    );
    this.dropped += shorter?.dropped ?? 0;
    const rule = head ? `${indent}|${"---|".repeat(columns.length)}\n` : "";
    this.#blocks.push("", (head?.text ?? "") + rule + (shorter?.text ?? body.map((row) => row?.text ?? "").join("")));
  }

  #paragraph(text: string, indent: string): void {
    if (text) this.#blocks.push(indent + text);
  }

  #flush(indent: string): void {
    const text = flat(this.#line);
    this.#line = "";
    this.#paragraph(text, indent);
  }
}

/** A table that lays out a page, not one that holds data. */
const isLayout = (table: Element, rows: readonly Element[]): boolean =>
  /^(?:presentation|none)$/.test(attribute(table, "role") ?? "") ||
  rows.every((row) => row.children.filter(isElement).length < 2);

/** What styles hold apart on a page (a price and its stock in two spans) is held apart by a space. */
function apart(line: string, before: Element | string, element: Element, text: string): string {
  const spans = isElement(before) && before.name === "span" && element.name === "span";
  return spans && /[\p{L}\p{N}]$/u.test(line) && /^[\p{L}\p{N}]/u.test(text) ? ` ${text}` : text;
}

const optionsOf = (element: Element): string[] =>
  element.children.filter(isElement).map((option) => flat(textOf(option)));

const flat = (text: string): string => text.replace(/\s+/g, " ").trim();

/** The first words of the first and the last links of a part, so that its marker says what it is. */
function labelsOf(element: Element): string {
  const labels: string[] = [];
  const visit = (at: Element): void => {
    if (at.name === "a") labels.push(flat(textOf(at)).slice(0, 24).trim());
    else for (const child of at.children) if (isElement(child)) visit(child);
  };
  visit(element);
  const named = labels.filter((label) => label !== "");
  return named.length <= 5 ? named.join(", ") : `${named.slice(0, 3).join(", ")} … ${named.slice(-1).join(", ")}`;
}
