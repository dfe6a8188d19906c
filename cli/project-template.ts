/** The files of a new project, by path. They type-check, run offline at once and have a test. */
interface ProjectFacts {
  /** The name of the project's package. */
  readonly name: string;
  /** The version of this package that the project asks for. */
  readonly version: string;
}

export function projectFiles({ name, version }: ProjectFacts): Readonly<Record<string, string>> {
  return {
    "package.json": `${JSON.stringify(
      {
        name,
        version: "0.1.0",
        private: true,
        type: "module",
        engines: { node: ">=22.19.0" },
        scripts: {
          start: 'caveman run . "Where is order A-1001?"',
          test: 'node --test "tests/*.test.ts"',
          typecheck: "tsc --noEmit",
        },
        dependencies: { "caveman-agent": `^${version}` },
        devDependencies: { "@types/node": "^24.0.0", typescript: ">=5.8.0" },
      },
      null,
      2,
    )}\n`,
    "tsconfig.json": `${JSON.stringify(
      {
        compilerOptions: {
          target: "es2024",
          lib: ["es2024"],
          module: "nodenext",
          types: ["node"],
          strict: true,
          noUncheckedIndexedAccess: true,
          erasableSyntaxOnly: true,
          verbatimModuleSyntax: true,
          allowImportingTsExtensions: true,
          resolveJsonModule: true,
          skipLibCheck: true,
          noEmit: true,
        },
        include: ["*.ts", "tools", "tests", "subagents"],
      },
      null,
      2,
    )}\n`,
    ".gitignore": "node_modules/\n.caveman/\n*.log\n",
    "instructions.md": INSTRUCTIONS,
    "agent.ts": AGENT,
    "tools/lookup_order.ts": TOOL,
    "skills/refund-policy.md": SKILL,
    "model.script.ts": SCRIPT,
    "caveman.config.ts": CONFIG,
    "tests/agent.test.ts": TEST,
    "AGENTS.md": agents(name),
  };
}

const INSTRUCTIONS = `You answer customers of a small shop about their orders.

Look an order up with lookup_order before you say anything about it. Read the refund-policy skill before you say
anything about refunds. Answer in two sentences at most, and say so when you do not know.
`;

const AGENT = `import { auto } from "caveman-agent";

export default {
  /** The model of the one provider credential that is set. Without one, model.script.ts answers. */
  model: auto(),
};
`;

const TOOL = `import { schema, tool } from "caveman-agent";

const orders: Readonly<Record<string, { status: string; total: number }>> = {
  "A-1001": { status: "shipped", total: 42.5 },
  "A-1002": { status: "packing", total: 17 },
};

export default tool({
  name: "lookup_order",
  description: "Looks up one order by its id, such as A-1001.",
  input: schema.object({ order_id: schema.string({ pattern: "^[A-Z]-[0-9]{4}$" }) }),
  effect: "read",
  execute: ({ order_id }) => orders[order_id] ?? { status: "unknown" },
});
`;

const SKILL = `---
name: refund-policy
description: When and how an order is refunded.
---

A shipped order can be returned within 30 days for the full price. An order that is still being packed can be
cancelled at no cost. Refunds arrive within five working days.
`;

const SCRIPT = `import type { Script } from "caveman-agent/testing";

/**
 * What the model says while no provider credential is set: it looks the order up, then answers. The same script drives
 * the test.
 */
export const script: Script = ({ prompt }) => {
  const last = prompt.at(-1);
  if (last?.role === "tool") return { text: "Your order has shipped and is on its way." };
  const order = /[A-Z]-[0-9]{4}/.exec(JSON.stringify(last?.content))?.[0];
  if (order === undefined) return { text: "Which order do you mean? Tell me its id, such as A-1001." };
  return { toolCalls: [{ name: "lookup_order", input: { order_id: order } }] };
};

/** It passes for this model: its limits and prices apply, marked as simulated. */
export default { script, as: "anthropic/claude-haiku-4-5" };
`;

const CONFIG = `import { defineConfig } from "caveman-agent";

export default defineConfig({
  preset: "standard",
});
`;

const TEST = `import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createCaveman, loadAgentDir } from "caveman-agent";
import { scripted } from "caveman-agent/testing";
import { script } from "../model.script.ts";

test("an order is looked up before it is answered", async () => {
  const { agent, run, dir } = await loadAgentDir(fileURLToPath(new URL("..", import.meta.url)));
  const caveman = createCaveman({ preset: "fixture" });
  const { text, receipt } = await caveman.run(agent, "Where is order A-1001?", { ...run, rootDir: dir, model: scripted(script) });
  assert.match(text, /shipped/);
  assert.deepEqual(receipt.tools, [{ name: "lookup_order", calls: 1, errors: 0 }]);
});
`;

const agents = (name: string): string => `# ${name}

An agent as a directory, run by caveman-agent.

- \`instructions.md\`: what the model is told
- \`agent.ts\`: its model and settings
- \`tools/<name>.ts\`: one tool a file, default export, named as the file is; \`effect\` says what it does to the world
- \`skills/<name>.md\`: read by the model when it needs them
- \`model.script.ts\`: the answers while no provider credential is set, and in the test
- \`caveman.config.ts\`: preset, plugins and run options

Commands: \`npm start\`, \`npm test\`, \`npm run typecheck\`, \`npx caveman plugins\` (what taps which hook), \`npx caveman doctor\`,
\`npx caveman explain <code>\` (what an error means and what to do). TypeScript runs by type stripping: erasable syntax only.
`;
