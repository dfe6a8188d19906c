/** Asking a person about a call: all of its arguments, then one key. Silence is a no. */
import type { ApprovalRequest } from "../../plugins/coding/index.ts";
import { printable, printableLine } from "../render/printable.ts";
import { rowsOf } from "./columns.ts";
import { signed } from "./diff-lines.ts";
import { grouped } from "./figures.ts";
import type { Keyboard } from "./keyboard.ts";
import type { Screen } from "./screen.ts";

type Answer = "yes" | "no" | "always";

/** Characters of an argument that are shown whole. */
const SHOWN = 4_000;

/**
 * Shows a call and waits for a key: y, n, or a where "always" can be told. Enter, Escape and anything that ends the
 * question is a no; keys pressed before it was asked, and pasted text, answer nothing.
 */
export function ask(
  request: ApprovalRequest,
  screen: Screen,
  keyboard: Keyboard,
  onInterrupt: () => void,
): Promise<Answer> {
  for (const line of questionLines(request, screen)) screen.line(line);
  const { style } = screen;
  const always = request.always.length > 0;
  screen.line(
    `  ${style("bold", "[y]")}es  ${style("bold", "[n]")}o${always ? `  ${style("bold", "[a]")}lways: ${request.always.map(described).join(", ")}` : ""}`,
  );
  return new Promise((resolve) => {
    const answer = (given: Answer, said: string): void => {
      stop();
      request.signal.removeEventListener("abort", silence);
      screen.line(`  ${style(given === "no" ? "yellow" : "green", said)}`);
      resolve(given);
    };
    const silence = (): void => answer("no", "no answer: refused");
    const stop = keyboard.listen(
      (key) => {
        if (key.type === "end") return answer("no", "no answer: refused");
        if (key.type === "paste") return;
        if (key.type === "text") {
          if (/^y$/i.test(key.text)) answer("yes", "yes");
          else if (/^n$/i.test(key.text)) answer("no", "no");
          else if (always && /^a$/i.test(key.text)) answer("always", "always");
          return;
        }
        if (key.ctrl && key.name === "c") {
          answer("no", "no, and the turn is stopped");
          onInterrupt();
        } else if (key.name === "return" || key.name === "escape") answer("no", "no");
      },
      { fresh: true },
    );
    request.signal.addEventListener("abort", silence, { once: true });
    if (request.signal.aborted) silence();
  });
}

/** A call with its arguments, every character of them printable. */
export function questionLines({ name, args, effect }: ApprovalRequest, screen: Screen): string[] {
  const { style } = screen;
  const lines = [
    `  ${style("yellow", "?")} ${style("bold", `Allow ${printableLine(name)}?`)} ${style("dim", `(${effect})`)}`,
  ];
  const fields = typeof args === "object" && args !== null ? Object.entries(args) : [["arguments", args] as const];
  for (const [key, value] of fields) {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
    const sign = key === "old_string" ? "-" : key === "new_string" || key === "content" ? "+" : " ";
    const label = `${printableLine(String(key))}:`;
    if (sign === " " && !text.includes("\n") && text.length <= SHOWN)
      lines.push(...wrapped(`${label} ${printableLine(text)}`, screen));
    else
      lines.push(
        `    ${style("dim", label)}`,
        ...signed(sign, bounded(text), style).flatMap((line) => wrapped(line, screen, 6)),
      );
  }
  return lines;
}

/** Coloured rows are left to the terminal: only plain ones can be measured. */
const wrapped = (line: string, screen: Screen, indent = 4): string[] =>
  line.includes("\u001b")
    ? [" ".repeat(indent) + line]
    : rowsOf(line, Math.max(8, screen.columns - indent - 1)).map((row) => " ".repeat(indent) + row);

function bounded(text: string): string {
  const most = 8 * SHOWN;
  if (text.length <= most) return text;
  return `${text.slice(0, most / 2)}\n… ${grouped(text.length - most)} characters of this are not shown …\n${text.slice(-most / 2)}`;
}

/** What an "always" would permit, in words. */
export function described(rule: ApprovalRequest["always"][number]): string {
  const what = [
    rule.tool ?? "every tool",
    ...(rule.command === undefined ? [] : [rule.exact ? `exactly \`${rule.command}\`` : `\`${rule.command} …\``]),
    ...(rule.path === undefined ? [] : [rule.path === "**" ? "in the workspace" : rule.path]),
  ];
  return printable(what.join(" "));
}
