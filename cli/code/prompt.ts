/** The prompt: shows the line while it is written, and gives it when it is entered. */

import { grouped } from "./figures.ts";
import type { Keyboard } from "./keyboard.ts";
import { LineEditor, MAX_CHARACTERS } from "./line-editor.ts";
import { type Layout, layout } from "./prompt-layout.ts";
import type { Screen } from "./screen.ts";

type Entered =
  | { readonly type: "line"; readonly text: string }
  /** Ctrl-C; `empty` when nothing had been written. */
  | { readonly type: "interrupt"; readonly empty: boolean }
  | { readonly type: "end" };

interface PromptOptions {
  readonly lead: string;
  readonly history: readonly string[];
  /** Words that Tab completes a first word to. */
  readonly completions: readonly string[];
}

export function prompt(
  screen: Screen,
  keyboard: Keyboard,
  { lead, history, completions }: PromptOptions,
): Promise<Entered> {
  const editor = new LineEditor(history);
  let shown: Layout | undefined;

  const erase = (): void => {
    if (!shown) return;
    screen.control(`\r${shown.cursorRow > 0 ? `\u001b[${shown.cursorRow}A` : ""}\u001b[J`);
    shown = undefined;
  };
  const draw = (): void => {
    erase();
    const next = layout(editor.text, editor.cursor, lead, screen.columns, screen.rows - 1);
    const back = next.rows.length - 1 - next.cursorRow;
    screen.control(
      `${next.rows.join("\r\n")}\r${back > 0 ? `\u001b[${back}A` : ""}${next.cursorColumn > 0 ? `\u001b[${next.cursorColumn}C` : ""}`,
    );
    shown = next;
  };
  const leave = (): void => {
    if (!shown) return;
    const back = shown.rows.length - 1 - shown.cursorRow;
    screen.control(`${back > 0 ? `\u001b[${back}B` : ""}\r\n`);
    shown = undefined;
  };

  return new Promise((resolve) => {
    const done = (entered: Entered): void => {
      stop();
      process.stdout.off("resize", draw);
      leave();
      resolve(entered);
    };
    const stop = keyboard.listen((key) => {
      switch (editor.press(key)) {
        case "changed":
          return draw();
        case "submit":
          return done({ type: "line", text: editor.text });
        case "interrupt":
          return done({ type: "interrupt", empty: editor.text === "" });
        case "end":
          return done({ type: "end" });
        case "clear":
          shown = undefined;
          screen.control("\u001b[2J\u001b[H");
          return draw();
        case "full":
          erase();
          screen.say(
            `That is too long: at most ${grouped(MAX_CHARACTERS)} characters. Put it into a file and name the file.`,
            "yellow",
          );
          return draw();
        case "complete": {
          const fitting = completions.filter((word) => word.startsWith(editor.text));
          if (editor.text.startsWith("/") && fitting.length === 1) editor.replace(`${fitting[0]} `);
          return draw();
        }
        default:
          return;
      }
    });
    process.stdout.on("resize", draw);
    draw();
  });
}
