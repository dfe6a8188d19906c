/** What is known of a failed attempt, and whether repeating it can pay twice. */
import type { SettledCall } from "../../kernel/index.ts";
import { type ProviderFault, ProviderFaults } from "../services.ts";

/** Reads the failure through the provider's own classification; without one, only what the HTTP status proves. */
export function faultOf({ run, cause, error }: SettledCall): ProviderFault {
  const failed = cause ?? error;
  return run.find(ProviderFaults)?.classify(failed) ?? byStatus(failed);
}

function byStatus(cause: unknown): ProviderFault {
  const status =
    typeof cause === "object" && cause !== null ? (cause as { statusCode?: unknown }).statusCode : undefined;
  if (typeof status !== "number")
    return { retryable: false, tooLarge: false, billed: "maybe", code: "cave_provider_failed" };
  const billed = status === 429 || status === 503 || status === 529 || status === 413 ? "no" : "maybe";
  return {
    status,
    retryable: status === 408 || status === 429 || status >= 500,
    tooLarge: status === 413,
    billed,
    code: "cave_provider_failed",
  };
}

/**
 * Whether the attempt provably cost nothing. The kernel knows whether anything was received; a status alone does not,
 * since an error with that status may have come in the middle of a stream.
 */
export const unbilled = ({ sent, content }: SettledCall, { billed, status }: ProviderFault): boolean =>
  !sent || (billed === "no" && status === undefined && content.length === 0);
