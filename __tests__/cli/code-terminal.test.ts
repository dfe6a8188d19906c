import { execFile } from "node:child_process";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, jest, test } from "@jest/globals";
import { columnsOf } from "../../cli/code/columns.ts";
import { alive, puppet, running, writing } from "./puppet.ts";
import { noTmux, Pane } from "./tmux.ts";

jest.setTimeout(120_000);

if (noTmux) console.warn(`caveman code at a terminal is not tested: ${noTmux}`);
const atTerminal = noTmux ? describe.skip : describe;
const run = promisify(execFile);
const play = (...steps: object[]): string => JSON.stringify(steps);
const copyIn = (screen: string): string =>
  /example project in (\S+?);/.exec(screen.replace(/\s*\n\s+/g, " "))?.[1] ?? "";

atTerminal("caveman code at a terminal", () => {
  test("without a key: asked for each step, an edit makes the failing test pass; the session resumes after exit", async () => {
    await using pane = await Pane.open(["code"]);
    const copy = copyIn(await pane.until(/› $/m));
    await pane.send("fix the failing test");
    await pane.until(/Allow bash\?[\s\S]*command: node --test[\s\S]*\[a\]lways: bash exactly/);
    await pane.press("a");
    await pane.until(
      /Allow edit_file\?[\s\S]*path: src\/cart\.js[\s\S]*- {3}return cents > 5000[\s\S]*\+ {3}return cents >= 5000/,
    );
    // No, and the edit is not made.
    await pane.press("n");
    await pane.until(/refused: you said no[\s\S]*I may not make the edit[\s\S]*tokens in[\s\S]*› $/m);
    expect(await readFile(join(copy, "src/cart.js"), "utf8")).toContain("cents > 5000");
    // Yes, and it is; the command that was always permitted is not asked about again.
    await pane.send("do fix the test");
    await pane.until(/Allow edit_file\?(?![\s\S]*you said no)/);
    await pane.press("y");
    const screen = await pane.until(/3 tests pass\.[\s\S]*tokens in[\s\S]*› $/m);
    expect(screen.match(/Allow bash\?/g)).toHaveLength(1);
    expect(screen).toMatch(/✓ edit_file src\/cart\.js {2}\d+ m?s, \d+ B\n.*--- a\/src\/cart\.js/);
    expect(screen).toMatch(
      /tokens in \(\d+% from cache\) · \d+ out · \d+ calls · \$[\d.]+ \(simulated,\s+estimated\s+list\s+price,\s+inferred\)/,
    );
    // Red and green, in the diff itself.
    const colours = (await pane.colours()).replaceAll("\u001b", "␛");
    expect(colours).toMatch(/␛\[31m- {2}return cents > 5000[\s\S]*␛\[32m\+ {2}return cents >= 5000/);
    expect((await run(process.execPath, ["--test"], { cwd: copy, env: {} })).stdout).toMatch(/fail 0/);
    await pane.send("/exit");
    const id = /--resume (\S+)/.exec(await pane.until(/EXIT=0/))?.[1] ?? "";
    expect((await stat(join(copy, ".caveman/sessions", `${id}.json`))).mode & 0o777).toBe(0o600);

    await using again = await Pane.open(["code", "--workspace", copy, "--resume", id]);
    await again.until(/resumed session .*2 turns: fix the failing test[\s\S]*› $/m);
    await again.press("Up", "Up");
    await again.until(/› do fix the test$/m);
    await again.press("Enter");
    // Approvals are a person's word and no file's, so it asks anew.
    await again.until(/Allow bash\?/);
    await again.press("y");
    await again.until(/All tests pass; there is nothing to fix\.[\s\S]*› $/m);
    await again.press("C-c");
    await again.until(/Ctrl-C again leaves/);
    await again.press("C-c");
    await again.until(/EXIT=0/);
  });

  test("Ctrl-C ends the running command, its process too, and the session goes on", async () => {
    await using folder = await puppet();
    await using pane = await Pane.open(folder.args);
    await pane.until(/› $/m);
    await pane.send(play(running("sleep 872 & sleep 873; wait")));
    await pane.until(/Allow bash/);
    await pane.press("y");
    await pane.until(/▸ bash sleep 872/);
    while (!(await alive("873"))) await new Promise((resolve) => setTimeout(resolve, 20));
    await pane.until(/… bash sleep 872 .* \d s · Ctrl-C stops/);
    await pane.press("C-c");
    expect(await pane.until(/stopped; the next turn[\s\S]*› $/m)).not.toContain("Ctrl-C stops");
    await pane.until(/stopped; the next turn is told[\s\S]*› $/m);
    expect([await alive("872"), await alive("873")]).toEqual([false, false]);
    await pane.send(play({ text: "still here" }));
    await pane.until(/^still here$[\s\S]*› $/m);
    await pane.send("/cost");
    await pane.until(/for 2 calls in 1 completed turn/);
  });

  test("the other commands answer; modes hold", async () => {
    await using folder = await puppet();
    await using pane = await Pane.open([...folder.args, "--max-usd", "0.5"]);
    await pane.until(/› $/m);
    await pane.send("/help");
    await pane.until(/\/resume \[id\][\s\S]*Ctrl-D leaves/);
    await pane.send("/mode observe");
    await pane.until(/observe: only looks/);
    await pane.send(play(writing("a.txt"), { text: "refused then" }));
    await pane.until(
      /⊘ write_file a\.txt +refused: observe_only[\s\S]*refused then[\s\S]*left of --max-usd[\s\S]*› $/m,
    );
    await pane.send("/mode edits");
    await pane.until(/edits› $/m);
    await pane.send(play(writing("a.txt"), { text: "written now" }));
    await pane.until(/✓ write_file a\.txt[\s\S]*\+x[\s\S]*^written now$[\s\S]*› $/m);
    expect(await readFile(join(folder.path, "a.txt"), "utf8")).toBe("x");
    await pane.send("/tokens");
    await pane.until(/context: [\d,]+ tokens in the last call/);
    await pane.send("/plugins");
    await pane.until(/^ +policy +Decides which tool calls run/m);
    await pane.send("/save my title");
    await pane.until(/saved: .*\.json/);
    await pane.send("/nonsense");
    await pane.until(/There is no command \/nonsense/);
    await pane.send("/resume");
    const id = /(\S+) +2 turns +my title +\(this one\)/.exec(await pane.until(/2 turns +my title +\(this one\)/))?.[1];
    // Another session is no new limit: what was spent stays spent.
    await pane.send(`/resume ${id}`);
    await pane.until(/session \S+, 2 turns: my title/);
    await pane.send("/cost");
    const bills = (await pane.until(/in 2 completed turns\n.*left of/)).match(/\$\S+ left of --max-usd/g) ?? [];
    expect(bills.length).toBe(3);
    expect(bills.at(-1)).toBe(bills.at(-2));
    expect(bills.at(-1)).not.toBe("$0.50 left of --max-usd");
    await pane.press("C-d");
    await pane.until(/EXIT=0/);
  });

  test("lines are entered with a backslash, and pasted whole, and the model gets them as they are", async () => {
    await using folder = await puppet();
    await using pane = await Pane.open(folder.args);
    await pane.until(/› $/m);
    await pane.send('[{"text":\\');
    await pane.send('"two lines"}]');
    await pane.until(/^two lines$[\s\S]*› $/m);
    await pane.paste('[\n{"text":\n"three lines"}]');
    await pane.until(/› \[\n {2}\{"text":\n {2}"three lines"\}\]/);
    expect(await pane.screen()).not.toMatch(/^three lines$/m);
    await pane.press("Enter");
    await pane.until(/^three lines$/m);
  });

  test("on a narrow terminal nothing is lost and nothing smears", async () => {
    await using folder = await puppet();
    await using pane = await Pane.open(folder.args, { columns: 24, rows: 16 });
    await pane.until(/› $/m);
    const text = "abcdefghij".repeat(7);
    await pane.type(text);
    await pane.until(/› abcdefghijabcdefghijab?\n/);
    for (const row of await pane.visible()) expect(columnsOf(row)).toBeLessThanOrEqual(24);
    await pane.press("C-u");
    await pane.type("漢字漢字漢字漢字漢字漢字漢字");
    await pane.until(/字\n {2}漢/);
    await pane.press("C-u");
    await pane.until(/› $/m);
    const rows = await pane.visible();
    expect(rows.at(-1)).toMatch(/^› *$/);
    expect(rows.join("\n")).not.toMatch(/abcdef|漢/);
    await pane.send(play(writing("some/long/path/to/a/file.txt"), { text: "over and out" }));
    await pane.until(/\[y\]es/);
    await pane.press("y");
    await pane.until(/over and out[\s\S]*› $/m);
    expect(await readFile(join(folder.path, "some/long/path/to/a/file.txt"), "utf8")).toBe("x");
  });

  test("what a model and a command write moves no cursor, sets no title, fills no clipboard", async () => {
    await using folder = await puppet();
    const evil = "\u001b]0;owned\u0007\u001b]52;c;b3duZWQ=\u0007\u001b[2J\u001b[1;1H\u009b31m\u202eevil";
    await writeFile(join(folder.path, "evil.txt"), evil);
    await using pane = await Pane.open(folder.args);
    await pane.until(/› $/m);
    const title = await pane.title();
    await pane.send(
      play({ text: evil, ...running("cat evil.txt; printf '\\033]0;owned\\007\\n'") }, { text: "end of it" }),
    );
    await pane.until(/Allow bash/);
    await pane.press("y");
    const screen = await pane.until(/^end of it$/m);
    expect(screen).toContain("caveman code ·");
    expect(await pane.title()).toBe(title);
    expect(await pane.buffers()).toBe("");
    // Of all it wrote, only colours, the prompt's own moves and the paste mode are sequences.
    const rest = (await pane.raw())
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what this program may write
      .replace(/\u001b\[(?:[0-9;]*m|[JK]|\d+[ABC]|\?2004[hl])/g, "")
      .replace(/[\r\n\t]/g, "");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what nobody may
    expect(rest).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
  });

  test("one turn at a terminal may ask, and ends", async () => {
    await using folder = await puppet();
    await using pane = await Pane.open([...folder.args, play(writing("a.txt"), { text: "one turn" })]);
    await pane.until(/Allow write_file/);
    await pane.press("y");
    await pane.until(/one turn[\s\S]*tokens in[\s\S]*EXIT=0/);
    expect(await readFile(join(folder.path, "a.txt"), "utf8")).toBe("x");
  });
});
