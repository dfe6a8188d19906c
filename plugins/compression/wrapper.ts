/**
 * What tools put around content: a gutter of line numbers, a `<file>` element. It comes off before anything looks at the
 * content and goes back on afterwards; a line number only onto the very line it stood before.
 */

export interface Unwrapped {
  readonly content: string;
  /** Puts the wrapper around a smaller view. Undefined when it cannot be done without showing something wrong. */
  rewrap(view: string): string;
}

const MAX_LAYERS = 4;

/** Takes off up to four layers. */
export function unwrap(input: string): Unwrapped {
  let content = input;
  const layers: ((view: string) => string)[] = [];
  while (layers.length < MAX_LAYERS) {
    const layer = fileElement(content) ?? gutter(content);
    if (!layer) break;
    content = layer.content;
    layers.push(layer.rewrap);
  }
  return { content, rewrap: (view) => layers.reduceRight((inner, rewrap) => rewrap(inner), view) };
}

const FILE = /^\s{0,16}<(file|document|output|stdout|tool_result|result|contents?)(\s[^<>\n]{0,1000})?>\n?/;

function fileElement(input: string): Unwrapped | undefined {
  const opening = FILE.exec(input.slice(0, 1_100));
  if (!opening) return undefined;
  const closing = `</${opening[1]}>`;
  const end = input.trimEnd();
  if (!end.endsWith(closing) || end.length - closing.length < opening[0].length) return undefined;
  const content = input.slice(opening[0].length, end.length - closing.length);
  // An element of the same name within is content of something else.
  if (content.includes(closing)) return undefined;
  const lineEnd = content.endsWith("\n") ? "\n" : "";
  return {
    content,
    rewrap: (view) =>
      `${opening[0]}${view}${lineEnd && !view.endsWith("\n") ? lineEnd : ""}${closing}${input.slice(end.length)}`,
  };
}

/** `     12→`, `12\t`, `12: `, `12 | `. */
const GUTTER = /^( {0,9}(\d{1,9}))(→|\t|: |\| | \| )/;

function gutter(input: string): Unwrapped | undefined {
  const first = GUTTER.exec(input.slice(0, 32));
  const second = GUTTER.exec(input.slice(input.indexOf("\n") + 1, input.indexOf("\n") + 33));
  if (!first || !second || first[3] !== second[3] || Number(second[2]) !== Number(first[2]) + 1) return undefined;
  const separator = first[3] ?? "";
  const lines = input.split("\n");
  const tail = lines.at(-1) === "" ? [lines.pop() ?? ""] : [];
  const prefixes: string[] = [];
  const bare: string[] = [];
  let number = Number(first[2]);
  for (const line of lines) {
    const at = line.indexOf(separator);
    if (at < 1 || at > 9 || Number(line.slice(0, at)) !== number++ || !/^ *\d+$/.test(line.slice(0, at)))
      return undefined;
    prefixes.push(line.slice(0, at + separator.length));
    bare.push(line.slice(at + separator.length));
  }
  return {
    content: [...bare, ...tail].join("\n"),
    rewrap: (view) => numbered(view, bare, prefixes) ?? view,
  };
}

const ELIDED_LINES = /(\d+) (?:[a-z]+ ){0,3}lines? elided/;
/** What may stand before a marker and is part of it: a brace, the sign of a comment, the body of a Python function. */
const LEAD = /\s*(?:\.\.\.\s*)?(?:\{\s*)?(?:\/\*|#|\/\/|--|…|<!--)?\s*(?:caveman: )?$/;

/**
 * Puts the numbers back, line by line: a marker says how many lines it stands for. Undefined when a line is not where
 * it should be, so that none gets another's number.
 */
function numbered(view: string, bare: readonly string[], prefixes: readonly string[]): string | undefined {
  const out: string[] = [];
  let at = 0;
  for (const line of view.split("\n")) {
    if (line === bare[at]) {
      out.push(`${prefixes[at++]}${line}`);
      continue;
    }
    const marker = ELIDED_LINES.exec(line);
    if (!marker) {
      if (line !== "" || at !== bare.length) return undefined;
      out.push(line);
      continue;
    }
    const shown = line.slice(0, marker.index).replace(LEAD, "");
    if (shown.trim() === "") out.push(line);
    else if (bare[at]?.startsWith(shown)) out.push(`${prefixes[at++]}${line}`);
    else return undefined;
    at += Number(marker[1]);
    // A body that was closed behind its marker was closed on a line of its own.
    if (/\*\/ \}/.test(line.slice(marker.index)) && bare[at]?.trimStart().startsWith("}")) at++;
  }
  return at === bare.length ? out.join("\n") : undefined;
}
