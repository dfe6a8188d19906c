import { agent, schema, tool } from "caveman-agent";
import { attacks, type Baits } from "./attacks.ts";

const attack = (timeoutMs: number) =>
  tool({
    name: `attack_${timeoutMs}`,
    description: "Runs one attack.",
    input: schema.object({ name: schema.string(), baits: schema.any() }),
    effect: "external",
    timeoutMs,
    allowRepeat: true,
    execute: ({ name, baits }) => attacks[name]?.run(baits as Baits),
  });
const tools = [attack(700), attack(8_000)];

export const contained = agent({ id: "contained", instructions: "Attack.", tools });
export const onHost = agent({ id: "on-host", instructions: "Attack.", tools, sandbox: "host" });
