/** Aborts a run of the standard preset at each of its events in turn, then says what is still open, and ends by itself. */
import { createKernel } from "../../kernel/index.ts";
import { standard } from "../../presets/index.ts";
import { family } from "./family.ts";

const idle = process.getActiveResourcesInfo();
const kernel = createKernel({ plugins: standard() });
let aborted = 0;
for (let index = 0; ; index++) {
  const stop = new AbortController();
  let seen = 0;
  // A tool that waits for minutes, under a deadline of hours: whatever an abort leaves behind would be waited for.
  const waitMs = index % 2 === 0 ? 1 : 600_000;
  const patience = setTimeout(() => stop.abort(), 500);
  const { done } = kernel.start(family(waitMs), "go", { signal: stop.signal, deadlineMs: 7_200_000 }, () => {
    if (seen++ === index) stop.abort();
  });
  const { stopReason } = await done;
  clearTimeout(patience);
  if (stopReason === "aborted") aborted++;
  if (waitMs === 1 && seen <= index) break;
}
await new Promise((resolve) => setImmediate(resolve));
const open = process.getActiveResourcesInfo().filter((kind) => !idle.includes(kind) && kind !== "Immediate");
process.stdout.write(JSON.stringify({ aborted, open }));
