import type { SettledCall } from "../../kernel/index.ts";
import { ProviderFaults } from "../services.ts";

/** Whether a call failed because its request is too large, and may be sent again smaller: nothing was billed for it. */
export function isRejection({ error, cause, purpose, replayed, run, sent }: SettledCall): boolean {
  if (!error || purpose === "summary" || replayed || run.stopping || run.signal.aborted) return false;
  const fault = run.find(ProviderFaults)?.classify(cause ?? error);
  return fault?.tooLarge === true && (!sent || fault.billed === "no");
}
