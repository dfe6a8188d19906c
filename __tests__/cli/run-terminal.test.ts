import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { folder } from "./caveman.ts";
import { noTmux, Pane } from "./tmux.ts";

jest.setTimeout(120_000);
if (noTmux) console.warn(`caveman run at a terminal is not tested: ${noTmux}`);

const AGENT = `import { agent, schema, tool } from "caveman-agent";
const refund = tool({ name: "refund", description: "Refunds.", input: schema.object({ id: schema.string() }), effect: "write", execute: ({ id }) => ({ id, refunded: true }) });
export default agent({ id: "shop", instructions: "Help.", tools: [refund], model: "sim/model.script", sandbox: "host" });
`;
const CONFIG = `{ "plugins": [["policy", { "rules": [{ "decision": "ask", "tool": "refund" }] }]] }`;
// The last answer tries to write the clipboard and to set the title.
const SCRIPT = JSON.stringify([
  { toolCalls: [{ name: "refund", input: { id: "A-1\u001b]0;owned\u0007" } }] },
  { text: "Done.\u001b]52;c;b3duZWQ=\u0007 \u001b[2JBye." },
]);
const shop = () =>
  folder({
    "package.json": '{ "type": "module" }',
    "agent.ts": AGENT,
    "model.script.json": SCRIPT,
    "caveman.config.json": CONFIG,
  });

(noTmux ? describe.skip : describe)("caveman run at a terminal", () => {
  test.each([
    ["y", /✓ refund/],
    ["n", /refund ×0 \(1 denied\)/],
  ])("a rule that asks shows the call with its arguments; %s decides it", async (key, then) => {
    await using dir = await shop();
    await using pane = await Pane.open(["run", join(dir.path, "agent.ts"), "Refund A-1"]);
    const asked = await pane.until(/Allow refund\?[\s\S]*id: A-1[\s\S]*\[y\]es/);
    expect(asked).toContain("(write)");
    await pane.press(key);
    const screen = await pane.until(/EXIT=0/);
    expect(screen).toMatch(then);
    // What the model wrote is shown, and acts on nothing.
    expect(screen).toContain("Done.␛]52;c;b3duZWQ=␇ ␛[2JBye.");
    expect(await pane.raw()).not.toContain("\u001b]52");
  });
});
