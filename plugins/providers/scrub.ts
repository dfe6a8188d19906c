/**
 * The wall around a vendor's model. What a vendor's package throws can carry the key, the request and the whole answer:
 * a fault that leaves here is built anew from the few fields that decide about a failed call, with every key removed.
 */
import type { CallOptions, LanguageModel, ModelStreamPart } from "../../kernel/index.ts";
import { CavemanError } from "../../kernel/index.ts";
import { TOO_LARGE } from "./classify.ts";

/** A failed call as the rest of the program may see it. */
export class ProviderFault extends Error {
  override readonly name = "ProviderFault";
  /** HTTP status, when the provider answered with one. */
  declare readonly statusCode?: number;
  /** The vendor's own kind of failure; present when the provider itself named the failure. */
  declare readonly type?: string;
  /** The vendor's or the network's code. */
  declare readonly code?: string;
  /** The vendor package's own opinion. */
  declare readonly isRetryable?: boolean;
  /** Only the headers that say when and whether to come back. */
  declare readonly responseHeaders?: Readonly<Record<string, string>>;
  /** True when the failure arrived after the answer had begun. */
  readonly inStream: boolean;

  constructor(
    message: string,
    inStream: boolean,
    fields: Partial<Pick<ProviderFault, "statusCode" | "type" | "code" | "isRetryable" | "responseHeaders">>,
  ) {
    super(message);
    this.inStream = inStream;
    for (const [key, value] of Object.entries(fields))
      if (value !== undefined) Object.defineProperty(this, key, { value, enumerable: true });
  }
}

const KEPT_HEADERS = ["retry-after", "retry-after-ms", "x-should-retry", "request-id", "x-request-id"];
/** Characters of a vendor's message that are kept. */
const LONGEST_MESSAGE = 1_000;

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const text = (value: unknown): string | undefined =>
  typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined;

/** The beginning of a key from which on a part of it is taken for it: some servers quote a key cut short. */
const CUT_KEY = 12;

/** Removes the keys, also in their URL and JSON forms and cut short. */
export function scrubber(keys: readonly string[]): (text: string) => string {
  const forms = new Set(
    keys
      .flatMap((key) => [key, encodeURIComponent(key), JSON.stringify(key).slice(1, -1)])
      .filter((form) => form !== ""),
  );
  const longestFirst = [...forms].sort((a, b) => b.length - a.length);
  return (from) =>
    withoutCut(
      longestFirst.reduce((clean, form) => clean.replaceAll(form, "[redacted]"), from),
      longestFirst.filter((form) => form.length > CUT_KEY),
    );
}

/** The text without any beginning of a key that is long enough to matter. */
function withoutCut(text: string, keys: readonly string[]): string {
  const endOf = (key: string, at: number): number => {
    let length = CUT_KEY;
    while (at + length < text.length && text[at + length] === key[length]) length++;
    return at + length;
  };
  let clean = "";
  let from = 0;
  for (;;) {
    const found = keys.map((key) => text.indexOf(key.slice(0, CUT_KEY), from)).filter((at) => at >= 0);
    if (found.length === 0) return clean + text.slice(from);
    const at = Math.min(...found);
    clean += `${text.slice(from, at)}[redacted]`;
    from = Math.max(...keys.filter((key) => text.startsWith(key.slice(0, CUT_KEY), at)).map((key) => endOf(key, at)));
  }
}

/** Builds the safe form of anything a vendor's package threw. Coded errors and aborts pass. */
export function faultOf(error: unknown, clean: (text: string) => string, inStream: boolean): unknown {
  if (error instanceof CavemanError || error instanceof ProviderFault) return error;
  if (error instanceof Error && error.name === "AbortError") return error;
  const given = fields(error);
  // Some packages pass the vendor's error object on, some wrap it as `error`, `data` or `data.error`.
  const inner = [fields(given.error), fields(fields(given.data).error), fields(given.data)];
  const first = (key: string): string | undefined =>
    [given, ...inner].map((from) => text(from[key])).find((value) => value !== undefined);
  const message = typeof error === "string" ? error : (first("message") ?? "the provider gave no reason");
  const headers = Object.entries(fields(given.responseHeaders)).filter(
    (entry): entry is [string, string] => KEPT_HEADERS.includes(entry[0].toLowerCase()) && typeof entry[1] === "string",
  );
  const status = [given, ...inner]
    .flatMap((from) => [from.statusCode, from.status])
    .find((value): value is number => typeof value === "number");
  const kind = first("type") ?? (inStream && !(error instanceof Error) ? "stream_error" : undefined);
  // A server whose errors the package cannot read still says in its body that a request is too large. The body itself may
  // quote the request, so it goes no further.
  const tooLarge = typeof given.responseBody === "string" && TOO_LARGE.test(given.responseBody.slice(0, 4_000));
  const code = first("code") ?? (tooLarge ? "context_length_exceeded" : networkCode(given.cause));
  return new ProviderFault(clean(message.slice(0, 8 * LONGEST_MESSAGE)).slice(0, LONGEST_MESSAGE), inStream, {
    ...(status === undefined ? {} : { statusCode: status }),
    ...(kind === undefined ? {} : { type: clean(kind) }),
    ...(code === undefined ? {} : { code: clean(code) }),
    ...(typeof given.isRetryable === "boolean" ? { isRetryable: given.isRetryable } : {}),
    ...(headers.length === 0
      ? {}
      : { responseHeaders: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), clean(value)])) }),
  });
}

/** The code of a lost or refused connection lies a few causes down. */
function networkCode(cause: unknown): string | undefined {
  for (let at = cause, depth = 0; depth < 5 && at !== undefined && at !== null; depth++, at = fields(at).cause) {
    const code = fields(at).code;
    if (typeof code === "string") return code;
    const [inner] = Array.isArray(fields(at).errors) ? (fields(at).errors as readonly unknown[]) : [];
    if (typeof fields(inner).code === "string") return fields(inner).code as string;
  }
  return undefined;
}

/** The same model with `prepare` applied to every request and every failure made safe. */
export function guarded(
  model: LanguageModel,
  keys: readonly string[],
  prepare: (options: CallOptions) => CallOptions,
): LanguageModel {
  const clean = scrubber(keys);
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    async doGenerate(options) {
      try {
        return await model.doGenerate(prepare(options));
      } catch (error) {
        throw faultOf(error, clean, false);
      }
    },
    async doStream(options) {
      try {
        const answer = await model.doStream(prepare(options));
        return { stream: safeStream(answer.stream, clean) };
      } catch (error) {
        throw faultOf(error, clean, false);
      }
    },
  };
}

function safeStream(
  stream: ReadableStream<ModelStreamPart>,
  clean: (text: string) => string,
): ReadableStream<ModelStreamPart> {
  const reader = stream.getReader();
  return new ReadableStream<ModelStreamPart>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else
            controller.enqueue(
              value.type === "error" ? { type: "error", error: faultOf(value.error, clean, true) } : value,
            );
        } catch (error) {
          controller.error(faultOf(error, clean, true));
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
