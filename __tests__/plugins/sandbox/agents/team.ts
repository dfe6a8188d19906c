import { agent, createCaveman, schema, subagent, tool } from "caveman-agent";

const add = tool({
  name: "add",
  description: "Adds one.",
  input: schema.object({ to: schema.number() }),
  effect: "read",
  execute: ({ to }) => ({ sum: to + 1, pid: process.pid }),
});
const composite = tool({
  name: "composite",
  description: "Adds twice, by its nested tool.",
  input: schema.object({ to: schema.number() }),
  effect: "read",
  nestedTools: [add],
  execute: async ({ to }, context) => {
    const once = (await context.call("add", { to })) as { sum: number };
    const twice = (await context.call("add", { to: once.sum })) as { sum: number };
    const denied = await context.call("missing", {}).catch((error: { code: string }) => error.code);
    return { sum: twice.sum, denied };
  },
});
const crowd = tool({
  name: "crowd",
  description: "Adds often, all at once.",
  input: schema.object({ times: schema.number() }),
  effect: "read",
  nestedTools: [add],
  execute: async ({ times }, context) =>
    (await Promise.all(Array.from({ length: times }, (_, to) => context.call("add", { to })))).length,
});
const throws = tool({
  name: "throws",
  description: "Throws what it is asked to.",
  input: schema.object({ what: schema.string() }),
  effect: "read",
  execute: ({ what }) => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    if (what === "text") throw "only text";
    if (what === "null") throw null;
    if (what === "circle") return circle;
    if (what === "bigint") return { n: 1n };
    if (what === "function") return () => 1;
    if (what === "nothing") return undefined;
    throw new Error("an error");
  },
});
const when = tool({
  name: "when",
  description: "Says the year of a date.",
  input: {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value: unknown) => ({ value: { at: new Date(String((value as { at?: unknown }).at)) } }),
    },
  },
  inputJSONSchema: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
  effect: "read",
  execute: (input) => (input as { at: Date }).at.getUTCFullYear(),
});
const secret = tool({
  name: "secret",
  description: "Reads its environment.",
  input: schema.object({}),
  effect: "read",
  execute: () => ({
    names: Object.keys(process.env).sort(),
    key: process.env.OPENAI_API_KEY ?? null,
    cwd: process.cwd(),
  }),
});

const child = agent({ id: "child", instructions: "Add.", tools: [add] });
export const team = agent({
  id: "team",
  instructions: "Work.",
  tools: [
    composite,
    crowd,
    throws,
    when,
    secret,
    subagent({ name: "helper", description: "Adds.", agent: child, maxCalls: 4 }),
  ],
});

// A module may also run what it defines; in a worker that comes to nothing.
export const caveman = createCaveman({ preset: "bare" });
