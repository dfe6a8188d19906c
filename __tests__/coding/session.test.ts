import { chmod, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, jest, test } from "@jest/globals";
import { toNumber } from "../../catalog/money.ts";
import { createCodingAgent, runCodingTurn } from "../../cli/code/index.ts";
import { CavemanRunError } from "../../index.ts";
import { createKernel, agent as define } from "../../kernel/index.ts";
import { billOf, listSessions } from "../../plugins/coding/index.ts";
import { policy, pricing, receipt, shell } from "../../plugins/index.ts";
import { scripted } from "../../plugins/testing.ts";
import { models } from "../support/harness.ts";
import { bash, listening, saidByUser, sessionIn, workspace, write } from "./workspaces.ts";

jest.setTimeout(60_000);

const yes = (): "yes" => "yes";
const sessions = (path: string): string => join(path, ".caveman", "sessions");

describe("a coding agent", () => {
  test("is an ordinary host agent with the shell tools, and reasoning off", async () => {
    await using folder = await workspace();
    const agent = createCodingAgent({
      workspace: folder.path,
      model: "openai/gpt-5.4-mini",
      instructions: "Say moin.",
    });
    expect(agent.definition).toMatchObject({ kind: "agent", sandbox: "host", reasoning: "off" });
    expect(agent.definition.tools.map(({ name }) => name)).toEqual([
      "bash",
      "read_file",
      "grep",
      "list_files",
      "write_file",
      "edit_file",
    ]);
    expect(agent.definition.instructions).toMatch(/Say moin\.$/);
    expect(agent).toMatchObject({ workspace: folder.path, modelID: "openai/gpt-5.4-mini", toolMode: "direct" });
  });

  test("that only looks has no tool that acts, whatever tools are asked for", async () => {
    await using folder = await workspace();
    const agent = createCodingAgent({
      workspace: folder.path,
      observeOnly: true,
      tools: ["bash", "write_file", "read_file"],
    });
    expect(agent.definition.tools.map(({ effect }) => effect)).toEqual(["read"]);
  });

  test.each([
    [{ workspace: "/nowhere/at/all" }, "cave_coding_workspace_invalid"],
    [{ workspace: "a\0b" }, "cave_coding_workspace_invalid"],
    [{ workspace: import.meta.filename }, "cave_coding_workspace_invalid"],
    [{ toolMode: "programmatic" as never }, "cave_option_invalid"],
    [{ instructions: 3 as never }, "cave_option_invalid"],
    [{ model: "nonsense" }, "cave_agent_definition_invalid"],
    [{ outputCaps: { bash: 1 } }, "cave_option_invalid"],
  ])("refuses %j", (options, code) => {
    expect(() => createCodingAgent(options)).toThrow(expect.objectContaining({ code }));
  });
});

describe("a kernel of one's own", () => {
  test.each([{ rules: [] }, { approvalTimeoutMs: 1_000 }, { writeReceipts: false }])(
    "is not taken together with %j, which it would ignore",
    async (option) => {
      await using folder = await workspace();
      const kernel = createKernel({ plugins: [models, receipt(), pricing(), policy(), shell()] });
      const model = scripted([{ text: "x" }]);
      await expect(sessionIn(folder.path, model, { kernel, ...option })).rejects.toMatchObject({
        code: "cave_option_invalid",
        message: expect.stringContaining(`startCodingSession().${Object.keys(option)[0]}`),
      });
      await expect(sessionIn(folder.path, model, { kernel, rules: undefined } as never)).resolves.toBeDefined();
    },
  );

  const all = [models, receipt, pricing, policy, shell];

  test.each(["receipt", "pricing", "policy", "shell"])("without %s starts no session, and says so", async (name) => {
    await using folder = await workspace();
    const kernel = createKernel({ plugins: all.filter(({ pluginName }) => pluginName !== name) });
    await expect(sessionIn(folder.path, scripted([{ text: "x" }]), { kernel })).rejects.toMatchObject({
      code: "cave_plugin_missing",
      detail: { expected: `plugin ${name}` },
    });
    expect(await readdir(folder.path)).toEqual([]);
  });

  test("without prices has a bill that is unpriced, not free", async () => {
    const model = scripted([{ text: "x", usage: { input: 10, output: 1 } }]);
    const { run, done } = createKernel({ plugins: [models] }).start(
      define({ id: "a", instructions: "i", model }),
      "go",
    );
    await done;
    expect(billOf(run)).toMatchObject({ calls: 1, inputTokens: 10, unpriced: true });
  });
});

