import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import shopkeeper from "../../../examples/custom-policy/agent.ts";
import config, { officeHours } from "../../../examples/custom-policy/caveman.config.ts";
import shopScript from "../../../examples/custom-policy/model.script.ts";
import supportScript from "../../../examples/support-bot/model.script.ts";
import { createCaveman, loadAgentDir } from "../../../index.ts";
import { scripted } from "../../../plugins/testing.ts";

const ask = async (question: string) => {
  const { agent, run, dir } = await loadAgentDir(
    fileURLToPath(new URL("../../../examples/support-bot", import.meta.url)),
  );
  return createCaveman().run(agent, question, {
    ...run,
    rootDir: dir,
    model: scripted(supportScript.script, supportScript),
  });
};

describe("support-bot", () => {
  test("a late order is looked up, researched and refunded, and the answer is made of what the tools said", async () => {
    const { text, receipt } = await ask("Where is order A-123? Can I get a refund?");
    expect(text).toContain("walnut desk lamp"); // lookup_order
    expect(text).toContain("Ostwick depot"); // the subagent's own tool
    expect(text).toContain("$89.00 (R-A-123)"); // issue_refund
    expect(Object.fromEntries(receipt.tools.map(({ name, calls }) => [name, calls]))).toEqual({
      cave_skill: 1,
      lookup_order: 1,
      researcher: 1,
      issue_refund: 1,
    });
    expect(receipt.subagents).toHaveLength(1);
  });

  test("the skill decides: an order that is not late enough is not refunded", async () => {
    const { text, receipt } = await ask("Where is A-124, and can I have my money back?");
    expect(text).toContain("once it is more than 7 days late");
    expect(receipt.tools.map(({ name }) => name)).not.toContain("issue_refund");
  });

  test.each([
    ["hello", "Which order"],
    ["Refund A-999", "cannot find order A-999"],
    ["Is A-125 there?", "brass hook) is delivered"],
  ])("%j", async (question, answer) => {
    expect((await ask(question)).text).toContain(answer);
  });
});

describe("custom-policy", () => {
  const change = (...plugins: ReturnType<typeof officeHours>[]) =>
    createCaveman({ plugins }).run(shopkeeper, "Make the lamp 79 dollars.", { model: scripted(shopScript) });
  const setPrice = { name: "set_price" };

  test("outside office hours the write is denied, the model reads why, and the receipt counts it", async () => {
    const { text, receipt } = await change(...config.plugins);
    expect(text).toContain("not changed");
    expect(text).toContain("Writes are allowed from 9:00 to 17:00.");
    expect(text).toContain("8900");
    expect(receipt.tools).toContainEqual(expect.objectContaining({ ...setPrice, calls: 1, errors: 1, denied: 1 }));
  });

  test("within them it is done", async () => {
    const { text, receipt } = await change(officeHours({ at: "2026-01-05T10:00:00" }));
    expect(text).toContain("Done");
    expect(receipt.tools).toContainEqual(expect.objectContaining({ ...setPrice, calls: 1 }));
  });
});
