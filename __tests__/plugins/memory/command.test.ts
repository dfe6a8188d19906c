import { afterEach, describe, expect, test } from "@jest/globals";
import { commands } from "../../../plugins/memory/commands.ts";
import { folder } from "./world.ts";

const before = { ...process.env };
afterEach(() => {
  process.env = { ...before };
});

/** One command line, as its parsed arguments. */
async function mem(
  action: string,
  first?: string,
  second?: string,
  more: object = {},
): Promise<{ out: string; err: string }> {
  let out = "";
  let err = "";
  const io = {
    out: (text: string) => {
      out += text;
    },
    err: (text: string) => {
      err += text;
    },
  };
  expect(await commands.mem.execute({ action, first, second, ...more }, io)).toBe(0);
  return { out, err };
}
const idIn = ({ out }: { out: string }): string => (JSON.parse(out) as { id: string }).id;

describe("caveman mem", () => {
  test("remembers, recalls, replaces, shows history, lists, recovers and forgets", async () => {
    using at = folder();
    process.env.CAVEMAN_HOME = at.path;
    const text = "the deploy key lives in vault under ops/deploy";
    const id = idIn(await mem("remember", text));
    const recalled = await mem("recall", "where is the deploy key");
    expect(JSON.parse(recalled.out)).toMatchObject({ hits: [{ id, text }], basis: "inferred", namespace: "default" });
    expect(recalled.err).toMatch(/^1 recalled, \d+ tokens \(inferred\)\n$/);
    const next = await mem("supersede", id, "deploy key moved to vault ops/deploy-v2");
    expect(JSON.parse(next.out)).toMatchObject({ supersedes: id });
    const history = JSON.parse((await mem("history", id)).out) as { id: string; state: string }[];
    expect(history.map((version) => [version.id, version.state])).toEqual([
      [id, "superseded"],
      [idIn(next), "active"],
    ]);
    expect((JSON.parse((await mem("list")).out) as unknown[]).length).toBe(1);
    expect((JSON.parse((await mem("list", undefined, undefined, { all: true })).out) as unknown[]).length).toBe(2);
    expect((await mem("recover", id)).out).toBe(text);
    await mem("forget", idIn(next));
    expect(JSON.parse((await mem("recall", "deploy key")).out)).toMatchObject({ hits: [], tokens: 0 });
  });

  test("recalls at most 2,000 tokens unless told otherwise, and cuts to a handle that recovers", async () => {
    using at = folder();
    process.env.CAVEMAN_HOME = at.path;
    const long = `The migration runbook. ${"Do the next step with care. ".repeat(2_000)}`.trim();
    await mem("remember", long);
    const bounded = JSON.parse((await mem("recall", "migration runbook")).out) as {
      hits: { recovery_handle: string }[];
      tokens: number;
    };
    expect(bounded.tokens).toBeLessThanOrEqual(2_000);
    expect((await mem("recover", bounded.hits[0]?.recovery_handle)).out).toBe(long);
    const whole = JSON.parse((await mem("recall", "migration runbook", "5", { budget: 0 })).out) as {
      hits: { text: string }[];
    };
    expect(whole.hits[0]?.text).toBe(long);
  });

  test("reaches an agent's memory by its name, and keeps a shell's own apart", async () => {
    using at = folder();
    process.env.CAVEMAN_HOME = at.path;
    process.env.CAVE_AGENT_MEMORY_ROOT = `${at.path}/agents`;
    await mem("remember", "The gate code is on the blue card", undefined, { agent: "support", namespace: "notes" });
    expect(JSON.parse((await mem("recall", "gate code")).out)).toMatchObject({ hits: [] });
    const theirs = await mem("recall", "gate code", undefined, { agent: "support", namespace: "notes" });
    expect(JSON.parse(theirs.out)).toMatchObject({ hits: [{ text: "The gate code is on the blue card" }] });
  });

  test.each([
    [["dance"], "cave_option_invalid"],
    [["remember"], "cave_memory_value_invalid"],
    [["remember", "password: hunter2!x"], "cave_memory_secret_refused"],
    [["recall"], "cave_option_invalid"],
    [["recall", "x", "many"], "cave_option_invalid"],
    [["supersede", "mem_0", "a b"], "cave_memory_unknown"],
    [["history", "mem_0"], "cave_memory_unknown"],
    [["forget", "mem_0"], "cave_memory_unknown"],
    [["recover", "ccr_0"], "cave_memory_unknown"],
  ])("%j is a coded error", async (words, code) => {
    using at = folder();
    process.env.CAVEMAN_HOME = at.path;
    await expect(mem(...(words as [string, string?, string?]))).rejects.toThrow(code);
  });
});
