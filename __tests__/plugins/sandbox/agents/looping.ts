import { agent, schema, tool } from "caveman-agent";

const loop = tool({
  name: "loop",
  description: "Never ends.",
  input: schema.object({}),
  effect: "read",
  timeoutMs: 60_000,
  execute: () => {
    for (;;) Math.random();
  },
});
export const looping = agent({ id: "looping", instructions: "Loop.", tools: [loop] });
