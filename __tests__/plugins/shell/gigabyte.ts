/** Run as a process of its own: streams 1 GB through bash, and prints how far its memory rose. */
import { world } from "./workspaces.ts";

await using at = await world({ store: true });
await at.ok("bash", { command: "echo warm" });
const before = process.memoryUsage().rss;
let peak = before;
const watch = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage().rss);
}, 5);
const text = await at.ok("bash", { command: "head -c 1000000000 /dev/zero" });
clearInterval(watch);
peak = Math.max(peak, process.memoryUsage().rss);
const kept = Buffer.byteLength([...at.kept.values()][0] ?? "");
process.stdout.write(JSON.stringify({ bytes: Buffer.byteLength(text), risenMB: (peak - before) / 1e6, kept }));
