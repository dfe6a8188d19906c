/** The local backend: a shell on this machine, with limits on time, output and processes. */
import type { ExecRequest, ExecutionBackend } from "./backend.ts";
import type { LocalLimits } from "./local-command.ts";

export type { LocalLimits };

const LOCAL_LIMITS: LocalLimits = Object.freeze({ maxStreamBytes: 4 * 1_024 ** 3, maxProcesses: 512 });

/** What runs commands, loaded with the first one. */
let code: typeof import("./local-command.ts") | undefined;

/** A backend that runs commands on this machine. */
export function localBackend(limits: Partial<LocalLimits> = {}): ExecutionBackend {
  const bounds = { ...LOCAL_LIMITS, ...limits };
  return Object.freeze({
    async exec(request: ExecRequest) {
      code ??= await import("./local-command.ts");
      return code.execute(request, bounds);
    },
  });
}