describe("a turn", () => {
  test("works on the workspace, remembers what was said, and has a bill that adds up", async () => {
    await using folder = await workspace({ "a.txt": "one\n" });
    const { model, requests } = listening([write("b.txt", "two\n"), { text: "written" }, { text: "again" }]);
    const session = await sessionIn(folder.path, model, { approve: yes });
    const first = await runCodingTurn(session, "write b");
    expect(first.text).toBe("written");
    expect(await readFile(join(folder.path, "b.txt"), "utf8")).toBe("two\n");
    const second = await runCodingTurn(session, "and?");
    expect(saidByUser(requests[2])).toEqual(["write b", "and?"]);
    expect(session.turns).toBe(2);
    expect(session.totals.calls).toBe(3);
    expect(session.totals.spent).toBe(first.bill.spent + second.bill.spent);
    expect(toNumber(first.bill.spent)).toBe(first.receipt.totalEstimatedUsd);
    expect(first.bill).toMatchObject({ simulated: true, unpriced: false });
    await session.close();
    await expect(session.turn("more")).rejects.toMatchObject({ code: "cave_coding_session_closed" });
  });

  test("asks a person about what acts; without one nothing acts, and the event says why", async () => {
    await using folder = await workspace();
    const { model } = listening([write("b.txt"), { text: "so be it" }]);
    const denied: unknown[] = [];
    const session = await sessionIn(folder.path, model, {
      onEvent: (event) => event.type === "tool_denied" && denied.push(event),
    });
    await session.turn("write b");
    expect(await readdir(folder.path)).toEqual([".caveman"]);
    expect(denied).toEqual([
      expect.objectContaining({
        name: "write_file",
        code: "cave_tool_denied",
        reason: "approval_unavailable",
        answer: "unavailable",
      }),
    ]);
    await session.close();
  });

  test("that fails throws with its receipt from runCodingTurn, and leaves the conversation as it was", async () => {
    await using folder = await workspace();
    const { model, requests } = listening([{ text: "hello" }, { error: { status: 400 } }, { text: "back" }]);
    const session = await sessionIn(folder.path, model);
    await session.turn("hi");
    await expect(runCodingTurn(session, "break")).rejects.toBeInstanceOf(CavemanRunError);
    await session.turn("still there?");
    const said = saidByUser(requests.at(-1));
    expect(said[0]).toBe("hi");
    expect(said[1]).toMatch(/^\[The turn before this one failed \(cave_\w+\).*\n.*"break"/);
    expect(said[2]).toBe("still there?");
    expect(session.turns).toBe(2);
    await session.close();
  });

  test("that is stopped ends its command; the next turn is told what it had done, once", async () => {
    await using folder = await workspace();
    const { model, requests } = listening([write("b.txt"), bash("sleep 30"), { text: "I see" }, { text: "fine" }]);
    const controller = new AbortController();
    const session = await sessionIn(folder.path, model, {
      approve: yes,
      onEvent: (event) => {
        if (event.type === "tool_start" && event.name === "bash") setTimeout(() => controller.abort(), 50);
      },
    });
    const stopped = await session.turn("write and wait", { signal: controller.signal });
    expect(stopped.stopReason).toBe("aborted");
    expect(stopped.bill.calls).toBe(2);
    await session.turn("what happened?");
    expect(saidByUser(requests[2])[0]).toMatch(
      /was stopped by the person[\s\S]*"write and wait"[\s\S]*"write_file b\.txt" \(done\); "bash sleep 30" \((failed|not finished)\)/,
    );
    await session.turn("good");
    expect(saidByUser(requests[3]).filter((text) => text.includes("was stopped by"))).toHaveLength(1);
    await session.close();
  });

  test("a second one at the same time is refused", async () => {
    await using folder = await workspace();
    const { model } = listening([{ text: "slow", delayMs: 20 }]);
    const session = await sessionIn(folder.path, model);
    const first = session.turn("one");
    await expect(session.turn("two")).rejects.toMatchObject({ code: "cave_coding_turn_running" });
    expect((await first).text).toBe("slow");
    await session.close();
  });

  test("wrong run options are refused before anything is sent, and the session goes on", async () => {
    await using folder = await workspace();
    const { model, requests } = listening([{ text: "fine" }]);
    const session = await sessionIn(folder.path, model);
    await expect(session.turn("hi", { run: { nonsense: 1 } as never })).rejects.toMatchObject({
      code: "cave_option_invalid",
    });
    expect(requests).toHaveLength(0);
    expect((await session.turn("hi")).text).toBe("fine");
    await session.close();
  });

  test("shows how a command ended", async () => {
    await using folder = await workspace();
    const { model } = listening([bash("exit 3"), bash("true"), { text: "so" }]);
    const ends: unknown[] = [];
    const session = await sessionIn(folder.path, model, {
      approve: yes,
      onEvent: (event) => event.type === "command_failed" && ends.push(event.status),
    });
    await session.turn("go");
    expect(ends).toEqual(["exit code 3"]);
    await session.close();
  });
});

describe("money", () => {
  // claude-haiku-4-5: 1 and 5 dollars a million tokens, so 1,000 in and 100 out are $0.0015.
  const usage = { input: 1_000, output: 100 };
  test("maxUsd bounds the turns together, exactly", async () => {
    await using folder = await workspace();
    const { model, requests } = listening([
      { text: "a", usage },
      { text: "b", usage },
      { text: "c", usage },
    ]);
    const session = await sessionIn(folder.path, model, { maxUsd: 0.5 });
    const first = await session.turn("one");
    expect(toNumber(first.remaining ?? session.totals.spent)).toBe(0.4985);
    const second = await session.turn("two");
    expect(toNumber(second.remaining ?? session.totals.spent)).toBe(0.497);
    expect(second.receipt.max).toBe(0.4985);
    expect(requests).toHaveLength(2);
    await session.close();
  });
  test("when nothing that a call needs is left, the turn stops without one", async () => {
    await using folder = await workspace();
    const { model, requests } = listening([{ text: "a", usage }]);
    const session = await sessionIn(folder.path, model, { maxUsd: 0.000_001 });
    const { stopReason, bill } = await session.turn("one");
    expect([stopReason, bill.calls, requests.length]).toEqual(["budget_exhausted", 0, 0]);
    await session.close();
  });
  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, "1" as never])("refuses maxUsd %p", async (maxUsd) => {
    await using folder = await workspace();
    await expect(sessionIn(folder.path, "openai/gpt-5.4-mini", { maxUsd })).rejects.toMatchObject({
      code: "cave_option_invalid",
    });
  });
});

