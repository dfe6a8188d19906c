/**
 * What the model is shown of a result. Two output stages: the first bounds what a tool gave before anything else looks
 * at it and remembers the whole; the last, after whatever shortened it in between, cuts what is still too long. Below
 * the cap both do no more than compare a length.
 */
import { CavemanError, type Run, type Tool, type ToolCall, type ToolOutput } from "../../kernel/index.ts";
import { Recovery } from "../services.ts";
import { capText, exceeds, type Gap } from "./cap.ts";
import { capContent } from "./content.ts";
import { MAX_ENTRY_BYTES, MAX_STORE_BYTES, type OutputStore } from "./output-store.ts";
import { PAGE_BYTES, READ_TOOL_OUTPUT } from "./read-tool-output.ts";

/** How a result is kept: in context, in memory page by page, or only after its original is stored for good. */
type Kind = "inline" | "page" | "exact";
type Texts = Extract<ToolOutput, { type: "text" | "error-text" }>;

/** What is done with a tool's results, and from how many bytes on. */
export function placementOf({ result }: Tool, maxInlineBytes: number): { readonly kind: Kind; readonly cap: number } {
  if (result === "auto" || result === "page") return { kind: "page", cap: maxInlineBytes };
  if (result === "inline") return { kind: "inline", cap: maxInlineBytes };
  if (typeof result === "string") return { kind: "exact", cap: maxInlineBytes };
  const cap = result.maxInlineTokens * 4;
  if (result.strategy === "page") return { kind: "page", cap };
  return { kind: result.strategy === "verbatim" && result.recovery === "source_ref" ? "inline" : "exact", cap };
}

/** Whether a tool says that its results are paged. */
export const pages = ({ result }: Tool): boolean =>
  result === "page" || (typeof result === "object" && result.strategy === "page");

export class Placement {
  readonly #maxInlineBytes: number;
  readonly #maxPartBytes: number;
  readonly #storeOf: (run: Run) => OutputStore;
  /** The whole texts of calls whose output is over its cap, from the first stage to the last. */
  readonly #whole = new WeakMap<ToolCall, string>();

  constructor(maxInlineBytes: number, maxPartBytes: number, storeOf: (run: Run) => OutputStore) {
    this.#maxInlineBytes = maxInlineBytes;
    this.#maxPartBytes = maxPartBytes;
    this.#storeOf = storeOf;
  }

  /** First stage: no text above the limits of the stores goes any further. */
  readonly bound = (output: ToolOutput, call: ToolCall): ToolOutput => {
    if (output.type !== "text" && output.type !== "error-text") return output;
    const { kind, cap } = this.#placement(output, call);
    if (!exceeds(output.value, cap)) return output;
    const bounded = kind === "exact" ? exactly(output, call) : within(output);
    this.#whole.set(call, bounded.value);
    return bounded;
  };

