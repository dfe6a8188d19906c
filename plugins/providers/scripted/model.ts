/** The scripted model: a language model in process, without a network, a key or a cost. */
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { pause, unlessAborted } from "./pause.ts";
import { chunkCount, chunksBeforeFault, type Fault, play, type Script, type Turn } from "./script.ts";
import { ScriptError } from "./script-error.ts";

export interface ScriptedOptions {
  /** The `provider/model` it passes for. Default `sim/scripted`. */
  readonly as?: string;
}

export type ScriptedModel = LanguageModelV4 & {
  /** Its figures come from a script and not from a vendor. */
  readonly simulated: true;
  /** Every request so far, in order. The message list of each is a copy; the messages are the caller's. */
  readonly calls: readonly LanguageModelV4CallOptions[];
};

/**
 * A model that answers from a script.
 *
 * A fault `before` rejects the call with the provider specification's `APICallError`; `mid-stream` sends an error part and
 * ends the stream without a finish part, so no usage is reported; `cut` breaks the stream as a lost connection does.
 * Abort is honoured at any point with the signal's reason. A call that arrives aborted takes no step.
 * @throws ScriptError `cave_script_invalid`; calls throw `cave_script_exhausted`.
 */
export function scripted(script: Script, options: ScriptedOptions = {}): ScriptedModel {
  const as = options.as ?? "sim/scripted";
  const slash = typeof as === "string" ? as.indexOf("/") : -1;
  if (slash < 1 || slash === as.length - 1) {
    throw new ScriptError("cave_script_invalid", {
      place: "options.as",
      expected: "provider/model",
      received: String(as),
    });
  }
  const modelId = as.slice(slash + 1);
  const next = play(script);
  const calls: LanguageModelV4CallOptions[] = [];

  const take = async (request: LanguageModelV4CallOptions): Promise<Turn> => {
    request.abortSignal?.throwIfAborted();
    calls.push({ ...request, prompt: [...request.prompt] });
    const found = next(request);
    const turn = found instanceof Promise ? await unlessAborted(found, request.abortSignal) : found;
    if (turn.fault?.when === "before") {
      if (turn.delayMs > 0) await pause(turn.delayMs, request.abortSignal);
      throw await apiError(turn.fault, as);
    }
    return turn;
  };

  return {
    specificationVersion: "v4",
    provider: as.slice(0, slash),
    modelId,
    supportedUrls: {},
    simulated: true,
    calls,
    async doStream(request): Promise<LanguageModelV4StreamResult> {
      const turn = await take(request);
      const failure = turn.fault && (turn.fault.when === "cut" ? lost() : await apiError(turn.fault, as));
      return { stream: streamOf(turn, partsOf(turn, modelId, failure), failure, request.abortSignal) };
    },
    async doGenerate(request): Promise<LanguageModelV4GenerateResult> {
      const turn = await take(request);
      const chunks = chunkCount(turn);
      if (turn.delayMs > 0 && chunks > 0)
        await pause(turn.delayMs * Math.min(chunks, chunksBeforeFault(turn)), request.abortSignal);
      if (turn.fault) throw turn.fault.when === "cut" ? lost() : await apiError(turn.fault, as);
      return {
        content: turn.blocks.map(
          (block): LanguageModelV4Content =>
            block.type === "tool-call"
              ? { type: "tool-call", toolCallId: block.id, toolName: block.name, input: block.input }
              : { type: block.type, text: block.text },
        ),
        finishReason: finishOf(turn),
        usage: usageOf(turn),
        response: { id: responseId(turn), modelId },
        warnings: [],
      };
    },
  };
}

const responseId = (turn: Turn): string => `scripted-${turn.index}`;

