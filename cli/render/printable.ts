/**
 * Text from elsewhere on its way to a person's terminal. A model, a file name or a command's output may hold sequences
 * that write the clipboard, set the title, move the cursor or turn the reading direction; none of them may arrive.
 * What is taken out is shown as a visible mark, so that nothing is hidden by hiding it.
 */

/** Controls but tab and line end, formatting characters but the two joiners that scripts need, and line separators. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;
const KEPT = new Set(["\n", "\t", "\u200c", "\u200d"]);

/** A text without anything that a terminal would act on. Line ends and tabs stay; CRLF becomes LF. */
export const printable = (text: string): string =>
  text
    .replaceAll("\r\n", "\n")
    .replace(UNPRINTABLE, (character) => (KEPT.has(character) ? character : mark(character)));

/** The same on one line. */
export const printableLine = (text: string): string =>
  printable(text)
    .replace(/\s*\n\s*/g, " ⏎ ")
    .replaceAll("\t", " ");

function mark(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "␡";
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  return `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** JSON that says the same, with what a terminal would act on written as escapes. */
export const printableJson = (json: string): string =>
  json.replace(UNPRINTABLE, (character) =>
    KEPT.has(character)
      ? character
      : [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, "0")}`)
          .join(""),
  );

/** The same for text that comes in pieces: a pair of code units or of CR and LF may be cut between two of them. */
export class PrintableStream {
  #held = "";
  push(piece: string): string {
    const text = this.#held + piece;
    this.#held = /[\r\ud800-\udbff]$/.exec(text)?.[0] ?? "";
    return printable(text.slice(0, text.length - this.#held.length));
  }
  end(): string {
    const rest = printable(this.#held);
    this.#held = "";
    return rest;
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
const STYLES = /(\u001b\[[0-9;]*m)/;

/** The last look at what is written: nothing but this program's own styles is left of what a terminal acts on. */
export const onlyStyles = (text: string): string =>
  text
    .split(STYLES)
    .map((part, index) => (index % 2 === 1 ? part : printable(part)))
    .join("");
