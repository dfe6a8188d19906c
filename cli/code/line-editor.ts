/**
 * A line being written, of one row or many: text, cursor, and what each key does. No terminal here. A backslash at the
 * end makes Enter a line end, as do Alt-Enter and Ctrl-J; pasted line ends are part of the text.
 */
import { graphemes } from "./columns.ts";
import type { Key } from "./keyboard.ts";

/** What a key asks of whoever shows the line. */
type Wish = "none" | "changed" | "submit" | "interrupt" | "end" | "clear" | "complete" | "full";

/** Longest text that is taken. */
export const MAX_CHARACTERS = 200_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what a paste may hold and a prompt may not
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

export class LineEditor {
  #text = "";
  /** In UTF-16 units, always between two graphemes. */
  #cursor = 0;
  readonly #history: readonly string[];
  /** Place in the history; its length stands for the line that is being written. */
  #at: number;
  #draft = "";

  constructor(history: readonly string[] = []) {
    this.#history = history;
    this.#at = history.length;
  }
  get text(): string {
    return this.#text;
  }
  get cursor(): number {
    return this.#cursor;
  }

  replace(text: string): void {
    this.#text = text;
    this.#cursor = text.length;
  }

  press(key: Key): Wish {
    if (key.type === "end") return "end";
    if (key.type !== "key") return this.#insert(key.text.replace(CONTROLS, ""));
    const { name, ctrl, meta } = key;
    if (ctrl) return this.#control(name);
    if (meta) return this.#alt(name);
    switch (name) {
      case "return":
        return this.#enter();
      case "enter":
        return this.#insert("\n");
      case "backspace":
        return this.#delete(this.#before(), this.#cursor);
      case "delete":
        return this.#delete(this.#cursor, this.#after());
      case "left":
        return this.#move(this.#before());
      case "right":
        return this.#move(this.#after());
      case "home":
        return this.#move(this.#rowStart());
      case "end":
        return this.#move(this.#rowEnd());
      case "up":
        return this.#vertical(-1);
      case "down":
        return this.#vertical(1);
      case "tab":
        return "complete";
      default:
        return "none";
    }
  }

  #control(name: string): Wish {
    switch (name) {
      case "c":
        return "interrupt";
      case "d":
        return this.#text === "" ? "end" : this.#delete(this.#cursor, this.#after());
      case "a":
        return this.#move(this.#rowStart());
      case "e":
        return this.#move(this.#rowEnd());
      case "b":
        return this.#move(this.#before());
      case "f":
        return this.#move(this.#after());
      case "p":
        return this.#browse(-1);
      case "n":
        return this.#browse(1);
      case "h":
        return this.#delete(this.#before(), this.#cursor);
      case "k":
        return this.#delete(this.#cursor, this.#rowEnd());
      case "u":
        return this.#delete(this.#rowStart(), this.#cursor);
      case "w":
        return this.#delete(this.#wordBefore(), this.#cursor);
      case "left":
        return this.#move(this.#wordBefore());
      case "right":
        return this.#move(this.#wordAfter());
      case "j":
        return this.#insert("\n");
      case "l":
        return "clear";
      default:
        return "none";
    }
  }
  #alt(name: string): Wish {
    switch (name) {
      case "return":
      case "enter":
        return this.#insert("\n");
      case "b":
      case "left":
        return this.#move(this.#wordBefore());
      case "f":
      case "right":
        return this.#move(this.#wordAfter());
      case "d":
        return this.#delete(this.#cursor, this.#wordAfter());
      case "backspace":
        return this.#delete(this.#wordBefore(), this.#cursor);
      default:
        return "none";
    }
  }

  #enter(): Wish {
    if (this.#text.slice(0, this.#cursor).endsWith("\\")) {
      this.#delete(this.#cursor - 1, this.#cursor);
      return this.#insert("\n");
    }
    return "submit";
  }
  #insert(text: string): Wish {
    if (text === "") return "none";
    if (this.#text.length + text.length > MAX_CHARACTERS) return "full";
    this.#text = this.#text.slice(0, this.#cursor) + text + this.#text.slice(this.#cursor);
    this.#cursor += text.length;
    return "changed";
  }
  #delete(from: number, to: number): Wish {
    if (from >= to) return "none";
    this.#text = this.#text.slice(0, from) + this.#text.slice(to);
    this.#cursor = from;
    return "changed";
  }
  #move(to: number): Wish {
    if (to === this.#cursor) return "none";
    this.#cursor = to;
    return "changed";
  }
  #before(): number {
    return this.#cursor - (graphemes(this.#text.slice(0, this.#cursor)).at(-1)?.length ?? 0);
  }
  #after(): number {
    return this.#cursor + (graphemes(this.#text.slice(this.#cursor))[0]?.length ?? 0);
  }
  #rowStart(): number {
    return this.#text.lastIndexOf("\n", this.#cursor - 1) + 1;
  }
  #rowEnd(): number {
    const end = this.#text.indexOf("\n", this.#cursor);
    return end < 0 ? this.#text.length : end;
  }
  #wordBefore(): number {
    return this.#text.slice(0, this.#cursor).replace(/\S+\s*$|\s+$/u, "").length;
  }
  #wordAfter(): number {
    return this.#cursor + (/^\s*\S+/u.exec(this.#text.slice(this.#cursor))?.[0].length ?? 0);
  }
  /** Within the text first, then through the history. */
  #vertical(direction: -1 | 1): Wish {
    const start = this.#rowStart();
    const column = graphemes(this.#text.slice(start, this.#cursor)).length;
    const target = direction < 0 ? start - 1 : this.#rowEnd() + 1;
    if (target < 0 || target > this.#text.length) return this.#browse(direction);
    const rowStart = direction < 0 ? this.#text.lastIndexOf("\n", target - 1) + 1 : target;
    const end = this.#text.indexOf("\n", rowStart);
    const row = graphemes(this.#text.slice(rowStart, end < 0 ? undefined : end));
    return this.#move(rowStart + row.slice(0, column).join("").length);
  }
  #browse(direction: -1 | 1): Wish {
    const to = this.#at + direction;
    if (to < 0 || to > this.#history.length) return "none";
    if (this.#at === this.#history.length) this.#draft = this.#text;
    this.#at = to;
    this.replace(to === this.#history.length ? this.#draft : (this.#history[to] ?? ""));
    return "changed";
  }
}