/** The parts in order. They stop where the turn's fault strikes; for `mid-stream` the error is the last part. */
function partsOf(turn: Turn, modelId: string, failure: unknown): readonly LanguageModelV4StreamPart[] {
  const parts: LanguageModelV4StreamPart[] = [
    { type: "stream-start", warnings: [] },
    { type: "response-metadata", id: responseId(turn), modelId },
  ];
  let left = chunksBeforeFault(turn);
  for (const [at, block] of turn.blocks.entries()) {
    if (left === 0) break;
    const id = block.type === "tool-call" ? block.id : `${at}`;
    if (block.type === "reasoning") parts.push({ type: "reasoning-start", id });
    else if (block.type === "text") parts.push({ type: "text-start", id });
    else parts.push({ type: "tool-input-start", id, toolName: block.name });
    for (const delta of block.pieces) {
      if (left === 0) break;
      left--;
      if (block.type === "reasoning") parts.push({ type: "reasoning-delta", id, delta });
      else if (block.type === "text") parts.push({ type: "text-delta", id, delta });
      else parts.push({ type: "tool-input-delta", id, delta });
    }
    if (left === 0) break;
    if (block.type === "reasoning") parts.push({ type: "reasoning-end", id });
    else if (block.type === "text") parts.push({ type: "text-end", id });
    else {
      parts.push({ type: "tool-input-end", id });
      parts.push({ type: "tool-call", toolCallId: id, toolName: block.name, input: block.input });
    }
  }
  if (turn.fault) {
    if (turn.fault.when === "mid-stream") parts.push({ type: "error", error: failure });
  } else parts.push({ type: "finish", usage: usageOf(turn), finishReason: finishOf(turn) });
  return parts;
}

const isChunk = (part: LanguageModelV4StreamPart): boolean =>
  part.type === "text-delta" || part.type === "reasoning-delta" || part.type === "tool-input-delta";

/**
 * One part a pull, nothing read ahead: an abort is seen by the very next read without a listener, so the path without
 * delays costs no timer, no event target and no clean-up.
 */
function streamOf(
  turn: Turn,
  parts: readonly LanguageModelV4StreamPart[],
  failure: unknown,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let at = 0;
  const give = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): void => {
    const part = parts[at++];
    if (part) controller.enqueue(part);
    if (at < parts.length) return;
    if (turn.fault?.when === "cut") {
      if (part === undefined) controller.error(failure);
    } else controller.close();
  };
  if (turn.delayMs === 0) {
    return new ReadableStream(
      {
        pull(controller) {
          if (signal?.aborted) controller.error(signal.reason);
          else give(controller);
        },
      },
      { highWaterMark: 0 },
    );
  }
  const cancelled = new AbortController();
  const either = signal ? AbortSignal.any([signal, cancelled.signal]) : cancelled.signal;
  return new ReadableStream(
    {
      async pull(controller) {
        const part = parts[at];
        if (part && isChunk(part)) await pause(turn.delayMs, either);
        either.throwIfAborted();
        give(controller);
      },
      cancel(reason) {
        cancelled.abort(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

const finishOf = (turn: Turn): LanguageModelV4FinishReason => ({ unified: turn.finish, raw: turn.finish });

function usageOf({ usage }: Turn): LanguageModelV4Usage {
  const { input, output, cacheRead, cacheWrite, reasoning } = usage;
  return {
    inputTokens: { total: input, noCache: input - cacheRead - cacheWrite, cacheRead, cacheWrite },
    outputTokens: { total: output, text: output - reasoning, reasoning },
  };
}

/** What `fetch` throws when the other side hangs up in the middle of a body. */
const lost = (): TypeError =>
  new TypeError("terminated", { cause: Object.assign(new Error("other side closed"), { code: "UND_ERR_SOCKET" }) });

/** Imported when a script fails and not before: the import of this file stays free of dependencies. */
async function apiError(fault: Fault, as: string): Promise<Error> {
  const { APICallError } = await import("@ai-sdk/provider");
  const retry = fault.retryAfterMs;
  return new APICallError({
    message: fault.message,
    url: `scripted:${as}`,
    requestBodyValues: {},
    statusCode: fault.status,
    ...(retry === undefined
      ? {}
      : { responseHeaders: { "retry-after": `${Math.ceil(retry / 1000)}`, "retry-after-ms": `${retry}` } }),
    responseBody: JSON.stringify({ error: { code: fault.code, message: fault.message } }),
    data: { error: { code: fault.code, message: fault.message } },
  });
}
