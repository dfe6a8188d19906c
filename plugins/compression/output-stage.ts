/**
 * Where compression meets a run: the result of a tool is compressed once, before it is written to the transcript, so that
 * no byte that was sent ever changes. Small results are let through after one comparison.
 */
import type { Run, ToolCall, ToolOutput } from "../../kernel/index.ts";
import { Recovery, Tokenizer } from "../services.ts";
import type { Engine, Result } from "./engine.ts";
import { isMarked } from "./markers.ts";

export interface StageOptions {
  /** Characters from which a result is looked at. */
  readonly minChars: number;
  /** Detected types that are left alone. */
  readonly skip: readonly string[];
}

/** What the model calls to get an original back, and what pages through stored outputs: neither is compressed. */
const RETRIEVE = "cave_retrieve";
const READ_STORED = "read_tool_output";
const MAX_QUERY = 500;

export class OutputCompression {
  readonly #engineOf: (run: Run) => Engine;
  readonly #options: StageOptions;
  /** Runs whose retrieval tool is paid for: the first result that is compressed must save its tokens too. */
  readonly #paid = new WeakSet<Run>();

  constructor(engineOf: (run: Run) => Engine, options: StageOptions) {
    this.#engineOf = engineOf;
    this.#options = options;
  }

  readonly stage = (output: ToolOutput, call: ToolCall): ToolOutput | Promise<ToolOutput> => {
    if (output.type === "content") {
      return output.value.some((part) => part.type === "text" && this.#wanted(part.text, call))
        ? this.#content(output, call)
        : output;
    }
    if ((output.type !== "text" && output.type !== "error-text") || !this.#wanted(output.value, call)) return output;
    return this.#smaller(output.value, call).then((value) => (value === output.value ? output : { ...output, value }));
  };

  #wanted(text: string, { name, tool, run }: ToolCall): boolean {
    if (text.length < this.#options.minChars) return false;
    if (name === RETRIEVE || name === READ_STORED || (tool && isExact(tool.result))) return false;
    return !isMarked(text) && run.find(Recovery)?.isRecovered(name, text) !== true;
  }

  async #content(output: Extract<ToolOutput, { type: "content" }>, call: ToolCall): Promise<ToolOutput> {
    const value: typeof output.value = [];
    for (const part of output.value)
      value.push(
        part.type === "text" && this.#wanted(part.text, call)
          ? { ...part, text: await this.#smaller(part.text, call) }
          : part,
      );
    return { ...output, value };
  }

  async #smaller(text: string, call: ToolCall): Promise<string> {
    const { run } = call;
    const engine = this.#engineOf(run);
    if (this.#options.skip.length > 0 && this.#options.skip.includes(engine.detect(text))) return text;
    const recovery = run.find(Recovery);
    const overheadTokens = this.#paid.has(run) ? 0 : toolTokens(run);
    const result = await engine.compress(text, {
      query: questionOf(run),
      point: true,
      overheadTokens,
      signal: run.signal,
      ...(recovery ? { keep: (original, about) => recovery.keep(original, about) } : {}),
    });
    const { reason } = result.report;
    if (reason === "compressor_failed")
      run.notice(
        "compression",
        "cave_compression_failed",
        `a result of type ${result.report.contentType} was shown as it was`,
      );
    if (reason === undefined) {
      // Of results that were compressed side by side the first one to end has paid.
      this.#record(result, call, this.#paid.has(run) ? 0 : overheadTokens);
      this.#paid.add(run);
    }
    return result.text;
  }

  #record({ report }: Result, { run, toolCallId, name }: ToolCall, toolTokens: number): void {
    const identity = run.find(Tokenizer)?.identity;
    run.record("compression.applied", {
      toolCallId,
      name,
      contentType: report.contentType,
      method: report.method ?? "",
      tokensBefore: report.tokensBefore,
      tokensAfter: report.tokensAfter,
      toolTokens,
      counter: identity?.backend ?? APPROXIMATE,
      exactness: identity?.exactness ?? "modelled",
      basis: "inferred",
      unit: report.unit ?? "",
      kept: report.kept ?? 0,
      dropped: report.dropped ?? 0,
      losslessToModel: report.losslessToModel,
      ...(report.recoveryHandle === undefined ? {} : { recoveryHandle: report.recoveryHandle }),
    });
  }
}

/** Policies that promise a result as it is. */
function isExact(policy: NonNullable<ToolCall["tool"]>["result"]): boolean {
  return policy === "inline" || (typeof policy === "object" && policy.strategy !== "page");
}

export const APPROXIMATE = "approx-chars/4";
/** Stands in where no tokenizer is loaded. */
export const approximately = (text: string): number => Math.max(1, Math.ceil(text.length / 4));

/** Tokens that the retrieval tool takes of every request, when there is one. */
function toolTokens(run: Run): number {
  const tool = run.tools.get(RETRIEVE);
  if (!tool) return 0;
  const text = JSON.stringify({ name: tool.name, description: tool.description, inputSchema: tool.inputJSONSchema });
  return run.find(Tokenizer)?.count(text) ?? approximately(text);
}

/** What the user asked last: what it is about stays visible. */
function questionOf({ transcript }: Run): string {
  const { view } = transcript;
  for (let i = view.length - 1; i >= 0; i--) {
    const message = view.at(i)?.value;
    if (message?.role !== "user") continue;
    const text = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ");
    return text.slice(0, MAX_QUERY);
  }
  return "";
}
