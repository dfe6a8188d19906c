/** The wire: one frozen request out, one answer in, whatever the provider does. */
import { asCaveman, CavemanError } from "./errors.ts";
import { type CallOptions, type ModelContent, type ModelStreamPart, normalUsage, type Usage } from "./model.ts";
import type { Frozen, Shape } from "./request.ts";

/** What came back. `sent` is false when the provider provably billed nothing; `received` counts the characters it wrote. */
export interface Answer { content: ModelContent[]; finish: string; usage: Usage | undefined; error: CavemanError | undefined; cause: unknown; sent: boolean; received: number }

/** Nobody waits for this any more; how a foreign stream takes that is its own affair. */
const drop = (source: { cancel(reason?: unknown): unknown } | undefined, reason?: unknown): void => void new Promise((done) => done(source?.cancel(reason))).catch(() => undefined);

/** The stream first, then what each read of it gives. */
interface Got { readonly stream?: ReadableStream<ModelStreamPart>; readonly done?: boolean; readonly value?: ModelStreamPart | undefined }

/**
 * One request on its way: opened, read part by part, ended once. Each part is waited for by the same two callbacks: an
 * answer has many parts, and an `await` for each would make closures of its own.
 */
class Reading {
  readonly #answer: Answer = { content: [], finish: "other", usage: undefined, error: undefined, cause: undefined, sent: false, received: 0 };
  readonly #frozen: Frozen; readonly #answered: (answer: Answer) => void;
  #texts: Map<string, { type: "text" | "reasoning"; text: string; providerMetadata?: unknown }> | undefined;
  #reader: ReadableStreamDefaultReader<ModelStreamPart> | undefined; #finished = false; #over = false;

  constructor({ decorators }: Shape, frozen: Frozen, answered: (answer: Answer) => void) {
    this.#frozen = frozen; this.#answered = answered;
    frozen.run.onAbort(this.#abort);
    if (this.#over) return;
    try {
      const options: CallOptions = { ...frozen.request, maxOutputTokens: frozen.allowance };
      if (decorators.length > 0) options.headers = Object.assign({ ...options.headers }, ...decorators.map((decorate) => decorate(options)));
      this.#answer.sent = true;
      Promise.resolve(frozen.model.model.doStream(options)).then(this.#next, this.#fail);
    } catch (cause) {
      this.#fail(cause);
    }
  }
  readonly #next = (got: Got): void => {
    try {
      if (this.#over) return void drop(got.stream);
      if (!this.#reader) {
        this.#reader = (got.stream as ReadableStream<ModelStreamPart>).getReader();
        if (this.#frozen.signal.aborted) this.#abort();
      } else if (got.done) return void this.#end();
      else this.#take(got.value as ModelStreamPart);
      Promise.resolve(this.#reader.read()).then(this.#next, this.#fail);
    } catch (cause) {
      this.#fail(cause);
    }
  };
  /** Whoever waits for an answer is told at once; a stream that is open may first say where it ends, which takes no time. */
  readonly #abort = (): void => {
    if (!this.#reader) return void this.#fail(this.#frozen.signal.reason);
    drop(this.#reader, this.#frozen.signal.reason);
    setImmediate(this.#fail, this.#frozen.signal.reason);
  };
  #take(part: ModelStreamPart): void {
    const answer = this.#answer;
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
        if (answer.content.length === 0) answer.content = [part];
        else answer.content.push(part);
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
  #end(): void {
    const answer = this.#answer, place = this.#frozen.model.id;
    if (this.#frozen.signal.aborted) throw this.#frozen.signal.reason;
    if (!this.#finished || answer.finish === "interrupted") answer.error = new CavemanError("cave_provider_incomplete", { place });
    else if (answer.finish === "error") answer.error = new CavemanError("cave_provider_failed", { place, received: "finish reason error" });
    this.#close();
  }
  readonly #fail = (cause: unknown): void => {
    if (this.#over) return;
    fault(this.#answer, this.#frozen, cause, this.#frozen.signal);
    this.#close();
  };
  #close(): void {
    this.#over = true;
    this.#frozen.run.offAbort(this.#abort);
    this.#answered(this.#answer);
    if (this.#answer.error) drop(this.#reader);
  }
}

/** Sends a frozen request and reads the answer to its end. Never rejects: a failure is part of the answer. */
export const send = (shape: Shape, frozen: Frozen): Promise<Answer> => new Promise((answered) => void new Reading(shape, frozen, answered));

function fault(answer: Answer, frozen: Frozen, cause: unknown, signal: AbortSignal): void {
  answer.cause = cause;
  answer.finish = "error";
  answer.error = signal.aborted ? asCaveman(signal.reason, "cave_run_aborted") : asCaveman(cause, "cave_provider_failed", { place: `${frozen.model.provider}/${frozen.model.id}` });
  if (!signal.aborted && answer.received === 0 && answer.content.length === 0 && !answer.usage && turnedAway(cause)) answer.sent = false;
}

const NEVER_CONNECTED = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;
const NO_CAPACITY = /overloaded|rate_?limit|resource_exhausted|too_many_requests/i;

/** Whether the provider provably did no work: it refused the request, had no capacity for it, or was never reached. */
function turnedAway(cause: unknown): boolean {
  try {
    const { statusCode: status, type, code, error } = cause as { statusCode?: unknown; type?: unknown; code?: unknown; error?: { type?: unknown } };
    if (typeof status === "number") return (status >= 400 && status < 500 && status !== 408 && status !== 499) || status === 503 || status === 529;
    if (typeof code === "string" && NEVER_CONNECTED.test(code)) return true;
    return [type, error?.type].some((word) => typeof word === "string" && NO_CAPACITY.test(word));
  } catch {
    return false; // what cannot be looked at proves nothing
  }
}
