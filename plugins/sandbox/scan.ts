/**
 * What a lexer of ES modules does not report: calls of `require` and `new URL(…, import.meta.url)`. Comments, strings,
 * templates and regular expressions are told apart, so that text which looks like code is none.
 */
export interface Token {
  readonly kind: "word" | "string" | "punctuator" | "other";
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** A reference found in a source. `literal` is undefined when the argument is computed; offsets are those of the literal. */
export interface Reference {
  readonly kind: "require" | "url";
  readonly literal: string | undefined;
  readonly start: number;
  readonly end: number;
}

const WORD = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;
const NUMBER = /\d[\w.]*/y;
const BEFORE_REGEX =
  /^(?:return|typeof|instanceof|in|of|new|delete|void|throw|case|do|else|yield|await)$|^[([{,;=:!&|?+\-*%~^<>]$/;

/** The tokens of a source, comments left out. Text that does not end is taken to the end of the file. */
export function tokens(source: string): Token[] {
  const out: Token[] = [];
  // For each open template: how many braces are open inside its substitution.
  const templates: number[] = [];
  let at = 0;
  const push = (kind: Token["kind"], end: number): void => {
    out.push({ kind, text: source.slice(at, end), start: at, end });
    at = end;
  };
  while (at < source.length) {
    const char = source[at] ?? "";
    const next = source[at + 1];
    if (/\s/.test(char)) at++;
    else if (char === "/" && next === "/") at = ending(source, "\n", at);
    else if (char === "/" && next === "*") at = ending(source, "*/", at + 2);
    else if (char === "#" && next === "!" && at === 0) at = ending(source, "\n", at);
    else if (char === '"' || char === "'") push("string", stringEnd(source, at, char));
    else if (char === "`") push("other", templateEnd(source, at + 1, templates));
    else if (char === "}" && templates.at(-1) === 0) {
      templates.pop();
      push("other", templateEnd(source, at + 1, templates));
    } else if (char === "/" && regexMayStart(out.at(-1))) push("other", regexEnd(source, at));
    else {
      const word = sticky(WORD, source, at);
      const number = word === undefined ? sticky(NUMBER, source, at) : undefined;
      if (word !== undefined) push("word", at + word);
      else if (number !== undefined) push("other", at + number);
      else {
        const depth = templates.length - 1;
        if (depth >= 0 && char === "{") templates[depth] = (templates[depth] ?? 0) + 1;
        if (depth >= 0 && char === "}") templates[depth] = (templates[depth] ?? 1) - 1;
        push("punctuator", at + 1);
      }
    }
  }
  return out;
}

function sticky(pattern: RegExp, source: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0].length;
}

function ending(source: string, mark: string, from: number): number {
  const found = source.indexOf(mark, from);
  return found < 0 ? source.length : found + mark.length;
}

function stringEnd(source: string, start: number, quote: string): number {
  for (let at = start + 1; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === quote || source[at] === "\n") return at + 1;
  }
  return source.length;
}

/** The end of a template's text: its closing quote, or the `${` of a substitution, which is then open. */
function templateEnd(source: string, start: number, templates: number[]): number {
  for (let at = start; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === "`") return at + 1;
    else if (source[at] === "$" && source[at + 1] === "{") {
      templates.push(0);
      return at + 2;
    }
  }
  return source.length;
}

const regexMayStart = (before: Token | undefined): boolean =>
  before === undefined ||
  (before.kind === "other" ? before.text.endsWith("${") : before.kind !== "string" && BEFORE_REGEX.test(before.text));

function regexEnd(source: string, start: number): number {
  let inClass = false;
  for (let at = start + 1; at < source.length; at++) {
    const char = source[at];
    if (char === "\\") at++;
    else if (char === "[") inClass = true;
    else if (char === "]") inClass = false;
    else if (char === "\n") return start + 1;
    else if (char === "/" && !inClass) return at + 1 + (sticky(/[a-z]*/y, source, at + 1) ?? 0);
  }
  return start + 1;
}

/** Every `require(…)` and `new URL(…, import.meta.url)` of a source; an alias of `require` counts as computed. */
export function references(source: string): Reference[] {
  if (!/[rR]equire|\bURL\b/.test(source)) return [];
  const list = tokens(source);
  const found: Reference[] = [];
  const text = (index: number): string => list[index]?.text ?? "";
  list.forEach((token, index) => {
    if (token.kind !== "word") return;
    const previous = text(index - 1);
    if (token.text === "createRequire" && previous !== ".") found.push(computed("require", token));
    if (token.text === "require") requireAt(index, previous);
    if (token.text === "URL" && previous === "new" && text(index + 1) === "(") urlAt(index + 2);
  });
  return found;

  function requireAt(index: number, previous: string): void {
    const token = list[index] as Token;
    const of = text(index - 2);
    // `module.require` is the loader; any other property of this name, a key or a declaration is not.
    if (previous === "." && of !== "module") return;
    if (previous === "typeof" || previous === "function" || text(index + 1) === ":") return;
    if (text(index + 1) === "." && text(index + 2) !== "resolve") return;
    const open = text(index + 1) === "." ? index + 3 : index + 1;
    const argument = list[open + 1];
    if (text(open) === "(" && argument?.kind === "string" && text(open + 2) === ")")
      found.push(literal("require", argument));
    else found.push(computed("require", token));
  }

  function urlAt(first: number): void {
    let depth = 0;
    let comma = -1;
    let end = first;
    for (; end < list.length; end++) {
      const part = text(end);
      if (/^[([{]$/.test(part)) depth++;
      else if (/^[)\]}]$/.test(part) && depth-- === 0) break;
      else if (part === "," && depth === 0 && comma < 0) comma = end;
    }
    const base =
      comma < 0
        ? ""
        : list
            .slice(comma + 1, end)
            .map((token) => token.text)
            .join("");
    if (!/^import\.meta\.url/.test(base)) return;
    const argument = list[first];
    if (argument === undefined) return;
    found.push(
      comma === first + 1 && argument.kind === "string" ? literal("url", argument) : computed("url", argument),
    );
  }
}

const computed = (kind: Reference["kind"], { start, end }: Token): Reference => ({
  kind,
  literal: undefined,
  start,
  end,
});

function literal(kind: Reference["kind"], { text, start, end }: Token): Reference {
  const inner = text.slice(1, -1);
  // An escape in a module's name is rare enough to count as computed.
  return inner.includes("\\") ? { kind, literal: undefined, start, end } : { kind, literal: inner, start, end };
}

/** The line of an offset, from 1. */
export const lineOf = (source: string, offset: number): number => source.slice(0, offset).split("\n").length;
