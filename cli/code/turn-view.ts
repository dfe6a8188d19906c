/** A turn as a person sees it: text as it comes, a line a call, output of commands, diffs of edits. */
import type { SessionEvent } from "../../plugins/coding/index.ts";
import { tellingArgument } from "../../plugins/coding/index.ts";
import type { FileChange, OutputChunk } from "../../plugins/shell/index.ts";
import { PrintableStream, printableLine } from "../render/printable.ts";
import { columnsOf, fitted } from "./columns.ts";
import { diffLines } from "./diff-lines.ts";
import { duration, size } from "./figures.ts";
import type { Screen } from "./screen.ts";

/** Lines of a command's output that are shown while it runs. */
const LIVE_LINES = 12;
/** Calls that announce themselves when they start, because they may take a while. */
const SLOW = /^(bash|command_)/;

interface Live {
  readonly name: string;
  readonly about: string;
  shown: number;
  rest: string;
  more: number;
}

export class TurnView {
  readonly #screen: Screen;
  readonly #calls = new Map<string, Live>();
  readonly #changes = new Map<string, FileChange>();
  readonly #asked = new Map<string, string>();
  readonly #statuses = new Map<string, string>();
  #text = new PrintableStream();
  /** Calls that were refused in this turn, by name. */
  readonly denied: { readonly name: string; readonly reason: string }[] = [];

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  event(event: SessionEvent): void {
    switch (event.type) {
      case "text_delta":
        if (event.path.length === 1) this.#screen.text(this.#text.push(event.delta));
        return;
      case "attempt_reset":
        this.#text = new PrintableStream();
        this.#dim(`↻ attempt ${event.attempt}: the text since the last line is discarded`);
        return;
      case "tool_start":
        this.#start(event.toolCallId, event.name, event.input);
        return;
      case "tool_end":
        this.#end(event);
        return;
      case "command_failed":
        this.#statuses.set(event.toolCallId, event.status);
        return;
      case "tool_denied":
        this.#denied(event);
        return;
      case "child_start":
        this.#dim(`▸ ${printableLine(event.agentId)}`);
        return;
      case "child_end":
        this.#dim(`◂ ${printableLine(event.agentId)}: ${event.stopReason.replaceAll("_", " ")}`);
        return;
      case "notice":
        this.#line(this.#screen.style("yellow", "!"), `${event.code}: ${printableLine(event.message)}`, "");
        return;
      case "run_end":
      case "run_error":
        if (event.path.length > 1) return;
        this.#screen.text(this.#text.end());
        this.#screen.breakLine();
        return;
      default:
        return;
    }
  }

  /** The call that runs, or the model. */
  get waitingFor(): string {
    const call = [...this.#calls.values()].at(-1);
    return call ? `${call.name} ${call.about}`.trim().slice(0, 60) : "waiting for the model";
  }

  /** A call that is about to be decided: a refused one has no other event with its arguments. */
  asked({ toolCallId, args }: { readonly toolCallId: string; readonly args: unknown }): void {
    this.#asked.set(toolCallId, aboutOf(args));
  }

  /** A piece of a command's output. */
  output({ toolCallId, text, skippedBytes }: OutputChunk): void {
    const call = this.#calls.get(toolCallId);
    if (!call) return;
    if (skippedBytes > 0) call.more++;
    const lines = (call.rest + text).split("\n");
    call.rest = (lines.pop() ?? "").slice(-4_096);
    for (const line of lines) this.#live(call, line);
  }

  /** An edit that was made; it is shown under the call's line. */
  change(change: FileChange): void {
    this.#changes.set(change.toolCallId, change);
  }

  #live(call: Live, line: string): void {
    if (call.shown >= LIVE_LINES) {
      call.more++;
      return;
    }
    call.shown++;
    this.#dim(`│ ${printableLine(line.slice(0, 4_096))}`, 4);
  }

  #start(id: string, name: string, input: unknown): void {
    const call: Live = {
      name,
      about: aboutOf(input),
      shown: 0,
      rest: "",
      more: 0,
    };
    this.#calls.set(id, call);
    if (SLOW.test(name)) this.#line(this.#screen.style("cyan", "▸"), `${name} ${call.about}`, "");
  }

  #end(event: Extract<SessionEvent, { type: "tool_end" }>): void {
    const { style } = this.#screen;
    const call = this.#calls.get(event.toolCallId);
    this.#calls.delete(event.toolCallId);
    if (call && call.rest !== "") this.#live(call, call.rest);
    if (call && call.more > 0) this.#dim(`│ … ${call.more} more lines`, 4);
    const about = `${event.name} ${call?.about ?? ""}`.trim();
    const figures = `${duration(event.durationMs)}, ${size(event.bytes)}`;
    const status = this.#statuses.get(event.toolCallId);
    this.#statuses.delete(event.toolCallId);
    if (status !== undefined) this.#line(style("red", "✗"), about, `${figures}, ${status}`);
    else if (event.isError) this.#line(style("red", "✗"), about, `${figures}${event.code ? ` ${event.code}` : ""}`);
    else this.#line(style("green", "✓"), about, figures);
    const change = this.#changes.get(event.toolCallId);
    this.#changes.delete(event.toolCallId);
    if (change) for (const line of diffLines(change.diff, style)) this.#screen.line(`    ${line}`);
  }

  #denied({ toolCallId, name, code, reason, answer }: Extract<SessionEvent, { type: "tool_denied" }>): void {
    const why = answer === undefined ? (reason ?? code) : (WHY[answer] ?? answer);
    this.denied.push({ name, reason: reason ?? code });
    const about = `${printableLine(name)} ${this.#asked.get(toolCallId) ?? ""}`.trim();
    this.#screen.say(`  ⊘ ${about}  refused: ${why}`, "yellow");
  }

  #dim(text: string, indent = 2): void {
    this.#screen.line(this.#screen.style("dim", fitted(" ".repeat(indent) + text, this.#screen.columns - 1)));
  }
  /** A sign, what it is about cut to what is left of the row, and figures that are never cut. */
  #line(sign: string, about: string, figures: string): void {
    const room = this.#screen.columns - 1 - 4 - (figures === "" ? 0 : columnsOf(figures) + 2);
    const tail = figures === "" ? "" : `  ${this.#screen.style("dim", figures)}`;
    this.#screen.line(`  ${sign} ${fitted(about, Math.max(8, room))}${tail}`);
  }
}

/** What a call is about, in one line. */
const aboutOf = (input: unknown): string => printableLine(tellingArgument(input).slice(0, 2_000));

/** What came of asking a person. */
const WHY: Readonly<Record<string, string>> = {
  no: "you said no",
  unanswered: "nobody answered in time",
  unavailable: "it needs a person's yes, and nobody can be asked here; --allow permits it",
  failed: "the approval could not be had",
};
