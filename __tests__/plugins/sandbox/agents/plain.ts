import { agent, schema, tool } from "caveman-agent";
import { type Greeting, greet } from "./greeting.ts";

const hello = tool({
  name: "hello",
  description: "Greets.",
  input: schema.object({ name: schema.string(), loud: schema.optional(schema.boolean()) }),
  effect: "read",
  execute: ({ name, loud }): Greeting => greet(name, loud ?? false),
});

export default agent({ id: "plain", instructions: "Greet.", tools: [hello] });