describe("always", () => {
  test("given in a turn that was stopped is not asked again, and nothing wider is granted", async () => {
    await using folder = await workspace();
    const { model } = listening([
      bash("git status"),
      bash("sleep 30"),
      bash("git status -s"),
      bash("git log"),
      { text: "done" },
    ]);
    const controller = new AbortController();
    const asked: string[] = [];
    const session = await sessionIn(folder.path, model, {
      approve: ({ about }) => {
        asked.push(about.join());
        return about.join().startsWith("git status") ? "always" : about.join() === "sleep 30" ? "yes" : "no";
      },
      onEvent: (event) => {
        if (event.type === "tool_start" && JSON.stringify(event.input).includes("sleep"))
          setTimeout(() => controller.abort(), 20);
      },
    });
    expect((await session.turn("go", { signal: controller.signal })).stopReason).toBe("aborted");
    await session.turn("go on");
    expect(asked).toEqual(["git status", "sleep 30", "git log"]);
    await session.close();
  });
  test("is not read from a file: a resumed session asks again", async () => {
    await using folder = await workspace();
    const asked: string[] = [];
    const approve = ({ about }: { readonly about: readonly string[] }): "always" => {
      asked.push(about.join());
      return "always";
    };
    const one = await sessionIn(folder.path, listening([bash("true"), bash("true"), { text: "a" }]).model, { approve });
    await one.turn("go");
    await one.close();
    expect(asked).toHaveLength(1);
    const two = await sessionIn(folder.path, listening([bash("true"), { text: "b" }]).model, { approve, resume: true });
    await two.turn("go");
    await two.close();
    expect(asked).toHaveLength(2);
  });
});

test("a question that nobody answers is a no, and is recorded as unanswered", async () => {
  await using folder = await workspace();
  const denied: unknown[] = [];
  const session = await sessionIn(folder.path, listening([write("a.txt"), { text: "so be it" }]).model, {
    approve: () => new Promise(() => undefined),
    approvalTimeoutMs: 30,
    onEvent: (event) => event.type === "tool_denied" && denied.push(event.answer),
  });
  expect((await session.turn("go")).text).toBe("so be it");
  expect(denied).toEqual(["unanswered"]);
  expect(session.lastRun?.ledger.of("policy.decided")).toEqual([
    expect.objectContaining({ decision: "deny", by: "person", answer: "unanswered" }),
  ]);
  await session.close();
});

