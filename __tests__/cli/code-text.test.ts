import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { columnsOf, fitted, folded, rowsOf } from "../../cli/code/columns.ts";
import { LineEditor } from "../../cli/code/line-editor.ts";
import { layout } from "../../cli/code/prompt-layout.ts";
import { onlyStyles, PrintableStream, printable, printableLine } from "../../cli/render/printable.ts";

/** Whatever a terminal acts on: controls but tab and line end, and what turns, hides or breaks lines. */
const ACTING = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]|(?![\u200c\u200d])\p{Cf}/u;
const acts = (text: string): boolean => ACTING.test(text.replace(/[\n\t]/g, ""));

const ATTACKS: Readonly<Record<string, string>> = {
  "clipboard, OSC 52": "\u001b]52;c;cm0gLXJmIC8=\u0007",
  "clipboard through tmux": "\u001bPtmux;\u001b\u001b]52;c;eA==\u0007\u001b\\",
  "window title": "\u001b]0;you are root\u0007",
  "title report": "\u001b[21t",
  "cursor up and overwrite": "\u001b[3A\u001b[2Kall tests pass",
  "clear the screen": "\u001b[2J\u001b[H",
  "hidden text": "\u001b[8mrm -rf /\u001b[0m",
  "alternate screen": "\u001b[?1049h",
  "answer back": "\u001b[c\u001b[6n\u0005",
  hyperlink: "\u001b]8;;file:///etc/passwd\u0007click\u001b]8;;\u0007",
  "eight-bit CSI": "\u009b31mred\u009d0;title\u009c",
  "carriage return": "safe\rrm -rf /",
  backspaces: "rm -rf /\b\b\b\b\b\b\b\bls     ",
  "bidi override": "if (admin\u202e\u2066) { return\u2069\u2066",
  "bidi marks": "a\u200fb\u061cc\u200ed",
  "line separators": "a\u2028b\u2029c",
  "invisible tags": "ok\u{e0072}\u{e006d}",
  "bell, NUL, delete": "\u0007\u0000\u007f",
  "lone surrogates": "\ud800x\udc00",
  "zero width": "pass\u200bword\ufeff",
};

describe("text from elsewhere", () => {
  test.each(Object.entries(ATTACKS))("%s does not reach the terminal", (_name, attack) => {
    expect(acts(attack)).toBe(true);
    expect(acts(printable(attack))).toBe(false);
    expect(acts(printableLine(`${attack}\n${attack}`))).toBe(false);
    // What is taken out is seen: nothing disappears without a mark.
    expect(printable(attack).length).toBeGreaterThanOrEqual(attack.replace(/\r\n/g, "\n").length);
  });

  test("of any kind, cut anywhere, is as harmless in pieces as whole", () => {
    const character = fc.oneof(
      fc.constantFrom(...Object.values(ATTACKS).join("")),
      fc.string({ unit: "binary", maxLength: 2 }),
      fc.constantFrom("\r\n", "😀", "漢", "é"),
    );
    fc.assert(
      fc.property(
        fc.array(character, { maxLength: 40 }),
        fc.array(fc.nat(60), { maxLength: 6 }),
        (characters, cuts) => {
          const text = characters.join("");
          const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
          const stream = new PrintableStream();
          const pieces = at.slice(1).map((end, index) => stream.push(text.slice(at[index], end)));
          const streamed = pieces.join("") + stream.end();
          expect(acts(streamed)).toBe(false);
          expect(streamed).toBe(printable(text));
        },
      ),
    );
  });

  test("that is harmless stays as it is, scripts that need joiners and emoji included", () => {
    for (const text of ["hello\n\tworld", "نمی‌خواهم", "👩‍👩‍👧 漢字 é", "naïve — “quoted”"])
      expect(printable(text)).toBe(text);
    expect(printable("a\r\nb")).toBe("a\nb");
  });

  test("of this program keeps its colours and nothing else at the last look", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.constantFrom(...Object.values(ATTACKS)), fc.constant("\u001b[31m"), fc.string())),
        (parts) => {
          // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours that may stay
          expect(acts(onlyStyles(parts.join("")).replace(/\u001b\[[0-9;]*m/g, ""))).toBe(false);
        },
      ),
    );
  });
});

const words = fc.string({ unit: fc.constantFrom("a", "b", " ", "漢", "é", "😀", "-"), maxLength: 80 });

