/** Memory for a host that is not this runtime: text before a turn, the answer after it. */
import type { MemoryEngine } from "./engine.ts";

/** Memory around the turns of another host. */
export interface MemoryWorkflow {
  /** What was recalled for the turn before, as text to put before the user's; undefined when nothing was. Never waits. */
  beforeTurn(userText: string): string | undefined;
  afterTurn(answer: string): void;
  /** Flushes, ends the session and lets go of the files. */
  close(): Promise<void>;
}

/** A workflow over an engine, which it closes at the end. */
export function createMemoryWorkflow(engine: MemoryEngine, sessionId: string): MemoryWorkflow {
  let user = "";
  return {
    beforeTurn(userText) {
      user = userText;
      return engine.beginTurn(userText);
    },
    afterTurn(assistant) {
      engine.endTurn({ sessionId, user, assistant });
    },
    async close() {
      await engine.endSession();
      await engine.close();
    },
  };
}
