/** Reads a failed call: may it be tried again, when, was the request too large, can it have been billed. */
import { CavemanError } from "../../kernel/index.ts";
import type { ProviderFault } from "../services.ts";

type Fields = Readonly<Record<string, unknown>>;
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});

/** The connection was never made, so nothing was sent. */
const UNSENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|ConnectionRefused|FailedToOpenSocket|CERT_.*|DEPTH_ZERO_.*|SELF_SIGNED_.*|UNABLE_TO_VERIFY_.*|ERR_TLS_.*)$/;
const LOST =
  /^(?:ECONNRESET|ECONNABORTED|ETIMEDOUT|EPIPE|UND_ERR_SOCKET|UND_ERR_HEADERS_TIMEOUT|UND_ERR_BODY_TIMEOUT|ConnectionClosed)$/;
/** How the three vendors, and servers that speak their protocols, say that a request is too large. */
export const TOO_LARGE =
  /context[_ ]length|context window|maximum context|prompt is too long|input is too long|request_too_large|too many (?:input )?tokens|exceeds? the maximum number of (?:input )?tokens|input token count.{0,40}exceeds/i;
const QUOTA = /insufficient_quota|billing_hard_limit|credit balance is too low|billing_error/i;
const RATE = /rate_?limit|resource_exhausted|too_many_requests/i;
const OVERLOAD = /overloaded|server_error|api_error|internal_error|timeout_error|unavailable|deadline_exceeded/i;
const AUTH = /authentication|permission_(?:error|denied)|invalid_api_key|unauthenticated/i;

/** Statuses that say the request was turned away before any model saw it. 408 and 499 give up on one in flight. */
const turnedAway = (status: number): boolean =>
  (status >= 400 && status < 500 && status !== 408 && status !== 499) || status === 503 || status === 529;

/**
 * Classifies anything a failed call threw: the faults of this plugin's models, `APICallError`, a bare network error, or
 * a coded error around one of them. `now` is epoch milliseconds and turns a date in `retry-after` into a wait.
 */
export function classify(cause: unknown, now: number = Date.now()): ProviderFault {
  const at = bottom(cause);
  const status = typeof at.statusCode === "number" ? at.statusCode : undefined;
  const words = [
    at.type,
    at.code,
    at.message,
    at.responseBody,
    fields(at.error).type,
    fields(at.error).code,
    fields(at.error).message,
  ]
    .filter((word) => typeof word === "string")
    .join(" ")
    .slice(0, 4_000);
  const network = networkCodeOf(at);
  const headers = fields(at.responseHeaders);
  const waitMs = retryAfter(headers, now);
  const billed =
    at.inStream === true
      ? "maybe"
      : status !== undefined
        ? turnedAway(status)
          ? "no"
          : "maybe"
        : network !== undefined && UNSENT.test(network)
          ? "no"
          : "maybe";
  const of = (code: string, retryable: boolean, tooLarge = false): ProviderFault => {
    const said = headers["x-should-retry"];
    return {
      ...(status === undefined ? {} : { status }),
      tooLarge,
      billed,
      code,
      retryable: said === "true" && !tooLarge ? true : said === "false" ? false : retryable,
      ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    };
  };
  if (at.name === "AbortError") return of("cave_run_aborted", false);
  if (cause instanceof CavemanError && cause.code !== "cave_provider_failed")
    return of(cause.code, cause.code === "cave_provider_incomplete");
  if (status === 413 || ((status === undefined || status === 400 || status === 422) && TOO_LARGE.test(words)))
    return of("cave_provider_too_large", false, true);
  if (status === 402 || QUOTA.test(words)) return of("cave_provider_quota", false);
  if (status === 401 || status === 403) return of("cave_provider_auth", false);
  if (status === 429) return of("cave_provider_rate_limited", true);
  if (status !== undefined && (status >= 500 || status === 408)) return of("cave_provider_overloaded", true);
  if (status !== undefined && status >= 400) return of("cave_provider_rejected", status === 409);
  if (network !== undefined) return of("cave_provider_unreachable", true);
  if (RATE.test(words)) return of("cave_provider_rate_limited", true);
  if (OVERLOAD.test(words)) return of("cave_provider_overloaded", true);
  if (AUTH.test(words)) return of("cave_provider_auth", false);
  if (at.name === "TimeoutError") return of("cave_provider_unreachable", true);
  return of("cave_provider_failed", at.isRetryable === true);
}

/** The first in the chain of causes that carries a status, a network code or a vendor's kind. */
function bottom(cause: unknown): Fields {
  const chain: Fields[] = [];
  for (let at: unknown = cause; chain.length < 6 && typeof at === "object" && at !== null; at = (at as Fields).cause)
    chain.push(at as Fields);
  const outermost = cause instanceof CavemanError ? chain.slice(1) : chain;
  return (
    outermost.find((at) => typeof at.statusCode === "number" || typeof at.type === "string") ??
    outermost.find((at) => networkCodeOf(at) !== undefined) ??
    outermost[0] ??
    (typeof cause === "string" ? { message: cause } : {})
  );
}

function networkCodeOf(at: Fields): string | undefined {
  for (
    let inner: unknown = at, depth = 0;
    depth < 5 && typeof inner === "object" && inner !== null;
    depth++, inner = (inner as Fields).cause
  ) {
    const { code } = inner as Fields;
    if (typeof code === "string" && (UNSENT.test(code) || LOST.test(code))) return code;
  }
  return undefined;
}

function retryAfter(headers: Fields, now: number): number | undefined {
  const ms = Number(headers["retry-after-ms"] ?? Number.NaN);
  if (Number.isFinite(ms) && ms >= 0) return Math.ceil(ms);
  const after = headers["retry-after"];
  if (typeof after !== "string" || after.trim() === "") return undefined;
  const seconds = Number(after);
  if (Number.isFinite(seconds)) return seconds >= 0 ? Math.ceil(seconds * 1_000) : undefined;
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