describe("columns", () => {
  test("rows, cut lines and folded words never pass the width, and rows lose nothing", () => {
    fc.assert(
      fc.property(words, fc.integer({ min: 8, max: 60 }), (text, columns) => {
        for (const row of rowsOf(text, columns)) expect(columnsOf(row)).toBeLessThanOrEqual(columns);
        expect(rowsOf(text, columns).join("")).toBe(text);
        expect(columnsOf(fitted(text, columns))).toBeLessThanOrEqual(columns);
        for (const row of folded(text, columns)) expect(columnsOf(row)).toBeLessThanOrEqual(columns);
        expect(folded(text, columns).join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
      }),
    );
  });

  test("a prompt's rows and cursor stay on the screen, however small it is", () => {
    const line = fc.string({ unit: fc.constantFrom("a", "漢", "\n", "\u001b", " ", "é"), maxLength: 200 });
    fc.assert(
      fc.property(
        line,
        fc.nat(),
        fc.integer({ min: 8, max: 40 }),
        fc.integer({ min: 1, max: 6 }),
        (text, at, columns, height) => {
          const boundaries = [
            0,
            ...Array.from(new Intl.Segmenter().segment(text), ({ index, segment }) => index + segment.length),
          ];
          const cursor = boundaries[at % boundaries.length] ?? 0;
          const { rows, cursorRow, cursorColumn } = layout(text, cursor, "› ", columns, height);
          expect(rows.length).toBeLessThanOrEqual(height);
          expect(cursorRow).toBeGreaterThanOrEqual(0);
          expect(cursorRow).toBeLessThan(rows.length);
          expect(cursorColumn).toBeLessThan(columns);
          for (const row of rows) {
            expect(columnsOf(row)).toBeLessThan(columns);
            expect(acts(row)).toBe(false);
          }
        },
      ),
    );
  });
});

const key = (name: string, more: { ctrl?: boolean; meta?: boolean } = {}) =>
  ({ type: "key", name, ctrl: false, meta: false, ...more }) as const;
const type = (editor: LineEditor, text: string): void => {
  for (const character of text) editor.press({ type: "text", text: character });
};

describe("the line editor", () => {
  test("Enter sends; after a backslash, with Alt, or as Ctrl-J it begins a new line", () => {
    const editor = new LineEditor();
    type(editor, "one\\");
    expect(editor.press(key("return"))).toBe("changed");
    type(editor, "two");
    editor.press(key("return", { meta: true }));
    type(editor, "three");
    editor.press(key("enter"));
    type(editor, "four");
    expect(editor.text).toBe("one\ntwo\nthree\nfour");
    expect(editor.press(key("return"))).toBe("submit");
  });

  test("a paste keeps its line ends, sends nothing, and loses its controls", () => {
    const editor = new LineEditor();
    expect(editor.press({ type: "paste", text: "a\nb\u001b[31m\u0003\tc\u009b" })).toBe("changed");
    expect(editor.text).toBe("a\nb[31m\tc");
  });

  test("moves and deletes by what a reader sees as a character, by word and by line", () => {
    const editor = new LineEditor();
    type(editor, "say 👩‍👩‍👧 loud");
    for (let step = 0; step < 5; step++) editor.press(key("left"));
    editor.press(key("backspace"));
    expect(editor.text).toBe("say  loud");
    editor.press(key("e", { ctrl: true }));
    editor.press(key("w", { ctrl: true }));
    expect(editor.text).toBe("say  ");
    editor.press(key("a", { ctrl: true }));
    editor.press(key("k", { ctrl: true }));
    expect(editor.text).toBe("");
  });

  test("Up and Down go through the lines first, then through history, and come back to what was being written", () => {
    const editor = new LineEditor(["first", "second\nline"]);
    type(editor, "draft");
    editor.press(key("up"));
    expect(editor.text).toBe("second\nline");
    editor.press(key("up"));
    expect(editor.text).toBe("second\nline");
    editor.press(key("up"));
    expect(editor.text).toBe("first");
    expect(editor.press(key("up"))).toBe("none");
    for (let step = 0; step < 3; step++) editor.press(key("down"));
    expect(editor.text).toBe("draft");
  });

  test("Ctrl-C interrupts, Ctrl-D ends an empty line and deletes in another", () => {
    const editor = new LineEditor();
    expect(editor.press(key("d", { ctrl: true }))).toBe("end");
    type(editor, "ab");
    editor.press(key("home"));
    editor.press(key("d", { ctrl: true }));
    expect(editor.text).toBe("b");
    expect(editor.press(key("c", { ctrl: true }))).toBe("interrupt");
  });

  test("the cursor is always inside the text, between characters", () => {
    const names = ["left", "right", "home", "end", "up", "down", "backspace", "delete", "return", "enter"];
    const pressed = fc.oneof(
      fc.record({ type: fc.constant("text" as const), text: fc.constantFrom("a", " ", "漢", "👩‍👩‍👧", "é", "\\") }),
      fc.record({ type: fc.constant("paste" as const), text: fc.string() }),
      fc.record({
        type: fc.constant("key" as const),
        name: fc.constantFrom(...names, ..."abefkuwdhpnj"),
        ctrl: fc.boolean(),
        meta: fc.boolean(),
      }),
    );
    fc.assert(
      fc.property(fc.array(pressed, { maxLength: 60 }), (keys) => {
        const editor = new LineEditor(["old", "older\nstill"]);
        for (const one of keys) {
          editor.press(one);
          expect(editor.cursor).toBeGreaterThanOrEqual(0);
          expect(editor.cursor).toBeLessThanOrEqual(editor.text.length);
          expect(
            /^[\udc00-\udfff]/.test(editor.text.slice(editor.cursor)) &&
              /[\ud800-\udbff]$/.test(editor.text.slice(0, editor.cursor)),
          ).toBe(false);
        }
      }),
    );
  });
});
