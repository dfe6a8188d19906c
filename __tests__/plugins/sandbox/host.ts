/** A process that runs contained tools, for tests of what is left of them: `many` calls, or one that loops. */
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { createCaveman } from "caveman-agent";
import { scripted } from "caveman-agent/testing";
import { sandbox } from "../../../plugins/sandbox/index.ts";
import { looping } from "./agents/looping.ts";
import plain from "./agents/plain.ts";
import { descendants } from "./processes.ts";

const rootDir = `${import.meta.dirname}/agents`;
const caveman = createCaveman({ preset: "bare", plugins: [sandbox()] });

/** What calls may leave: folders in the temporary folder, processes, open descriptors. */
const traces = (): object => ({
  folders: readdirSync(tmpdir()),
  processes: descendants(process.pid).length,
  descriptors: process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0,
});

if (process.argv[2] === "loop") {
  setTimeout(() => console.log("looping"), 1_500);
  const model = scripted([{ toolCalls: [{ name: "loop", input: {} }] }, { text: "" }]);
  await caveman.run(looping, "go", { model, entryPath: "looping.ts", rootDir });
} else {
  const calls = Array.from({ length: 8 }, (_, index) => ({ name: "hello", input: { name: `n${index}` } }));
  let done = 0;
  const once = async (turns: number, abortAfterMs?: number): Promise<void> => {
    const model = scripted([...Array.from({ length: turns }, () => ({ toolCalls: calls })), { text: "done" }]);
    const signal = abortAfterMs === undefined ? undefined : AbortSignal.timeout(abortAfterMs);
    const options = { model, entryPath: "plain.ts", rootDir, ...(signal ? { signal } : {}) };
    try {
      for await (const event of caveman.stream(plain, "go", options))
        if (event.type === "tool_end" && !event.isError) done++;
    } catch {
      // Aborted, as asked.
    }
  };
  // What is opened once and kept, such as the lexer, is no trace of a call.
  await once(1);
  done = 0;
  const before = traces();
  for (let round = 0; round < 5; round++) await once(5);
  const after = traces();
  await once(5, 150);
  console.log(JSON.stringify({ done, before, after, aborted: traces() }));
}