  /** Last stage: what is still over the cap is cut, and said to be. */
  readonly place = (output: ToolOutput, call: ToolCall): ToolOutput => {
    if (output.type === "execution-denied") return output;
    if (output.type === "content") return capContent(output, this.#placement(output, call).cap, this.#maxPartBytes);
    const texts = textual(output);
    const { kind, cap } = this.#placement(output, call);
    if (!exceeds(texts.value, cap)) {
      this.#whole.delete(call);
      // Half a character has no UTF-8, and a provider refuses the whole request for it, now and in every later turn.
      return texts.value.isWellFormed() ? output : { ...texts, value: texts.value.toWellFormed() };
    }
    const whole = this.#whole.get(call) ?? texts.value;
    this.#whole.delete(call);
    const bytes = Buffer.byteLength(whole);
    if (kind === "inline") throw this.#refused("cave_tool_result_inline_limit", call, whole, cap, bytes);
    const advice = kind === "exact" ? this.#recoverable(call, whole, cap, bytes) : this.#readable(call, whole);
    // Line numbers lead into the whole only while the text still is its beginning.
    const aligned = texts.value.startsWith(whole);
    const value = capText(
      texts.value,
      cap,
      (gap) => `[output capped: ${stated(gap)}; ${advice(aligned ? gap : undefined)}]`,
    );
    call.run.record("output.capped", {
      toolCallId: call.toolCallId,
      name: call.name,
      bytes,
      shownBytes: Buffer.byteLength(value),
      kept: kind === "exact" ? "recovery" : this.#canRead(call.run) ? "memory" : "nowhere",
    });
    return { ...texts, value };
  };

  #placement(output: ToolOutput, { tool }: ToolCall): { readonly kind: Kind; readonly cap: number } {
    if (!tool || output.type === "error-text" || output.type === "error-json")
      return { kind: "page", cap: this.#maxInlineBytes };
    // A page is as long as it is meant to be.
    if (tool.name === READ_TOOL_OUTPUT) return { kind: "page", cap: Math.max(PAGE_BYTES, this.#maxInlineBytes) };
    return placementOf(tool, this.#maxInlineBytes);
  }

  #canRead(run: Run): boolean {
    return run.tools.has(READ_TOOL_OUTPUT);
  }

  #readable(call: ToolCall, whole: string): (gap: Gap | undefined) => string {
    const handle = this.#canRead(call.run) ? this.#storeOf(call.run).keep(whole, call.name) : undefined;
    if (handle === undefined) return () => "the rest was not kept, so ask for less at a time";
    return (gap) =>
      `${READ_TOOL_OUTPUT} with handle ${handle}${gap ? ` reads on from offset ${gap.line}${gap.column > 1 ? `, column ${gap.column}` : ""}` : " has the whole"}`;
  }

  /** Leaves nothing out before the original is stored and has come back byte for byte. */
  #recoverable(call: ToolCall, whole: string, cap: number, bytes: number): () => string {
    const recovery = call.run.find(Recovery);
    const handle = recovery?.keep(whole, { contentType: "text/plain", by: "results" });
    if (!recovery || handle === undefined)
      throw this.#refused("cave_tool_result_requires_recovery", call, whole, cap, bytes);
    if (recovery.retrieve(handle) !== whole)
      throw this.#refused("cave_tool_result_recovery_mismatch", call, whole, cap, bytes);
    return () => `cave_retrieve with recovery_handle ${handle} gives back the whole`;
  }

  /** A refusal still says where the bytes are, when they could be kept for the run. */
  #refused(code: string, call: ToolCall, whole: string, cap: number, bytes: number): CavemanError {
    const handle = this.#canRead(call.run) ? this.#storeOf(call.run).keep(whole, call.name) : undefined;
    return new CavemanError(code, {
      place: `tool ${call.name}`,
      expected: `at most ${cap} bytes`,
      received: `${bytes} bytes`,
      ...(handle === undefined ? {} : { remedy: `${READ_TOOL_OUTPUT} with handle ${handle} has the whole` }),
    });
  }
}

const stated = ({ bytes, lines, total }: Gap): string =>
  `${bytes} of ${total} bytes, ${lines} ${lines === 1 ? "line" : "lines"}, left out here`;

/** JSON outputs are measured, and cut, as the text the model reads. */
const textual = (output: Exclude<ToolOutput, { type: "content" | "execution-denied" }>): Texts =>
  output.type === "text" || output.type === "error-text"
    ? output
    : { type: output.type === "json" ? "text" : "error-text", value: JSON.stringify(output.value) };

/** At most what one entry of the store holds; what is cut here is kept nowhere. */
const within = (output: Texts): Texts =>
  exceeds(output.value, MAX_ENTRY_BYTES)
    ? {
        ...output,
        value: capText(output.value, MAX_ENTRY_BYTES, (gap) => `[${stated(gap)}: more than is kept of one output]`),
      }
    : output;

function exactly(output: Texts, call: ToolCall): Texts {
  if (exceeds(output.value, MAX_STORE_BYTES))
    throw new CavemanError("cave_tool_result_limit", {
      place: `tool ${call.name}`,
      expected: `at most ${MAX_STORE_BYTES} bytes`,
      received: `${Buffer.byteLength(output.value)} bytes`,
    });
  return output;
}