describe("saved sessions", () => {
  test("go on where they were: conversation, title, turns and bill", async () => {
    await using folder = await workspace();
    const one = await sessionIn(folder.path, listening([{ text: "hello" }]).model);
    await one.turn("remember   the\nnumber 7");
    await one.close();
    const { model, requests } = listening([{ text: "7" }]);
    const two = await sessionIn(folder.path, model, { resume: one.id.slice(0, 17) });
    await two.turn("which?");
    expect(saidByUser(requests[0])).toEqual(["remember   the\nnumber 7", "which?"]);
    expect(two).toMatchObject({ id: one.id, title: "remember the number 7", turns: 2 });
    expect(two.totals.calls).toBe(2);
    expect(await listSessions(folder.path)).toEqual([expect.objectContaining({ id: one.id, turns: 2 })]);
    await two.close();
  });

  test("are their owner's alone, whole at every moment, and out of version control", async () => {
    await using folder = await workspace();
    const session = await sessionIn(folder.path, listening([{ text: "a" }]).model);
    await session.turn("one");
    const names = await readdir(sessions(folder.path));
    expect(names.sort()).toEqual([".gitignore", `${session.id}.json`]);
    expect((await stat(session.path ?? "")).mode & 0o777).toBe(0o600);
    expect((await stat(sessions(folder.path))).mode & 0o777).toBe(0o700);
    expect(await readFile(join(sessions(folder.path), ".gitignore"), "utf8")).toBe("*\n");
    await session.close();
  });

  test("after a crash in a turn, the last complete turn stands, and the next one is told", async () => {
    await using folder = await workspace();
    const saved: string[] = [];
    const one = await sessionIn(folder.path, listening([{ text: "first" }, { text: "second" }]).model, {
      onEvent: (event) => {
        if (event.type === "run_start") void readFile(one.path ?? "", "utf8").then((text) => saved.push(text));
      },
    });
    await one.turn("one");
    await one.turn("two");
    await one.close();
    // What was on disk while the second turn ran is what a crash would have left.
    await writeFile(one.path ?? "", saved[1] ?? "", { mode: 0o600 });
    const notices: string[] = [];
    const { model, requests } = listening([{ text: "third" }]);
    const two = await sessionIn(folder.path, model, { resume: true, onNotice: (notice) => notices.push(notice) });
    expect(two.turns).toBe(1);
    expect(notices).toEqual([expect.stringContaining("was cut off")]);
    await two.turn("three");
    expect(saidByUser(requests[0])).toEqual([
      "one",
      expect.stringMatching(/cut off when the program ended[\s\S]*"two"/),
      "three",
    ]);
    await two.close();
  });

  test("that another process wrote meanwhile are not overwritten", async () => {
    await using folder = await workspace();
    const one = await sessionIn(folder.path, listening([{ text: "a" }, { text: "b" }]).model);
    await one.turn("one");
    const { id } = one;
    const two = await sessionIn(folder.path, listening([{ text: "c" }]).model, { resume: id });
    await two.turn("theirs");
    const theirs = await readFile(two.path ?? "", "utf8");
    await one.turn("mine");
    expect(one.id).not.toBe(id);
    expect(one.notices).toEqual([expect.stringContaining("changed by another process")]);
    expect(await readFile(two.path ?? "", "utf8")).toBe(theirs);
  });

  test("that are not surely ours are refused, with the file and the reason", async () => {
    await using folder = await workspace();
    const one = await sessionIn(folder.path, listening([{ text: "a" }]).model);
    await one.turn("one");
    const path = one.path ?? "";
    const good = await readFile(path, "utf8");
    const resume = () => sessionIn(folder.path, listening([]).model, { resume: one.id });
    const refused = { code: "cave_coding_session_invalid", message: expect.stringContaining(path) };

    await chmod(path, 0o644);
    await expect(resume()).rejects.toMatchObject(refused);
    await chmod(path, 0o600);
    for (const bad of [
      "",
      "{",
      "null",
      "[]",
      '{"schema":"other"}',
      good.replace('"turns":1', '"turns":-1'),
      good.replace(one.id, "20200101-000000-abcdef"),
      good.replace('"role":"user"', '"role":"emperor"'),
      good.replace('"picoUsd":"', '"picoUsd":"-'),
    ]) {
      await writeFile(path, bad);
      await expect(resume()).rejects.toMatchObject(refused);
    }
    await writeFile(join(folder.path, "elsewhere.json"), good, { mode: 0o600 });
    await import("node:fs/promises").then(({ rm }) => rm(path));
    await symlink(join(folder.path, "elsewhere.json"), path);
    await expect(resume()).rejects.toMatchObject(refused);
  });

  test.each(["../../etc/passwd", "nothing", "%", ""])("are not found by the name %j", async (resume) => {
    await using folder = await workspace();
    const saved = await sessionIn(folder.path, listening([]).model);
    await saved.save();
    await expect(sessionIn(folder.path, listening([]).model, { resume })).rejects.toMatchObject({
      code: "cave_coding_session_unknown",
    });
  });

  test("are never written through a link that the repository put there", async () => {
    await using folder = await workspace();
    await using other = await workspace();
    await symlink(other.path, join(folder.path, ".caveman"));
    const session = await sessionIn(folder.path, listening([{ text: "a" }]).model);
    expect(session.notices).toEqual([expect.stringContaining("cave_coding_session_unsaved")]);
    expect((await session.turn("hi")).text).toBe("a");
    expect(await readdir(other.path)).toEqual([]);
    await session.close();
  });
});
