/** What the coding session writes: the model's text as it comes, and whole lines between it. */

import { onlyStyles, printable } from "../render/printable.ts";
import type { Terminal } from "../render/terminal.ts";
import { fitted, folded } from "./columns.ts";

/** Columns and rows where the terminal does not say. In a pipe lines are as long as they are. */
const COLUMNS = 80;
const PIPE_COLUMNS = 100_000;
const ROWS = 24;

export class Screen {
  readonly terminal: Terminal;
  readonly #size: () => { readonly columns?: number | undefined; readonly rows?: number | undefined };
  /** Whether the model's text goes to stdout as it comes; otherwise it is left to whoever prints the end of it. */
  readonly #streams: boolean;
  /** Whether lines go where the text goes. */
  readonly #together: boolean;
  #midLine = false;
  #transient = false;
  /** Pieces and lines written so far. */
  written = 0;

  /** `together`: text and lines on stdout, for a session at a terminal. Otherwise lines go to stderr. */
  constructor(
    terminal: Terminal,
    {
      together = false,
      streams = terminal.person,
      size = () => process.stdout,
    }: {
      readonly together?: boolean;
      readonly streams?: boolean;
      readonly size?: () => { readonly columns?: number | undefined; readonly rows?: number | undefined };
    } = {},
  ) {
    this.terminal = terminal;
    this.#together = together;
    this.#streams = streams;
    this.#size = size;
  }

  get columns(): number {
    return Math.max(8, this.#size().columns || (this.terminal.person ? COLUMNS : PIPE_COLUMNS));
  }
  get rows(): number {
    return Math.max(2, this.#size().rows || ROWS);
  }
  get style(): Terminal["style"] {
    return this.terminal.style;
  }

  /** A piece of the model's text, already printable. */
  text(piece: string): void {
    if (!this.#streams || piece === "") return;
    this.#begin();
    this.terminal.out(onlyStyles(piece));
    this.#midLine = !piece.endsWith("\n");
  }
  /** A line of its own. */
  line(line = ""): void {
    this.breakLine();
    this.#begin();
    (this.#together ? this.terminal.out : this.terminal.err)(`${onlyStyles(line)}\n`);
  }
  /** A line of this program's own words, broken between them where the terminal is narrow. */
  say(words: string, style?: Parameters<Terminal["style"]>[0]): void {
    for (const row of folded(printable(words), this.columns - 1))
      this.line(style === undefined ? row : this.style(style, row));
  }
  /** Ends a line that the model's text left open. */
  breakLine(): void {
    this.breakTransient();
    if (this.#midLine) this.terminal.out("\n");
    this.#midLine = false;
  }
  /** A line that anything else takes the place of; nothing in the middle of a line. */
  transient(words: string): void {
    if (this.#midLine) return;
    this.terminal.out(`\r${this.style("dim", fitted(printable(words), this.columns - 1))}\u001b[K`);
    this.#transient = true;
  }
  breakTransient(): void {
    if (this.#transient) this.terminal.out("\r\u001b[K");
    this.#transient = false;
  }
  #begin(): void {
    this.breakTransient();
    this.written++;
  }
  /** Moves and erases: for the prompt alone, which writes nothing of anybody else's. */
  control(sequence: string): void {
    this.terminal.out(sequence);
  }
}
