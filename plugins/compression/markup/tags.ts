/**
 * Cuts markup into tags, text and the rest, in one pass. Malformed input never makes it look twice: what does not end is
 * text to the end.
 */

export type Piece =
  | {
      readonly kind: "open";
      readonly name: string;
      readonly attributes: string;
      readonly empty: boolean;
      readonly start: number;
      readonly end: number;
    }
  | { readonly kind: "close"; readonly name: string; readonly start: number; readonly end: number }
  /** `text` is what the reader sees but for entities; `raw` says that even those are literal. */
  | {
      readonly kind: "text";
      readonly text: string;
      readonly raw: boolean;
      readonly start: number;
      readonly end: number;
    }
  /** Comments, declarations and processing instructions. */
  | { readonly kind: "aside"; readonly start: number; readonly end: number };

/** Elements whose content is no markup. */
const RAW = new Set(["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"]);
const NAME = /[A-Za-z_][\w:.-]*/y;

export function* piecesOf(source: string, dialect: "html" | "xml"): Generator<Piece> {
  let at = 0;
  let textFrom = 0;
  let quotes = true;
  const gone = new Set<string>();
  /** Where a terminator ends, looked for once only when it is missing. */
  const after = (terminator: string, from: number): number => {
    if (gone.has(terminator)) return -1;
    const found = source.indexOf(terminator, from);
    if (found < 0) gone.add(terminator);
    return found < 0 ? -1 : found + terminator.length;
  };
  const text = (end: number): Piece | undefined =>
    end > textFrom ? { kind: "text", text: source.slice(textFrom, end), raw: false, start: textFrom, end } : undefined;
  const tagEnd = (from: number): number => {
    if (quotes) {
      const end = quotedTagEnd(source, from);
      if (end >= 0) return end;
      quotes = false;
    }
    return after(">", from);
  };
  while (at < source.length) {
    const open = source.indexOf("<", at);
    if (open < 0) break;
    at = open + 1;
    const next = source[at];
    if (next === "!" || next === "?") {
      const cdata = source.startsWith("<![CDATA[", open);
      const terminator = cdata ? "]]>" : source.startsWith("<!--", open) ? "-->" : next === "?" ? "?>" : ">";
      const end = after(terminator, open + (terminator === "-->" ? 4 : 2));
      if (end < 0) continue;
      const before = text(open);
      if (before) yield before;
      yield cdata
        ? { kind: "text", text: source.slice(open + 9, end - 3), raw: true, start: open, end }
        : { kind: "aside", start: open, end };
      at = textFrom = end;
      continue;
    }
    const closing = next === "/";
    NAME.lastIndex = closing ? at + 1 : at;
    const matched = NAME.exec(source)?.[0];
    if (!matched) continue;
    const end = tagEnd(NAME.lastIndex);
    if (end < 0) continue;
    const before = text(open);
    if (before) yield before;
    const name = dialect === "html" ? matched.toLowerCase() : matched;
    if (closing) yield { kind: "close", name, start: open, end };
    else {
      const empty = source[end - 2] === "/";
      const attributes = source.slice(NAME.lastIndex, end - (empty ? 2 : 1));
      yield { kind: "open", name, attributes, empty, start: open, end };
      if (dialect === "html" && !empty && RAW.has(name)) {
        const close = rawEnd(source, name, end, gone);
        if (close > end)
          yield { kind: "text", text: source.slice(end, close), raw: name !== "title", start: end, end: close };
        at = textFrom = close;
        continue;
      }
    }
    at = textFrom = end;
  }
  const rest = text(source.length);
  if (rest) yield rest;
}

function quotedTagEnd(source: string, from: number): number {
  let quote = "";
  for (let at = from; at < source.length; at++) {
    const char = source[at] as string;
    if (quote) {
      if (char === quote) quote = "";
    } else if (char === ">") return at + 1;
    else if ((char === '"' || char === "'") && source[at - 1] === "=") quote = char;
  }
  return -1;
}

/** Where the closing tag of a raw element begins; the end of the source when there is none. */
function rawEnd(source: string, name: string, from: number, gone: Set<string>): number {
  if (gone.has(name)) return source.length;
  const closing = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  closing.lastIndex = from;
  const found = closing.exec(source);
  if (!found) gone.add(name);
  return found ? found.index : source.length;
}

const NAMED: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: " ",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
  times: "×",
  deg: "°",
  euro: "€",
  pound: "£",
  yen: "¥",
  cent: "¢",
  sect: "§",
  para: "¶",
  larr: "←",
  rarr: "→",
  uarr: "↑",
  darr: "↓",
  auml: "ä",
  ouml: "ö",
  uuml: "ü",
  Auml: "Ä",
  Ouml: "Ö",
  Uuml: "Ü",
  szlig: "ß",
  eacute: "é",
  egrave: "è",
  agrave: "à",
  ccedil: "ç",
  ntilde: "ñ",
  ensp: " ",
  emsp: " ",
  thinsp: " ",
  shy: "",
  zwnj: "",
  zwj: "",
  minus: "−",
  le: "≤",
  ge: "≥",
  ne: "≠",
};

/** Text with its entities read; those nobody knows stay as they are written. */
export function decoded(text: string): string {
  if (!text.includes("&")) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([A-Za-z]{2,8}));/gi, (whole, decimal, hex, name) => {
    if (name) return NAMED[name] ?? whole;
    const code = decimal ? Number(decimal) : Number.parseInt(hex, 16);
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
  });
}
