/** The error body both wires of OpenAI share. */
import type { Fault } from "./script.ts";
import type { JsonRecord } from "./wire.ts";

const known: Readonly<Record<number, readonly [type: string, code: string | null]>> = {
  401: ["invalid_request_error", "invalid_api_key"],
  404: ["invalid_request_error", "model_not_found"],
  429: ["requests", "rate_limit_exceeded"],
  503: ["server_error", "server_is_overloaded"],
};

export function openaiFailure({ status, code, message }: Pick<Fault, "status" | "code" | "message">): {
  readonly message: string;
  readonly type: string;
  readonly param: null;
  readonly code: string | null;
} {
  const [type, usual] = known[status] ?? [status >= 500 ? "server_error" : "invalid_request_error", null];
  return { message, type, param: null, code: code ?? usual };
}

export const openaiErrorBody = (fault: Pick<Fault, "status" | "code" | "message">): JsonRecord => ({
  error: openaiFailure(fault),
});
