/** Runs attacks on the host, in this process, which is one that may die of it: names in, one line of JSON each out. */
import { createCaveman } from "caveman-agent";
import { scripted } from "caveman-agent/testing";
import { sandbox } from "../../../plugins/sandbox/index.ts";
import { onHost } from "./agent.ts";
import { attacks, type Baits } from "./attacks.ts";
import { polluted } from "./outcome.ts";

const given = JSON.parse(process.argv[2] ?? "{}") as { names: string[]; baits: Baits };
// The descriptor is this process's own: it is the host here.
const { openSync } = process.getBuiltinModule("node:fs");
const baits = { ...given.baits, descriptor: openSync(`${given.baits.dir}/secret.txt`, "r") };
const caveman = createCaveman({ preset: "bare", plugins: [sandbox()] });

for (const name of given.names) {
  const times = name.startsWith("leave state") ? 2 : 1;
  let outcome = "";
  for (let time = 0; time < times; time++) {
    const call = { name: "attack_8000", input: { name, baits } };
    for await (const event of caveman.stream(onHost, "go", { model: scripted([{ toolCalls: [call] }, { text: "" }]) }))
      if (event.type === "tool_end") outcome = event.isError ? "" : "succeeded";
  }
  // What is returned here is not copied, so the prototype is in it.
  if (name === "a prototype in the result" && !("polluted" in Object.assign({}, attacks[name]?.run(baits))))
    outcome = "";
  if (name === "change Object.prototype" && !polluted()) outcome = "";
  Reflect.deleteProperty(Object.prototype, "polluted");
  process.stdout.write(`${JSON.stringify({ name, outcome })}\n`);
}
process.exit(0);
