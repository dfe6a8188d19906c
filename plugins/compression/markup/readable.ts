/**
 * Which parts of a page are for reading. Nothing is chosen as "the" content, because a page then shrinks to its hero:
 * everything stays but what is certain to be chrome, which is navigation, consent banners, forms nobody fills in here,
 * and what a reader cannot see.
 */
import { attribute, type Element, isElement } from "./tree.ts";

/** Elements that show nothing of their own. */
const UNSEEN = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "iframe",
  "object",
  "canvas",
  "link",
  "meta",
  "base",
]);
/** Elements that stand in a line of text. */
export const INLINE = new Set(
  "a abbr b bdi bdo br button cite code data del dfn em font i img input ins kbd label mark q s samp small span strong sub sup svg time tt u var".split(
    " ",
  ),
);
const CHROME_NAME =
  /(?:^|[-_\s])(?:nav|navbar|navigation|menu|sidebar|breadcrumbs?|footer|cookies?|consent|banner|promo|newsletter|subscribe|share|social|related|adverts?|ads?|pagination|toc|skip)(?:$|[-_\s])/i;
const CHROME_ROLE = /^(?:navigation|menu|menubar|contentinfo|search|banner)$/i;
const INTRUSION = /(?:^|[-_\s])(?:cookies?|consent|gdpr|newsletter|adverts?|ads?)(?:$|[-_\s])/i;

/** Longest text of an intrusion: a longer one may be an article about cookies. */
const INTRUSION_CHARS = 700;
/** Share of link text from which `nav` is navigation, a part with such a name, and a list of links without any. */
const NAVIGATION = 0.5;
const NAMED_NAVIGATION = 0.7;
const LINK_LIST = 0.85;
const LINK_LIST_LINKS = 12;

export type Part = "unseen" | "hidden" | "navigation" | "intrusion" | "content";

/** Counts over an element's whole subtree. */
export interface Weight {
  /** Visible characters, and how many of them are link text. */
  text: number;
  linked: number;
  links: number;
  /** Whether a block lies in it: a link around a card is a block, whatever its name says. */
  blocks: boolean;
  tables: boolean;
}
const nothing = (): Weight => ({ text: 0, linked: 0, links: 0, blocks: false, tables: false });

export class Page {
  readonly #weights = new Map<Element, Weight>();

  constructor(root: Element) {
    this.#weigh(root, false);
  }

  weight(element: Element): Weight {
    return this.#weights.get(element) ?? nothing();
  }

  #weigh(element: Element, inLink: boolean): Weight {
    const total = nothing();
    if (UNSEEN.has(element.name)) return total;
    const link = inLink || (element.name === "a" && attribute(element, "href") !== undefined);
    if (link && !inLink) total.links = 1;
    for (const child of element.children) {
      if (isElement(child)) {
        const { text, linked, links, blocks, tables } = this.#weigh(child, link);
        total.blocks ||= blocks || !INLINE.has(child.name);
        total.tables ||= tables || child.name === "table";
        total.text += text;
        total.linked += linked;
        total.links += links;
      } else {
        const { length } = child.trim();
        total.text += length;
        if (link) total.linked += length;
      }
    }
    this.#weights.set(element, total);
    return total;
  }

  /** @param article whether it lies inside `main` or `article`. */
  partOf(element: Element, article: boolean): Part {
    const { name } = element;
    if (UNSEEN.has(name)) return "unseen";
    if (name === "body" || name === "html" || name === "main" || name === "article" || name === "") return "content";
    if (isHidden(element)) return "hidden";
    const weight = this.weight(element);
    if (weight.text === 0) return "content";
    const share = weight.linked / weight.text;
    const marks = `${attribute(element, "class") ?? ""} ${attribute(element, "id") ?? ""}`;
    if (name === "nav" || CHROME_ROLE.test(attribute(element, "role") ?? "")) {
      if (weight.links > 1 && share >= NAVIGATION) return "navigation";
    }
    const marked = name === "footer" || name === "aside" || name === "header" || CHROME_NAME.test(marks);
    if (marked && weight.links > 1 && share >= NAMED_NAVIGATION) return "navigation";
    if (!article && INTRUSION.test(marks) && weight.text <= INTRUSION_CHARS) return "intrusion";
    if (!article && weight.links >= LINK_LIST_LINKS && share >= LINK_LIST) {
      // Of nested lists of links the innermost that is one is named, not a wrapper of the whole page.
      if (name === "ul" || name === "ol" || name === "section" || name === "div") return "navigation";
    }
    return "content";
  }
}

function isHidden(element: Element): boolean {
  if (!element.attributes) return false;
  if (attribute(element, "hidden") !== undefined || attribute(element, "aria-hidden") === "true") return true;
  const style = attribute(element, "style");
  return style !== undefined && /display\s*:\s*none|visibility\s*:\s*hidden/i.test(style);
}
