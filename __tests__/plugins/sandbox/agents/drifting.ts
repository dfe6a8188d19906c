import { agent, schema, tool } from "caveman-agent";

// Another description each time it is loaded.
const drifts = tool({
  name: "drifts",
  description: `Made in process ${process.pid}.`,
  input: schema.object({}),
  effect: "read",
  execute: () => "",
});
export default agent({ id: "drifting", instructions: "Drift.", tools: [drifts] });
