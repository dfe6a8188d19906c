/** The wire: one frozen request out, one answer in, whatever the provider does. */
import { asCaveman, CavemanError, describe } from "./errors.ts";
import { type CallOptions, type ModelContent, type ModelStreamPart, normalUsage, type Usage } from "./model.ts";
import type { Frozen, Shape } from "./request.ts";

/** What came back. `sent` is false when the provider provably billed nothing; `received` counts the characters it wrote. */
export interface Answer { content: ModelContent[]; finish: string; usage: Usage | undefined; error: CavemanError | undefined; cause: unknown; sent: boolean; emitted: boolean; received: number }

/** What is read of an answer, part by part. */
class Reading {
  readonly answer: Answer = { content: [], finish: "other", usage: undefined, error: undefined, cause: undefined, sent: true, emitted: false, received: 0 };
  readonly #frozen: Frozen; #texts: Map<string, { type: "text" | "reasoning"; text: string; providerMetadata?: unknown }> | undefined; #finished = false;

  constructor(frozen: Frozen) { this.#frozen = frozen; }
  take(part: ModelStreamPart): void {
    const { answer } = this;
    switch (part.type) {
      case "text-start": case "reasoning-start": {
        const open = { type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const), text: "" };
        (this.#texts ??= new Map()).set(part.id, open);
        answer.content.push(open as ModelContent);
        break;
      }
      case "text-delta": case "reasoning-delta": {
        const { run, purpose, callId } = this.#frozen;
        const open = this.#texts?.get(part.id);
        if (open) open.text += part.delta;
        answer.received += part.delta.length;
        if (run.listening && purpose !== "summary") run.emit({ type: part.type === "text-delta" ? "text_delta" : "reasoning_delta", callId, delta: part.delta });
        break;
      }
      case "text-end": case "reasoning-end": {
        // Providers sign reasoning at its end; the signature must go back with the text.
        const open = this.#texts?.get(part.id);
        if (open && part.providerMetadata) open.providerMetadata = part.providerMetadata;
        break;
      }
      case "tool-input-delta":
        answer.received += part.delta.length;
        break;
      case "tool-call": case "tool-result": case "file": case "source":
        answer.content.push(part);
        break;
      case "finish":
        this.#finished = true;
        answer.finish = part.finishReason.unified;
        answer.usage = normalUsage(part.usage);
        break;
      case "error":
        throw part.error;
    }
  }
  end(): void {
    const { answer } = this, place = this.#frozen.model.id;
    if (!this.#finished || answer.finish === "interrupted") answer.error = new CavemanError("cave_provider_incomplete", { place });
    else if (answer.finish === "error") answer.error = new CavemanError("cave_provider_failed", { place, received: "finish reason error" });
  }
}

/** Sends a frozen request and reads the answer to its end. Never rejects: a failure is part of the answer. */
export async function send(shape: Shape, frozen: Frozen): Promise<Answer> {
  const reading = new Reading(frozen);
  const { run, signal } = frozen;
  let reader: ReadableStreamDefaultReader<ModelStreamPart> | undefined;
  let abandon: (() => void) | undefined;
  const onAbort = (): void => {
    abandon?.();
    void reader?.cancel(signal.reason).catch(() => undefined);
  };
  const forget = run.onAbort(onAbort);
  try {
    const options: CallOptions = { ...frozen.request, maxOutputTokens: frozen.allowance };
    if (shape.decorators.length > 0) options.headers = Object.assign({ ...options.headers }, ...shape.decorators.map((decorate) => decorate(options)));
    const opening = Promise.resolve(frozen.model.model.doStream(options));
    const opened = await new Promise<Awaited<typeof opening> | undefined>((yes, no) => {
      abandon = () => yes(undefined);
      opening.then(yes, no);
    });
    if (!opened) {
      void opening.then(({ stream }) => stream.cancel(), () => undefined).catch(() => undefined);
      throw signal.reason;
    }
    reader = opened.stream.getReader();
    if (signal.aborted) onAbort();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      reading.take(value);
    }
    if (signal.aborted) throw signal.reason;
    reading.end();
  } catch (cause) {
    fault(reading.answer, frozen, cause, signal);
  } finally {
    forget();
    if (reading.answer.error && reader) void reader.cancel().catch(() => undefined);
  }
  return reading.answer;
}

function fault(answer: Answer, frozen: Frozen, cause: unknown, signal: AbortSignal): void {
  answer.cause = cause;
  answer.finish = "error";
  if (signal.aborted) {
    answer.error = asCaveman(signal.reason, "cave_run_aborted");
    return;
  }
  answer.error = cause instanceof CavemanError ? cause : new CavemanError("cave_provider_failed", { place: `${frozen.model.provider}/${frozen.model.id}`, received: describe(cause), cause });
  if (answer.received === 0 && answer.content.length === 0 && !answer.usage && turnedAway(cause)) answer.sent = false;
}

const NEVER_CONNECTED = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;
const NO_CAPACITY = /overloaded|rate_?limit|resource_exhausted|too_many_requests/i;

/** Whether the provider provably did no work: it refused the request, had no capacity for it, or was never reached. */
function turnedAway(cause: unknown): boolean {
  if (typeof cause !== "object" || cause === null) return false;
  const { statusCode: status, type, code, error } = cause as { statusCode?: unknown; type?: unknown; code?: unknown; error?: { type?: unknown } };
  if (typeof status === "number") return (status >= 400 && status < 500 && status !== 408 && status !== 499) || status === 503 || status === 529;
  if (typeof code === "string" && NEVER_CONNECTED.test(code)) return true;
  return [type, error?.type].some((word) => typeof word === "string" && NO_CAPACITY.test(word));
}
