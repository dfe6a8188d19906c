/** Ctrl-C, and a terminal that goes away: the first signal aborts the run, which then settles; the second leaves at once. */
import { CavemanError } from "../kernel/errors.ts";
import { EXIT } from "./command.ts";
import type { Terminal } from "./render/terminal.ts";

interface Interrupt {
  readonly signal: AbortSignal;
  /** As if Ctrl-C had been pressed. */
  readonly interrupt: () => void;
  readonly done: () => void;
}

export function interruptible(terminal: Terminal): Interrupt {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    terminal.err("\ninterrupted: settling; Ctrl-C again leaves at once\n");
    controller.abort(new CavemanError("cave_run_aborted"));
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  for (const name of signals) process.on(name, onSignal);
  const done = (): void => {
    for (const name of signals) process.off(name, onSignal);
  };
  return { signal: controller.signal, interrupt: onSignal, done };
}
