import { agent, schema, subagent, tool } from "../../kernel/index.ts";
import { scripted } from "../../plugins/providers/scripted/index.ts";

/** Three turns, two children side by side in the first, a tool that waits in every run. */
export function family(waitMs = 1) {
  const child = (id: string) =>
    agent({
      id,
      instructions: "Look it up.",
      model: scripted([
        { toolCalls: [{ name: "wait", input: { ms: waitMs } }] },
        { text: `${id} found it`, chunks: 3 },
      ]),
      tools: [wait],
      sandbox: "host",
    });
  const wait = tool({
    name: "wait",
    description: "Waits.",
    input: schema.object({ ms: schema.number() }),
    effect: "read",
    execute: ({ ms }, { signal }) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => resolve("waited"), ms);
        signal.addEventListener(
          "abort",
          () => {
            clearTimeout(timer);
            reject(signal.reason);
          },
          { once: true },
        );
      }),
  });
  return agent({
    id: "parent",
    sandbox: "host",
    instructions: "Delegate.",
    model: scripted([
      {
        text: "Asking two.",
        chunks: 2,
        toolCalls: [
          { name: "one", input: { task: "a" } },
          { name: "two", input: { task: "b" } },
        ],
      },
      { reasoning: "Hm.", toolCalls: [{ name: "wait", input: { ms: waitMs } }] },
      { text: "All done.", chunks: 3 },
    ]),
    tools: [
      wait,
      subagent({ name: "one", description: "First.", agent: child("one") }),
      subagent({ name: "two", description: "Second.", agent: child("two") }),
    ],
  });
}
