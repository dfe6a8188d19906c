/** Nothing here may call a tool before the test does: the first call of the process is what is tested. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import type { ToolContext } from "../../../kernel/index.ts";
import { shellTools } from "../../../plugins/shell/index.ts";

test("the first calls of a process, made at once, share one shell", async () => {
  const workspace = await mkdtemp(join(tmpdir(), "caveman-first-"));
  const tools = shellTools({ workspace });
  // What a tool is given beside its arguments, as far as these tools look at it.
  const context = { signal: new AbortController().signal, toolCallId: "c" } as ToolContext;
  const call = async (name: string, input: object): Promise<string> =>
    String(await tools.find((tool) => tool.name === name)?.execute(input, context));
  try {
    const said = await Promise.all([1, 2, 3].map(() => call("command_start", { command: "sleep 60" })));
    const ids = said.map((line) => /^\[(cmd_[0-9a-f]{12}) running/.exec(line)?.[1]);
    expect(new Set(ids).size).toBe(3);
    for (const id of ids) expect(await call("command_read", { id })).toContain("running");
    await tools.close();
    for (const id of ids) expect(await call("command_read", { id })).toContain("killed");
  } finally {
    await tools.close();
    await rm(workspace, { recursive: true, force: true });
  }
});
