import { Type } from "@sinclair/typebox";
import { agent, schema, tool } from "caveman-agent";

const double = tool({
  name: "double",
  description: "Doubles.",
  input: Type.Object({ n: Type.Number({ minimum: 0 }), why: Type.Optional(schema.string()) }),
  effect: "read",
  execute: ({ n }) => n * 2,
});
export default agent({ id: "typebox", instructions: "Double.", tools: [double] });
