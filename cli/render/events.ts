/** Live output of a run: text as it comes, one line a tool with its time. */
import type { StreamEvent } from "../../index.ts";
import { PrintableStream, printableLine } from "./printable.ts";
import type { Terminal } from "./terminal.ts";

/**
 * Gives the function that shows events. For a person the root's text streams to stdout; otherwise stdout is left to the
 * final answer. Tool lines, children and notices go to stderr. Nothing a model or a tool wrote acts on the terminal.
 */
export function liveEvents(terminal: Terminal): (event: StreamEvent) => void {
  let midLine = false;
  let text = new PrintableStream();
  const show = (piece: string): void => {
    if (piece === "") return;
    terminal.out(piece);
    midLine = !piece.endsWith("\n");
  };
  const line = (words: string): void => {
    show(text.end());
    if (midLine) terminal.out("\n");
    midLine = false;
    terminal.err(`${words}\n`);
  };
  return (event) => {
    const indent = "  ".repeat(Math.max(1, event.path.length));
    const dim = (words: string): string => terminal.style("dim", words);
    switch (event.type) {
      case "text_delta":
        if (!terminal.person || event.path.length > 1 || event.delta === "") return;
        return show(text.push(event.delta));
      case "attempt_reset":
        text = new PrintableStream();
        return line(dim(`${indent}↻ attempt ${event.attempt}: the text since the last line is discarded`));
      case "tool_end":
        return line(
          event.isError
            ? `${indent}${terminal.style("red", "✗")} ${printableLine(event.name)} ${dim(time(event.durationMs))}${event.code ? ` ${event.code}` : ""}`
            : `${indent}${terminal.style("green", "✓")} ${printableLine(event.name)} ${dim(`${time(event.durationMs)}, ${size(event.bytes)}`)}`,
        );
      case "child_start":
        return line(dim(`${indent}▸ ${printableLine(event.agentId)}`));
      case "child_end":
        return line(dim(`${indent}◂ ${printableLine(event.agentId)}: ${event.stopReason.replaceAll("_", " ")}`));
      case "notice":
        return line(`${indent}${terminal.style("yellow", "!")} ${event.code}: ${printableLine(event.message)}`);
      case "run_end":
      case "run_error":
        if (event.path.length > 1) return;
        show(text.end());
        if (midLine) terminal.out("\n");
        midLine = false;
        return;
      default:
        return;
    }
  };
}

/** Milliseconds under a second, else seconds with one digit. */
export const time = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);
const size = (bytes: number): string => (bytes < 1_000 ? `${bytes} B` : `${(bytes / 1_000).toFixed(1)} kB`);
