/** One of several processes on one memory: `writer.ts <root> <name> <count>`. */
import { createMemoryEngine } from "../../../plugins/memory/index.ts";

const [root = "", name = "", count = "0"] = process.argv.slice(2);
const engine = createMemoryEngine({ scope: { agentId: "support", namespace: "notes" }, root });
const ids: string[] = [];
for (let at = 0; at < Number(count); at++) ids.push((await engine.remember(`Fact number ${at} written by ${name}`)).id);
// Each replaces the last of its own facts, while the others write.
const replaced = await engine.supersede(ids.at(-1) ?? "", `Final fact written by ${name}`);
await engine.close();
process.stdout.write(JSON.stringify([...ids, replaced.id]));
