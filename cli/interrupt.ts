/** Ctrl-C: the first one aborts the run, which then settles; the second one leaves at once. */
import { CavemanError } from "../kernel/errors.ts";
import { EXIT } from "./command.ts";
import type { Terminal } from "./render/terminal.ts";

interface Interrupt {
  readonly signal: AbortSignal;
  readonly done: () => void;
}

export function interruptible(terminal: Terminal): Interrupt {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    terminal.err("\ninterrupted: settling; Ctrl-C again leaves at once\n");
    controller.abort(new CavemanError("cave_run_aborted"));
  };
  process.on("SIGINT", onSignal).on("SIGTERM", onSignal);
  return { signal: controller.signal, done: () => void process.off("SIGINT", onSignal).off("SIGTERM", onSignal) };
}
