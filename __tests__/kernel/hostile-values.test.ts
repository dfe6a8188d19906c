/** What a model writes and what a tool throws may be anything: the run goes on, and the model reads why. */
import { describe, expect, test } from "@jest/globals";
import { agent, createKernel, schema, tool } from "../../kernel/index.ts";
import { scripted } from "../../plugins/providers/scripted/index.ts";
import { models } from "../support/harness.ts";

const toldOf = (run: { transcript: { view: { messages: readonly { value: unknown }[] } } }): string =>
  JSON.stringify(run.transcript.view.messages.map((message) => message.value));

async function go(input: string, execute: (args: unknown) => unknown = () => "done") {
  const any = tool({ name: "any", description: "Takes anything.", input: schema.any(), effect: "read", execute });
  const model = scripted([{ toolCalls: [{ name: "any", input }] }, { text: "went on" }]);
  const started = createKernel({ plugins: [models] }).start(
    agent({ id: "a", instructions: "i", model, tools: [any] }),
    "go",
  );
  return { outcome: await started.done, run: started.run };
}

describe("arguments nested deeper than a stack", () => {
  test.each([
    [600, "[", "]"],
    [5_000, "[", "]"],
    [200_000, '{"a":', "}"],
  ])("%s levels are refused as a result the model reads", async (depth, open, close) => {
    const { outcome, run } = await go(`${open.repeat(depth)}1${close.repeat(depth)}`);
    expect([outcome.stopReason, outcome.text]).toEqual(["complete", "went on"]);
    expect(run.ledger.of("tool.denied")).toMatchObject([{ code: "cave_tool_arguments_invalid" }]);
    expect(toldOf(run)).toContain("nested too deep");
  });

  test("what is long but not deep is taken", async () => {
    const list = JSON.stringify(Array.from({ length: 5_000 }, (_, index) => ({ index })));
    const { outcome, run } = await go(list, (args) => (args as unknown[]).length);
    expect(outcome.stopReason).toBe("complete");
    expect(toldOf(run)).toContain("5000");
  });
});

describe("a tool that throws what cannot be looked at", () => {
  const revoked = (): object => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error("do not look");
      },
      getPrototypeOf: () => {
        throw new Error("do not look");
      },
    },
  );
  test.each([
    ["a revoked proxy", revoked],
    ["a proxy that throws", () => hostile],
    ["nothing", () => undefined],
    ["null", () => null],
    ["a symbol", () => Symbol("x")],
    ["a function", () => () => undefined],
  ])("%s is a failed call, and the run goes on", async (_, thrown) => {
    const { outcome, run } = await go("{}", () => {
      throw thrown();
    });
    expect([outcome.stopReason, outcome.text]).toEqual(["complete", "went on"]);
    expect(run.ledger.of("tool.finished")).toMatchObject([{ isError: true, code: "cave_tool_failed" }]);
  });
});
